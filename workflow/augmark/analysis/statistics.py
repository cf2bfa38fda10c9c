"""Records -> medians, intervals, paired ratios, ties and what is blocked.

The independent unit is the repeat: one process, one mean. Values inside a process are never pooled with
values of another. Seconds are kept to the end; throughput is computed last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from augmark.analysis.alike import mixed
from augmark.analysis.classes import Classes
from augmark.analysis.compare import Samples, compare, samples_of
from augmark.analysis.contracts import Repeats, repeats_of
from augmark.analysis.drift import drifts
from augmark.analysis.fields import Contest, Entrant, judge, open_contest
from augmark.analysis.floor import noise_floor
from augmark.analysis.frame import NAME, PLACE
from augmark.analysis.intervals import repeat_interval
from augmark.analysis.marks import order_marks, worst
from augmark.analysis.rules import Rules
from augmark.record import MEASURED

__all__ = ["FIELD", "ROW", "TABLE", "Rules", "Samples", "compare", "process_p95", "samples_of", "summarize"]

ROW = [*PLACE, *NAME]
FIELD = ["machine", "scenario", "mode", "device", *NAME]  # what is compared: every library in one field
TABLE = ["machine", "scenario", "mode"]  # within which false discoveries are controlled


def process_p95(values: Sequence[float] | None, from_values: int) -> float | None:
    """95th percentile of one process's values; None below ``from_values``: it would be the maximum."""
    if values is None or len(values) < from_values:
        return None
    return float(np.percentile(np.asarray(values, dtype=float), 95))


def summarize(rows: pd.DataFrame, rules: Rules, classes: Classes | None = None) -> pd.DataFrame:
    """One line per planned row, over its repeats.

    Args:
        rows: Rows of ``coverage.cover``: one line per planned row and repeat, recorded or not.
        rules: How many repeats make an interval, and so on.
        classes: Of the libraries' work, pair by pair; a pair that is not in it is not compared.

    Returns:
        One line with

        * ``machine scenario mode library device transform``;
        * ``status`` (the worst over the repeats) and ``reason``;
        * ``planned_repeats``, ``repeats`` (that the figures rest on) and ``mixed`` (how many were measured
          otherwise than these, or than their pair, and are left out);
        * ``seconds_median seconds_low seconds_high`` and ``interval`` (``student``, ``bca``, ``range`` or
          None);
        * ``throughput throughput_low throughput_high`` in items per second;
        * ``cv``, and ``p95_seconds`` (the median of the processes' own);
        * ``comparison`` with the fastest (``paired``, ``unpaired``, None), and of seconds over the fastest's
          ``ratio ratio_low ratio_high`` where there are repeats for a claim;
        * ``floor`` (the noise floor of its scenario, mode and device, a ratio minus 1, or None), ``p_value``
          (of the null that it is within the margin of the fastest, for all whom it might have been compared
          with) and ``q_value`` (within its table);
        * ``verdict`` (``fastest tie slower undecided blocked`` or None: ``fields.judge``), ``best`` (not
          shown to be slower), ``marks`` (tuple), ``different`` (why it is other work than that of the rows
          compared) and ``blocked`` (what was not alike in how it was measured);
        * ``drift`` (seconds in the last block over the first, minus 1) and ``drift_p`` of its scenario, mode
          and device;
        * what is known of the repeats: ``form dtype shape chunked items items_digest
          session library_version started ended``.

        No figure where the status is not ``ok`` or ``slow``.
    """
    entrants = [
        _entrant(dict(zip(ROW, key, strict=True)), group, rules)
        for key, group in rows.groupby(ROW, sort=False)
    ]
    _describe_places(rows, entrants, rules)
    fields: dict[tuple[str, ...], list[Entrant]] = {}
    for entrant in entrants:
        fields.setdefault(tuple(entrant.line[name] for name in FIELD), []).append(entrant)
    tables: dict[tuple[str, ...], list[Contest]] = {}
    for field in fields.values():
        if contest := open_contest(field, rules, classes or Classes()):
            tables.setdefault(tuple(contest.fastest[name] for name in TABLE), []).append(contest)
    for contests in tables.values():
        judge(contests, rules)
    lines = [entrant.line for entrant in entrants]
    for line in lines:
        if "blocked" in line["marks"]:
            line["verdict"] = "blocked"
        line["marks"] = order_marks(line["marks"])
    return pd.DataFrame(lines)


def _describe_places(rows: pd.DataFrame, entrants: Sequence[Entrant], rules: Rules) -> None:
    """Noise floor and drift of each machine's scenarios, modes and devices, on their lines."""
    for machine, part in rows.groupby("machine", sort=False):
        floors, drifted = noise_floor(part, rules), drifts(part, rules)
        for line in (entrant.line for entrant in entrants if entrant.line["machine"] == machine):
            place = line["scenario"], line["mode"], line["device"]
            if place in floors:
                line["floor"] = floors[place].ratio
            if place in drifted:
                line["drift"], line["drift_p"] = drifted[place].change, drifted[place].p_value


def _unique(group: pd.DataFrame, column: str) -> str | None:
    """Different values of a column as text, None where there is none."""
    found = sorted({str(value) for value in group[column].dropna()})
    return "; ".join(found) or None


def _entrant(place: dict[str, Any], group: pd.DataFrame, rules: Rules) -> Entrant:
    recorded = group[group["recorded"]]
    # A repeat that is still to come takes nothing from those that are there; one that failed does.
    judged = recorded if not recorded.empty else group
    status = worst(judged["status"])
    repeats = repeats_of(recorded if status in MEASURED else recorded.iloc[:0])
    counted, mixed_ = _figure_of(recorded, repeats, rules)
    samples = samples_of(counted)
    columns = ("form", "dtype", "shape", "chunked", "items", "items_digest", "session", "library_version")
    line = {
        **place,
        "status": status,
        "reason": _reason(judged, status),
        "planned_repeats": len(group),
        "repeats": len(samples),
        **_figures(list(samples.values()), list(counted["values"]), rules),
        **dict.fromkeys(("comparison", "ratio", "ratio_low", "ratio_high", "floor", "p_value", "q_value")),
        **{"verdict": None, "best": False},
        "marks": _marks(group, recorded, status),
        **{"different": None, "blocked": None, "mixed": mixed_, "drift": None, "drift_p": None},
        **{name: _unique(recorded, name) for name in columns},
        "started": counted["started"].dropna().min() if len(counted) else None,
        "ended": counted["ended"].dropna().max() if len(counted) else None,
    }
    if mixed_:
        line["marks"].append("mixed")
    if line["cv"] is not None and line["cv"] >= rules.unstable_cv:
        line["marks"].append("unstable")
    return Entrant(line, repeats)


def _figure_of(recorded: pd.DataFrame, repeats: Repeats, rules: Rules) -> tuple[pd.DataFrame, str | None]:
    """The repeats of a row that make its figure (``Repeats.figure``); and why not all."""
    chosen = repeats.figure(rules.may_differ)
    keys = list(zip(recorded["session"].astype(str), recorded["repeat"].astype(int), strict=True))
    counted = recorded[np.array([key in chosen for key in keys], dtype=bool)]
    left = sorted(set(repeats.samples) - set(chosen))
    if not left:
        return counted, None
    # What the figure rests on is told first.
    known = [repeats.contracts.get(repeat) for repeat in (*chosen, *left)]
    fields = mixed([text for text in known if text is not None], rules.may_differ)
    if None in known:
        fields.append("contract (known against unknown)")
    which = " ".join(f"r{number}" for _, number in left)
    return counted, (
        f"{len(left)} of {len(repeats.samples)} repeats ({which}) were measured otherwise, and are left out "
        f"of its figure: {'; '.join(fields)}"
    )


def _reason(judged: pd.DataFrame, status: str) -> str | None:
    """The reason of the repeats that have the status, with their number where the others differ."""
    having = judged[judged["status"] == status]
    text = _unique(having, "reason")
    if len(having) < len(judged) and status not in MEASURED:
        return f"{len(having)} of {len(judged)} repeats{f': {text}' if text else ''}"
    return text


def _marks(group: pd.DataFrame, recorded: pd.DataFrame, status: str) -> list[str]:
    if status not in MEASURED:
        return []
    marks = ["slow"] if status == "slow" else []
    if len(recorded) < len(group):
        marks.append("partial")
    if recorded["carried"].fillna(False).any():
        marks.append("carried")
    if recorded["chunked"].notna().any():
        marks.append("chunked")
    return marks + [str(flag) for flags in recorded["flags"] if flags is not None for flag in flags]


def _figures(seconds: list[float], values: list[Sequence[float]], rules: Rules) -> dict[str, Any]:
    names = ("seconds_median", "seconds_low", "seconds_high", "interval", "throughput", "throughput_low")
    figures: dict[str, Any] = dict.fromkeys((*names, "throughput_high", "cv", "p95_seconds"))
    if not seconds:
        return figures
    median = float(np.median(seconds))
    if len(seconds) >= rules.interval_from_repeats:
        (low, high), kind = repeat_interval(seconds, rules)
    else:
        (low, high), kind = (min(seconds), max(seconds)), "range"
    tails = [process_p95(each, rules.p95_from_values) for each in values]
    figures.update(seconds_median=median, seconds_low=low, seconds_high=high, interval=kind)
    figures.update(throughput=1 / median, throughput_low=1 / high, throughput_high=1 / low)
    if len(seconds) > 1:
        figures["cv"] = float(np.std(seconds, ddof=1) / np.mean(seconds))
    if all(tail is not None for tail in tails):
        figures["p95_seconds"] = float(np.median(tails))
    return figures
