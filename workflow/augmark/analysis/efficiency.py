"""How much of a measuring job's wall time is spent inside timers.

There is a target where many transforms are timed alone, one start for all of them. A decoder has one row for
its start: 5 values of 0.2 s after 4 s of imports. In DataLoader modes a whole epoch of warm-up, the start of
the workers, the checks in them and the split lie outside of the timer by design: with three timed epochs not
even three quarters could be inside. The shares of these modes are shown, and held against nothing.
"""

from __future__ import annotations

import pandas as pd

from augmark.analysis.found_machine import machine_words
from augmark.analysis.frame import CELL
from augmark.analysis.planned import PlanContent, is_control

WITH_TARGET = ("micro",)
COLUMNS = ["machine", "scenario", "mode", "library", "timed_share"]


def timed_shares(frame: pd.DataFrame) -> pd.DataFrame:
    """``machine scenario mode library timed_share``, one line per library, in alphabetical order.

    And ``machine_found``: what the machine was found to be.

    The share is seconds inside timers over wall seconds, both summed over the library's cells in which the
    job timed a row itself. Carried rows cost nothing now, and a row without a number is not timed: a cell
    that holds nothing else says nothing of the harness, and a library of such cells has no share (NaN).
    """
    keys = COLUMNS[:-1]
    timed = frame["seconds_per_item"].notna() & ~frame["carried"].fillna(False).astype(bool)
    cells = frame[timed].drop_duplicates(CELL)
    sums = cells.groupby(keys)[["cell_timed_seconds", "cell_wall_seconds"]].sum()
    share = sums["cell_timed_seconds"] / sums["cell_wall_seconds"].where(sums["cell_wall_seconds"] > 0)
    libraries = frame[keys].drop_duplicates().sort_values(keys, ignore_index=True)
    found = {
        machine: machine_words(str(machine), frame[frame["machine"] == machine])
        for machine in libraries["machine"].unique()
    }
    libraries["machine_found"] = libraries["machine"].map(found)
    return libraries.merge(share.rename("timed_share").reset_index(), how="left", on=keys)


def render(shares: pd.DataFrame) -> str:
    """results/tables/efficiency.csv; an unknown share is empty."""
    return shares.to_csv(index=False, columns=COLUMNS, lineterminator="\n", float_format="%.4f")


def report(shares: pd.DataFrame, plan: PlanContent) -> str:
    """What the workflow prints: the share of each library, and whether it reaches the target.

    Controls have no target, nor have modes other than ``micro``.
    """
    target = plan["policy"]["timed_share_target"]
    lines = [f"share of the measuring jobs' wall time inside timers (target {target:.0%}, depth max):"]
    for line in shares.to_dict("records"):
        share, name = line["timed_share"], line["library"]
        known = share == share
        verdict = ""
        if known and not is_control(plan, name) and line["mode"] in WITH_TARGET:
            verdict = "" if share >= target else "  below the target"
        figure = f"{share:.0%}" if known else "unknown (nothing timed in these records)"
        lines.append(f"  {line['scenario']} {line['mode']} {name}: {figure}{verdict}")
    return "\n".join(lines)
