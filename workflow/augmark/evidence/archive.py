"""Files that go into one archive: what is known of each, their sums, and an archive of the same bytes."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from augmark.cell import file_sha256
from augmark.files import whole_file

SUMS = "SHA256SUMS"
_PLAIN, _COMMAND = 0o644, 0o755


@dataclass(frozen=True)
class Member:
    """One file of the archive.

    Attributes:
        name: Where it will lie, below the archive's one folder.
        source: The file it is, or its bytes where it is made for the archive.
        pathless: No absolute path belongs in it; code and pages may name some (``/proc``).
    """

    name: str
    source: Path | bytes
    pathless: bool = True

    def read(self) -> bytes:
        return self.source if isinstance(self.source, bytes) else self.source.read_bytes()

    @cached_property
    def sha256(self) -> str:
        """Of its bytes, in hexadecimal."""
        if isinstance(self.source, bytes):
            return hashlib.sha256(self.source).hexdigest()
        return file_sha256(self.source)

    @property
    def size(self) -> int:
        """In bytes."""
        return len(self.source) if isinstance(self.source, bytes) else self.source.stat().st_size

    @property
    def mode(self) -> int:
        if isinstance(self.source, bytes) or not self.source.stat().st_mode & 0o100:
            return _PLAIN
        return _COMMAND


def sums(members: Iterable[Member]) -> Member:
    """The file that ``sha256sum -c`` reads: one line per member, by name."""
    lines = [f"{member.sha256}  {member.name}\n" for member in sorted(members, key=lambda each: each.name)]
    return Member(SUMS, "".join(lines).encode())


def write_archive(path: Path, folder: str, members: Iterable[Member], mtime: int) -> None:
    """Write a gzipped tar, whole or not at all: same members and time, same bytes, whoever packs them.

    Args:
        folder: The one folder that all members lie in.
        mtime: Seconds since the epoch that every member carries.

    Raises:
        AugmarkError: The disk is full, or the file cannot be written.
    """
    with (
        whole_file(path) as part,
        open(part, "wb") as raw,
        gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=raw, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for member in sorted(members, key=lambda each: each.name):
            content = member.read()
            info = tarfile.TarInfo(f"{folder}/{member.name}")
            info.size, info.mtime, info.mode = len(content), mtime, member.mode
            archive.addfile(info, io.BytesIO(content))
