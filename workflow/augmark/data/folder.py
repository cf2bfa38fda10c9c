"""A folder as a dataset: its listing, its digest, and one normalised tar of it. Standard library only."""

from __future__ import annotations

import hashlib
import os
import stat
import tarfile
import unicodedata
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, NamedTuple

from augmark.data.archive import junk_kind, name_key, unsafe_name
from augmark.errors import AugmarkError


class FolderFile(NamedTuple):
    """One file below a folder, whose ``path`` there it is.

    ``name`` is the same with forward slashes and composed letters (NFC), which not every disk keeps as they
    were written: wherever a folder lies, it has the same names.
    """

    name: str
    size: int
    mtime_ns: int
    ctime_ns: int
    path: str


def list_folder(folder: Path, where: str) -> list[FolderFile]:
    """The files below a folder, sorted by name; desktop litter is left out.

    Raises:
        AugmarkError: There is none, or something is neither a file nor a folder (links are not followed, so
            that the digest covers what is measured), or names differ by case or Unicode form only (not every
            disk could hold both); every offender is named.
    """
    files: list[FolderFile] = []
    offenders: list[str] = []

    def visit(path: Path, prefix: str) -> None:
        for entry in os.scandir(path):
            name = prefix + unicodedata.normalize("NFC", entry.name)
            if junk_kind(name):
                continue
            status = entry.stat(follow_symlinks=False)
            problem = unsafe_name(name) or _unsafe_mode(status.st_mode)
            if problem:
                offenders.append(f"{name!r} ({problem})")
            elif stat.S_ISDIR(status.st_mode):
                visit(Path(entry.path), name + "/")
            else:
                place = os.path.relpath(entry.path, folder)
                files.append(FolderFile(name, status.st_size, status.st_mtime_ns, status.st_ctime_ns, place))

    visit(folder, "")
    offenders += _alike(files)
    if offenders:
        raise AugmarkError(
            f"holds what cannot be packed: {', '.join(sorted(offenders))}",
            where=where,
            remedy="replace links by copies of their files, rename what is alike, and remove the rest",
        )
    if not files:
        raise AugmarkError("is a folder without files", where=where, remedy="give a folder with images in it")
    return sorted(files, key=lambda file: file.name.encode())


def _alike(files: list[FolderFile]) -> list[str]:
    named: dict[str, list[str]] = {}
    for file in files:
        named.setdefault(name_key(file.name), []).append(file.path)
    return [
        f"{' and '.join(map(repr, sorted(paths)))} (the same but for case or Unicode form)"
        for paths in named.values()
        if len(paths) > 1
    ]


def folder_litter(folder: Path) -> dict[str, int]:
    """How many files ``list_folder`` leaves out, by kind: in no tar and no digest, but to be told."""
    found: Counter[str] = Counter()
    for place, _, names in os.walk(folder):
        inside = Path(place).relative_to(folder)
        found.update(filter(None, (junk_kind(str(inside / name)) for name in names)))
    return dict(sorted(found.items()))


def folder_digest(folder: Path, files: list[FolderFile], seen: Callable[[int], object]) -> str:
    """The sha256 over the sorted names and the sha256 of each content."""
    return _digest(folder, files, None, seen)


def pack_folder(folder: Path, files: list[FolderFile], target: Path, seen: Callable[[int], object]) -> str:
    """Write a tar with the files in order and no owner, time or mode of this machine; return the digest."""
    with (
        open(target, "wb") as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        return _digest(folder, files, tar, seen)


def normal_member(name: str, size: int) -> tarfile.TarInfo:
    """A tar header that says nothing of the machine and the time it was made."""
    member = tarfile.TarInfo(name)
    member.size, member.mode, member.mtime = size, 0o644, 0
    return member


class _Hashing:
    """A stream that hashes what is read through it."""

    def __init__(self, stream: BinaryIO, seen: Callable[[int], object]) -> None:
        self._stream, self._seen = stream, seen
        self.digest = hashlib.sha256()
        self.count = 0

    def read(self, size: int = -1) -> bytes:
        chunk = self._stream.read(size)
        self.digest.update(chunk)
        self.count += len(chunk)
        self._seen(len(chunk))
        return chunk


def _digest(
    folder: Path, files: list[FolderFile], tar: tarfile.TarFile | None, seen: Callable[[int], object]
) -> str:
    total = hashlib.sha256()
    for file in files:
        with _opened(folder, file.path) as raw:
            stream = _Hashing(raw, seen)
            try:
                if tar is not None:
                    tar.addfile(normal_member(file.name, file.size), stream)
            except OSError as error:
                if error.errno is not None:  # tarfile's own "unexpected end of data" has none
                    raise
            while stream.read(1 << 20):
                pass
        if stream.count != file.size:
            raise AugmarkError(
                f"changed while it was read: {file.size} bytes, then {stream.count}",
                where=file.name,
                remedy="run again when nothing writes to the folder",
            )
        total.update(f"{file.name}\0{stream.digest.hexdigest()}\n".encode())
    return total.hexdigest()


def _opened(folder: Path, name: str) -> BinaryIO:
    try:
        return open(folder / name, "rb")
    except OSError as error:
        what = f"cannot be read: {error.strerror}"
        raise AugmarkError(what, where=name, remedy="check the permissions in the folder") from error


def _unsafe_mode(mode: int) -> str | None:
    if stat.S_ISLNK(mode):
        return "symbolic link"
    return None if stat.S_ISREG(mode) or stat.S_ISDIR(mode) else "neither a file nor a folder"
