"""Make the locks and conda environments of ``envs/``, and check them without a network.

``<name>.in`` is written by hand; ``<name>.txt`` (uv, hashed, for Linux and macOS, Python 3.11 and newer),
``<name>.yaml`` (conda, with the same pins) and ``sizes.json`` (bytes of every locked wheel) are made here.
"""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from packaging.requirements import Requirement
from packaging.version import Version

from augmark.caching import wheels
from augmark.cell import short_digest
from augmark.environments import find_uv
from augmark.errors import AugmarkError
from augmark.locks import Pin, normalise, parse_lock, requirement_lines

OLDEST_PYTHON = "3.11"
REMEDY = "python scripts/lock_envs.py"
# The control environment is built by make alone; conda is offered for what is measured.
CONTROL = "workflow"
_ASKS = re.compile(r"^# asks: ([0-9a-f]+)$", re.MULTILINE)
_ONLY_WINDOWS = re.compile(r"(sys_platform == 'win32'|os_name == 'nt'|platform_system == 'Windows')")
# A registry, a URL or a folder of one machine: each would tie the lock to a place.
_PLACE = re.compile(
    r"(://|--index-url|--extra-index-url|--find-links|--trusted-host|file:|(?:^|[\s@])[/~]\w)"
)
# Of wheels that no environment takes: Windows, other Pythons, builds without the interpreter's lock.
_ELSEWHERE = re.compile(
    r"-(pp\d|cp\d+-cp\d+t-|cp(2\d|3\d|310)-(?!abi3))|-(win32|win_\w+|ios_\w+|android_\w+|wasm32|\w*emscripten\w*)\.whl$"
)
_HEADER = """\
# Made by `python scripts/lock_envs.py` from envs/{name}.in: change that file and run it again.
# Holds for Linux and macOS, Python {oldest} and newer.
# asks: {digest}
"""


def environment_names(envs: Path) -> list[str]:
    """The names that ``envs/`` has an ``.in`` for, sorted."""
    return sorted(path.stem for path in envs.glob("*.in"))


def asks_digest(text: str) -> str:
    """The short digest of what an ``.in`` asks for; comments and order do not count."""
    return short_digest(sorted(requirement_lines(text)))


def compile_lock(envs: Path, name: str, *, upgrade: bool = False) -> str:
    """Resolve ``<name>.in`` with uv (needs the registry). Versions already locked stay unless ``upgrade``.

    Returns:
        The lock's text.

    Raises:
        AugmarkError: uv found no solution.
    """
    source, target = envs / f"{name}.in", envs / f"{name}.txt"
    # fewest: one version per package for every Python, so that two Pythons measure the same libraries.
    command = [find_uv(), "pip", "compile", "--universal", "--python-version", OLDEST_PYTHON]
    command += ["--fork-strategy", "fewest", "--generate-hashes", "--no-header", "--no-config", "--quiet"]
    command += ["--output-file", target.name, *(["--upgrade"] if upgrade else []), source.name]
    # In the folder itself, so that the lock's comments name no path.
    answer = subprocess.run(command, cwd=envs, env=_registry_alone(), capture_output=True, text=True)
    if answer.returncode:
        raise AugmarkError(
            f"uv found no lock:\n{answer.stderr.strip()}", where=str(source), remedy="mend the .in"
        )
    body = drop_windows(target.read_text(encoding="utf-8"))
    return (
        _HEADER.format(name=name, oldest=OLDEST_PYTHON, digest=asks_digest(source.read_text("utf-8"))) + body
    )


def _registry_alone() -> dict[str, str]:
    """The variables of uv: wheels that lie on this machine have other hashes than the registry's."""
    ours = {"UV_FIND_LINKS", "UV_EXTRA_INDEX_URL", "UV_INDEX", "UV_OVERRIDE", "UV_CONSTRAINT"}
    return {key: value for key, value in os.environ.items() if key not in ours}


def drop_windows(text: str) -> str:
    """A lock without the pins that only Windows would install, which is out of scope."""
    kept, dropping = [], False
    for line in text.splitlines():
        if line and not line[0].isspace() and not line.startswith("#"):
            marker = line.partition(" ; ")[2].removesuffix("\\").strip()
            dropping = bool(_ONLY_WINDOWS.fullmatch(marker))
        if not dropping:
            kept.append(line)
    return "\n".join(kept) + "\n"


def conda_yaml(name: str, lock_text: str) -> str:
    """The conda environment of a lock: Python and pip from conda-forge, the same hashed pins by pip.

    Snakemake copies the file to another folder, so the pins stand in it instead of a reference to the lock.
    """
    lines = [
        f"# Made by `python scripts/lock_envs.py` from envs/{name}.txt, for `snakemake --sdm conda`.",
        f"name: augmark-{name}",
        "channels: [conda-forge, nodefaults]",
        "dependencies:",
        f"  - python ={OLDEST_PYTHON}",
        "  - pip",
        "  - pip:",
    ]
    for pin in parse_lock(lock_text):
        marker = f" ; {pin.marker}" if pin.marker else ""
        lines.append(f"    - {pin.name}=={pin.version}{marker}")
        lines += [f"      --hash={value}" for value in pin.hashes]
    return "\n".join(lines) + "\n"


def _unsatisfied(asked: list[str], pins: list[Pin]) -> list[str]:
    """What an ``.in`` asks for and the lock does not give: its versions are compared as packaging does."""
    problems = []
    for line in asked:
        requirement = Requirement(line)
        versions = [pin.version for pin in pins if pin.name == normalise(requirement.name)]
        if not versions:
            problems.append(f"{requirement.name} is asked for and not locked")
        problems += [
            f"{line} is asked for, {version} is locked"
            for version in versions
            if not requirement.specifier.contains(version, prereleases=True)
        ]
    return problems


def check_lock(envs: Path, name: str) -> list[str]:
    """Hold an environment's three files against each other, without a network.

    Returns:
        One sentence per problem, each beginning with the file's name; empty when they agree.
    """
    source, target, conda = (envs / f"{name}{suffix}" for suffix in (".in", ".txt", ".yaml"))
    if not target.is_file():
        return [f"{target.name}: is missing"]
    text, asked = target.read_text("utf-8"), requirement_lines(source.read_text("utf-8"))
    try:
        pins = parse_lock(text)
    except ValueError as error:
        return [f"{target.name}: {error}"]
    problems = _unsatisfied(asked, pins)
    stamp = _ASKS.search(text)
    if stamp is None or stamp[1] != asks_digest(source.read_text("utf-8")):
        problems.append(f"was made from another {source.name}")
    problems += [f"{pin.name} has no hash" for pin in pins if not pin.hashes]
    problems += [f"{pin.name} is for Windows only" for pin in pins if _ONLY_WINDOWS.fullmatch(pin.marker)]
    problems += [f"names a place: {line.strip()}" for line in text.splitlines() if _PLACE.search(line)]
    problems = [f"{target.name}: {problem}" for problem in problems]
    if name != CONTROL and (not conda.is_file() or conda.read_text("utf-8") != conda_yaml(name, text)):
        problems.append(f"{conda.name}: is not the one of {target.name}")
    return problems


def write_lock(envs: Path, name: str, *, upgrade: bool = False) -> None:
    """Write an environment's lock and conda file.

    Raises:
        AugmarkError: uv found no solution.
    """
    text = compile_lock(envs, name, upgrade=upgrade)
    (envs / f"{name}.txt").write_text(text, encoding="utf-8")
    if name != CONTROL:
        (envs / f"{name}.yaml").write_text(conda_yaml(name, text), encoding="utf-8")


def write_sizes(envs: Path) -> None:
    """Write ``sizes.json``: of every wheel of the measured environments, as the index says it (needs it).

    An index that tells no sizes takes none away: those of wheels that are still locked stay.

    Raises:
        AugmarkError: uv cannot read a lock, or the index is not reached.
    """
    measured = [name for name in environment_names(envs) if name != CONTROL]
    releases = _releases(envs, measured)
    kept = {
        name: size for name, size in wheels.read_sizes(envs).items() if wheels.release_of(name) in releases
    }
    for name in measured:
        kept |= {
            wheel: size for wheel, size in _index_sizes(envs, name).items() if not _ELSEWHERE.search(wheel)
        }
    wheels.write_sizes(envs, kept)


def check_sizes(envs: Path) -> list[str]:
    """Hold ``sizes.json`` against the locks, without a network.

    A wheel without a size is no problem: not every index tells one.

    Returns:
        One sentence per wheel that no lock asks for.
    """
    releases = _releases(envs, [name for name in environment_names(envs) if name != CONTROL])
    stale = [name for name in wheels.read_sizes(envs) if wheels.release_of(name) not in releases]
    return [f"{wheels.SIZES}: {name} is in no lock" for name in sorted(stale)]


def _releases(envs: Path, names: list[str]) -> set[tuple[str, Version]]:
    locks = [path for name in names if (path := envs / f"{name}.txt").is_file()]
    return {(pin.name, Version(pin.version)) for path in locks for pin in parse_lock(path.read_text("utf-8"))}


def _index_sizes(envs: Path, name: str) -> dict[str, int]:
    """File name -> bytes of the wheels of a lock, where the index tells them."""
    command = [find_uv(), "pip", "compile", "--universal", "--python-version", OLDEST_PYTHON, "--no-deps"]
    command += ["--no-config", "--no-header", "--format", "pylock.toml", f"{name}.txt"]
    answer = subprocess.run(command, cwd=envs, env=_registry_alone(), capture_output=True, text=True)
    if answer.returncode:
        raise AugmarkError(
            f"uv cannot tell the sizes of its wheels:\n{answer.stderr.strip()}",
            where=str(envs / f"{name}.txt"),
            remedy="is the package registry reachable? (UV_DEFAULT_INDEX names a mirror)",
        )
    packages: list[dict[str, Any]] = tomllib.loads(answer.stdout)["packages"]
    found = {}
    for wheel in (wheel for package in packages for wheel in package.get("wheels", ())):
        if "size" in wheel:
            file_name = wheel.get("name") or str(wheel.get("url") or wheel["path"]).rpartition("/")[2]
            found[unquote(file_name)] = wheel["size"]
    return found
