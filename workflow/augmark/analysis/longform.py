"""A table as CSV: one line per planned row, every figure raw, and the digests of what it rests on."""

from __future__ import annotations

import csv
import io
from typing import Any

import pandas as pd

from augmark.analysis.numbers import one_line
from augmark.analysis.planned import PlanContent, is_control
from augmark.analysis.statistics import ROW
from augmark.analysis.tables import Table

_FIGURES = [
    "status",
    "reason",
    "planned_repeats",
    "repeats",
    "seconds_median",
    "seconds_low",
    "seconds_high",
    "interval",
    "throughput",
    "throughput_low",
    "throughput_high",
    "cv",
    "p95_seconds",
    "comparison",
    "ratio",
    "ratio_low",
    "ratio_high",
    "floor",
    "p_value",
    "q_value",
    "verdict",
    "best",
    "marks",
    "different",
    "blocked",
    "mixed",
    "drift",
    "drift_p",
    "library_version",
    "form",
    "dtype",
    "shape",
    "chunked",
    "items",
    "session",
    "started",
    "ended",
]
_DIGESTS = [
    "machine_label",
    "row_digest",
    "cell_digest",
    "lock_digest",
    "dataset_digest",
    "manifest_digest",
    "items_digest",
    "code_digest",
]
COLUMNS = ["table", "depth", "kind", *ROW, *_FIGURES, *_DIGESTS]


def field(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        return "; ".join(value)
    if value is None or value is pd.NA or value != value:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(float(value)) if isinstance(value, float) else one_line(str(value))


def render(table: Table, plan: PlanContent) -> str:
    """The whole file. Controls are lines too, of kind ``control``; several values are joined by ``;``."""
    joined = table.raw.groupby(ROW, sort=False)[_DIGESTS].agg(
        lambda values: "; ".join(sorted({str(value) for value in values.dropna()}))
    )
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for line in table.summary.to_dict("records"):
        digests = joined.loc[tuple(line[name] for name in ROW)]
        kind = "control" if is_control(plan, line["library"]) else "library"
        fields = {**line, **digests.to_dict(), "table": table.name, "depth": plan["depth"], "kind": kind}
        writer.writerow([field(fields[name]) for name in COLUMNS])
    return out.getvalue()
