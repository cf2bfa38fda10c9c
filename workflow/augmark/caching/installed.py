"""An environment's installed files, held against the hashes that its packages' wheels brought (``RECORD``).

Nothing of the environment runs: it may be damaged.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import os
from collections.abc import Callable, Iterator
from importlib.metadata import distributions
from pathlib import Path
from typing import NamedTuple

from augmark.caching.places import CHECK_PERMISSIONS, files_below
from augmark.environments import MARKER, environment_python, read_marker
from augmark.locks import compare_installed, lock_text_digest, normalise, parse_lock


class Problem(NamedTuple):
    """What is wrong with one file, and what to do about it."""

    file: str
    what: str
    remedy: str


class Checked(NamedTuple):
    """What was found in an environment.

    Attributes:
        hashed: Files that were held against a hash.
        unhashed: Files that no package has a hash for: byte code, and the lists of hashes themselves.
    """

    hashed: int
    unhashed: int
    problems: list[Problem]


class Hashes:
    """Hashes of files, each read once whatever its names: environments share files by hard links."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int, str], str] = {}

    def of(self, path: Path, method: str, seen: Callable[[int], object]) -> str:
        """The hash of a file as ``RECORD`` writes it: base64 for URLs, without padding.

        Args:
            seen: Told the bytes of the file.

        Raises:
            OSError: It is not there, or cannot be read.
            ValueError: There is no such method.
        """
        status = path.stat()
        key = (status.st_dev, status.st_ino, method)
        if key not in self._known:
            with open(path, "rb") as stream:
                digest = hashlib.file_digest(stream, method).digest()
            self._known[key] = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        seen(status.st_size)
        return self._known[key]


def check_environment(
    folder: Path, digest: str, lock: Path, again: str, hashes: Hashes, seen: Callable[[int], object]
) -> Checked:
    """Hold an environment against its marker, its lock (where that is still the current one) and its wheels.

    Args:
        digest: The lock's digest in the folder's name.
        lock: ``envs/<environment>.txt``.
        again: The remedy that makes it anew.
        seen: Told the bytes of each file that is hashed.
    """
    if not os.access(folder, os.R_OK | os.X_OK):
        return Checked(0, 0, [Problem(str(folder), "cannot be read", CHECK_PERMISSIONS)])
    sites = [path for path in sorted(folder.glob("lib/python*/site-packages")) if path.is_dir()]
    problems = [Problem(MARKER, what, again) for what in _marker_problems(folder, sites, digest, lock)]
    if not environment_python(folder).exists():
        problems.append(Problem("bin/python", "is not there", again))
    packages = _Packages(folder, again, hashes, seen)
    for record in (record for site in sites for record in sorted(site.glob("*.dist-info/RECORD"))):
        problems += packages.check(record)
    unhashed, unread = 0, list[OSError]()
    for path in (path for site in sites for path, _ in files_below(site, unread)):
        if str(path) not in packages.hashed:
            unhashed += 1
            if str(path) not in packages.named and not _is_byte_code(path):
                problems.append(Problem(packages.within(path), "belongs to no package", again))
    for error in unread:
        place = packages.within(Path(error.filename))
        problems.append(Problem(place, f"cannot be read: {error.strerror}", CHECK_PERMISSIONS))
    return Checked(len(packages.hashed), unhashed, problems)


def _marker_problems(folder: Path, sites: list[Path], digest: str, lock: Path) -> Iterator[str]:
    marker = read_marker(folder)
    if marker is None:
        yield "is cut off, or cannot be read"
        return
    if marker.get("lock_digest") != digest:
        yield f"is of the lock {marker.get('lock_digest')}, the folder's name says {digest}"
    found: dict[str, list[str]] = {}
    for distribution in distributions(path=[str(site) for site in sites]):
        name = distribution.metadata["Name"] or "a package without METADATA"
        found.setdefault(normalise(name), []).append(distribution.version or "unknown")
    if found != marker.get("distributions"):
        yield "names other packages than are installed"
    try:
        text = lock.read_text(encoding="utf-8")
        if lock_text_digest(text) == digest:
            yield from compare_installed(parse_lock(text), found)
    except (OSError, ValueError):
        pass  # the lock is gone: its packages are still held against what the marker names


def _is_byte_code(path: Path) -> bool:
    """Where Python writes it; anywhere else it is imported in place of a source."""
    return path.suffix == ".pyc" and path.parent.name == "__pycache__"


class _Packages:
    """The files of an environment's packages.

    Attributes:
        hashed: Those that a package has a hash for.
        named: Those that a package names without one.
    """

    def __init__(self, folder: Path, again: str, hashes: Hashes, seen: Callable[[int], object]) -> None:
        self.folder, self._again, self._hashes, self._seen = folder, again, hashes, seen
        self.hashed: set[str] = set()
        self.named: set[str] = set()

    def check(self, record: Path) -> Iterator[Problem]:
        """Hash what the ``RECORD`` of a package names."""
        self.named.add(str(record))
        try:
            with open(record, newline="", encoding="utf-8") as stream:
                rows = [(*row, "")[:2] for row in csv.reader(stream) if row]
        except (OSError, ValueError, csv.Error) as error:
            yield Problem(self.within(record), f"cannot be read: {error}", self._again)
            return
        for name, expected in rows:
            path = Path(os.path.normpath(record.parents[1] / name))
            (self.hashed if expected else self.named).add(str(path))
            if expected and (wrong := self._wrong(path, expected)):
                yield Problem(
                    self.within(path), wrong, self._remedy(path, record.parent.name.partition("-")[0])
                )

    def _wrong(self, path: Path, expected: str) -> str | None:
        method, _, digest = expected.partition("=")
        try:
            found = self._hashes.of(path, method, self._seen)
        except FileNotFoundError:
            return "is not there"
        except OSError as error:
            return f"cannot be read: {error.strerror}"
        except ValueError:
            return f"has a hash of an unknown kind, {method}"
        return None if found == digest else f"has the {method} {found}, its package says {digest}"

    def _remedy(self, path: Path, package: str) -> str:
        """What makes a file anew; one that uv's cache has under another name is damaged there too."""
        if os.path.exists(path) and path.stat().st_nlink > 1:
            return f"uv's cache has the same file: `uv cache clean {package}`, {self._again}"
        return self._again

    def within(self, path: Path) -> str:
        """A path as it is told: below the environment."""
        return path.relative_to(self.folder).as_posix() if path.is_relative_to(self.folder) else str(path)
