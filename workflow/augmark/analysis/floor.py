"""The machine's own noise: what two measurements of the same thing differ by. Nothing is claimed below it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from augmark.analysis.compare import compare
from augmark.analysis.contracts import alike_sides, repeats_of
from augmark.analysis.drift import BLOCKS
from augmark.analysis.rules import AGAIN, Rules
from augmark.modes import PLAIN
from augmark.record import MEASURED

# What has to be one and the same over the repeats of both rows, or they are not the same thing.
_SAME = ("status", "condition", "items", "items_digest", "form", "dtype")


@dataclass(frozen=True)
class Floor:
    """Of one scenario, mode and device.

    Attributes:
        ratio: Seconds over seconds, minus 1, that a difference has to be beyond to be claimed.
        rows: How many transforms it rests on.
        repeats: The smallest number of pairs that one of them has.
        library: That was measured a second time.
    """

    ratio: float
    rows: int
    repeats: int
    library: str


def noise_floor(rows: pd.DataFrame, rules: Rules) -> dict[tuple[str, str, str], Floor]:
    """Hold ``control-aa`` against the library that it is, row by row.

    A row of both gives one difference, ``exp(|mean log-ratio|) - 1`` over its paired repeats, as every ratio
    in a table is made. The floor is the ``floor_quantile`` of these: the smallest of them that this share of
    the rows does not exceed, which is their maximum below 20 rows (at 0.95). It is the difference itself and
    not the end of its interval: what chance does over repeats is in every comparison's own interval. The
    floor stands for what intervals do not see because it is the same in every repeat: where in memory the
    code came to lie, what ran before. More repeats do not make that smaller.

    Args:
        rows: Of ``coverage.cover``, of one machine.
        rules: A row with fewer pairs than ``interval_from_repeats`` says nothing.

    Returns:
        Scenario, mode and device -> floor; none where control-aa has no such row.
    """
    if rules.again is None:
        return {}
    known = rows[rows["library"].isin({AGAIN, rules.again}) & rows["recorded"] & (rows["condition"] == PLAIN)]
    found = {}
    for place, lines in known.groupby(BLOCKS, sort=False):
        differences, repeats = [], []
        for _, pair in lines.groupby("transform", sort=False):
            one, other = (pair[pair["library"] == name] for name in (AGAIN, rules.again))
            if not _same_thing(one, other):
                continue
            sides = alike_sides(repeats_of(one), repeats_of(other), rules)
            if not sides.enough:
                continue
            comparison = compare(sides.first, sides.second, rules)
            if comparison.paired and comparison.low is not None:
                differences.append(math.expm1(abs(comparison.log_ratio)))
                repeats.append(comparison.count)
        if differences:
            ratio = float(np.quantile(differences, rules.floor_quantile, method="inverted_cdf"))
            found[place] = Floor(ratio, len(differences), min(repeats), rules.again)
    return found


def _same_thing(one: pd.DataFrame, other: pd.DataFrame) -> bool:
    if one.empty or other.empty:
        return False
    both = pd.concat([one, other])
    flags = {flag for flags in both["flags"] if flags is not None for flag in flags}
    return (
        bool(both["status"].isin(MEASURED).all())
        and all(both[name].nunique(dropna=False) == 1 for name in _SAME)
        and "threads" not in flags
    )
