"""What bounds a DataLoader row: where the time of an item goes, and what that is most of.

The parts are measured once per row and repeat, after its timed epochs (``augmark.worker.loader_split`` says
how): ``decode``, ``augment`` and ``collate`` in one worker while the others rest, ``copy`` in the main
process, and ``delivery`` is what is left of the workers' time: queues, waiting, and what busy workers cost
one another.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pandas as pd

from augmark.analysis.frame import PARTS
from augmark.analysis.numbers import joined, one_line
from augmark.analysis.statistics import ROW
from augmark.analysis.tables import Analysis
from augmark.modes import PLAIN, mode_facts
from augmark.record import MEASURED

FACTS = ("workers", "batch_size", "prefetch_factor", "thread_policy", "copy_to")
COLUMNS = [
    "machine",
    "scenario",
    "mode",
    "device",
    "transform",
    "library",
    "status",
    "repeats",
    "items_per_second",
    *(f"{part}_seconds_per_item" for part in PARTS),
    "startup_seconds",
    "first_epoch_seconds",
    *FACTS,
    "bound_by",
    "oversubscribed",
    "reason",
]
SEVERAL = " or "  # between what as many repeats say each
Line = dict[str, Any]


def bounds(analysis: Analysis) -> pd.DataFrame:
    """One line per plain row of a DataLoader mode, in the order of the plan.

    Returns:
        ``COLUMNS``. Parts, start-up and first epoch are medians over the repeats, None where the row has no
        number or nothing is copied; ``bound_by`` is what most repeats say, or several where as many say each.
    """
    batched = analysis.summary["mode"].map(lambda mode: mode_facts(mode).batched).astype(bool)
    chosen = analysis.summary[batched & (analysis.summary["condition"] == PLAIN)]
    repeats = dict(list(analysis.rows.groupby(ROW, sort=False)))
    lines = [_line(line, repeats[tuple(line[name] for name in ROW)]) for line in chosen.to_dict("records")]
    return pd.DataFrame(lines, columns=COLUMNS, dtype=object)


def _line(summary: Mapping[str, Any], rows: pd.DataFrame) -> Line:
    measured = summary["status"] in MEASURED
    # A row that is called failed has no number, whatever its other repeats found.
    rows = rows[rows["recorded"].astype(bool) & rows["status"].isin(MEASURED)] if measured else rows.iloc[:0]
    return {
        **{name: summary[name] for name in COLUMNS if name in summary},
        "items_per_second": summary["throughput"] if measured else None,
        **{f"{part}_seconds_per_item": _median(rows[f"{part}_seconds"]) for part in PARTS},
        **{name: _median(rows[name]) for name in ("startup_seconds", "first_epoch_seconds")},
        **{name: _only(rows[name]) for name in FACTS},
        "bound_by": _most_said(rows["bound_by"]),
        "oversubscribed": bool(rows["oversubscribed"].fillna(False).any()) if len(rows) else None,
    }


def _median(values: pd.Series) -> float | None:
    known = values.dropna()
    return float(known.median()) if len(known) else None


def _only(values: pd.Series) -> Any:
    """The one value of all repeats, which a row's digest makes alike; several are all named."""
    found = list(dict.fromkeys(values.dropna()))
    return found[0] if len(found) == 1 else joined([str(each) for each in found]) if found else None


def _most_said(values: pd.Series) -> str | None:
    """What most repeats say; ``a and b`` where as many say the one as the other."""
    counts = Counter(values.dropna())
    top = max(counts.values(), default=0)
    return SEVERAL.join(part for part in PARTS if counts[part] == top) if top else None


def shares(line: Mapping[str, Any], cpus: int | None) -> dict[str, float] | None:
    """The parts of an item's time in the workers as shares of their sum, in the order of ``PARTS``.

    Args:
        line: Of ``bounds``.
        cpus: Processors of the machine; None where that is not known.

    Copying is done by the one main process: all workers that the processors can carry stand still while they
    wait for it, so it counts once for each of them, but only as far as they waited.

    Returns:
        None where the row has no split.
    """
    parts = {part: line[f"{part}_seconds_per_item"] for part in PARTS}
    if parts["augment"] is None:
        return None
    if parts["copy"] is not None:
        lanes = min(max(int(line["workers"]), 1), cpus or 1)
        others = sum(parts[part] for part in ("decode", "augment", "collate", "delivery"))
        waited = max(0.0, lanes / line["items_per_second"] - others)
        parts["copy"] = min(parts["copy"] * lanes, waited)
    total = sum(value or 0.0 for value in parts.values())
    return {part: (value or 0.0) / total for part, value in parts.items()} if total > 0 else None


def render(frame: pd.DataFrame) -> str:
    """results/tables/bounds.csv; an unknown field is empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for line in frame.to_dict("records"):
        writer.writerow([_field(line[name]) for name in COLUMNS])
    return out.getvalue()


def _field(value: Any) -> str:
    if value is None or pd.isna(value):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.6g}" if isinstance(value, float) else one_line(str(value))
