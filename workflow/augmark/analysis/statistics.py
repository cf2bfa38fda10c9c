"""Records -> medians, intervals, paired ratios and ties.

The independent unit is the repeat: one process, one mean. Values inside a process are never pooled with
values of another. Seconds are kept to the end; throughput is computed last.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from augmark.analysis.classes import Classes
from augmark.analysis.frame import NAME, PLACE
from augmark.analysis.gating import gate
from augmark.analysis.marks import order_marks, worst
from augmark.errors import AugmarkError
from augmark.modes import PLAIN
from augmark.record import MEASURED

ROW = [*PLACE, *NAME]
FIELD = ["machine", "scenario", "mode", "device", *NAME]  # what is compared: every library in one field
NOT_COMPARED = {"threads"}  # flags of rows that keep their figure and stand alone

Interval = tuple[float, float]
# A repeat in its session: the key by which two libraries' repeats are a pair.
Samples = Mapping[tuple[str, int], float]


@dataclass(frozen=True)
class Rules:
    """The stanza ``statistics`` of policy.yaml, whose comments say why each value is what it is.

    ``claims``: whether the fastest and its ties may be called so.
    """

    confidence: float
    margin: float
    unstable_cv: float
    interval_from_repeats: int
    p95_from_values: int
    claims: bool = True

    @classmethod
    def of_plan(cls, plan: Mapping[str, Any]) -> Rules:
        """Take the rules from the plan's policy.

        Raises:
            AugmarkError: One of them is not there.
        """
        stanza = plan["policy"].get("statistics", {})
        names = [name for name in cls.__dataclass_fields__ if name != "claims"]
        if missing := [name for name in names if name not in stanza]:
            raise AugmarkError(f"statistics/{missing[0]} is missing", where="policy of the plan")
        # A depth with a stamp says of itself that it claims nothing, however many repeats it is given.
        return cls(**{name: stanza[name] for name in names}, claims=not plan.get("stamp"))


@dataclass(frozen=True)
class Comparison:
    """One library against another on one row.

    Attributes:
        paired: Over repeats of shared sessions; otherwise Welch's over all repeats.
        count: Pairs, or the smaller number of repeats.
        log_ratio, low, high: Natural logarithm of seconds over seconds, and its interval (None: no claim).
    """

    paired: bool
    count: int
    log_ratio: float
    low: float | None
    high: float | None

    def slower_beyond(self, margin: float) -> bool:
        """Whether the interval excludes that the ratio is within the margin."""
        return self.low is not None and self.low > math.log1p(margin)


def student_interval(values: Sequence[float], confidence: float) -> Interval:
    """Student interval of the mean of at least two values."""
    mean, error = float(np.mean(values)), float(np.std(values, ddof=1)) / math.sqrt(len(values))
    reach = float(stats.t.ppf((1 + confidence) / 2, len(values) - 1)) * error
    return mean - reach, mean + reach


def welch_interval(first: Sequence[float], second: Sequence[float], confidence: float) -> Interval:
    """Welch's interval of mean(first) - mean(second), at least two values each."""
    difference = float(np.mean(first) - np.mean(second))
    parts = [float(np.var(values, ddof=1)) / len(values) for values in (first, second)]
    if sum(parts) == 0:
        return difference, difference
    freedom = sum(parts) ** 2 / sum(
        part**2 / (len(values) - 1) for part, values in zip(parts, (first, second), strict=True)
    )
    reach = float(stats.t.ppf((1 + confidence) / 2, freedom)) * math.sqrt(sum(parts))
    return difference - reach, difference + reach


def repeat_interval(seconds: Sequence[float], confidence: float) -> Interval:
    """Interval over repeats, computed on log(seconds), in seconds.

    It is centred on the geometric mean: seconds are positive and skewed, and a ratio is what is asked.
    """
    low, high = student_interval([math.log(value) for value in seconds], confidence)
    return math.exp(low), math.exp(high)


def process_p95(values: Sequence[float] | None, from_values: int) -> float | None:
    """95th percentile of one process's values; None below ``from_values``: it would be the maximum."""
    if values is None or len(values) < from_values:
        return None
    return float(np.percentile(np.asarray(values, dtype=float), 95))


def compare(first: Samples, second: Samples, rules: Rules) -> Comparison:
    """Compare seconds of ``first`` with those of ``second``.

    Paired over the repeats that share session and number, where there are enough of them (or all of either
    side); otherwise unpaired. Below ``interval_from_repeats`` there is a ratio and no interval.
    """
    shared = sorted(set(first) & set(second))
    least = rules.interval_from_repeats
    if shared and len(shared) >= min(least, len(first), len(second)):
        logs = [math.log(first[key] / second[key]) for key in shared]
        bounds = student_interval(logs, rules.confidence) if len(logs) >= least else (None, None)
        return Comparison(True, len(logs), float(np.mean(logs)), *bounds)
    sides = [[math.log(value) for value in side.values()] for side in (first, second)]
    count = min(map(len, sides))
    bounds = welch_interval(*sides, rules.confidence) if count >= least else (None, None)
    return Comparison(False, count, float(np.mean(sides[0]) - np.mean(sides[1])), *bounds)


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
        * ``planned_repeats``, ``repeats`` (with a number);
        * ``seconds_median seconds_low seconds_high`` and ``interval`` (``student``, ``range`` or None);
        * ``throughput throughput_low throughput_high`` in items per second;
        * ``cv``, and ``p95_seconds`` (the median of the processes' own);
        * ``comparison`` with the fastest (``paired``, ``unpaired``, None), and of seconds over the fastest's
          ``ratio ratio_low ratio_high`` where there are repeats for a claim;
        * ``best`` (fastest, or tied with it), ``marks`` (tuple) and ``different`` (why it is other work than
          that of the rows compared);
        * what is known of the repeats: ``form dtype shape chunked items items_digest
          session library_version started ended``.

        No figure where the status is not ``ok`` or ``slow``.
    """
    lines: list[dict[str, Any]] = []
    samples: list[Samples] = []
    for key, group in rows.groupby(ROW, sort=False):
        line, sample = _row_summary(dict(zip(ROW, key, strict=True)), group, rules)
        lines.append(line)
        samples.append(sample)
    fields: dict[tuple[str, ...], list[int]] = {}
    for index, line in enumerate(lines):
        fields.setdefault(tuple(line[name] for name in FIELD), []).append(index)
    for indices in fields.values():
        field = [lines[index] for index in indices], [samples[index] for index in indices]
        _compare_field(*field, rules, classes or Classes())
    for line in lines:
        line["marks"] = order_marks(line["marks"])
    return pd.DataFrame(lines)


def _unique(group: pd.DataFrame, column: str) -> str | None:
    """Different values of a column as text, None where there is none."""
    found = sorted({str(value) for value in group[column].dropna()})
    return "; ".join(found) or None


def _row_summary(place: dict[str, Any], group: pd.DataFrame, rules: Rules) -> tuple[dict[str, Any], Samples]:
    recorded = group[group["recorded"]]
    # A repeat that is still to come takes nothing from those that are there; one that failed does.
    judged = recorded if not recorded.empty else group
    status = worst(judged["status"])
    counted = recorded if status in MEASURED else recorded.iloc[:0]
    sample = {
        (str(session), int(repeat)): float(seconds)
        for session, repeat, seconds in counted[["session", "repeat", "seconds_per_item"]].itertuples(
            index=False
        )
    }
    columns = ("form", "dtype", "shape", "chunked", "items", "items_digest", "session", "library_version")
    line = {
        **place,
        "status": status,
        "reason": _reason(judged, status),
        "planned_repeats": len(group),
        "repeats": len(sample),
        **_figures(list(sample.values()), list(counted["values"]), rules),
        "comparison": None,
        **dict.fromkeys(("ratio", "ratio_low", "ratio_high")),
        "best": False,
        "marks": _marks(group, recorded, status),
        "different": None,
        **{name: _unique(recorded, name) for name in columns},
        "started": counted["started"].dropna().min() if len(counted) else None,
        "ended": counted["ended"].dropna().max() if len(counted) else None,
    }
    if line["cv"] is not None and line["cv"] >= rules.unstable_cv:
        line["marks"].append("unstable")
    return line, sample


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
        (low, high), kind = repeat_interval(seconds, rules.confidence), "student"
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


def _footing(line: Mapping[str, Any]) -> tuple[bool, str | None, str | None]:
    """What is equal in rows that may be compared: timed in part or in full, number of items, which items."""
    part = line["status"] == "slow" or "reduced-items" in line["marks"]
    return part, line["items"], line["items_digest"]


def _on_equal_items(able: list[tuple[dict[str, Any], Samples]]) -> list[tuple[dict[str, Any], Samples]]:
    """Those on the items that most can be said of, the fastest first; the others get a mark.

    Rows in full come before slow and reduced ones, more items before fewer, then it is the fastest's. Where
    the repeats of a row are on different items, nothing is equal to it.
    """
    known = [line for line, _ in able if line["items"].isdigit() and ";" not in line["items_digest"]]
    lead = None
    if known:
        best = min(known, key=lambda line: (_footing(line)[0], -int(line["items"]), line["seconds_median"]))
        lead = _footing(best)
    for line, _ in able:
        if _footing(line) != lead:
            line["marks"].append("items")
    alike = [pair for pair in able if _footing(pair[0]) == lead]
    return sorted(alike, key=lambda pair: (pair[0]["seconds_median"], pair[0]["library"]))


def _compare_field(
    lines: list[dict[str, Any]], samples: list[Samples], rules: Rules, classes: Classes
) -> None:
    """Compare the libraries of one transform with the fastest, in place.

    Rows of another thread count, of other work (``gating.gate`` says what the work of a field is) or on other
    items are left out. The fastest and its ties are best, but only where every row that is compared has the
    repeats for a claim, and there are two of them. Rows of a condition are compared with the plain row of
    their own library, and not here.
    """
    if lines[0]["condition"] != PLAIN:
        return
    able = [
        (line, sample)
        for line, sample in zip(lines, samples, strict=True)
        if sample and NOT_COMPARED.isdisjoint(line["marks"])
    ]
    same = gate(lines, [line for line, _ in able], classes)
    able = [pair for pair in able if any(pair[0] is line for line in same)]
    able = _on_equal_items(able) if len(able) > 1 else []
    if len(able) < 2:
        return
    (fastest, base), *others = able
    tied = [fastest]
    claim = rules.claims and len(base) >= rules.interval_from_repeats
    for line, sample in others:
        comparison = compare(sample, base, rules)
        line["comparison"] = "paired" if comparison.paired else "unpaired"
        if comparison.low is not None and comparison.high is not None:
            line["ratio"] = math.exp(comparison.log_ratio)
            line["ratio_low"], line["ratio_high"] = math.exp(comparison.low), math.exp(comparison.high)
        if not comparison.paired:
            line["marks"].append("sessions")
        if line["dtype"] != fastest["dtype"]:
            line["marks"].append("dtype")
        claim = claim and comparison.low is not None
        if not comparison.slower_beyond(rules.margin):
            tied.append(line)
    if claim:
        for line in tied:
            line["best"] = True
