"""Modes ``micro`` and ``decode``: items in memory, one call after the other in one process."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from augmark.data.itemfile import Items, open_items
from augmark.libraries.base import Adapter
from augmark.modes import regimes_module
from augmark.worker import rows

Row = dict[str, Any]


@dataclass(frozen=True)
class Subject:
    """What the rows of one setting are timed on.

    Attributes:
        adapter: The library, seen by the worker.
        natives: What one call takes each.
        items: The first item of each native, uint8 H x W x C: what its output is held against.
        group: Items in one native: more than one where a setting asks for batches.
    """

    adapter: Adapter
    natives: Sequence[Any]
    items: Sequence[np.ndarray]
    group: int = 1


class Bench:
    """One library, its items in memory, and the rows that are tried or timed on them.

    Args:
        job: As the parent sends it.
    """

    def __init__(self, job: Row) -> None:
        self.job = job
        self._adapter: Adapter = getattr(importlib.import_module(job["module"]), job["export"])
        self._adapter.set_threads(job["threads"])
        self._variants: dict[str, Subject] = {}

    @property
    def form(self) -> str:
        return self._adapter.form

    def make_ready(self) -> float | None:
        """Have the items in memory in the native form, and say which share of them is resident."""
        stored = open_items(self.job["items_dir"])
        resident = stored.make_resident()
        self._plain = self._encoded(stored) if self.job["mode"] == "decode" else self._decoded(stored)
        return resident

    def _decoded(self, stored: Items) -> Subject:
        items = items_that_fit(stored, self.job["items"], self._adapter.dtype, self.job["resident_bytes"])
        return Subject(self._adapter, [self._adapter.native(item) for item in items], items)

    def _encoded(self, stored: Items) -> Subject:
        """The bytes of the files, and what they decode to; JPEG alone, which every decoder reads."""
        positions = [
            number for number, about in enumerate(stored.index["files"]) if about["format"] == "JPEG"
        ][: self.job["items"]]
        natives = [self._adapter.native(stored.file(number).read_bytes()) for number in positions]
        return Subject(self._adapter, natives, [stored[number] for number in positions])

    def _subject(self, row: Row) -> Subject:
        """What a row is timed on: the plain items, or those of its setting (one at a time in memory)."""
        setting = {key: value for key, value in row["setting"].items() if key != "threads"}
        if not setting:
            return self._plain
        key = json.dumps(setting, sort_keys=True)
        if key not in self._variants:
            self._variants.clear()
            variant = importlib.import_module(regimes_module(self.job["adapter"])).variant(setting)
            variant.set_threads(self.job["threads"])
            natives, firsts = variant.natives(self._plain.items)
            self._variants[key] = Subject(variant, natives, firsts, variant.group)
        return self._variants[key]

    def probe(self, row: Row, beat: Callable[[], None]) -> Row:
        """Try a row on a few items."""
        subject = self._subject(row)
        if not subject.natives:
            return _nothing(self.job, row)
        result = rows.probe_row(subject, row, self.job, beat)
        return {**result, **_facts(subject, row)}

    def measure(self, row: Row, beat: Callable[[], None]) -> Row:
        """Time a row."""
        subject = self._subject(row)
        if not subject.natives:
            return _nothing(self.job, row)
        result = rows.measure_row(subject, row, self.job, beat)
        return {**result, **_facts(subject, row)}


def _facts(subject: Subject, row: Row) -> Row:
    """What a setting makes of a row, beside its numbers."""
    draws_of = getattr(subject.adapter, "draws_of", None)
    draws = draws_of(row["transform"]) if draws_of and row["random"] else None
    return {"form": subject.adapter.form, "draws": draws}


def _nothing(job: Row, row: Row) -> Row:
    what = "JPEG file" if job["mode"] == "decode" else f"batch of equal items ({row['condition']})"
    return {"status": "excluded", "reason": f"no {what} among the {job['items']} items"}


def items_that_fit(stored: Items, wanted: int, dtype: str, limit_bytes: int) -> list[np.ndarray]:
    """The first items that fit, in native form, into the declared share of memory; at least one.

    A set that does not fit is reduced before the timer starts: swapping would be timed otherwise.
    """
    factor = np.dtype(dtype).itemsize
    items: list[np.ndarray] = []
    taken = 0
    for index in range(wanted):
        item = stored[index]
        taken += item.nbytes * factor
        if items and taken > limit_bytes:
            break
        items.append(item)
    return items
