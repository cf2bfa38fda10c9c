"""The libraries of one transform against the fastest of them, and what a table of such fields may claim."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from augmark.analysis.classes import Classes
from augmark.analysis.compare import Comparison, compare, log_margin, verdict
from augmark.analysis.contracts import Repeats, Sides, alike_sides, grouped
from augmark.analysis.discoveries import q_values, with_the_fastest
from augmark.analysis.gating import gate
from augmark.analysis.planned import is_control
from augmark.analysis.rules import Rules
from augmark.modes import PLAIN
from augmark.record import MEASURED

NOT_COMPARED = {"threads", "blocked"}  # marks of rows that keep their figure and stand alone
NOT_SLOWER = ("fastest", "tie", "undecided")  # verdicts of what a table prints as the best
JUDGED = (*NOT_SLOWER, "slower")
NOT_PLANNED = ("unsupported", "excluded")  # what the configuration says before anything is measured
# Marks of rows that could have won and were not compared, in words; other work could not have.
_ABSENT = {
    "blocked": "blocked",
    "unsampled": "without a sample",
    "items": "on other items",
    "threads": "on another thread count",
}

Line = dict[str, Any]


@dataclass(frozen=True)
class Entrant:
    """A row: its line and those of its repeats that have a number, whatever their contracts."""

    line: Line
    repeats: Repeats


@dataclass(frozen=True)
class Contest:
    """The rows of one field that are compared.

    Attributes:
        fastest: The line with the smallest median of seconds.
        rivals: The others' lines, with what their comparison with it found.
        floor: The noise floor of the place, None where there is none.
    """

    fastest: Line
    rivals: list[tuple[Line, Comparison]]
    floor: float | None

    @property
    def decidable(self) -> bool:
        """Whether every row compared has the repeats for a claim."""
        return all(comparison.low is not None for _, comparison in self.rivals)

    @property
    def side_by_side(self) -> bool:
        """Whether every row compared was measured in the sessions of the fastest: else nobody has won."""
        return all(comparison.paired for _, comparison in self.rivals)


def open_contest(entrants: Sequence[Entrant], rules: Rules, classes: Classes) -> Contest | None:
    """Compare the libraries of one transform with the fastest, in place; None where no two are compared.

    Left out are controls, rows of another thread count, rows of other work (``gating.gate`` says what the
    work of a field is), on other items, or with too few pairs of one contract (``contracts.alike_sides``).
    Rows of a condition are compared with the plain row of their own library, and not here.

    Args:
        entrants: Every row of the field, those without a number among them (no samples).
        rules: The policy's.
        classes: Of the pairs of libraries.
    """
    field = [entrant for entrant in entrants if not is_control({}, entrant.line["library"])]
    if not field or field[0].line["condition"] != PLAIN:
        return None
    able = [one for one in field if one.repeats.samples and NOT_COMPARED.isdisjoint(one.line["marks"])]
    same = gate([one.line for one in field], [one.line for one in able], classes)
    able = [one for one in able if any(one.line is line for line in same)]
    able = _on_equal_items(able) if len(able) > 1 else []
    able = _measured_alike(able, rules)
    if len(able) < 2:
        return None
    base, *others = able
    rivals = []
    for one in others:
        sides = alike_sides(one.repeats, base.repeats, rules)
        comparison = compare(sides.first, sides.second, rules, base.line["floor"])
        rivals.append((one.line, comparison))
        _describe(one.line, comparison, base.line)
        if sides.left_out:
            said = f"{sides.left_out} of {sides.pairs} pairs with {base.line['library']} are left out"
            _add(one.line, "mixed", f"{said}: {'; '.join(sides.apart)}")
    return Contest(base.line, rivals, base.line["floor"])


def absence(line: Line) -> str | None:
    """Why a row that could have won its field is not among those compared, in words.

    None where it is among them, and where it could not have won: it is not planned to run, or does other
    work (``left_out``).
    """
    if line["status"] in NOT_PLANNED or line["verdict"] in JUDGED:
        return None
    if line["status"] not in MEASURED:
        return line["status"]
    return next((words for mark, words in _ABSENT.items() if mark in line["marks"]), None)


def left_out(line: Line) -> str | None:
    """Why a row could not have won its field: not planned to run, or other work; else None."""
    if line["status"] in NOT_PLANNED:
        return line["status"]
    return "of other work" if {"different", "unpinned"} & set(line["marks"]) else None


def _add(line: Line, mark: str, text: str) -> None:
    line["marks"].append(mark)
    line[mark] = f"{line[mark]}; {text}" if line.get(mark) else text


def _footing(line: Line) -> tuple[bool, str | None, str | None]:
    """What is equal in rows that may be compared: timed in part or in full, number of items, which items."""
    part = line["status"] == "slow" or "reduced-items" in line["marks"]
    return part, line["items"], line["items_digest"]


def _on_equal_items(able: list[Entrant]) -> list[Entrant]:
    """Those on the items that most can be said of, the fastest first; the others get a mark.

    Rows in full come before slow and reduced ones, more items before fewer, then it is the fastest's. Where
    the repeats of a row are on different items, nothing is equal to it.
    """
    lines = [one.line for one in able]
    known = [line for line in lines if line["items"].isdigit() and ";" not in line["items_digest"]]
    lead = None
    if known:
        best = min(known, key=lambda line: (_footing(line)[0], -int(line["items"]), line["seconds_median"]))
        lead = _footing(best)
    for line in lines:
        if _footing(line) != lead:
            line["marks"].append("items")
    alike = [one for one in able if _footing(one.line) == lead]
    return sorted(alike, key=lambda one: (one.line["seconds_median"], one.line["library"]))


def _measured_alike(able: list[Entrant], rules: Rules) -> list[Entrant]:
    """The largest set measured alike, of equal ones that of the fastest; the others are blocked, by name."""

    def sides(one: int, other: int) -> Sides:
        return alike_sides(able[one].repeats, able[other].repeats, rules)

    groups = grouped(len(able), lambda one, other: sides(one, other).enough)
    for index in (index for group in groups[1:] for index in group):
        lead = groups[0][0]
        fields = "; ".join(sides(lead, index).apart)
        _add(able[index].line, "blocked", f"against {able[lead].line['library']}: {fields}")
    return [able[index] for index in groups[0]] if groups else []


def _describe(line: Line, comparison: Comparison, fastest: Line) -> None:
    line["comparison"] = "paired" if comparison.paired else "unpaired"
    if comparison.low is not None and comparison.high is not None:
        line["ratio"] = math.exp(comparison.log_ratio)
        line["ratio_low"], line["ratio_high"] = math.exp(comparison.low), math.exp(comparison.high)
    if not comparison.paired:
        line["marks"].append("sessions")
    if line["dtype"] != fastest["dtype"]:
        line["marks"].append("dtype")


def judge(contests: Sequence[Contest], rules: Rules) -> None:
    """Say of every row of one table what it is: fastest, tied, slower or undecided, in place.

    A row is *slower* where the interval of its ratio to the fastest lies wholly beyond the margin, and it is
    among the discoveries of the table at ``false_discovery_rate``; a *tie* where the interval lies wholly
    within the margin less the noise floor; else *undecided*. The row with the smallest median is the
    *fastest*, or undecided itself as long as one of the others could be faster by more than the margin.
    What was measured in other sessions than the fastest is undecided, and so is then the fastest: none of
    such a field is best.
    Nothing is said without a noise floor, nor at a depth that claims nothing; where a row of the field has
    too few repeats, the whole field is undecided and none of its rows best.
    """
    if not rules.claims:
        return
    open_ones = [contest for contest in contests if contest.floor is not None]
    for contest in open_ones:
        if not contest.decidable:
            for line in (contest.fastest, *(line for line, _ in contest.rivals)):
                line["verdict"] = "undecided"
    rivals = [(each, *rival) for each in open_ones if each.decidable for rival in each.rivals]
    for _, line, comparison in rivals:
        if not comparison.paired:
            line["verdict"] = "undecided"
    claims = [rival for rival in rivals if rival[2].paired]
    p_values = [with_the_fastest(comparison.p_value, len(each.rivals)) for each, _, comparison in claims]
    for (contest, line, comparison), p_value, q_value in zip(
        claims, p_values, q_values(p_values), strict=True
    ):
        line["p_value"], line["q_value"] = p_value, q_value
        said = verdict(comparison, rules, contest.floor)
        slower = said == "slower" and q_value <= rules.false_discovery_rate
        line["verdict"] = "slower" if slower else "tie" if said == "same" else "undecided"
    for contest in open_ones:
        if contest.decidable:
            _crown(contest, rules)


def _crown(contest: Contest, rules: Rules) -> None:
    margin = log_margin(rules, contest.floor)
    overtaken = any(not found.paired or found.low < -margin for _, found in contest.rivals)
    contest.fastest["verdict"] = "undecided" if overtaken else "fastest"
    for line in (contest.fastest, *(line for line, _ in contest.rivals)):
        line["best"] = line["verdict"] in NOT_SLOWER and contest.side_by_side
        if line["verdict"] == "undecided":
            line["marks"].append("undecided")
