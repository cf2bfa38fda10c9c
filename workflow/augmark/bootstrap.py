"""The control environment ``.venv``, made from ``envs/workflow.txt`` on a machine that has only Python.

Standard library only. pip fetches uv alone, by its hash in the lock; uv does the rest, which takes seconds
where pip takes minutes.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from augmark.cache import moved_caches
from augmark.environments import TAIL_LINES, uv_variables
from augmark.errors import AugmarkError
from augmark.locks import parse_lock

STAMP = "augmark.json"
Say = Callable[[str], None]
# Lines that say how far a long download is; the hundred lines of what was installed are not among them.
_PROGRESS = (
    "Building",
    "Built",
    "Bytecode",
    "Downloading",
    "Downloaded",
    "Installed",
    "Prepared",
    "Resolved",
)


def wanted_stamp(root: Path) -> dict[str, str]:
    """What a finished ``.venv`` says of itself; with the root, which an editable install names."""
    made_of = (root / "envs" / "workflow.txt").read_bytes() + (root / "pyproject.toml").read_bytes()
    return {
        "digest": hashlib.sha256(made_of).hexdigest(),
        "root": str(root),
        "python": sysconfig.get_python_version(),
    }


def runs(python: Path, version: str) -> bool:
    """Whether an interpreter starts and is of this version (``3.11``)."""
    code = "import sys, sysconfig; sys.exit(sysconfig.get_python_version() != sys.argv[1])"
    try:
        return subprocess.run([str(python), "-I", "-c", code, version], capture_output=True).returncode == 0
    except OSError:
        return False


def is_ready(venv: Path, stamp: Mapping[str, str]) -> bool:
    """Whether ``.venv`` is whole and made of what the stamp says, and its interpreter is still there."""
    try:
        found = json.loads((venv / STAMP).read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return found == stamp and runs(venv / "bin" / "python", stamp["python"])


def pip_variables() -> dict[str, str]:
    """The variables that pip runs with: the user's settings say where it fetches from, no more."""
    bend = {
        "PIP_TARGET",
        "PIP_PREFIX",
        "PIP_ROOT",
        "PIP_CONSTRAINT",
        "PIP_NO_BINARY",
        "PYTHONPATH",
        "PYTHONHOME",
    }
    variables = {name: value for name, value in os.environ.items() if name not in bend}
    variables |= {"PIP_USER": "0", "PIP_REQUIRE_VIRTUALENV": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    return {**variables, **moved_caches()}


def make_control_environment(root: Path, *, say: Say) -> None:
    """Build ``.venv`` below ``root``, or leave it where it is already as the lock and pyproject.toml say.

    Raises:
        AugmarkError: A step failed; the message ends with the tail of its output and a remedy.
    """
    venv, lock, stamp = root / ".venv", root / "envs" / "workflow.txt", wanted_stamp(root)
    if is_ready(venv, stamp):
        return
    (venv / STAMP).unlink(missing_ok=True)
    python, uv = venv / "bin" / "python", venv / "bin" / "uv"
    if not (runs(python, stamp["python"]) and (answers(uv) or answers(python, "-m", "pip"))):
        remedy = (
            f"Debian and Ubuntu keep venv apart: apt-get install python{stamp['python']}-venv "
            "(or python3-venv)"
        )
        say(f"making .venv with Python {sys.version.split()[0]}")
        _call([sys.executable, "-m", "venv", "--clear", venv], pip_variables(), remedy, say)
    if not answers(uv):
        say("fetching uv")
        _install_uv(python, lock, say)
    variables = uv_variables()
    mirror = "is the package registry reachable? (UV_DEFAULT_INDEX names a mirror)"
    say("installing the packages of envs/workflow.txt")
    sync = ["pip", "sync", "--require-hashes", "--compile-bytecode", "--python", python, lock]
    _call([uv, *sync], variables, mirror, say)
    say("installing augmark itself, editable")
    editable = ["pip", "install", "--no-deps", "--no-build-isolation", "--python", python, "--editable", root]
    _call([uv, *editable], variables, "see the message above; pyproject.toml describes the project", say)
    (venv / STAMP).write_text(json.dumps(stamp, indent=1) + "\n", "utf-8")
    say(".venv is ready; `source .venv/bin/activate` to work in it")


def answers(*command: str | Path) -> bool:
    """Whether a command is there and tells its version."""
    try:
        return subprocess.run([*map(str, command), "--version"], capture_output=True).returncode == 0
    except OSError:
        return False


def _install_uv(python: Path, lock: Path, say: Say) -> None:
    pin = next(pin for pin in parse_lock(lock.read_text("utf-8")) if pin.name == "uv")
    with tempfile.TemporaryDirectory() as folder:
        asked = Path(folder, "uv.txt")
        asked.write_text(f"uv=={pin.version} " + " ".join(f"--hash={value}" for value in pin.hashes), "utf-8")
        options = ["--quiet", "--require-hashes", "--no-deps", "--only-binary", ":all:", "-r", asked]
        remedy = "is the package registry reachable? (pip's own settings say where it is looked for)"
        _call([python, "-m", "pip", "install", *options], pip_variables(), remedy, say)


def _call(command: Sequence[str | Path], variables: Mapping[str, str], remedy: str, say: Say) -> None:
    """Run one step; its progress is said, and its last lines where it fails."""
    tail: deque[str] = deque(maxlen=TAIL_LINES)
    with subprocess.Popen(
        [str(part) for part in command],
        env=dict(variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        for line in process.stdout or ():
            tail.append(line.rstrip())
            if line.lstrip().startswith(_PROGRESS):
                say(f"  {line.strip()}")
    if process.returncode:
        ending = "\n".join(f"    {line}" for line in tail)
        raise AugmarkError(f"this step failed; its last lines:\n{ending}", where=".venv", remedy=remedy)
