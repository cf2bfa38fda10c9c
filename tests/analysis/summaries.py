"""Summaries of one transform of a few libraries, for tests of statistics: each with a noise floor of 0."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from augmark.analysis.classes import Classes
from augmark.analysis.coverage import cover
from augmark.analysis.statistics import Rules, summarize
from tests.analysis.synthetic import (
    AGAIN,
    STATISTICS,
    make_classes,
    make_plan,
    make_record,
    make_records,
    measured,
    measured_again,
)

RULES = Rules.of_plan({"policy": {"statistics": STATISTICS}})


def covered(plan: Mapping[str, Any], records: Iterable[Mapping[str, Any]], *, factor: float = 1.0):
    """Planned rows with what became of them; ``factor`` is between control-aa and its library."""
    return cover(plan, make_records(plan, measured_again(plan, records, factor=factor)).frame).rows


def summarized(
    plan: Mapping[str, Any],
    records: Iterable[Mapping[str, Any]],
    other: Mapping | None = None,
    *,
    factor: float = 1.0,
) -> pd.DataFrame:
    """Records of a plan, summarized, without control-aa; ``other``: pairs whose work is not identical."""
    rows = covered(plan, records, factor=factor)
    found = summarize(rows, Rules.of_plan(plan), Classes.of_frame(make_classes(plan, other)))
    return found[found["library"] != AGAIN].set_index("library")


def summary_of(
    seconds: Mapping[str, Sequence[Any]],
    *,
    sessions: Mapping[str, str] | None = None,
    flags: Sequence[str] = (),
    other: Mapping | None = None,
    factor: float = 1.0,
) -> pd.DataFrame:
    """Library -> seconds per repeat of one transform, summarized; index: library."""
    plan = make_plan(
        {library: ["Flip"] for library in seconds},
        repeats=max(map(len, seconds.values())),
        again=next(iter(seconds)),
    )
    records = [
        make_record(
            plan,
            library,
            repeat,
            {"Flip": measured(value, flags=list(flags))},
            session=(sessions or {}).get(library, "s1"),
        )
        for library, values in seconds.items()
        for repeat, value in enumerate(values)
    ]
    return summarized(plan, records, other, factor=factor)


def summary_of_rows(rows: Mapping[str, Any], **more: Mapping[str, Any]) -> pd.DataFrame:
    """Library -> what each of three repeats found of one transform, summarized; index: library."""
    plan = make_plan({library: ["Flip"] for library in rows}, again=next(iter(rows)))
    records = [
        make_record(plan, library, repeat, {"Flip": row}, **more.get(library, {}))
        for library, row in rows.items()
        for repeat in range(3)
    ]
    return summarized(plan, records)


def marks_and_winners(lines: pd.DataFrame) -> tuple[dict[str, tuple[str, ...]], set[str]]:
    """Library -> marks, and the set of the best."""
    return lines["marks"].to_dict(), set(lines.index[lines["best"]])
