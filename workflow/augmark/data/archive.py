"""Tar archives read in order, and the rules for the names in them. Standard library only."""

from __future__ import annotations

import gzip
import re
import sys
import tarfile
import unicodedata
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from augmark.errors import AugmarkError

_GZIP = b"\x1f\x8b"
# Said by name, because people do try them.
_OTHERS = {
    b"PK\x03\x04": "a zip archive",
    b"BZh": "compressed with bzip2",
    b"\xfd7zXZ": "compressed with xz",
    b"\x28\xb5\x2f\xfd": "compressed with zstd",
    b"7z\xbc\xaf": "a 7z archive",
    b"Rar!": "a rar archive",
}
_REPACK = "unpack it and give the folder, or pack it as .tar or .tar.gz"
_AGAIN = "fetch or pack it again"
# One byte of deflate can stand for 1032 bytes, and never for more.
MOST_INFLATED = 1032
# Of what tarfile reads into memory before it yields a member (long names, pax headers): a resource fork that
# macOS packs as an attribute takes megabytes, gigabytes are an attack.
MOST_HEADER_BYTES = 16 << 20

# What desktops leave behind, in one place: no dataset holds it, however it was packed.
LITTER_FOLDERS = frozenset(
    (
        "__MACOSX",
        ".AppleDouble",
        ".DocumentRevisions-V100",
        ".Spotlight-V100",
        ".TemporaryItems",
        ".Trashes",
        ".fseventsd",
    )
)
LITTER_FILES = frozenset(
    (".DS_Store", ".VolumeIcon.icns", ".apdisk", ".localized", "Icon\r", "Thumbs.db", "desktop.ini")
)
_LITTER = {name.lower(): name for name in LITTER_FILES}


def sniff(path: Path, where: str) -> str:
    """Tell from the first bytes what a file is: ``tar`` or ``tar.gz``.

    Raises:
        AugmarkError: It is neither; the text says what it is where that is known.
    """
    with open(path, "rb") as stream:
        head = stream.read(tarfile.BLOCKSIZE)
    if head.startswith(_GZIP):
        return "tar.gz"
    for magic, name in _OTHERS.items():
        if head.startswith(magic):
            raise AugmarkError(f"is {name}, which is not read here", where=where, remedy=_REPACK)
    if not head:
        raise AugmarkError("is an empty file", where=where, remedy="fetch or pack it again")
    try:
        tarfile.TarInfo.frombuf(head, "utf-8", "surrogateescape")
    except tarfile.EOFHeaderError:
        pass  # the end marker alone: an archive of nothing, which has its own message
    except tarfile.HeaderError:
        raise AugmarkError("is not a tar archive", where=where, remedy=_REPACK) from None
    return "tar"


class LastRead:
    """A stream that remembers what was read last: the block that tarfile took for the end of the archive.

    At most ``most`` bytes are read at once: a header must not fill the memory.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.last = b""
        self.most = MOST_HEADER_BYTES
        self.tell = stream.tell
        self.seek = stream.seek

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= self.most:
            raise tarfile.ReadError(f"a header of {size} bytes")
        self.last = self._stream.read(size)
        return self.last

    def seekable(self) -> bool:
        return True


def read_members(path: Path, where: str) -> Iterator[tuple[tarfile.TarInfo, tarfile.TarFile]]:
    """Walk a tar (plain or gzip) once, in order; a member may be read until the next one is asked for.

    tarfile takes a damaged header for the end of the archive and says nothing; here the archive must end with
    its end marker and nothing but zeros may follow.

    Raises:
        AugmarkError: It is not a tar, is cut off or damaged, holds data after its end, or declares what it
            cannot hold.
    """
    try:
        with open(path, "rb") as raw:
            compressed = raw.read(2) == _GZIP
            raw.seek(0)
            room = path.stat().st_size * (MOST_INFLATED if compressed else 1)
            stream = LastRead(gzip.GzipFile(fileobj=raw, mode="rb") if compressed else raw)
            with tarfile.open(fileobj=stream, mode="r:", encoding="utf-8") as tar:
                while (member := _next(tar, stream)) is not None:
                    _require_possible(member, room, where)
                    yield member, tar
                    tar.members.clear()  # a million of them are not kept
                end = stream.last
                if len(end) < tarfile.BLOCKSIZE:
                    raise AugmarkError("is cut off: it has no end marker", where=where, remedy=_AGAIN)
                if end.strip(b"\0"):
                    raise AugmarkError("is damaged: a header in it is not one", where=where, remedy=_AGAIN)
                while chunk := stream.read(1 << 20):
                    if chunk.strip(b"\0"):
                        what = "holds data after its end (damaged, or archives joined)"
                        raise AugmarkError(what, where=where, remedy=_AGAIN)
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, ValueError) as error:
        what = f"cannot be read to its end as a tar archive: {error}"
        raise AugmarkError(what, where=where, remedy=_AGAIN) from error


def _next(tar: tarfile.TarFile, stream: LastRead) -> tarfile.TarInfo | None:
    stream.most = MOST_HEADER_BYTES
    member = tar.next()
    stream.most = sys.maxsize
    return member


def _require_possible(member: tarfile.TarInfo, room: int, where: str) -> None:
    """Of a size that cannot be, nothing is read: below zero tarfile would go round in circles. (A sparse file
    may be larger than its archive; it is refused for being one.)"""
    if member.size < 0 or (member.size > room and not member.issparse()):
        what = (
            f"is damaged: {member.name!r} has {member.size} bytes by its header, the archive room for {room}"
        )
        raise AugmarkError(what, where=where, remedy=_AGAIN)


def read_headers(path: Path, where: str, name: str) -> Iterator[tarfile.TarInfo]:
    """The members' headers, with a bar: a compressed archive must be unpacked for them.

    Raises:
        AugmarkError: As ``read_members``.
    """
    from augmark.progress import progress

    with progress(total=None, label=f"scan {name}", unit="member") as bar:
        for member, _ in read_members(path, where):
            yield member
            bar.update(1)


def plain_name(name: str) -> str:
    """A member's name in its plain form: ``./a//b.jpg`` is ``a/b.jpg``."""
    return str(PurePosixPath(name))


def name_key(name: str) -> str:
    """What two names share where a file system (macOS, Windows) could not hold both."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", plain_name(name)).casefold())


def junk_kind(name: str) -> str | None:
    """Which kind of desktop litter a name is, or None."""
    parts = PurePosixPath(name).parts
    for part in parts:
        if part in LITTER_FOLDERS:
            return part
    last = parts[-1] if parts else ""
    return _LITTER.get(last.lower()) or ("._*" if last.startswith("._") else None)


def unsafe_name(name: str) -> str | None:
    """Why a name must not be trusted, or None."""
    forward = name.replace("\\", "/")
    if forward.startswith("/") or re.match(r"[A-Za-z]:/", forward):
        return "absolute path"
    if ".." in forward.split("/"):
        return "path with .."
    if any(ord(letter) < 32 or ord(letter) == 127 for letter in name):
        return "control character in the name"
    if any(0xDC80 <= ord(letter) <= 0xDCFF for letter in name):
        return "name that is not UTF-8"
    return None


def unsafe_type(member: tarfile.TarInfo) -> str | None:
    """Why a member's type must not be there, or None: only regular files and directories may."""
    kinds: list[tuple[Any, str]] = [
        (member.issym, "symbolic link"),
        (member.islnk, "hard link"),
        (member.isfifo, "fifo"),
        (member.isdev, "device"),
        (member.issparse, "sparse file"),
    ]
    for test, kind in kinds:
        if test():
            return kind
    return None if member.isfile() or member.isdir() else f"member of type {member.type!r}"
