"""Files that are whole or not there, and room for them on the disk. Standard library only."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from augmark.errors import AugmarkError

CHUNK_BYTES = 1 << 20
# What a disk must still have free afterwards: a full one breaks every later step and other people's work.
SPARE_BYTES = 64 << 20
OTHER_FOLDER = "choose another output folder"


@contextmanager
def whole_file(path: Path, *, part_suffix: str = "part") -> Iterator[Path]:
    """Give a path beside ``path`` to write to; on a clean exit it becomes ``path``, otherwise it goes.

    A killed process leaves at most the ``.part`` file, which nothing reads and the next run overwrites.

    Args:
        part_suffix: Another one where several processes may write ``path`` at once.

    Raises:
        AugmarkError: The disk is full, or the folder or file cannot be written.
    """
    make_folder(path.parent)
    part = path.with_name(f"{path.name}.{part_suffix}")
    try:
        with disk_words(path, part):
            yield part
            with open(part, "rb") as stream:
                os.fsync(stream.fileno())
            os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def make_folder(folder: Path) -> None:
    """Make a folder and those above it.

    Raises:
        AugmarkError: It cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"the folder cannot be made: {error.strerror}"
        raise AugmarkError(what, where=str(folder), remedy=f"free some space, or {OTHER_FOLDER}") from error


@contextmanager
def disk_words(path: Path, part: Path, otherwise: str = OTHER_FOLDER) -> Iterator[None]:
    """Say in words that the disk is full, or that ``part``, which becomes ``path``, cannot be written.

    Other errors inside the block are about what is read there, and are told there.

    Raises:
        AugmarkError: As said.
    """
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        if not full and str(error.filename) != str(part):
            raise
        what = "the disk is full" if full else f"cannot be written: {error.strerror}"
        raise AugmarkError(what, where=str(path), remedy=f"free some space, or {otherwise}") from error


@contextmanager
def alone(lock_file: Path, waits: Callable[[], object]) -> Iterator[None]:
    """Let one process at a time do what the block does; the lock goes with the process that holds it.

    Args:
        waits: Called before waiting for another process.

    Raises:
        AugmarkError: The lock file cannot be written.
    """
    make_folder(lock_file.parent)
    with disk_words(lock_file, lock_file), open(lock_file, "w") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waits()
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Write JSON with sorted keys, the same bytes for the same value, whole or not at all."""
    with whole_file(path) as part:
        part.write_text(json.dumps(value, indent=1, sort_keys=True, allow_nan=False) + "\n", encoding="utf-8")


def read_json(path: Path, schema: str, *, remedy: str) -> dict[str, Any]:
    """Read a JSON file that says which schema it follows.

    Raises:
        AugmarkError: It is not there, not JSON, or of another schema.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise AugmarkError("is not there", where=str(path), remedy=remedy) from None
    except ValueError as error:
        raise AugmarkError(f"is not JSON: {error}", where=str(path), remedy=remedy) from error
    found = value.get("schema") if isinstance(value, dict) else None
    if found != schema:
        raise AugmarkError(f"has the schema {found!r}, not {schema!r}", where=str(path), remedy=remedy)
    return value


def copy_hashed(source: BinaryIO, target: BinaryIO | None, seen: Callable[[int], object]) -> str:
    """Read ``source`` to its end, write it to ``target`` if there is one, and return the sha256.

    Args:
        seen: Called with the number of bytes of each chunk.
    """
    digest = hashlib.sha256()
    while chunk := source.read(CHUNK_BYTES):
        digest.update(chunk)
        if target is not None:
            target.write(chunk)
        seen(len(chunk))
    return digest.hexdigest()


def hash_file(path: Path, label: str) -> str:
    """The sha256 of a file, with a bar: datasets take minutes."""
    from augmark.progress import progress

    with progress(total=path.stat().st_size, label=label, unit="B") as bar, open(path, "rb") as stream:
        return copy_hashed(stream, None, bar.update)


def require_free(
    folder: Path,
    needed_bytes: int,
    what: str,
    *,
    otherwise: str = f"{OTHER_FOLDER} with `--config output=FOLDER`",
) -> None:
    """Refuse to start writing what will not fit.

    Args:
        otherwise: What to do where no space can be freed.

    Raises:
        AugmarkError: The disk that holds ``folder`` has less than ``needed_bytes`` and a reserve free.
    """
    folder.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(folder).free
    if free < needed_bytes + SPARE_BYTES:
        raise AugmarkError(
            f"{what} needs {human_bytes(needed_bytes)} (and {human_bytes(SPARE_BYTES)} to spare), "
            f"the disk has {human_bytes(free)} free",
            where=str(folder),
            remedy=f"free some space, or {otherwise}",
        )


def human_bytes(count: int) -> str:
    """A size as people read it: ``12.3 MB`` (decimal units)."""
    size = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"
