"""Stages of ``topup``, decided again from the records that they rest on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from augmark import topup
from augmark.analysis.frame import read_records
from augmark.analysis.gather import collect
from augmark.analysis.tables import analyse
from augmark.evidence.findings import Finding
from augmark.evidence.verify_records import Record
from augmark.plan import Plan

REMEDY = (
    "bring the stage back as it was decided; or delete it and its later ones and run `snakemake topup`, "
    "which decides from the records that are there"
)
Stage = Mapping[str, Any]


def topup_problems(
    plan: Plan, good: Mapping[Path, Record], classes: pd.DataFrame, folder: Path, prefix: str
) -> tuple[list[Finding], list[str]]:
    """Decide every stage of a plan again.

    Args:
        plan: Its ``repeats`` hold the stages.
        good: The plan's records that hold.
        classes: What is the same work.
        folder: For what is made on the way.
        prefix: Of file names in findings.

    Returns:
        What does not hold, and which stages cannot be decided again: their records are damaged, or have been
        measured again since. Such a stage stays: it was decided by the rule from what was there.

    Raises:
        AugmarkError: As ``tables.analyse``.
    """
    findings, notes = [], []
    for number, stage in enumerate(plan.content["repeats"]["decided"], 1):
        name = f"{prefix}{plan.topup_file(number).relative_to(plan.output).as_posix()}"
        content = topup.before(plan.content, number)
        paths = [plan.output / "records" / cell["path"] for cell in content["cells"]]
        if why := _not_there(content, stage, [good.get(path) for path in paths]):
            notes.append(f"{name}: cannot be decided again: {why}")
            continue
        file = folder / f"topup-{number}.parquet"
        collect(paths, content, file)
        analysis = analyse(read_records(file), content, classes, target="topup")
        again = topup.decide(content, analysis.summary, analysis.rows)
        findings += [Finding(name, "topup", what, REMEDY) for what in _differences(stage, again)]
    return findings, notes


def _not_there(content: Mapping[str, Any], stage: Stage, records: list[Record | None]) -> str:
    """Why the records that a stage was decided from are not those that are there; empty where they are."""
    whole = [record for record in records if record is not None]
    if len(whole) < len(records):
        return f"{len(records) - len(whole)} of its {len(records)} records are missing or damaged"
    if topup.cells_digest(content["cells"]) != stage["cells_digest"]:
        return "the plan has other cells now (of another lock, code or data); the stage holds for them too"
    if late := sum(record["started"] > (stage["until"] or "") for record in whole):
        return f"{late} of its {len(records)} records were measured after it was decided; the stage holds on"
    return ""


def _differences(stage: Stage, again: Stage) -> Iterator[str]:
    for name, wanted in again.items():
        found = stage[name]
        if name == "where" and isinstance(found, list) and isinstance(wanted, list):
            yield from _fields(found, wanted)
        elif found != wanted:
            yield f"{name} is {found!r}, the records give {wanted!r}"


def _fields(found: list[dict[str, str]], wanted: list[dict[str, str]]) -> Iterator[str]:
    its, own = ({tuple(field[name] for name in topup.FIELD): field for field in w} for w in (found, wanted))
    for place in sorted(its.keys() | own.keys()):
        named = " ".join(place)
        if place not in own:
            yield f"where has {named}, by the records the rule does not ask for it"
        elif place not in its:
            yield f"where has no {named}, by the records the rule asks for it: {own[place]['why']}"
        elif its[place]["why"] != own[place]["why"]:
            yield f"where, {named}: why is {its[place]['why']!r}, the records give {own[place]['why']!r}"
