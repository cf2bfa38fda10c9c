"""How long a plan will take, from what is already known of its rows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from augmark.plan import Plan

# Start of an interpreter, import of a library, items made resident: seconds, as measured on two cores.
START_SECONDS = 6.0


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
    if (plan.output / "records" / cell["path"]).exists():
        return Estimate(0.0, True)
    key = (cell["scenario"], cell["mode"], cell["library"], cell["device"])
    definition = plan.definition(*key)
    planned = [row["transform"] for row in definition["rows"] if row["planned"] == "run"]
    timing, items = definition["timing"], plan.content["scenarios"][cell["scenario"]]["items"]
    probed = _probed(plan.probe_path(*key))
    seconds = START_SECONDS
    for transform in planned:
        row = (probed or {}).get(transform, {})
        warm = row.get("warm_seconds_per_item")
        if row.get("status") == "slow":
            seconds += warm * timing["slow_measured_items"] + timing["warmup_seconds"]
        elif probed is None or warm is not None:
            one_value = max(timing["min_value_seconds"], (warm or 0.0) * items)
            seconds += timing["values"] * one_value + timing["warmup_seconds"]
    return Estimate(seconds, probed is not None)


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
