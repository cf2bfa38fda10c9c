"""What a plan file's verdicts rest on: the noise floor of each group, and what a verdict is wanting."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from augmark.analysis.compare import Comparison, log_sameness, verdict
from augmark.analysis.floor import Floor, noise_floor
from augmark.analysis.rules import AGAIN, Rules
from augmark.analysis.tables import Analysis
from augmark.modes import PLAIN
from augmark.record import MEASURED

# What a verdict may be wanting, however the numbers lie -> in words.
WANTS = {
    "depth": "a depth that claims something",
    "sessions": "one session",
    "repeats": "repeats",
    "floor": "a noise floor",
}
REMEDY = "`--config refresh=blocks` measures the block again, whole"


@dataclass(frozen=True)
class Ground:
    """What the verdicts of one group rest on.

    Attributes:
        control: That measures the group's baseline a second time, if any does.
        floor: The machine's noise floor by it, or None.
        wants: Of ``WANTS``, and in words, where there is no floor.
    """

    control: str | None
    floor: Floor | None
    wants: tuple[str, str] | None = None


def ground_of(analysis: Analysis, baseline: str, rules: Rules) -> Ground:
    """The noise floor of a baseline: of its own control, whatever that is called in the plan."""
    question, libraries = analysis.plan["question"], analysis.plan["libraries"]
    control = next((name for name, its in libraries.items() if its.get("again") == baseline), None)
    if control is None:
        return Ground(None, None, ("floor", f"nothing measures {baseline} a second time"))
    rows = analysis.rows[analysis.rows["library"].isin({baseline, control})]
    named = rows.assign(library=rows["library"].replace(control, AGAIN))
    place = tuple(question[name] for name in ("scenario", "mode", "device"))
    floor = noise_floor(named, replace(rules, again=baseline)).get(place)
    return Ground(control, floor, None if floor else _without_floor(rows, baseline, control, rules))


def _without_floor(rows: pd.DataFrame, baseline: str, control: str, rules: Rules) -> tuple[str, str]:
    counted = rows[rows["recorded"] & rows["status"].isin(MEASURED) & (rows["condition"] == PLAIN)]
    both = [
        {(line["session"], line["repeat"]) for line in counted[counted["library"] == name].to_dict("records")}
        for name in (baseline, control)
    ]
    shared, least = len(both[0] & both[1]), min(map(len, both))
    if shared < least:
        what = f"{control} shares the session of {baseline} in {shared} of {least} repeats: {REMEDY}"
        return "sessions", what
    least = rules.interval_from_repeats
    return "floor", f"{control} has no row with {least} repeats beside those of {baseline}, measured alike"


def judge(result: Comparison, rules: Rules, ground: Ground) -> dict[str, Any]:
    """The verdict and why, and what it is wanting where it could not be another."""
    wants = _wants(result, rules, ground)
    if wants is not None or ground.floor is None:
        name, why = wants or ("floor", "no noise floor")
        return {"verdict": "undecided", "wants": name, "why": why}
    floor = ground.floor.ratio
    found = verdict(result, rules, floor)
    if found != "undecided":
        return {"verdict": found}
    why = (
        "the interval is neither beyond both nor within the one less the other: "
        f"the margin is {rules.margin:.1%}, the noise floor {floor:.1%}"
    )
    more = ", so that nothing is the same here" if log_sameness(rules, floor) <= 0 else ""
    return {"verdict": found, "why": why + more}


def _wants(result: Comparison, rules: Rules, ground: Ground) -> tuple[str, str] | None:
    if not rules.claims:
        return "depth", "the depth is a smoke signal: it claims nothing"
    if not result.paired:
        return "sessions", f"not of the same sessions, and unpaired rows decide nothing: {REMEDY}"
    if result.low is None:
        least = rules.interval_from_repeats
        return "repeats", f"too few repeats: {result.count} of {least} for an interval"
    if ground.wants is not None:
        name, why = ground.wants
        return name, f"the machine's noise floor is not known: {why}"
    return None
