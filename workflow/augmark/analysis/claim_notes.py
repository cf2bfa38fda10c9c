"""What stands under a table about its claims: what is bold, noise floor, drift, and who is how often best."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from augmark.analysis.compare import SESSIONS_APART
from augmark.analysis.drift import BLOCKS, drifts
from augmark.analysis.fields import JUDGED, absence
from augmark.analysis.floor import Floor, noise_floor
from augmark.analysis.numbers import figure, joined
from augmark.analysis.planned import PlanContent, library_title
from augmark.analysis.rules import AGAIN, Rules
from augmark.record import MEASURED


def notes_of_claims(plan: PlanContent, shown: pd.DataFrame, raw: pd.DataFrame, rules: Rules) -> list[str]:
    """Sentences about what the table claims, and on what ground.

    Args:
        plan: The plan.
        shown: The table's lines over the repeats, without controls.
        raw: Its lines, one per repeat, controls included.
        rules: The policy's.
    """
    numbered = shown[shown["status"].isin(MEASURED)]
    if numbered.empty:
        return []
    floors = noise_floor(raw, rules)
    claims = [_claims(numbered, rules), _no_floor(numbered, floors, rules)]
    about = [_floor(plan, place, floor, rules) for place, floor in floors.items()] if rules.claims else []
    drifted = [
        f"The machine drifted: in the last block of session {drift.session} rows took "
        f"{_per_cent(abs(drift.change))} {'longer' if drift.change > 0 else 'less'} than in the first "
        f"(paired t over {drift.libraries} libraries, p = {figure(drift.p_value)}). Ratios are of libraries "
        "side by side in a block and stand; the spread of a single row over its repeats has the drift in it."
        for drift in drifts(raw, rules).values()
        if drift.p_value < rules.drift_p
    ]
    return [note for note in (*claims, *about, _winners(plan, shown), *drifted) if note]


def _per_cent(share: float) -> str:
    return f"{100 * share:.3g}%"


def _claims(numbered: pd.DataFrame, rules: Rules) -> str:
    least = rules.interval_from_repeats
    if numbered["best"].any():
        return (
            "Bold: the fastest of the rows compared, and every one that is not shown to be slower. A row is "
            f"slower where the {rules.confidence:.0%} interval of its ratio to the fastest lies wholly "
            "beyond the margin and it is among the differences that are left in this table at a "
            f"false-discovery rate of {rules.false_discovery_rate:.0%}; it is a tie where the interval lies "
            "wholly within the margin less the noise floor, else undecided. Nothing is bold where a library "
            f"compared has fewer than {least} repeats, or was {SESSIONS_APART}."
        )
    if not rules.claims:
        return "This depth claims nothing: nothing is bold."
    if numbered["repeats"].max() < least:
        return f"Below {least} repeats there is no interval and no claim: nothing is bold."
    if (numbered["comparison"] == "unpaired").any():
        return f"Nothing is bold: in every row compared a library was {SESSIONS_APART}."
    return ""


def _no_floor(numbered: pd.DataFrame, floors: Mapping[tuple[str, str, str], Floor], rules: Rules) -> str:
    """Where nothing is claimed for want of a floor, though there are the repeats for it."""
    enough = numbered[numbered["repeats"] >= rules.interval_from_repeats]
    places = dict.fromkeys(enough[BLOCKS].itertuples(index=False, name=None))
    if not rules.claims or not (without := [place[2] for place in places if place not in floors]):
        return ""
    return (
        f"No noise floor ({joined(without)}): {AGAIN} has no row there with {rules.interval_from_repeats} "
        "repeats beside those of its library, so that what the machine cannot tell apart is not known: "
        "nothing is claimed, nothing is bold."
    )


def _floor(plan: PlanContent, place: tuple[str, str, str], floor: Floor, rules: Rules) -> str:
    rows = f"{floor.rows} {'row' if floor.rows == 1 else 'rows'} ({floor.repeats} repeats or more)"
    # Where no row is above the quantile it is the maximum.
    share = "" if floor.rows * (1 - rules.floor_quantile) < 1 else f"{rules.floor_quantile:.0%} of "
    margin = (
        f"the margin is {_per_cent(rules.margin)}, and no difference within it is claimed"
        if floor.ratio < rules.margin
        else f"no difference below that is claimed (the margin alone would be {_per_cent(rules.margin)})"
    )
    return (
        f"Noise floor ({place[2]}): two measurements of {library_title(plan, floor.library)} differed by "
        f"up to {_per_cent(floor.ratio)} in {share}{rows}; {margin}."
    )


def _winners(plan: PlanContent, shown: pd.DataFrame) -> str:
    """Who is how often fastest or tied, with the rows that could have been: only where claims are made."""
    claimed = shown["best"] | (shown["verdict"] == "slower") | (shown["comparison"] == "unpaired")
    places = set(_places(shown[claimed & shown["verdict"].isin(JUDGED)]))
    in_fields = pd.Series([place in places for place in _places(shown)], index=shown.index, dtype=bool)
    judged = shown[in_fields & shown["verdict"].isin(JUDGED)]
    if judged.empty:
        return ""
    devices = shown["device"].nunique() > 1
    parts = []
    for (library, device), lines in shown.groupby(["library", "device"], sort=False):
        own = judged.loc[lines.index.intersection(judged.index)]
        counts = own["verdict"].value_counts()
        won, open_ = int(counts.get("fastest", 0) + counts.get("tie", 0)), int(counts.get("undecided", 0))
        parts.append(
            f"{library_title(plan, library)}{f' ({device})' if devices else ''} in {won} of {len(own)} rows "
            f"compared{f', undecided in {open_}' if open_ else ''} (of {len(lines)} planned)"
        )
    return f"Fastest or tied: {'; '.join(parts)}.{_without(plan, shown[in_fields], len(places))}"


def _places(lines: pd.DataFrame) -> Iterable[tuple[str, str]]:
    return lines[["transform", "device"]].itertuples(index=False, name=None)


def _without(plan: PlanContent, lines: pd.DataFrame, compared: int) -> str:
    """In how many of the rows compared somebody who could have won was not among them, and who."""
    absent = lines.assign(absence=[absence(line) for line in lines.to_dict("records")])
    absent = absent[absent["absence"].notna()]
    if absent.empty:
        return ""
    counts = absent.groupby(["library", "absence"], sort=False).size()
    named = [f"{library_title(plan, name)} {words} in {count}" for (name, words), count in counts.items()]
    rows = len(set(_places(absent)))
    return f" In {rows} of {compared} rows compared a library that could have won was not: {joined(named)}."
