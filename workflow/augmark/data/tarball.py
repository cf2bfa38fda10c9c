"""Make a tarball of a folder that is the same wherever and whenever it is made. Standard library only.

The files in the order of their names, with no owner, time, mode or attribute of the machine, and without what
desktops leave behind. (``tar`` on a Mac adds a ``._`` file to each that has attributes, or a pax header.)
"""

from __future__ import annotations

import json
import shlex
from collections import Counter
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from augmark import files
from augmark.data.archive import read_headers
from augmark.data.folder import folder_litter, list_folder, pack_folder
from augmark.errors import AugmarkError
from augmark.progress import progress

SUFFIX = ".tar"
VIDEOS = frozenset((".avi", ".m4v", ".mkv", ".mov", ".mp4", ".mpg", ".webm"))
# A member's header and padding, and the end of the archive.
MEMBER_BYTES, END_BYTES = 1024, 10240


class Made(NamedTuple):
    """A tarball: its digest, bytes and members, what was left out by kind, and what it seems to hold."""

    path: Path
    sha256: str
    size: int
    members: int
    left_out: dict[str, int]
    medium: str


def make_tarball(folder: Path, out: Path) -> Made:
    """Pack a folder; the same bytes for the same names and contents.

    Raises:
        AugmarkError: ``out`` is there, inside the folder or no ``.tar``; the folder is none, is empty, or
            holds what could not be packed or read back (all of it is named); no room on the disk.
    """
    where = str(folder)
    if not folder.is_dir():
        raise AugmarkError("is no folder", where=where, remedy="give the folder that holds the files")
    if out.suffix != SUFFIX:
        what = f"does not end in {SUFFIX}: a plain tar is made, as images and videos do not get smaller"
        raise AugmarkError(what, where=str(out), remedy=f"name it {out.name.split('.')[0]}{SUFFIX}")
    if out.exists():
        raise AugmarkError("is there already", where=str(out), remedy="remove it, or give another name")
    if folder.resolve() in out.resolve().parents:
        what = "lies in the folder that is packed: it would hold itself"
        raise AugmarkError(what, where=str(out), remedy="give a place beside it")
    listing = list_folder(folder, where)
    total = sum(file.size for file in listing)
    need = total + MEMBER_BYTES * len(listing) + END_BYTES
    files.require_free(out.parent, need, f"packing {out.name}", otherwise="give a place on another disk")
    with files.whole_file(out) as part:
        with progress(label=f"pack {out.name}", total=total, unit="B") as bar:
            pack_folder(folder, listing, part, bar.update)
        names = [member.name for member in read_headers(part, str(out), out.name)]
        if names != [file.name for file in listing]:
            raise AugmarkError("could not be read back", where=str(out), remedy="report this as a bug")
        sha256, size = files.hash_file(part, f"hash {out.name}"), part.stat().st_size
    return Made(out, sha256, size, len(names), folder_litter(folder), _medium(names))


def _medium(names: list[str]) -> str:
    kinds = Counter(PurePosixPath(name).suffix.lower() in VIDEOS for name in names)
    return "video" if kinds[True] > kinds[False] else "image"


def report(made: Made, name: str) -> str:
    """What was made and what to type next; ``name`` is the dataset's in the stanza."""
    path = made.path.resolve()
    left_out = ", ".join(f"{count} {kind!r}" for kind, count in made.left_out.items()) or "nothing"
    key = "clips" if made.medium == "video" else "images"
    return f"""\
{made.path}: {made.members} files, {files.human_bytes(made.size)}
left out: {left_out}
sha256: {made.sha256}
size: {made.size}

To measure on it:

  snakemake paper_tables --config {key}={shlex.quote(str(path))}

or put it into config/datasets.yaml, where its licence and origin can be said, and type --config {key}={name}:

{name}:
  title: {name}
  kind: tar
  medium: {made.medium}
  source: {json.dumps(str(path), ensure_ascii=False)}
  size: {made.size}
  sha256: {made.sha256}"""
