"""Verdicts on claims as Markdown and CSV, and as `augmark claims` prints them."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path

from augmark.analysis.claims import Verdict, judge
from augmark.analysis.found_machine import machine_words
from augmark.analysis.frame import write_text
from augmark.analysis.markdown import escape
from augmark.analysis.numbers import figure
from augmark.analysis.planned import PlanContent
from augmark.analysis.tables import Analysis
from augmark.errors import AugmarkError

COLUMNS = [field.name for field in fields(Verdict)]
_SHOWN = {
    "claim": "Claim",
    "claim_in_words": "In words",
    "transform": "Transform",
    "verdict": "Verdict",
    "ratio": "Ratio",
    "low": "Low",
    "high": "High",
    "repeats": "Repeats",
    "sessions": "Sessions",
    "margin": "Margin",
    "floor": "Noise floor",
    "reason": "Reason",
}
_SHARES = ("margin", "floor")
_NONE = "config/claims.yaml says nothing of the libraries, or this plan is about others."


def write_claims(analysis: Analysis, paths: Sequence[Path]) -> None:
    """Judge the plan's claims and write them as ``.md`` or ``.csv``, by suffix.

    Raises:
        AugmarkError: Another suffix.
    """
    verdicts, records = judge(analysis.plan["claims"], analysis), analysis.records
    found = machine_words(records.machine, records.frame)
    for path in paths:
        if path.suffix == ".md":
            write_text(path, render(verdicts, analysis.plan, found))
        elif path.suffix == ".csv":
            write_text(path, render_csv(verdicts))
        else:
            raise AugmarkError("claims are a .md or a .csv", where=str(path))


def counted(verdicts: Sequence[Verdict]) -> str:
    """``5 hold, 1 refused, 2 not judged``."""
    counts = Counter(verdict.verdict for verdict in verdicts)
    words = {"holds": "hold", "refused": "refused", "not judged": "not judged"}
    return ", ".join(f"{counts[name]} {shown}" for name, shown in words.items() if counts[name]) or "none"


def render(verdicts: Sequence[Verdict], plan: PlanContent, machine: str) -> str:
    """claims.md: a line per comparison or count, and what the columns mean."""
    head = [f"# Claims held against the records of {escape(machine)}", ""]
    if not verdicts:
        return "\n".join([*head, _NONE]) + "\n"
    lines = [
        "| " + " | ".join(_SHOWN.values()) + " |",
        "| " + " | ".join("---" for _ in _SHOWN) + " |",
        *("| " + " | ".join(escape(_text(verdict, name)) for name in _SHOWN) + " |" for verdict in verdicts),
    ]
    statistics = plan["policy"]["statistics"]
    notes = [
        f"{counted(verdicts)}; a claim about several transforms holds where each of its lines does.",
        "Ratio: throughput over throughput, with its interval"
        f" at {statistics['confidence']:.0%}, all of which has to lie where the claim says, and beyond margin"
        " and noise floor.",
        "A library that is claimed to be faster, or no slower, is so among the discoveries of all these"
        f" claims, at a rate of {statistics['false_discovery_rate']:g}; a count rests on the"
        " verdicts of the tables, where the rate holds table by table. q-values and all else that is known"
        " are in claims.csv.",
        "Not judged: these records are of another machine, or the plan has no such rows, or its depth claims"
        " nothing.",
    ]
    below = [f"- {escape(note)}" for note in notes]
    said = {verdict.claim: verdict.text for verdict in verdicts if verdict.text}
    below += [f"- {escape(claim)} carries: {escape(text)}" for claim, text in said.items()]
    return "\n".join([*head, *lines, "", *below]) + "\n"


def render_csv(verdicts: Sequence[Verdict]) -> str:
    """claims.csv: the same, with every figure raw."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(verdict) for verdict in verdicts)
    return out.getvalue()


def printed(verdicts: Sequence[Verdict]) -> str:
    """What `augmark claims` prints: a line per verdict, and how many there are of each."""
    names = [f"{each.claim} {each.transform}" if each.transform else each.claim for each in verdicts]
    width = max(map(len, names), default=0)
    lines = [
        f"{verdict.verdict:<10}  {name:<{width}}  {verdict.reason or _found(verdict)}"
        for verdict, name in zip(verdicts, names, strict=True)
    ]
    return "\n".join([*lines, f"claims: {counted(verdicts)}"])


def _found(verdict: Verdict) -> str:
    return f"found {_text(verdict, 'ratio')} [{_text(verdict, 'low')}, {_text(verdict, 'high')}]"


def _text(verdict: Verdict, name: str) -> str:
    value = getattr(verdict, name)
    if value is None:
        return ""
    if name in _SHARES:
        return f"{value:.1%}"
    return figure(value) if isinstance(value, float) else str(value)
