"""Stage a dataset: a demo, a tarball, a folder or a download becomes one checked tar under its digest.

Standard library only (the demo builder is imported when it is asked for).
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from augmark import files
from augmark.cell import DIGEST_LENGTH, short_digest
from augmark.data import archive
from augmark.data.dossier import public_url
from augmark.data.folder import FolderFile, folder_digest, folder_litter, list_folder, pack_folder
from augmark.data.staged import STAGED_SCHEMA, read_staged
from augmark.errors import AugmarkError

MEMO_SCHEMA = "augmark/declared/1"
KINDS = ("demo", "tar", "tar.gz", "folder")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
HTTPS = "https://"


def is_https(source: str) -> bool:
    """Whether a source is downloaded; schemes have no case."""
    return source.lower().startswith(HTTPS)


def is_url(source: str) -> bool:
    """Whether a source is a URL, and no path."""
    return _URL.match(source) is not None


def located(root: Path, source: str) -> str:
    """A source as every process finds it: relative paths start at the project's root; URLs stay."""
    return source if is_url(source) else str(root / Path(source).expanduser())


def kind_of(source: str) -> str:
    """What a source is: ``folder``, ``tar`` or ``tar.gz``, judged by its content.

    Raises:
        AugmarkError: A URL, nothing there, or a file that is no tarball.
    """
    path = _local(source)
    return "folder" if path.is_dir() else archive.sniff(path, source)


def dataset_name(source: str) -> str:
    """The kebab-case name of a source: ``/data/My Photos.tar.gz`` is ``my-photos``."""
    stem = re.sub(r"\.(tar|tar\.gz|tgz)$", "", _file_name(source), flags=re.IGNORECASE)
    return re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-") or "dataset"


def dataset_folder(output_dir: Path | str, name: str, declared_digest: str) -> Path:
    """Where a dataset of this name and sha256 is staged: ``<output>/datasets/<name>.<digest10>``."""
    return Path(output_dir) / "datasets" / f"{name}.{declared_digest[:DIGEST_LENGTH]}"


def declare(source: str, output_dir: Path | str) -> str:
    """The sha256 of a local tarball (its bytes) or folder (sorted names and contents).

    It is remembered in ``<output>/plan/datasets/`` with size and times, so that only what changed is read
    again and planning stays quick.

    Raises:
        AugmarkError: A URL, nothing there, no tarball, a folder without files or with links.
    """
    path = _local(source)
    kind = kind_of(source)
    name = dataset_name(source)
    memo = Path(output_dir) / "plan" / "datasets" / f"{name}.{short_digest(str(path.resolve()))}.json"
    stamp = _stamp(path, kind, source)
    if (known := _remembered(memo, stamp)) is not None:
        return known
    found = _read_digest(path, kind, source, name)
    if _stamp(path, kind, source) != stamp:
        raise AugmarkError(
            "changed while it was read", where=source, remedy="run again when nothing writes to it"
        )
    files.write_json(memo, {"schema": MEMO_SCHEMA, "stamp": stamp, "sha256": found})
    return found


def stage_dataset(
    source: str,
    kind: str,
    declared_digest: str,
    output_dir: Path | str,
    name: str | None = None,
    size: int | None = None,
) -> Path:
    """Make ``<output>/datasets/<name>.<digest10>/`` with ``dataset.tar`` and, last, ``staged.json``.

    What is there already and whole is left as it is. A tar.gz keeps its bytes (and so its digest): the file
    is then gzip under the name ``dataset.tar``, and ``staged.json`` says so.

    Args:
        source: A path or an https URL (whose file is kept in the cache); of the demo, its name.
        kind: One of ``KINDS``.
        declared_digest: The sha256 that the plan was made with, 64 hexadecimal digits.
        name: The dataset's name; by default that of the source.
        size: Bytes of the tarball as declared, or None.

    Returns:
        The folder.

    Raises:
        AugmarkError: The source is not what was declared, cannot be read, or does not fit on the disk.
    """
    if kind not in KINDS:
        raise AugmarkError(f"unknown kind {kind!r}", where=source, remedy=f"one of {', '.join(KINDS)}")
    if not _SHA256.fullmatch(declared_digest):
        what = f"the declared digest {declared_digest!r} is not a sha256"
        raise AugmarkError(what, where=source, remedy="64 hexadecimal digits, lower case")
    name = name or (source if kind == "demo" else dataset_name(source))
    folder = dataset_folder(output_dir, name, declared_digest)
    if _is_whole(folder, declared_digest):
        return folder
    staged_json, tar_path = folder / "staged.json", folder / "dataset.tar"
    staged_json.unlink(missing_ok=True)
    with files.whole_file(tar_path) as part:
        part.unlink(missing_ok=True)  # of a killed run: it may be another name of a file in the cache
        sha256, tar_sha256 = _bring(source, kind, part, name, declared_digest, size)
        _require_declared(source, kind, declared_digest, sha256)
        members = sum(1 for _ in archive.read_headers(part, source, name))
        if not members:
            raise AugmarkError("is an archive of nothing", where=source, remedy="pack the images again")
        compressed = archive.sniff(part, source) == "tar.gz"
        staged_bytes = part.stat().st_size
    description = {
        "schema": STAGED_SCHEMA,
        "name": name,
        "kind": kind,
        "source": name if kind == "demo" else _file_name(source),
        "sha256": sha256,
        "tar_sha256": tar_sha256,
        "bytes": staged_bytes,
        "members": members,
        # Of a folder, what was left out; an archive's own litter is counted by the audit.
        "junk": folder_litter(_local(source)) if kind == "folder" else {},
        "compression": "gzip" if compressed else None,
    }
    files.write_json(staged_json, description)
    return folder


def _file_name(source: str) -> str:
    return Path(urlsplit(source).path).name if is_url(source) else Path(source).expanduser().resolve().name


def _local(source: str) -> Path:
    if is_url(source):
        shown, by_hand = public_url(source) or source, "download it and give the file's path"
        if is_https(source):
            what = "is a URL, and what it holds is not known before it is downloaded"
            remedy = f"put it into config/datasets.yaml with its size and sha256, or {by_hand}"
            raise AugmarkError(what, where=shown, remedy=remedy)
        raise AugmarkError("is a URL that is not staged from here; https is", where=shown, remedy=by_hand)
    path = Path(source).expanduser()
    if path.is_dir() or path.is_file():
        return path
    what = "is neither a file nor a folder" if path.exists() else "is not there"
    raise AugmarkError(what, where=source, remedy="give the path of a .tar, a .tar.gz or a folder")


def _stamp(path: Path, kind: str, source: str) -> Any:
    """What changes when the content does: size and times. The change time is there because a copy can keep
    the size and the modification time."""
    if kind == "folder":
        return [short_digest(listing := list_folder(path, source)), len(listing)]
    status = path.stat()
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def _remembered(memo: Path, stamp: Any) -> str | None:
    try:
        value = files.read_json(memo, MEMO_SCHEMA, remedy="")
    except AugmarkError:
        return None  # not there, or cut off: read the source again
    known = value.get("sha256")
    return known if value.get("stamp") == stamp and _SHA256.fullmatch(str(known)) else None


def _read_digest(path: Path, kind: str, source: str, name: str) -> str:
    from augmark.progress import progress

    listing = list_folder(path, source) if kind == "folder" else None
    with progress(total=_total(path, listing), label=f"hash {name}", unit="B") as bar:
        if listing is not None:
            return folder_digest(path, listing, bar.update)
        with _opened(path, source) as stream:
            return files.copy_hashed(stream, None, bar.update)


def _bring(source: str, kind: str, part: Path, name: str, declared: str, size: int | None) -> tuple[str, str]:
    """Make ``part`` the source's tar; return the dataset's sha256 and the tar's."""
    if kind == "demo":
        return _build_demo(part)
    if is_https(source):
        kept = _downloaded(source, part.parent, name, declared, size)
        _require_kind(kept, kind, source)
        return _link(kept, part, name, declared)
    path = _local(source)
    _require_kind(path, kind, source)
    if kind != "folder" and size not in (None, path.stat().st_size):
        what = f"has {path.stat().st_size} bytes, but {size} were declared"
        raise AugmarkError(what, where=source, remedy="give the right file, or correct config/datasets.yaml")
    return _copy(path, source, part, name)


def _require_kind(path: Path, kind: str, source: str) -> None:
    found = "folder" if path.is_dir() else archive.sniff(path, source)
    if (found == "folder") != (kind == "folder"):
        raise AugmarkError(f"is a {found}, not a {kind}", where=source, remedy=f"declare kind: {found}")


def _downloaded(source: str, folder: Path, name: str, declared: str, size: int | None) -> Path:
    """The file of a URL in the cache, where the next output folder finds it too."""
    from augmark.cache import download_path
    from augmark.data.download import download

    kept = download_path(name, declared)
    if size is not None and not _same_disk(kept.parent, folder):
        files.require_free(folder, size, f"staging {name}")
    download(source, kept, size=size, sha256=declared, say=_say)
    return kept


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _same_disk(one: Path, other: Path) -> bool:
    for folder in (one, other):
        files.make_folder(folder)
    return one.stat().st_dev == other.stat().st_dev


def _link(kept: Path, part: Path, name: str, digest: str) -> tuple[str, str]:
    """Another name for a file of the cache, which takes no room; a copy where the disk does not allow that.

    Safe because nothing writes into either (both are replaced whole, and read-only), and whoever reads a
    staged tar checks its digest. A user's own file is always copied: it may be written to.
    """
    try:
        os.link(kept, part)
    except OSError:  # another disk, or one without links
        return _copy(kept, str(kept), part, name)
    return digest, digest


def _copy(path: Path, source: str, part: Path, name: str) -> tuple[str, str]:
    from augmark.progress import progress

    listing = list_folder(path, source) if path.is_dir() else None
    total = _total(path, listing)
    # A tar's header and padding take up to 1 KiB for each file.
    files.require_free(part.parent, total + 1024 * len(listing or ()), f"staging {name}")
    with progress(total=total, label=f"stage {name}", unit="B") as bar:
        if listing is None:
            with _opened(path, source) as stream, open(part, "wb") as target:
                sha256 = files.copy_hashed(stream, target, bar.update)
            return sha256, sha256
        sha256 = pack_folder(path, listing, part, bar.update)
    return sha256, files.hash_file(part, f"hash {name}")


def _build_demo(part: Path) -> tuple[str, str]:
    from augmark.data.demo import COUNT, DEMO_BYTES, build_demo
    from augmark.progress import progress

    files.require_free(part.parent, DEMO_BYTES, "staging demo")
    with progress(total=COUNT, label="build demo", unit="image") as bar:
        build_demo(part, bar.update)
    sha256 = files.hash_file(part, "stage demo")
    return sha256, sha256


def _require_declared(source: str, kind: str, declared: str, found: str) -> None:
    if found == declared:
        return
    if kind == "demo":
        remedy = "rebuild the workflow's environment from its lock: other releases encode other bytes"
    else:
        remedy = (
            f"if it is the right one, declare sha256: {found} (config/datasets.yaml), "
            "or run again if it was named by its path; otherwise fetch it again"
        )
    raise AugmarkError(f"has the sha256 {found}, but {declared} was declared", where=source, remedy=remedy)


def _is_whole(folder: Path, declared: str) -> bool:
    try:
        return read_staged(folder / "dataset.tar")["sha256"] == declared
    except AugmarkError:
        return False


def _total(path: Path, listing: list[FolderFile] | None) -> int:
    return path.stat().st_size if listing is None else sum(file.size for file in listing)


def _opened(path: Path, source: str) -> Any:
    try:
        return open(path, "rb")
    except OSError as error:
        what = f"cannot be read: {error.strerror}"
        raise AugmarkError(what, where=source, remedy="check its permissions") from error
