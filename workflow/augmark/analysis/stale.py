"""Why a row that was measured is not the planned one any more: what it was made from, then and now.

The digest of a row (``augmark.definition.row_digest``) says that something changed. What that digest was
taken of stands in the record and in the plan: here the two are held against each other.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from augmark.analysis.frame import CELL
from augmark.analysis.planned import PlanContent
from augmark.plan import cell_definition
from augmark.sweeps import CODED

SHOWN_DIGITS = 10  # of a commit, and of the digest of a dataset
ANOTHER_VERSION = "made by another version of augmark"
# Parts of a row that its digest depends on, in the order in which they are told, and their names there.
_PARTS = {
    "params": "parameters",
    "setting": "setting",
    "loader": "loader",
    "output": "output",
    "random": "random",
    "crops": "crops",
    "chunked": "in chunks of three channels",
}
_NO_PART = ("timeout_seconds",)  # a limit: it changes no number


@dataclass(frozen=True)
class _Made:
    """What a row is made from, or was.

    Attributes:
        row: As its definition has it.
        definition: Of its cell.
        dataset: Name and digest of the data; None where the plan does not say.
        python: Minor version (``3.11``).
        items: How many were asked for by key; None where nobody did.
        commit: Of the code, in words; None where it is not known.
    """

    row: Mapping[str, Any]
    definition: Mapping[str, Any]
    dataset: Mapping[str, Any] | None
    python: str
    items: int | None
    commit: str | None = None

    @property
    def library(self) -> str | None:
        """What runs it: by the name of its adapter, or of the library that it is a second time."""
        return self.definition.get("again") or self.definition.get("adapter")

    def of_definition(self, part: str) -> Any:
        return self.definition.get(part)


class Reasons:
    """Why recorded rows are stale, of one plan.

    Args:
        plan: The plan.
        records: The records that there are, as they are on disk.
    """

    def __init__(self, plan: PlanContent, records: Iterable[Mapping[str, Any]]) -> None:
        self._plan = plan
        self._records = {(*_cell_key(record["cell"]), record["digest"]): record for record in records}
        self._cells = {_cell_key(cell): cell for cell in plan["cells"]}
        self._told: dict[tuple[Any, ...], str] = {}

    def why(self, line: Mapping[str, Any]) -> str | None:
        """What has changed since a row was recorded, in words: ``lock of pillow 0a1b2c... -> 3d4e5f...``.

        Args:
            line: Of the records' frame; the plan has its cell, and in it a row of this name.

        Returns:
            The changes, those that concern most rows first; None where its record is not at hand.
        """
        record = self._records.get((*_cell_key(line), line["cell_digest"]))
        if record is None:
            return None
        name = (line["transform"], line["condition"])
        cell = self._cells[_cell_key(line)]
        now = self._planned(cell, name)
        # Repeats of a row are mostly made alike: the answer is the same for all of them.
        key = (*_cell_key(line)[:-1], *name, line["row_digest"], now.row["digest"])
        if key not in self._told:
            self._told[key] = "; ".join(_changes(_recorded(record, name), now)) or ANOTHER_VERSION
        return self._told[key]

    def _planned(self, cell: Mapping[str, Any], name: tuple[str, str]) -> _Made:
        definition = cell_definition(self._plan, cell)
        scenario = self._plan.get("scenarios", {}).get(cell["scenario"], {})
        return _Made(
            row=_row(definition, name),
            definition=definition,
            dataset=self._plan["datasets"].get(scenario.get("dataset")),
            python=self._plan.get("python", "").rpartition("-")[2],
            items=self._plan["config"].get("items"),
        )


def _recorded(record: Mapping[str, Any], name: tuple[str, str]) -> _Made:
    commit, dirty = record["code"]["git_commit"], record["code"]["git_dirty"]
    changed = " with changes" if dirty else ""
    return _Made(
        row=_row(record["definition"], name),
        definition=record["definition"],
        dataset=record["dataset"],
        python=".".join(record["environment"]["python"].split(".")[:2]),
        items=record["config"].get("items"),
        commit=f"commit {commit[:SHOWN_DIGITS]}{changed}" if commit else None,
    )


def _cell_key(place: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(int(place[part]) if part == "repeat" else place[part] for part in CELL)


def _row(definition: Mapping[str, Any], name: tuple[str, str]) -> Mapping[str, Any]:
    return next(row for row in definition["rows"] if (row["transform"], row["condition"]) == name)


def _changes(then: _Made, now: _Made) -> Iterator[str]:
    """Each part of the digest that is another one now."""
    if then.row["planned"] != "run" or now.row["planned"] != "run":
        yield from _fields("planned", _planned_as(then.row), _planned_as(now.row))
        return
    if then.library != now.library:
        # A control measures another library again: its lock and its code are other ones anyway.
        yield _arrow("library", then.library, now.library)
        return
    yield from _digests(then, now, "lock_digest", f"lock of {now.of_definition('environment')}")
    if then.python != now.python:
        yield _arrow("Python", then.python, now.python)
    if then.of_definition("items_digest") != now.of_definition("items_digest"):
        yield _items(then, now)
    measured_by = f" (measured at {then.commit})" if then.commit else ""
    yield from _digests(then, now, "code_digest", "measuring code", measured_by)
    if set(now.row["setting"]) & set(CODED):
        yield from _digests(then, now, "regimes_digest", "code of other ways", measured_by)
    for part in ("timing", "variables"):
        yield from _fields(part, then.of_definition(part), now.of_definition(part))
    for part, called in _PARTS.items():
        before, after = (
            bool(row[part]) if part == "chunked" else row.get(part) for row in (then.row, now.row)
        )
        yield from _fields(called, before, after)


def _digests(then: _Made, now: _Made, part: str, called: str, more: str = "") -> Iterator[str]:
    before, after = then.of_definition(part), now.of_definition(part)
    if before != after:
        yield _arrow(called, before, after) + more


def _planned_as(row: Mapping[str, Any]) -> str:
    return row["planned"] if row["reason"] is None else f"{row['planned']} ({row['reason']})"


def _items(then: _Made, now: _Made) -> str:
    """Other items: of another dataset, another number of them, or prepared in another way."""
    sets = [each for each in (then.dataset, now.dataset) if each is not None]
    if len({each["digest"] for each in sets}) > 1:
        return _arrow("dataset", *(f"{each['name']} {each['digest'][:SHOWN_DIGITS]}" for each in sets))
    if then.items != now.items:
        return _arrow("number of items", then.items, now.items)
    return _arrow("prepared items", then.of_definition("items_digest"), now.of_definition("items_digest"))


def _fields(called: str, before: Any, after: Any) -> Iterator[str]:
    """What changed in one part: by the names of its fields, where it has fields."""
    if not (isinstance(before or {}, Mapping) and isinstance(after or {}, Mapping)):
        if before != after:
            yield _arrow(called, before, after)
        return
    was, is_now = _flat(before or {}), _flat(after or {})
    names = [name for name in {**was, **is_now} if name not in _NO_PART]
    changed = [
        _arrow(name, was.get(name), is_now.get(name)) for name in names if was.get(name) != is_now.get(name)
    ]
    if changed:
        yield f"{called}: {', '.join(changed)}"


def _flat(value: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Nested fields by dotted names."""
    found: dict[str, Any] = {}
    for name, part in value.items():
        if isinstance(part, Mapping):
            found |= _flat(part, f"{before}{name}.")
        else:
            found[f"{before}{name}"] = part
    return found


def _arrow(called: str, before: Any, after: Any) -> str:
    return f"{called} {_said(before)} -> {_said(after)}"


def _said(value: Any) -> str:
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value)
