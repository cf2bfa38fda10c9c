"""An archive from another machine, unpacked where nothing else lies, after every name in it was checked."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from augmark.cell import DIGEST_LENGTH
from augmark.data.archive import MOST_HEADER_BYTES, LastRead
from augmark.errors import AugmarkError
from augmark.evidence.handoff_content import Content, checked
from augmark.evidence.handoff_there import HANDOFF, MANIFEST, RESULT
from augmark.files import copy_hashed, require_free

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*")
_SHA256 = re.compile(r"[0-9a-f]{64}")
LARGEST_TEXT = MOST_HEADER_BYTES  # of manifest and handoff, which are read whole
AGAIN = "have it packed and sent again (`augmark handoff --pack` makes the same bytes)"


@dataclass(frozen=True)
class Unpacked:
    """What came.

    Attributes:
        handoff: The handoff that it answers, as it was written.
        files: Name below the output folder -> sha256, as unpacked and as the manifest says.
    """

    handoff: Content
    files: dict[str, str]

    @property
    def records(self) -> list[str]:
        return [name for name in self.files if name.startswith("records/")]


def unpack(file: Path, folder: Path) -> Unpacked:
    """Check every name and every hash of an archive and unpack it.

    Args:
        folder: A new one.

    Raises:
        AugmarkError: It is cut off or damaged, has a member that is no plain file of the manifest, or holds
            other bytes than the manifest says.
    """
    with _opened(file) as archive:
        top, members = _members(archive, file)
        texts = {name: _json(archive, members, name, file) for name in (MANIFEST, HANDOFF)}
        manifest, handoff = texts[MANIFEST], checked(texts[HANDOFF], f"{file}: {HANDOFF}")
        listed = _listed(manifest, file)
        _require_all(listed, members, file)
        if (
            manifest["handoff"] != handoff["digest"]
            or top != f"handoff.{_machine(handoff)}.{handoff['digest']}"
        ):
            raise AugmarkError(
                "its handoff is not the one that its manifest names", where=str(file), remedy=AGAIN
            )
        require_free(folder, sum(members[name].size for name in listed), "unpacking it")
        for name, sha256 in listed.items():
            _one(archive, members[name], folder / name, sha256, file)
    (folder / HANDOFF).unlink()
    return Unpacked(handoff, {name: sha256 for name, sha256 in listed.items() if name != HANDOFF})


def _machine(handoff: Content) -> str:
    return handoff["machine"]["id"]


@contextmanager
def _opened(file: Path) -> Iterator[tarfile.TarFile]:
    try:
        # The headers of a stranger's archive are read up to a size, as those of a dataset are.
        with (
            open(file, "rb") as raw,
            tarfile.open(
                fileobj=LastRead(gzip.GzipFile(fileobj=raw)), mode="r:", encoding="utf-8"
            ) as archive,
        ):
            yield archive
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            remedy = "free some space, or see to the folder's permissions"
            what = f"cannot be unpacked: {error.strerror}"
            raise AugmarkError(what, where=str(error.filename or file), remedy=remedy) from error
        raise AugmarkError(f"is cut off or damaged: {error}", where=str(file), remedy=AGAIN) from error


def _members(archive: tarfile.TarFile, file: Path) -> tuple[str, dict[str, tarfile.TarInfo]]:
    """The one folder that all members lie in, and the members by their names below it."""
    tops, found = set(), {}
    for member in archive:
        top, _, name = member.name.partition("/")
        if not member.isreg() or member.size < 0 or not _NAME.fullmatch(member.name) or not name:
            raise AugmarkError(
                f"has a member that is no plain file in its folder: {member.name!r}",
                where=str(file),
                remedy="nothing of it is taken in: ask who sent it",
            )
        if name in found:
            raise AugmarkError(f"has {name} twice", where=str(file), remedy=AGAIN)
        tops.add(top)
        found[name] = member
    if len(tops) != 1:
        raise AugmarkError(f"has {len(tops)} folders, not one", where=str(file), remedy=AGAIN)
    return tops.pop(), found


def _json(archive: tarfile.TarFile, members: dict[str, tarfile.TarInfo], name: str, file: Path) -> Any:
    member = members.get(name)
    if member is None or member.size > LARGEST_TEXT:
        raise AugmarkError(f"has no {name} that can be read", where=str(file), remedy=AGAIN)
    stream: IO[bytes] | None = archive.extractfile(member)
    try:
        return json.loads(stream.read()) if stream else None
    except (ValueError, RecursionError) as error:
        raise AugmarkError(f"{name} is not JSON: {error}", where=str(file), remedy=AGAIN) from error


def _listed(manifest: Any, file: Path) -> dict[str, str]:
    """Name -> sha256 of every file that the manifest says."""
    try:
        wrong = manifest["schema"] != RESULT or not re.fullmatch(
            f"[0-9a-f]{{{DIGEST_LENGTH}}}", manifest["handoff"]
        )
        files = {str(name): about["sha256"] for name, about in manifest["files"].items()}
    except (KeyError, TypeError, AttributeError):
        wrong, files = True, {}
    if wrong or not all(isinstance(sha256, str) and _SHA256.fullmatch(sha256) for sha256 in files.values()):
        raise AugmarkError(f"{MANIFEST} is not one of {RESULT}", where=str(file), remedy=AGAIN)
    return files


def _require_all(listed: dict[str, str], members: dict[str, tarfile.TarInfo], file: Path) -> None:
    there = set(members) - {MANIFEST}
    if odd := sorted(there ^ set(listed)):
        what = "is not in its manifest" if odd[0] in there else "is in its manifest and not there"
        raise AugmarkError(f"{odd[0]} {what}", where=str(file), remedy=AGAIN)


def _one(archive: tarfile.TarFile, member: tarfile.TarInfo, target: Path, sha256: str, file: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    stream = archive.extractfile(member)
    with open(target, "xb") as out:
        found = copy_hashed(stream, out, lambda _: None) if stream else hashlib.sha256().hexdigest()
    if found != sha256:
        what = f"{member.name}: its sha256 is {found}, its manifest says {sha256}"
        raise AugmarkError(what, where=str(file), remedy=AGAIN)
