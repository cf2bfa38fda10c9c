"""What lies in the cache and in the output folder, found by its place; nothing is opened."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from augmark import cache
from augmark.errors import AugmarkError

DOWNLOAD, UNFINISHED, SET_ASIDE = "download", "unfinished download", "download set aside"
CHECK_PERMISSIONS = "check its permissions"
DATASET, ITEMS, ENVIRONMENT = "dataset", "items", "environment"
_SUFFIXES = {".tar": DOWNLOAD, ".part": UNFINISHED, ".wrong": SET_ASIDE}


class Thing(NamedTuple):
    """One thing that is kept.

    Attributes:
        kind: One of the words above.
        name: What it is for: a dataset, a scenario, an environment.
        digest: The short digest in its name; empty where there is none.
    """

    kind: str
    path: Path
    name: str
    digest: str


def things(output: Path) -> list[Thing]:
    """What is kept, in the order in which it is made; the caches of uv and pip are not among them."""
    return [
        *_downloads(),
        *_folders(output / "datasets", DATASET),
        *_folders(output / "items", ITEMS),
        *_folders(output / "envs", ENVIRONMENT),
    ]


def _downloads() -> Iterator[Thing]:
    for path in _children(cache.cache_folder() / "datasets", folders=False):
        if kind := _SUFFIXES.get(path.suffix):
            yield _thing(kind, path)


def _folders(parent: Path, kind: str) -> Iterator[Thing]:
    for path in _children(parent, folders=True):
        if not path.name.startswith("."):
            yield _thing(kind, path)


def _thing(kind: str, path: Path) -> Thing:
    name, _, rest = path.name.partition(".")
    return Thing(kind, path, name, rest.partition(".")[0])


def _children(parent: Path, *, folders: bool) -> list[Path]:
    """The folders, or the files, in a folder, sorted; none where there is no such folder.

    Raises:
        AugmarkError: It is there and cannot be read.
    """
    try:
        return sorted(Path(entry.path) for entry in os.scandir(parent) if entry.is_dir() == folders)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        what = f"cannot be read: {error.strerror}"
        raise AugmarkError(what, where=str(parent), remedy=CHECK_PERMISSIONS) from error


def output_folder(root: Path, args: argparse.Namespace) -> Path:
    """The output folder as the command line or config.yaml names it, be the rest of it right or wrong.

    Raises:
        AugmarkError: The command line cannot be read.
    """
    from augmark.cli import parse_overrides

    given = parse_overrides(args.config).get("output") or _yaml(root / "config" / "config.yaml").get("output")
    return root / str(given or "results")


def declared_digests(root: Path) -> dict[str, str]:
    """Dataset -> the sha256 that datasets.yaml declares; those without one are left out."""
    stanzas = _yaml(root / "config" / "datasets.yaml")
    return {
        name: stanza["sha256"]
        for name, stanza in stanzas.items()
        if isinstance(stanza, dict) and isinstance(stanza.get("sha256"), str)
    }


def _yaml(path: Path) -> dict[str, Any]:
    """A YAML file's mapping; empty where there is none that can be read."""
    import yaml

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        return {}
    return content if isinstance(content, dict) else {}


def files_below(path: Path, unread: list[OSError]) -> Iterator[tuple[Path, os.stat_result]]:
    """Every file below a folder (or the file itself) with what `os.lstat` says; links are not followed.

    Args:
        unread: Gets what could not be read.
    """
    below = os.walk(path, onerror=unread.append) if os.path.isdir(path) else [(path.parent, [], [path.name])]
    for folder, _, names in below:
        for name in names:
            file = Path(folder, name)
            try:
                yield file, file.lstat()
            except OSError as error:
                unread.append(error)


def sizes_below(path: Path) -> tuple[dict[tuple[int, int], int], bool]:
    """Bytes of every file below a folder, by device and inode: one with several names stands there once.

    Returns:
        The sizes, and whether all could be read.
    """
    unread: list[OSError] = []
    found = {(status.st_dev, status.st_ino): status.st_size for _, status in files_below(path, unread)}
    return found, not unread
