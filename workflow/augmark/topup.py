"""Which rows get more repeats, decided stage by stage, by a rule that was written beforehand.

The plan has the schedule (``content["repeats"]``). Every stage but the last takes all rows a step further,
the last one those that ``repeats.more_where`` of policy.yaml asks for. A decision is a file, written once;
the plan obeys the files that are there. Standard library only: the workflow asks for paths when parsed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from augmark.cell import short_digest
from augmark.errors import AugmarkError

if TYPE_CHECKING:
    import pandas as pd

SCHEMA = "augmark/topup/1"
POLICY = "config/policy.yaml: repeats"
FIELD = ("scenario", "mode", "device", "transform")
_KEYS = ("schema", "machine", "campaign", "depth", "stage", "repeats", "where", "considered", "rule")
_RESTS_ON = ("records_digest", "cells_digest", "until")
# What of the records a decision rests on.
_DECIDED_FROM = ["record_path", "transform", "condition", "row_digest", "status", "session", "values"]

Content = Mapping[str, Any]


def refusal(content: Content) -> AugmarkError | None:
    """Why there is no next stage; None where there is one."""
    try:
        next_stage(content)
    except AugmarkError as error:
        return error
    return None


def next_stage(content: Content) -> dict[str, Any]:
    """Number of the next stage, how many repeats it goes to, and whether everywhere or by the rule.

    Raises:
        AugmarkError: The number of repeats is fixed, or every stage is decided.
    """
    repeats = content["repeats"]
    if content["question"]:
        raise AugmarkError(
            f"plan {content['question']['name']} says how many repeats it has: {repeats['first']}",
            where="config/plans",
            remedy="give another number with --config repeats=N",
        )
    if repeats["fixed"]:
        raise AugmarkError(
            f"repeats={repeats['first']} is given, so there is nothing for topup to decide",
            where="config: repeats",
            remedy="leave repeats at null: the schedule of policy.yaml then holds",
        )
    stage = len(repeats["decided"]) + 1
    if stage >= len(repeats["schedule"]):
        decided = f", and all of it is decided ({stage - 1} of {stage - 1} stages)" if stage > 1 else ""
        raise AugmarkError(
            f"there is no further stage: the schedule is {_listed(repeats['schedule'])}{decided}",
            where=POLICY,
            remedy="`augmark plan` shows what was decided; snakemake paper_tables measures it",
        )
    last = stage == len(repeats["schedule"]) - 1
    return {"stage": stage, "repeats": repeats["schedule"][stage], "by_rule": last}


def decide(content: Content, summary: pd.DataFrame, rows: pd.DataFrame) -> dict[str, Any]:
    """Decide the next stage from the records of a machine.

    A field (one transform in one scenario, mode and device) is taken further as a whole, with every library
    that has it and ``control-aa`` where that takes it, so that what is compared stays in one block and the
    noise floor rests on as many repeats. ``control-copy`` and ``control-slow`` are not: what they show of the
    harness does not depend on how close two libraries are. A comparison with too few repeats for an interval
    is undecided. A depth with a stamp claims nothing, so nothing is undecided, and only spread asks for more.

    Args:
        content: Of the plan.
        summary: One line per row (``statistics.summarize``).
        rows: One line per row and repeat, each with a record (``coverage.cover``).

    Returns:
        The stage: ``where`` is ``"all"``, or the fields that get more repeats, each with ``why``.

    Raises:
        AugmarkError: As ``next_stage``; or a planned row has no record.
    """
    stage = next_stage(content)
    wanting = rows[~rows["recorded"] & (rows["status"] == "not-run")]
    if len(wanting):
        raise AugmarkError(
            f"{len(wanting)} planned rows have no record: a stage is decided from all of them",
            where=str(wanting["record_path"].iloc[0]),
            remedy="snakemake paper_tables",
        )
    rule = content["policy"]["repeats"]
    fields = _fields(content, summary)
    asking = [
        {**dict(zip(FIELD, field, strict=True)), "why": why}
        for field, lines in fields.items()
        if (why := "; ".join(_reasons(content, rule["more_where"], lines)))
    ]
    return {
        "schema": SCHEMA,
        "machine": content["machine"],
        "campaign": content["campaign"],
        "depth": content["depth"],
        "stage": stage["stage"],
        "repeats": stage["repeats"],
        "where": asking if stage["by_rule"] else "all",
        "considered": len(fields),
        "rule": rule,
        **rests_on(content, rows),
    }


def rests_on(content: Content, rows: pd.DataFrame) -> dict[str, Any]:
    """What a decision rests on: figures and cells by digest, and when the last of their records was begun.

    By the last two one can tell later whether the records are still those: a record that is measured again
    (another lock, ``refresh=blocks``) is of another digest, or was begun after the decision.
    """
    begun = rows["cell_started"].dropna()
    return {
        "records_digest": records_digest(rows),
        "cells_digest": cells_digest(content["cells"]),
        "until": max(begun, default=None),
    }


def cells_digest(cells: Iterable[Mapping[str, Any]]) -> str:
    """The digest of what cells are planned, by the paths of their records."""
    return short_digest(sorted(cell["path"] for cell in cells))


def before(content: Content, stage: int) -> dict[str, Any]:
    """The plan that a stage was decided from: without it and later ones, with the repeats that there were."""
    repeats = content["repeats"]
    there = repeats["schedule"][stage - 1]
    return {
        **content,
        "repeats": {**repeats, "decided": repeats["decided"][: stage - 1]},
        "cells": [cell for cell in content["cells"] if cell["repeat"] < there],
    }


def problem(content: Content, stage: Any, number: int) -> str | None:
    """Why a stage that was read is not to be obeyed; None where it is one that the plan could have decided.

    Args:
        content: Of the plan, whatever is decided in it.
        stage: What stands in the file.
        number: Of the stage, by the file's name.
    """
    wanted = {*_KEYS, *_RESTS_ON}
    if not isinstance(stage, dict):
        return "it is no JSON object"
    if odd := sorted(wanted ^ set(stage)):
        return f"field {odd[0]} is {'missing' if odd[0] in wanted else 'unknown'}"
    schedule = content["repeats"]["schedule"]
    if number >= len(schedule):
        return f"the schedule {_listed(schedule)} has no stage {number}"
    asked = {
        "schema": SCHEMA,
        **{name: content[name] for name in ("machine", "campaign", "depth")},
        "stage": number,
        "repeats": schedule[number],
        "rule": content["policy"]["repeats"],
    }
    for name, value in asked.items():
        if stage[name] != value:
            return f"{name} is {stage[name]!r}, the plan asks for {value!r}"
    if number < len(schedule) - 1:
        return (
            None if stage["where"] == "all" else "where is not 'all', and only the last stage is by the rule"
        )
    return _problem_where(stage["where"])


def _problem_where(where: Any) -> str | None:
    """What is wrong with the list of the fields that get more repeats."""
    if not isinstance(where, list):
        return f"where is {where!r}, and the last stage names its transforms in a list"
    seen = set()
    for k, field in enumerate(where):
        if not isinstance(field, dict) or set(field) != {*FIELD, "why"}:
            return f"where/{k} is not an object of {', '.join(FIELD)} and why"
        if not all(isinstance(value, str) and value for value in field.values()):
            return f"where/{k} has a field that is no text"
        if (named := tuple(field[name] for name in FIELD)) in seen:
            return f"where/{k}: {' '.join(named)} stands twice"
        seen.add(named)
    return None


def records_digest(rows: pd.DataFrame) -> str:
    """The digest of every figure and status that a decision rests on, whatever the order of the rows."""
    lines = [
        [None if value is None or value != value else value for value in line[:-1]]
        + [[] if line[-1] is None else [float(value) for value in line[-1]]]
        for line in rows.loc[rows["recorded"], _DECIDED_FROM].itertuples(index=False, name=None)
    ]
    return short_digest(sorted(lines, key=lambda line: [str(part) for part in line]))


def _fields(content: Content, summary: pd.DataFrame) -> dict[tuple[str, ...], list[dict[str, Any]]]:
    """The lines of each field, those of controls left out: they are no result."""
    found: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for line in summary.to_dict("records"):
        if content["libraries"][line["library"]]["kind"] != "control":
            found.setdefault(tuple(line[name] for name in FIELD), []).append(line)
    return found


def _reasons(content: Content, more_where: Mapping[str, bool], lines: Iterable[dict]) -> Iterator[str]:
    """Why a field gets more repeats."""
    lines = list(lines)
    unstable = [f"{_row(line)} (CV {line['cv']:.0%})" for line in lines if "unstable" in line["marks"]]
    if more_where["unstable"] and unstable:
        yield f"unstable: {', '.join(unstable)}"
    undecided = [_row(line) for line in lines if _undecided(line)]
    if more_where["undecided"] and undecided and not content["stamp"]:
        yield f"undecided against the fastest: {', '.join(undecided)}"


def _undecided(line: Mapping[str, Any]) -> bool:
    ratio = line["ratio"]  # None or, from a column with numbers, NaN where there is no interval
    without_interval = isinstance(line["comparison"], str) and (ratio is None or ratio != ratio)
    return line["verdict"] == "undecided" or without_interval


def _row(line: Mapping[str, Any]) -> str:
    return line["library"] if line["condition"] == "plain" else f"{line['library']} {line['condition']}"


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))


def in_words(stage: Mapping[str, Any]) -> str:
    """One line: ``topup 2: 5 repeats of 4 of 58 transforms``."""
    start = f"topup {stage['stage']}: {stage['repeats']} repeats"
    if stage["where"] == "all":
        return f"{start} of everything"
    if not stage["where"]:
        return f"{start} where the rule asks for more: no row needs more"
    return f"{start} of {len(stage['where'])} of {stage['considered']} transforms, by the rule"


def schedule_lines(content: Content, decided: Iterable[Mapping[str, Any]]) -> list[str]:
    """What `augmark plan` and a run say of the repeats: the schedule, and each stage that is decided."""
    repeats, decided = content["repeats"], list(decided)
    if repeats["fixed"] or len(repeats["schedule"]) == 1:
        return [f"repeats  {repeats['first']}"]
    left = len(repeats["schedule"]) - 1 - len(decided)
    further = "; `snakemake topup` goes a step further" if left else ""
    return [f"repeats  schedule {_listed(repeats['schedule'])}{further}", *map(in_words, decided)]
