"""How long a plan will take, from what is already known of its rows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from augmark.plan import Plan

# Start of an interpreter, import of a library, items made resident: seconds, as measured on two cores.
START_SECONDS = 6.0
LOADER_START_SECONDS = 1.0  # of the worker processes of a row, and of asking them


@dataclass(frozen=True)
class Estimate:
    """Seconds still to go for one cell.

    Attributes:
        seconds: 0 for a cell whose record is there.
        known: False where no probe has been made yet: then ``seconds`` is the least that it can take.
    """

    seconds: float
    known: bool


def cell_estimate(plan: Plan, cell: dict[str, Any]) -> Estimate:
    """The time that one cell will take, from its probe where there is one."""
    there = (plan.output / "records" / cell["path"]).exists()
    return Estimate(0.0, True) if there else expected(plan, cell)


def expected(plan: Plan, cell: dict[str, Any]) -> Estimate:
    """The time that a cell takes whether it is there or not; any repeat where the cell names none."""
    key = (cell["scenario"], cell["mode"], cell["library"], cell["device"])
    definition = plan.cell_definition(cell)
    planned = [row for row in definition["rows"] if row["planned"] == "run"]
    items = plan.item_set(cell["scenario"], cell["mode"])["items"]
    probed = _probed(plan.probe_path(*key))
    seconds = START_SECONDS * len({row["threads"] for row in planned})
    for row in planned:
        found = (probed or {}).get(row["id"], {})
        warm = found.get("warm_seconds_per_item")
        if probed is None or warm is not None:
            slow = found.get("status") == "slow"
            seconds += _row_seconds(definition["timing"], row["loader"], items, warm or 0.0, slow)
    return Estimate(seconds, probed is not None)


def _row_seconds(timing: dict[str, Any], loader: Any, items: int, warm: float, slow: bool) -> float:
    """Warm-up and values of one row; ``warm`` is its seconds per item, 0 where that is not known."""
    if loader is None:
        if slow:
            return warm * timing["slow_measured_items"] + timing["warmup_seconds"]
        return timing["values"] * max(timing["min_value_seconds"], warm * items) + timing["warmup_seconds"]
    workers = max(1, min(loader["workers"], items))
    few = min(items, timing["slow_measured_items"] * workers)
    taken, epochs = (few, 2) if slow else (items, timing["values"] + 1)
    return LOADER_START_SECONDS + epochs * warm * taken / workers


def _probed(path: Path) -> dict[str, Any] | None:
    try:
        return json.loads(path.read_text(encoding="utf-8"))["rows"]
    except (OSError, ValueError):
        return None


def duration(seconds: float) -> str:
    """Seconds as a person reads them: ``45 s``, ``12 min``, ``3 h 05 min``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"
