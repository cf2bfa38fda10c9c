"""One row against another: paired log-ratio of seconds, its interval, and what it says."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from augmark.analysis.intervals import Estimate, difference_of, mean_interval, mean_of
from augmark.analysis.rules import Rules
from augmark.record import MEASURED

Repeat = tuple[str, int]  # a repeat in its session: the key by which two rows' repeats are a pair
Samples = Mapping[Repeat, float]  # -> seconds
SESSIONS_APART = "measured in different sessions: refresh=blocks measures them side by side"


@dataclass(frozen=True)
class Comparison:
    """One row against another.

    Attributes:
        paired: Over repeats of shared sessions; otherwise Welch's over all repeats, which decides nothing:
            what two sessions differ by is the same in all repeats of one, and no interval sees it.
        count: Pairs, or the smaller number of repeats.
        log_ratio, low, high: Natural logarithm of seconds over seconds, and its interval (None: no claim).
        p_value: Of the null that the ratio is within the margin (``intervals.Estimate.p_beyond``), by a t
            test at any number of repeats: a bootstrap cannot resolve the small p of a table's worth of rows.
            None without an interval, and where it is not paired.
        estimate: What ``p_value`` is made of, for tests of other nulls; None where that is None.
    """

    paired: bool
    count: int
    log_ratio: float
    low: float | None
    high: float | None
    p_value: float | None
    estimate: Estimate | None = field(default=None, compare=False)


def samples_of(rows: pd.DataFrame) -> Samples:
    """The process means of those repeats of one row that have a number."""
    counted = rows[rows["recorded"] & rows["status"].isin(MEASURED)]
    columns = counted[["session", "repeat", "seconds_per_item"]]
    return {(str(s), int(r)): float(seconds) for s, r, seconds in columns.itertuples(index=False)}


def log_margin(rules: Rules, floor: float | None = None) -> float:
    """The margin of a claim as a log-ratio: what nobody would notice, or what the machine cannot tell."""
    return math.log1p(max(rules.margin, floor or 0.0))


def log_sameness(rules: Rules, floor: float) -> float:
    """How far from 1 an interval may reach and be called the same: the margin less the floor, as log-ratios.

    What the machine adds of its own may hide a difference as well as make one, so that a noisy machine says
    "same" of less, as it says "slower" of less. Zero or below where the floor is the margin or more.
    """
    return math.log1p(rules.margin) - math.log1p(floor)


def pairs_of(first: Samples, second: Samples, least: int) -> list[Repeat]:
    """The repeats that two rows share, where they are enough of them or all of either side; else none."""
    shared = sorted(set(first) & set(second))
    return shared if len(shared) >= min(least, len(first), len(second)) else []


def compare(first: Samples, second: Samples, rules: Rules, floor: float | None = None) -> Comparison:
    """Compare seconds of ``first`` with those of ``second``.

    Paired over the repeats that share session and number, where there are enough of them (or all of either
    side); otherwise unpaired. Below ``interval_from_repeats`` there is a ratio and no interval.

    Args:
        first, second: Process means.
        rules: The policy's.
        floor: The machine's noise floor, a ratio minus 1: the p-value's margin is this where it is larger.
    """
    least = rules.interval_from_repeats
    if shared := pairs_of(first, second, least):
        logs = [math.log(first[key] / second[key]) for key in shared]
        if len(logs) < least:
            return Comparison(True, len(logs), float(np.mean(logs)), None, None, None)
        (low, high), _ = mean_interval(logs, rules)
        found = mean_of(logs)
        p_value = found.p_beyond(log_margin(rules, floor))
        return Comparison(True, len(logs), float(np.mean(logs)), low, high, p_value, found)
    sides = [[math.log(value) for value in side.values()] for side in (first, second)]
    count, ratio = min(map(len, sides)), float(np.mean(sides[0]) - np.mean(sides[1]))
    if count < least:
        return Comparison(False, count, ratio, None, None, None)
    return Comparison(False, count, ratio, *difference_of(*sides).interval(rules.confidence), None)


def verdict(comparison: Comparison, rules: Rules, floor: float | None) -> str:
    """What a comparison says of ``first`` against ``second``.

    Args:
        comparison: From ``compare``.
        rules: The policy's.
        floor: The noise floor; None where the machine has none: then nothing is decided.

    Returns:
        ``slower`` or ``faster`` where the interval lies wholly beyond the margin (the policy's, or the floor
        where that is larger), ``same`` where it lies wholly within the margin less the floor, else
        ``undecided``; and ``undecided`` wherever the repeats are not of shared sessions.
    """
    low, high = comparison.low, comparison.high
    if low is None or high is None or floor is None or not comparison.paired:
        return "undecided"
    margin = log_margin(rules, floor)
    if low > margin:
        return "slower"
    if high < -margin:
        return "faster"
    within = log_sameness(rules, floor)
    return "same" if -within <= low and high <= within else "undecided"
