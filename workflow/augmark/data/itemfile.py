"""Decoded items in one flat memory-mapped file, and the encoded files that they were decoded from.

Read by the measured process: standard library and numpy only, and nothing of the preparation, so no image
library is loaded by reading items.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import mmap
from pathlib import Path
from typing import Any

import numpy as np

from augmark.errors import AugmarkError

ITEMS_SCHEMA = "augmark/items/2"
ALIGNMENT_BYTES = 64  # a cache line, and the widest vector load
BIN_NAME, INDEX_NAME, FILES_NAME = "items.bin", "index.json", "files"


class Items:
    """Items by position: read-only uint8 arrays (H, W, channels), views into the mapped file.

    Attributes:
        index: What ``index.json`` says.
        names: The items' names, in order.
        total_bytes: The size of the mapped file.
    """

    def __init__(self, folder: Path, index: dict[str, Any]) -> None:
        self.folder = folder
        self.index = index
        self.names: list[str] = index["names"]
        self.total_bytes: int = index["total_bytes"]
        self._flat = np.memmap(folder / BIN_NAME, dtype=np.uint8, mode="r").view(np.ndarray)
        self._places = list(zip(index["offsets"], map(tuple, index["shapes"]), strict=True))

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, position: int) -> np.ndarray:
        offset, shape = self._places[position]
        return self._flat[offset : offset + shape[0] * shape[1] * shape[2]].reshape(shape)

    def file(self, position: int) -> Path | None:
        """The encoded original of an item, as it was in the dataset; None for items prepared without files.

        Raises:
            IndexError: There is no such position.
        """
        stored = self.index.get("files")
        return None if stored is None else self.folder / FILES_NAME / stored[position]["name"]

    def verify(self) -> None:
        """Read every byte, of the encoded files too, and compare with the index.

        Raises:
            AugmarkError: A file is not the one that was prepared.
        """
        found = hashlib.sha256(self._flat).hexdigest()
        if found != self.index["sha256"]:
            raise _broken(self.folder, f"{BIN_NAME} has the sha256 {found}, not {self.index['sha256']}")
        for position, stored in enumerate(self.index.get("files") or ()):
            self._verify_file(position, stored)

    def _verify_file(self, position: int, stored: dict[str, Any]) -> None:
        name = f"{FILES_NAME}/{stored['name']}"
        try:
            data = (self.folder / name).read_bytes()
        except OSError as error:
            missing = isinstance(error, FileNotFoundError)
            how = "is not there" if missing else f"cannot be read: {error.strerror}"
            raise _broken(self.folder, f"{name} ({self.names[position]}) {how}") from error
        if len(data) != stored["bytes"]:
            wrong = f"has {len(data)} bytes, the index says {stored['bytes']}"
        elif (found := hashlib.sha256(data).hexdigest()) != stored["sha256"]:
            wrong = f"has the sha256 {found}, not {stored['sha256']}"
        else:
            return
        raise _broken(self.folder, f"{name} ({self.names[position]}) {wrong}")

    def make_resident(self) -> float | None:
        """Touch every page, then ask the kernel which are in memory.

        Returns:
            The resident share, 0 to 1, or None where the kernel cannot be asked.
        """
        page = mmap.PAGESIZE
        int(self._flat[::page].sum(dtype=np.uint64))
        pages = -(-self.total_bytes // page)
        vector = (ctypes.c_ubyte * pages)()
        try:
            mincore = ctypes.CDLL(None, use_errno=True).mincore
        except (AttributeError, OSError, TypeError):
            return None
        mincore.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
        mincore.restype = ctypes.c_int
        if mincore(self._flat.ctypes.data, self.total_bytes, vector) != 0:
            return None
        return int((np.frombuffer(vector, np.uint8) & 1).sum()) / pages


def open_items(folder: Path | str) -> Items:
    """Map prepared items; nothing is read but the index.

    Raises:
        AugmarkError: The folder is not whole: no index, another schema, or a file of another size.
    """
    folder = Path(folder)
    try:
        index = json.loads((folder / INDEX_NAME).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise _broken(folder, f"{INDEX_NAME} is not there: the items were not prepared") from None
    except ValueError as error:
        raise _broken(folder, f"{INDEX_NAME} is not JSON: {error}") from error
    if not isinstance(index, dict) or index.get("schema") != ITEMS_SCHEMA:
        raise _broken(folder, f"{INDEX_NAME} is not of the schema {ITEMS_SCHEMA}")
    path = folder / BIN_NAME
    size = path.stat().st_size if path.is_file() else None
    if size != index["total_bytes"]:
        found = "is not there" if size is None else f"has {size} bytes"
        raise _broken(folder, f"{BIN_NAME} {found}, the index says {index['total_bytes']}")
    return Items(folder, index)


def _broken(folder: Path, what: str) -> AugmarkError:
    return AugmarkError(what, where=str(folder), remedy="remove the folder and run the same command again")
