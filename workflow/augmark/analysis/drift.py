"""Did the machine drift while it measured: the first block of a session against the last."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from augmark.analysis.intervals import mean_of
from augmark.analysis.planned import is_control
from augmark.analysis.rules import AGAIN, Rules
from augmark.modes import PLAIN
from augmark.record import MEASURED

BLOCKS = ["scenario", "mode", "device"]  # repeat k of every library of these is block k


@dataclass(frozen=True)
class Drift:
    """Of the session of a scenario, mode and device that drifted most surely.

    Attributes:
        p_value: Paired t test over libraries, times the number of sessions tested.
        change: Seconds in the last block over those in the first, minus 1.
        session: Its id.
        libraries: How many, ``control-aa`` among them.
    """

    p_value: float
    change: float
    session: str
    libraries: int


def drifts(rows: pd.DataFrame, rules: Rules) -> dict[tuple[str, str, str], Drift]:
    """Test each scenario, mode and device of one machine.

    The unit is the library, not the row: rows of one process share its luck, and a test over all rows would
    call every lucky process a drift. So each library gives one number, the median over its rows of
    log(seconds in the last block / in the first), which one row gone astray does not move; then a paired t
    test over libraries. (Wilcoxon's signed ranks cannot go below p = 0.06 with five libraries.) The controls
    that copy or wait are left out: what slows computing down may leave them alone.

    Args:
        rows: Of ``coverage.cover``.
        rules: Fewer libraries than ``interval_from_repeats`` are not tested.
    """
    known = rows[rows["recorded"] & rows["status"].isin(MEASURED) & (rows["condition"] == PLAIN)]
    working = known["library"].map(lambda name: name == AGAIN or not is_control({}, name))
    known = known[working.astype(bool)]
    found = {}
    for place, lines in known.groupby(BLOCKS, sort=False):
        tested = list(_of_sessions(lines, rules.interval_from_repeats))
        if tested:
            surest = min(tested, key=lambda drift: (drift.p_value, drift.session))
            found[place] = replace(surest, p_value=min(1.0, surest.p_value * len(tested)))
    return found


def _of_sessions(lines: pd.DataFrame, least: int) -> Iterator[Drift]:
    for session, part in lines.groupby("session", sort=True):
        seconds = part.set_index(["library", "transform", "repeat"])["seconds_per_item"].unstack("repeat")
        first, last = seconds.columns.min(), seconds.columns.max()
        both = np.log((seconds[last] / seconds[first]).dropna().astype(float))
        of_library = both.groupby(level="library").median()
        if first == last or len(of_library) < least:
            continue
        drift = mean_of(of_library.to_list())
        yield Drift(drift.p_beyond(0.0), math.expm1(drift.value), str(session), len(of_library))
