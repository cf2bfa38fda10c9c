"""How much of a lock is still to be downloaded, for the Python that runs. No network.

``envs/sizes.json`` says how large each locked wheel is (``scripts/lock_envs.py`` writes it from the index);
uv says which of them lie in its cache.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import NamedTuple

from packaging.markers import Marker
from packaging.tags import Tag, sys_tags
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from augmark import files
from augmark.environments import find_uv, uv_variables
from augmark.locks import Pin, parse_lock

SIZES = "sizes.json"
SIZES_SCHEMA = "augmark/sizes/1"
WOULD_DOWNLOAD = "Would download"


class Wheel(NamedTuple):
    """A wheel that an environment needs; ``bytes`` is None where the size is not known."""

    name: str
    version: str
    bytes: int | None


def read_sizes(envs: Path) -> dict[str, int]:
    """File name -> bytes of every wheel whose size is known; nothing where there is no such file.

    Raises:
        AugmarkError: The file is not one of sizes.
    """
    path = envs / SIZES
    if not path.exists():
        return {}
    return files.read_json(path, SIZES_SCHEMA, remedy="run `python scripts/lock_envs.py`")["wheels"]


def needed(lock_text: str, sizes: Mapping[str, int]) -> dict[Pin, Wheel]:
    """The pins of a lock that this machine installs, each with the wheel that it takes."""
    by_release: dict[tuple[str, Version], dict[str, int]] = {}
    for name, size in sizes.items():
        if (release := release_of(name)) is not None:
            by_release.setdefault(release, {})[name] = size
    found = {}
    for pin in parse_lock(lock_text):
        if not pin.marker or Marker(pin.marker).evaluate():
            offered = by_release.get((pin.name, Version(pin.version)), {})
            found[pin] = Wheel(pin.name, pin.version, _size_here(offered))
    return found


def release_of(wheel: str) -> tuple[str, Version] | None:
    """Normalised name and version that a wheel's file name says; None for another name."""
    try:
        name, version, *_ = parse_wheel_filename(wheel)
    except (InvalidWheelFilename, InvalidVersion):
        return None
    return str(name), version


@cache
def _ranks() -> dict[Tag, int]:
    """The tags of wheels that run here -> how well they fit; 0 is best."""
    return {tag: rank for rank, tag in enumerate(sys_tags())}


def _size_here(offered: Mapping[str, int]) -> int | None:
    ranks = _ranks()
    fits = {
        name: min((ranks[tag] for tag in parse_wheel_filename(name)[3] if tag in ranks), default=None)
        for name in offered
    }
    fitting = {name: rank for name, rank in fits.items() if rank is not None}
    return offered[min(fitting, key=lambda name: fitting[name])] if fitting else None


def not_cached(lock: Path, pins: Iterable[Pin]) -> set[Pin]:
    """Those pins that uv would have to download, by its own word; it is asked without a network."""
    folder = uv_cache()
    if folder is None or not folder.is_dir():
        return set(pins)
    if _uv_has(lock.read_text(encoding="utf-8"), folder):
        return set()
    # A second at most for a hundred packages: uv is quick, and one that is missing hides the others.
    asked = list(pins)
    with ThreadPoolExecutor() as pool:
        there = pool.map(lambda pin: _uv_has(_line(pin), folder), asked)
        return {pin for pin, has in zip(asked, there, strict=True) if not has}


def _line(pin: Pin) -> str:
    return " ".join([f"{pin.name}=={pin.version}", *(f"--hash={value}" for value in pin.hashes)])


def uv_cache() -> Path | None:
    """The folder of uv's cache; None where uv has none."""
    answer = subprocess.run([find_uv(), "cache", "dir"], env=uv_variables(), capture_output=True, text=True)
    named = answer.stdout.strip()
    return Path(named) if answer.returncode == 0 and named else None


def _uv_has(requirements: str, cache_dir: Path) -> bool:
    """Whether uv could install requirements from its cache alone."""
    # Into an empty folder: what is installed anywhere else must not count.
    with tempfile.TemporaryDirectory() as nowhere:
        command = [
            find_uv(),
            "pip",
            "install",
            "--offline",
            "--dry-run",
            "--no-deps",
            "--no-build",
            "--require-hashes",
        ]
        command += ["--cache-dir", str(cache_dir), "--python", sys.executable, "--target", nowhere, "-r", "-"]
        answer = subprocess.run(
            command, env=uv_variables(), input=requirements, capture_output=True, text=True
        )
    return answer.returncode == 0 and WOULD_DOWNLOAD not in answer.stderr


def write_sizes(envs: Path, sizes: Mapping[str, int]) -> None:
    """Write ``sizes.json``, a wheel a line."""
    content = {"schema": SIZES_SCHEMA, "wheels": dict(sizes)}
    (envs / SIZES).write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", encoding="utf-8")
