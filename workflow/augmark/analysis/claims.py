"""Claims against records: each holds, is refused by name with what was found, or cannot be judged here."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from augmark.analysis.compare import SESSIONS_APART, compare, log_margin, log_sameness
from augmark.analysis.contracts import alike_sides, repeats_of
from augmark.analysis.discoveries import q_values
from augmark.analysis.fields import JUDGED, NOT_COMPARED, NOT_SLOWER, absence, left_out
from augmark.analysis.gating import LEFT_OUT
from augmark.analysis.marks import MARKS, order_marks
from augmark.analysis.numbers import figure, one_line
from augmark.analysis.rules import Rules
from augmark.analysis.statistics import summarize
from augmark.analysis.tables import Analysis
from augmark.config.claims import in_words
from augmark.modes import PLAIN
from augmark.record import MEASURED

HOLDS, REFUSED, NOT_JUDGED = "holds", "refused", "not judged"
NO_FLOOR = "no noise floor: control-aa has no row there with repeats enough, and nothing is claimed without"
Claim = Mapping[str, Any]


@dataclass(frozen=True)
class Verdict:
    """What became of a claim; one per transform, where it compares two libraries.

    Attributes:
        claim, claim_in_words, text: Its id, what it says, and the sentence that rests on it, if there is one.
        transform: The row that this is about; None for a count.
        verdict: ``holds``, ``refused`` or ``not judged``.
        ratio, low, high: Throughput over throughput, and its interval.
        comparison: ``paired`` or ``unpaired``.
        p_value, q_value: Of the null that the claim is about nothing (``faster``: the ratio is no more than
            claimed, the margin or the floor; ``no-slower``: it is less than what counts as no slower); alone,
            and among all claims.
        wins, compared: Of a count: rows in which it is the fastest, alone, of the rows compared.
        repeats: The smallest number over the rows that it rests on.
        sessions: How many sessions they are of.
        margin, floor: What a difference must go beyond: the policy's, and the machine's noise floor.
        reason: Why it is refused or not judged; of a count also what was found.
    """

    claim: str
    claim_in_words: str
    text: str | None
    transform: str | None = None
    verdict: str = NOT_JUDGED
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    comparison: str | None = None
    p_value: float | None = None
    q_value: float | None = None
    wins: int | None = None
    compared: int | None = None
    repeats: int | None = None
    sessions: int | None = None
    margin: float | None = None
    floor: float | None = None
    reason: str | None = None


def judge(claims: Mapping[str, Claim], analysis: Analysis) -> list[Verdict]:
    """Hold claims against the records of one machine.

    A comparison is made as the tables make theirs: of the same work on the same items, measured alike, over
    paired repeats. A claim that one library is *faster* holds where the whole interval of the ratio is at or
    above what is claimed and beyond margin and noise floor. It and *no slower* have to be among the
    discoveries of all these claims at ``false_discovery_rate``; a *count* rests on the tables', controlled
    table by table.

    Args:
        claims: Of the plan (``content["claims"]``), by id.
        analysis: Of the records.

    Returns:
        The verdicts in the order of the claims, one per transform of a claim that compares two libraries.
    """
    rules = Rules.of_plan(analysis.plan)
    found = [each for name, claim in claims.items() for each in _verdicts(name, claim, analysis, rules)]
    return _discovered(found, rules)


def refused(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Those that the data does not carry."""
    return [verdict for verdict in verdicts if verdict.verdict == REFUSED]


def _verdicts(name: str, claim: Claim, analysis: Analysis, rules: Rules) -> Iterator[Verdict]:
    blank = Verdict(name, in_words(claim), claim.get("text"))
    counts = claim["kind"] == "count"
    if reason := _elsewhere(claim, analysis):
        for transform in [None] if counts else claim["transforms"]:
            yield replace(blank, transform=transform, reason=reason)
        return
    floors = _at(analysis.summary, claim)["floor"].dropna()
    floor = float(floors.iloc[0]) if len(floors) else None
    blank = replace(blank, verdict=REFUSED, margin=rules.margin, floor=floor)
    if counts:
        yield _count(blank, claim, analysis)
        return
    for transform in claim["transforms"]:
        yield _comparison(replace(blank, transform=transform), claim, analysis, rules)


def _elsewhere(claim: Claim, analysis: Analysis) -> str | None:
    """Why these records say nothing of a claim; None where they should."""
    plan = analysis.plan
    if plan["stamp"]:
        return f"depth {plan['depth']} is a {plan['stamp']}: it claims nothing"
    if claim["machine"] != plan["machine_stanza"]["id"]:
        return f"the records are of {analysis.records.machine}"
    rows = _at(analysis.rows, claim)
    for library in (claim["library"], *claim.get("against", [claim.get("than")])):
        planned = set(rows[rows["library"] == library]["transform"])
        if not planned:
            return f"not planned: {library} in {claim['scenario']} {claim['mode']} on {claim['device']}"
        if missing := [name for name in claim["transforms"] if name not in planned]:
            return f"not planned: {len(missing)} of {len(claim['transforms'])} rows of {library}"
    return None


def _at(frame: pd.DataFrame, claim: Claim) -> pd.DataFrame:
    """The plain rows of the claim's scenario, mode, device and transforms."""
    named = frame["transform"].isin(claim["transforms"]) & (frame["condition"] == PLAIN)
    for key in ("scenario", "mode", "device"):
        named &= frame[key] == claim[key]
    return frame[named]


# --- one library against another -------------------------------------------------------------------


def _comparison(blank: Verdict, claim: Claim, analysis: Analysis, rules: Rules) -> Verdict:
    """One library against another on one transform."""
    names = claim["library"], claim["than"]
    rows = _at(analysis.rows, claim)
    rows = rows[(rows["transform"] == blank.transform) & rows["library"].isin(names)]
    lines = {line["library"]: line for line in _lines(summarize(rows, rules, analysis.classes))}
    blank = replace(
        blank,
        repeats=min(line["repeats"] for line in lines.values()),
        sessions=int(rows["session"].nunique()),
    )
    if reason := _not_compared([lines[name] for name in names]):
        return replace(blank, reason=reason)
    mine, other = (repeats_of(rows[rows["library"] == name]) for name in names)
    sides = alike_sides(other, mine, rules)
    # Seconds of the other over mine are throughput of mine over the other's. What is claimed is the margin of
    # the p-value where it is wider: a ratio between 1 and what is claimed is no discovery.
    least = claim["at_least"] if claim["kind"] == "faster" else 1.0
    found = compare(sides.first, sides.second, rules, max(least - 1, blank.floor or 0.0))
    blank = replace(blank, comparison="paired" if found.paired else "unpaired", repeats=found.count)
    if found.low is None or found.high is None:
        needs = rules.interval_from_repeats
        return replace(blank, reason=f"too few repeats: {found.count}, and a claim needs {needs}")
    said = replace(blank, ratio=math.exp(found.log_ratio), low=math.exp(found.low), high=math.exp(found.high))
    if blank.floor is None:
        return replace(said, reason=NO_FLOOR)
    if not found.paired:
        return replace(said, reason=f"{_found(said)}: {SESSIONS_APART}")
    if claim["kind"] == "faster":
        p_value = found.p_value if found.log_ratio > 0 else 1.0
    else:
        p_value = found.estimate.p_above(-log_sameness(rules, blank.floor))
    said = replace(said, p_value=p_value)
    return _held_against(said, claim, blank.floor, rules)


def _lines(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Lines of a summary, with None for what is missing, however pandas spells it."""
    return [
        {key: None if isinstance(value, float) and value != value else value for key, value in line.items()}
        for line in frame.to_dict("records")
    ]


def _not_compared(lines: Sequence[Mapping[str, Any]]) -> str | None:
    """Why two rows are not compared, in the words of the tables; None where they are."""
    for line in lines:
        if line["status"] not in MEASURED:
            return (
                f"{line['library']} is {line['status']}: {one_line(line['reason'] or 'no reason is known')}"
            )
    if any(line["comparison"] for line in lines):
        return None
    for line in lines:
        if text := line["different"] or line["blocked"]:
            return f"{line['library']} {one_line(text)}"
    marks = {mark for line in lines for mark in line["marks"]} & {*LEFT_OUT, *NOT_COMPARED, "items"}
    return "; ".join(MARKS[mark][1] for mark in order_marks(marks)) or "not compared"


def _found(said: Verdict) -> str:
    return f"found {figure(said.ratio)} [{figure(said.low)}, {figure(said.high)}]"


def _held_against(said: Verdict, claim: Claim, floor: float, rules: Rules) -> Verdict:
    """Whether the whole interval lies where the claim says."""
    faster, beyond = claim["kind"] == "faster", math.exp(log_margin(rules, floor))
    # A noisy machine makes every claim harder: from what is no slower its noise is taken off.
    least = claim["at_least"] if faster else math.exp(-log_sameness(rules, floor))
    if said.low >= least and (said.low >= beyond or not faster):
        return replace(said, verdict=HOLDS)
    found = _found(said)
    if said.low >= least:
        what = "noise floor" if floor > rules.margin else "margin"
        return replace(said, reason=f"{found}: not wholly beyond the {what}, {figure(beyond)}")
    where = "wholly below" if said.high < least else "not wholly at or above"
    return replace(said, reason=f"{found}: {where} {figure(least)}")


def _discovered(verdicts: Sequence[Verdict], rules: Rules) -> list[Verdict]:
    """Refuse what holds alone and not among so many: some of many claims would hold by chance."""
    tested = [index for index, verdict in enumerate(verdicts) if verdict.p_value is not None]
    found = list(verdicts)
    rate = rules.false_discovery_rate
    for index, q_value in zip(tested, q_values([verdicts[i].p_value for i in tested]), strict=True):
        found[index] = replace(found[index], q_value=q_value)
        if found[index].verdict == HOLDS and q_value > rate:
            reason = (
                f"could be chance among {len(tested)} such comparisons: q {figure(q_value)}, above {rate:g}"
            )
            found[index] = replace(found[index], verdict=REFUSED, reason=reason)
    return found


# --- counts ------------------------------------------------------------------------------------------


def _count(blank: Verdict, claim: Claim, analysis: Analysis) -> Verdict:
    """In how many of the rows compared a library is the fastest, alone, as the tables have it.

    A row is compared where the library and every one that it is claimed against is: a rival that has no
    number, or was measured otherwise, might be the fastest. Those that could not win may be left out.
    """
    fields = list(_fields(claim, analysis))
    whole = [field for field in fields if not any(map(absence, field.values()))]
    mine = [field for field in whole if field[claim["library"]]["verdict"] in JUDGED]
    first = [{name for name, line in field.items() if line["verdict"] in NOT_SLOWER} for field in mine]
    wins = sum(
        names == {claim["library"]} and field[claim["library"]]["verdict"] == "fastest"
        for names, field in zip(first, mine, strict=True)
    )
    shared = sum(claim["library"] in names for names in first) - wins
    said = replace(blank, wins=wins, compared=len(mine))
    told = [f"found fastest alone in {wins} of {len(mine)} rows compared, tied or undecided in {shared}"]
    if mine:
        rows = _at(analysis.rows, claim)
        sessions = rows[rows["library"] == claim["library"]]["session"].nunique()
        repeats = min(field[claim["library"]]["repeats"] for field in mine)
        said = replace(said, repeats=int(repeats), sessions=int(sessions))
    else:
        told = [NO_FLOOR if blank.floor is None else "nothing compared"]
    if len(whole) < len(fields):
        told.append(f"not compared in {len(fields) - len(whole)}: {_named(fields, absence, _why)}")
    if named := _named(mine, left_out):
        told.append(f"left out beside those compared: {named}")
    said = replace(said, reason="; ".join(told))
    # In as large a share, where more rows are compared than the claim says.
    if mine and len(mine) >= claim["of"] and wins * claim["of"] >= claim["at_least"] * len(mine):
        return replace(said, verdict=HOLDS)
    if mine and len(mine) < claim["of"]:
        return replace(said, reason=f"{said.reason}; the claim is about {claim['of']}")
    return said


def _fields(claim: Claim, analysis: Analysis) -> Iterator[dict[str, dict[str, Any]]]:
    """Transform by transform, the lines of the library and of those that it is claimed against."""
    summary = _at(analysis.summary, claim)
    named = summary[summary["library"].isin([claim["library"], *claim["against"]])]
    for _, lines in named.groupby("transform", sort=False):
        yield {line["library"]: line for line in _lines(lines)}


def _named(
    fields: Iterable[Mapping[str, Mapping[str, Any]]],
    told: Callable[[Mapping[str, Any]], str | None],
    why: Callable[[Mapping[str, Any]], str] = lambda _: "",
) -> str:
    """``pillow blocked in 4 (why, of the first)``: whom ``told`` says something of, and how often."""
    lines = [line for field in fields for line in field.values() if told(line)]
    counts = Counter((line["library"], told(line)) for line in lines)
    reasons = {(line["library"], told(line)): why(line) for line in reversed(lines)}
    return ", ".join(f"{' '.join(key)} in {count}{reasons[key]}" for key, count in counts.items())


def _why(line: Mapping[str, Any]) -> str:
    text = line["blocked"] or line["reason"]
    return f" ({one_line(text)})" if text else ""
