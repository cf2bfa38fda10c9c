"""The answer to a plan file, from the files of a plan; and said on a terminal, with an exit status."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from augmark.analysis.classes import read_classes
from augmark.analysis.frame import read_records
from augmark.analysis.numbers import one_line
from augmark.analysis.question_report import write_report
from augmark.analysis.tables import analyse
from augmark.errors import AugmarkError


def write(plan: Path, records: Path, classes: Path, out: Sequence[Path]) -> None:
    """Write the report from the plan's own files; a verdict that fails is no failure of this job."""
    content = json.loads(plan.read_text(encoding="utf-8"))
    analysis = analyse(read_records(records), content, read_classes(classes), target="plan_report")
    write_report(analysis, out)


def say(report: Sequence[Path]) -> int:
    """Print the verdicts; 1 where a candidate's is one that the plan file fails on, or none was judged.

    Args:
        report: report.json and the others; empty where no plan file is chosen.

    Raises:
        AugmarkError: None is chosen.
    """
    if not report:
        known = ", ".join(sorted(path.stem for path in Path("config/plans").glob("*.yaml"))) or "none"
        raise AugmarkError(
            "no plan file is chosen", where="--config", remedy=f"plan=NAME; there are: {known}"
        )
    (path,) = (path for path in report if path.suffix == ".json")
    content = json.loads(path.read_text(encoding="utf-8"))
    print(spoken(content, path.with_suffix(".md")), flush=True)
    return int(content["exit"]["status"])


def spoken(content: Mapping[str, Any], where: Path) -> str:
    """What a terminal is told of report.json: one line per row and verdict, those that fail first named.

    Args:
        content: Of report.json.
        where: The report for people.
    """
    question = content["question"]
    lines = [f"{question['title']} ({question['name']})", f"machine  {content['machine_found']}"]
    for pairing in content["pairings"]:
        lines += ["", f"{pairing['condition']} ({pairing['role']}) against {pairing['baseline']}"]
        width = max((len(row["transform"]) for row in pairing["rows"]), default=0)
        for row in pairing["rows"]:
            known = row["ratio"] is not None
            ratio = f"{row['ratio']:.3f}" if known else "–"
            bounds = (
                f" [{row['ratio_low']:.3f}, {row['ratio_high']:.3f}]" if row["ratio_low"] is not None else ""
            )
            why = f"  {one_line(row['why'])}" if row["why"] else ""
            lines.append(f"  {row['transform']:<{width}}  {row['verdict']:<9}  {ratio}{bounds}{why}")
        told = ", ".join(f"{name} {number}" for name, number in pairing["counts"].items())
        lines.append(f"  of {len(pairing['rows'])} rows: {told}")
    return "\n".join([*lines, "", content["exit"]["why"], f"report   {where}"])
