"""Lock files: read them, digest them, and hold an interpreter's packages against them.

Standard library only: the control environment builds environments from locks with it, and every
worker checks with it, inside the library's own interpreter, that it runs what the lock names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path

from augmark.cell import short_digest

# What an environment is made with, and conda and venv put there unasked: in no lock, and not measured.
BOOTSTRAP = frozenset({"pip", "setuptools", "uv", "wheel"})
_PIN = re.compile(r"(?P<name>[A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?==(?P<version>[^\s;]+)\s*(?:;(?P<marker>.*))?")
_HASH = re.compile(r"--hash=(\S+)")


@dataclass(frozen=True, order=True)
class Pin:
    """One requirement of a lock: ``name==version ; marker --hash=...``."""

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]


def normalise(name: str) -> str:
    """A distribution's name as the packaging standards compare it: ``Kornia_RS`` is ``kornia-rs``."""
    return re.sub(r"[-_.]+", "-", name).lower()


def requirement_lines(text: str) -> list[str]:
    """The logical lines of a requirements file: continuations joined, comments and empty lines dropped."""
    bare = (re.sub(r"(^|\s)#.*", "", line) for line in text.splitlines())
    return [
        joined
        for line in "\n".join(bare).replace("\\\n", " ").splitlines()
        if (joined := " ".join(line.split()))
    ]


def parse_lock(text: str) -> list[Pin]:
    """Read a lock.

    Returns:
        Its pins, sorted.

    Raises:
        ValueError: A line is not an exact pin (an option, a URL, a range).
    """
    pins = []
    for line in requirement_lines(text):
        match = _PIN.fullmatch(_HASH.sub("", line).strip())
        if match is None:
            raise ValueError(f"not an exact pin: {line[:120]!r}")
        pins.append(
            Pin(
                normalise(match["name"]),
                match["version"],
                (match["marker"] or "").strip(),
                tuple(sorted(_HASH.findall(line))),
            )
        )
    return sorted(pins)


def lock_text_digest(text: str) -> str:
    """The short digest of what a lock says; comments, order and layout do not count."""
    return short_digest([[pin.name, pin.version, pin.marker, list(pin.hashes)] for pin in parse_lock(text)])


def lock_digest(path: str | Path) -> str:
    """The short digest of a lock file's meaning: see `lock_text_digest`."""
    return lock_text_digest(Path(path).read_text(encoding="utf-8"))


def installed() -> dict[str, list[str]]:
    """Every distribution that this interpreter can import: normalised name -> versions found, sorted.

    Two versions under one name mean that two folders of ``sys.path`` hold it.
    """
    found: dict[str, set[str]] = {}
    for distribution in distributions():
        # A folder of metadata without METADATA (an interrupted removal) has no name: keep it visible.
        name = distribution.metadata["Name"] or f"unnamed-{getattr(distribution, '_path', 'distribution')}"
        found.setdefault(normalise(name), set()).add(distribution.version or "unknown")
    return {name: sorted(found[name]) for name in sorted(found)}


def compare_installed(pins: Iterable[Pin], found: dict[str, list[str]]) -> list[str]:
    """Say where the distributions found are not those of the lock.

    A pin with a marker (a platform, a Python version) need not be there, but nothing else may be.

    Returns:
        One sentence per problem; empty when all is as locked.
    """
    locked: dict[str, set[str]] = {}
    required = set()
    for pin in pins:
        locked.setdefault(pin.name, set()).add(pin.version)
        if not pin.marker:
            required.add(pin.name)
    problems = []
    for name, versions in found.items():
        if name not in locked:
            if name not in BOOTSTRAP:
                problems.append(f"{name} {', '.join(versions)} is installed and not in the lock")
            continue
        problems += [
            f"{name} {version} is installed, the lock says {' or '.join(sorted(locked[name]))}"
            for version in versions
            if version not in locked[name]
        ]
    problems += [f"{name} is in the lock and not installed" for name in sorted(required - set(found))]
    return problems


def verify_installed(lock_text: str) -> list[str]:
    """Hold the packages of *this* interpreter against a lock; see `compare_installed`."""
    return compare_installed(parse_lock(lock_text), installed())
