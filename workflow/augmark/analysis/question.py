"""A plan file's answer: each candidate against its baseline, row by row, with a verdict and why.

A ratio here is throughput over the baseline's: above 1 the condition is faster.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from augmark.analysis.alike import fields, mixed
from augmark.analysis.classes import SAME, Classes
from augmark.analysis.compare import Comparison, compare, samples_of
from augmark.analysis.contracts import contracts_of
from augmark.analysis.discoveries import q_values
from augmark.analysis.marks import SHOWN
from augmark.analysis.numbers import joined
from augmark.analysis.planned import PlanContent
from augmark.analysis.question_ground import WANTS, Ground, ground_of, judge
from augmark.analysis.rules import Rules
from augmark.analysis.tables import Analysis
from augmark.config.questions import CANDIDATE, conditions_of
from augmark.errors import AugmarkError
from augmark.modes import PLAIN
from augmark.record import MEASURED
from augmark.worker.threads import POOL_VARIABLES

VERDICTS = ("faster", "slower", "same", "undecided", "blocked")
DECIDED = ("faster", "slower")
# Flags of a row that is not what its condition says.
SPOILT = {
    "threads": "ran on another number of threads than declared",
    "reduced-batch": "ran in smaller batches than declared",
    "idle-workers": "left workers idle",
}
# What differs with a declared difference, beside a setting of that name. Another lock may hold another numpy.
_POOLS = ["setting.threads", *(f"variables.{name}" for name in POOL_VARIABLES)]
FOLLOWING = {
    "library": [],
    "environment": ["numpy"],
    "threads": _POOLS,
    "policy": ["setting.policy", *_POOLS],
}
NOT_PLANNED = ("unsupported", "excluded")  # what the configuration says before anything is measured
COLUMNS = [
    *("group", "baseline", "condition", "role", "scenario", "mode", "device", "transform", "verdict", "why"),
    *("ratio", "ratio_low", "ratio_high", "comparison", "repeats", "sessions", "p_value", "q_value"),
    *("margin", "floor", "class", "baseline_status", "status", "baseline_throughput", "throughput"),
    *("baseline_cv", "cv", "items", "notes", "wants"),
]
Line = dict[str, Any]


@dataclass(frozen=True)
class Pairing:
    """One condition of a group and the baseline that it is held against."""

    group: str
    baseline: Mapping[str, Any]
    condition: Mapping[str, Any]

    @property
    def differs(self) -> list[str]:
        """What the plan file declares to differ, in words."""
        return [f"{name}: {one} and {other}" for name, one, other in _declared(self.baseline, self.condition)]

    @property
    def facts(self) -> list[str]:
        """Names of the contract's facts that follow from what is declared."""
        names: list[str] = []
        for name, _, _ in _declared(self.baseline, self.condition):
            if name in FOLLOWING:
                names += FOLLOWING[name]
            else:
                names.append(name if name.startswith("variables.") else f"setting.{name}")
        return names


@dataclass(frozen=True)
class Answer:
    """What became of a question.

    Attributes:
        question: The plan file in its normal form.
        pairings: Every condition beside its group's baseline, in order.
        lines: One per pairing and transform that either side has; columns as in ``COLUMNS``.
        neither: Rows that neither side of their pairing has, so that there is nothing to hold.
        grounds: Group -> what its verdicts rest on.
        versions: Digest of the plan file -> records that were measured under it.
    """

    question: Mapping[str, Any]
    pairings: Sequence[Pairing]
    lines: pd.DataFrame
    neither: int
    grounds: Mapping[str, Ground]
    versions: Mapping[str, int]

    @property
    def candidates(self) -> pd.DataFrame:
        """The lines that the exit status is about."""
        return self.lines[self.lines["role"] == CANDIDATE]

    @property
    def failing(self) -> pd.DataFrame:
        """The candidates' lines whose verdict is one of ``fail_on``."""
        return self.candidates[self.candidates["verdict"].isin(self.question["fail_on"])]

    @property
    def unjudged(self) -> str | None:
        """Why no row of a candidate has been judged by its interval, so that nothing is answered; or None."""
        blocked = self.candidates["verdict"] == "blocked"
        wants = Counter(self.candidates["wants"].dropna())
        if len(self.candidates) > blocked.sum() + wants.total():
            return None
        told = [f"{wants[name]} for want of {words}" for name, words in WANTS.items() if name in wants]
        told += [f"{blocked.sum()} blocked"] if blocked.any() else []
        return f"no row of a candidate was judged: {joined(told) if told else 'neither side has any'}"

    def of(self, pairing: Pairing) -> pd.DataFrame:
        """The lines of one pairing."""
        return self.lines[self.lines["condition"] == pairing.condition["id"]]


def counts(lines: pd.DataFrame) -> dict[str, int]:
    """Rows of each verdict, every verdict named."""
    found = Counter(lines["verdict"])
    return {name: found.get(name, 0) for name in VERDICTS}


def report(analysis: Analysis) -> Answer:
    """Hold every condition of the plan's question against its baseline.

    Args:
        analysis: The plan's records, held against the plan, with the classes of its conditions' work.

    Raises:
        AugmarkError: The plan is a campaign's: it asks no question.
    """
    question = analysis.plan.get("question")
    if not question:
        raise AugmarkError(
            "the plan is a campaign's and asks no question", where="plan", remedy="give plan=NAME"
        )
    rules = Rules.of_plan(analysis.plan)
    grounds = {
        group["name"]: ground_of(analysis, group["conditions"][0]["id"], rules)
        for group in question["groups"]
    }
    pairings = [
        Pairing(group["name"], group["conditions"][0], condition)
        for group in question["groups"]
        for condition in group["conditions"][1:]
    ]
    found = [line for each in pairings for line in _lines(each, analysis, rules, grounds[each.group])]
    lines = [line for line in found if line["verdict"] is not None]
    _control_discoveries(lines, rules)
    return Answer(
        question=question,
        pairings=pairings,
        lines=pd.DataFrame(lines, columns=COLUMNS),
        neither=len(found) - len(lines),
        grounds=grounds,
        versions=_versions(analysis.rows, question),
    )


def _versions(rows: pd.DataFrame, question: Mapping[str, Any]) -> dict[str, int]:
    """Controls may be another plan file's, or a campaign's: they are the same, whoever measured them."""
    own = {condition["id"] for _, condition in conditions_of(question)}
    recorded = rows[rows["recorded"] & rows["library"].isin(own)].drop_duplicates("record_path")
    return dict(sorted(Counter(recorded["question_digest"].fillna("none")).items()))


def _declared(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Name and both values of what two conditions declare differently."""
    for name in ("library", "environment"):
        if one[name] != other[name]:
            yield name, one[name], other[name]
    for kind, before in (("setting", ""), ("variables", "variables.")):
        for name in sorted({*one[kind], *other[kind]}):
            values = [side[kind].get(name, "not set") for side in (one, other)]
            if values[0] != values[1]:
                yield f"{before}{name}", *values


def _lines(pairing: Pairing, analysis: Analysis, rules: Rules, ground: Ground) -> Iterator[Line]:
    """One line per transform; its verdict is None where neither side has the row."""
    ids = [pairing.baseline["id"], pairing.condition["id"]]
    summary, rows = (
        frame[frame["library"].isin(ids) & (frame["condition"] == PLAIN)]
        for frame in (analysis.summary, analysis.rows)
    )
    repeats = dict(iter(rows.groupby(["library", "transform"], sort=False)))
    for transform, told in summary.groupby("transform", sort=False):
        both = {line["library"]: line for line in told.to_dict("records")}
        sides = [(both[name], repeats[name, transform]) for name in ids]
        yield _line(pairing, sides, analysis.classes, rules, ground)


def _line(
    pairing: Pairing,
    sides: Sequence[tuple[Mapping[str, Any], pd.DataFrame]],
    classes: Classes,
    rules: Rules,
    ground: Ground,
) -> Line:
    (base, base_rows), (own, own_rows) = sides
    line: Line = dict.fromkeys(COLUMNS)
    line.update({name: own[name] for name in ("scenario", "mode", "device", "transform", "status", "cv")})
    line.update(group=pairing.group, baseline=base["library"], condition=own["library"], items=own["items"])
    line.update(role=pairing.condition["role"], baseline_status=base["status"], baseline_cv=base["cv"])
    line.update(baseline_throughput=base["throughput"], throughput=own["throughput"], margin=rules.margin)
    line["floor"] = None if ground.floor is None else ground.floor.ratio
    if base["status"] in NOT_PLANNED and own["status"] in NOT_PLANNED:
        return line
    told = classes.of(own["scenario"], own["transform"], base["library"], own["library"])
    line["class"] = told[0]
    rows = pd.concat([base_rows, own_rows])
    blocked = [
        *_without_number(base, own),
        *_other_work(own["mode"], *told, base_rows, own_rows),
        *_not_alike(pairing, base, own, rows, rules),
    ]
    if blocked:
        return {**line, "verdict": "blocked", "why": "; ".join(blocked)}
    result = compare(samples_of(own_rows), samples_of(base_rows), rules, line["floor"])
    line.update(_figures(result), sessions=rows["session"].nunique())
    line.update(judge(result, rules, ground))
    return {**line, "notes": "; ".join(_notes(base, own)) or None}


def _notes(base: Mapping[str, Any], own: Mapping[str, Any]) -> Iterator[str]:
    """What a reader has to know of a figure."""
    if base["dtype"] != own["dtype"]:
        yield f"on {own['dtype']} against {base['dtype']}"
    for told in (base, own):
        if "unstable" in told["marks"]:
            yield f"{told['library']} is unstable (CV {told['cv']:.0%})"
    if own["status"] == "slow":
        yield "slow: timed on fewer items"


def _without_number(*sides: Mapping[str, Any]) -> Iterator[str]:
    for told in sides:
        if told["status"] not in MEASURED:
            reason = told["reason"] if isinstance(told["reason"], str) else SHOWN[told["status"]].words
            yield f"{told['library']} is {told['status']}: {reason}"


def _other_work(
    mode: str, name: str | None, reason: str | None, base_rows: pd.DataFrame, own_rows: pd.DataFrame
) -> Iterator[str]:
    """Why two rows are not the same work. Decoders are judged by what is decoded, when they are probed."""
    if mode != "decode" and name is None:
        yield "nothing shows that it is the same work: no sample of the two on the same items"
    elif mode != "decode" and name not in SAME:
        yield f"not the same work ({name}): {reason}"
    draws = [set(rows["draws"].dropna()) - {"per-sample"} for rows in (base_rows, own_rows)]
    if draws[0] != draws[1]:
        yield "not the same work: one draw for a whole batch against one per item"


def _not_alike(
    pairing: Pairing,
    base: Mapping[str, Any],
    own: Mapping[str, Any],
    rows: pd.DataFrame,
    rules: Rules,
) -> Iterator[str]:
    """What else than the declared was different in how two rows were measured."""
    flags = {str(flag) for each in rows["flags"] if each is not None for flag in each}
    yield from (f"a repeat {words}" for flag, words in SPOILT.items() if flag in flags)
    if {base["status"], own["status"]} <= set(MEASURED):
        if base["status"] != own["status"]:
            slow = own if own["status"] == "slow" else base
            yield f"{slow['library']} is slow ({slow['reason']}) and timed in part, the other in full"
        elif (base["items"], base["items_digest"]) != (own["items"], own["items_digest"]):
            yield f"timed on other items: {base['items']} and {own['items']} of them"
    contracts = [text for text in contracts_of(rows[rows["recorded"]]) if text is not None]
    undeclared = mixed(contracts, [*rules.may_differ, *pairing.facts])
    yield from (f"undeclared difference of {text}" for text in undeclared)
    yield from _set_outside(pairing, contracts)


def _set_outside(pairing: Pairing, contracts: Sequence[str]) -> Iterator[str]:
    """A variable that one side declares and all processes found: the shell has set it for the other, too."""
    for name in pairing.facts:
        values = {str(fields(text).get(name)) for text in contracts}
        one_sided = name.removeprefix("variables.") in {
            *pairing.baseline["variables"],
            *pairing.condition["variables"],
        }
        if name.startswith("variables.") and one_sided and len(values) == 1:
            yield f"{name.removeprefix('variables.')} is {values.pop()} in both: the shell sets it too"


def _figures(result: Comparison) -> Line:
    """A comparison of seconds as one of throughputs."""
    known = result.low is not None and result.high is not None
    return {
        "ratio": math.exp(-result.log_ratio),
        "ratio_low": math.exp(-result.high) if known else None,
        "ratio_high": math.exp(-result.low) if known else None,
        "comparison": "paired" if result.paired else "unpaired",
        "repeats": result.count,
        "p_value": result.p_value,
    }


def _control_discoveries(lines: Sequence[Line], rules: Rules) -> None:
    """Of all comparisons of a report together: what may be chance among so many is not decided.

    What could not be decided anyway is none of them: its p-value would make others' look smaller.
    """
    tested = [line for line in lines if line["p_value"] is not None and line["wants"] is None]
    for line, q in zip(tested, q_values([line["p_value"] for line in tested]), strict=True):
        line["q_value"] = q
        if line["verdict"] in DECIDED and q > rules.false_discovery_rate:
            why = f"{line['verdict']}, but among {len(tested)} comparisons that may be chance (q = {q:.2g})"
            line.update(verdict="undecided", why=why)


def in_words(condition: Mapping[str, Any]) -> str:
    """What a condition is: its library, and what is special about it."""
    facts = [f"{axis.replace('_', ' ')} {value}" for axis, value in condition["setting"].items()]
    facts += [f"{name}={value}" for name, value in condition["variables"].items()]
    return joined([f"{condition['library']} from envs/{condition['environment']}.txt", *facts])


def overridden(plan: PlanContent) -> dict[str, Any]:
    """What the command line said on top of the plan file."""
    return {key: value for key, value in plan["overrides"].items() if key != "plan"}
