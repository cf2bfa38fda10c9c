"""The answer to a plan file as files: report.md for people, report.json and report.csv for programs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from augmark.analysis import energy
from augmark.analysis.found_machine import machine_words
from augmark.analysis.frame import write_text
from augmark.analysis.markdown import escape
from augmark.analysis.numbers import figure, joined, one_line
from augmark.analysis.planned import PlanContent
from augmark.analysis.question import (
    COLUMNS,
    VERDICTS,
    Answer,
    Pairing,
    counts,
    in_words,
    overridden,
    report,
)
from augmark.analysis.question_ground import Ground
from augmark.analysis.rules import Rules
from augmark.analysis.tables import Analysis
from augmark.errors import AugmarkError

SCHEMA = "augmark/plan-report/1"
HEADS = {
    "Transform": "---",
    "Baseline": "---:",
    "Condition": "---:",
    "Ratio": "---:",
    "Verdict": "---",
    "Repeats": "---:",
    "Why, and notes": "---",
}


def write_report(analysis: Analysis, paths: Sequence[Path]) -> None:
    """Write the answer as ``.md``, ``.json`` or ``.csv``, by suffix.

    Raises:
        AugmarkError: Another suffix, or the plan asks no question.
    """
    answer = report(analysis)
    for path in paths:
        if path.suffix == ".md":
            text = render_markdown(analysis, answer)
        elif path.suffix == ".json":
            text = render_json(analysis, answer)
        elif path.suffix == ".csv":
            text = render_csv(answer)
        else:
            raise AugmarkError("a report is a .md, a .json or a .csv", where=str(path))
        write_text(path, text)


def render_csv(answer: Answer) -> str:
    """One line per pairing and transform, raw figures."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for line in answer.lines.to_dict("records"):
        writer.writerow([_field(line[name]) for name in COLUMNS])
    return out.getvalue()


def _field(value: Any) -> str:
    if _is_none(value):
        return ""
    return repr(float(value)) if isinstance(value, float) else one_line(str(value))


def _is_none(value: Any) -> bool:
    return value is None or value is pd.NA or value != value


def render_json(analysis: Analysis, answer: Answer) -> str:
    """Everything that the report says, with the plan file in its normal form."""
    rules, plan = Rules.of_plan(analysis.plan), analysis.plan
    content = {
        "schema": SCHEMA,
        "question": answer.question,
        "overrides": overridden(plan),
        "machine": plan["machine"],
        "machine_found": machine_words(plan["machine"], analysis.records.frame),
        "depth": plan["depth"],
        "repeats": plan["repeats"]["first"],
        "margin": rules.margin,
        "floors": {group: _ground(its) for group, its in answer.grounds.items()},
        "false_discovery_rate": rules.false_discovery_rate,
        "versions": dict(answer.versions),
        "neither_has": answer.neither,
        "fails_on": answer.question["fail_on"],
        "failing": len(answer.failing),
        "exit": {"status": 1 if len(answer.failing) or answer.unjudged else 0, "why": outcome(answer)},
        "pairings": [_pairing(answer, pairing) for pairing in answer.pairings],
        "energy": _energy(analysis) if answer.question["energy"] else None,
    }
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


def _energy(analysis: Analysis) -> dict[str, Any]:
    """Joules per item of each condition's rows, and why there are none where no row has any."""
    lines = energy.energy_lines(analysis)
    rows = [
        {name: None if _is_none(value) else value for name, value in line.items()}
        for line in lines.to_dict("records")
    ]
    return {"unavailable": energy.common_reason(lines), "rows": rows}


def _ground(its: Ground) -> dict[str, Any]:
    why = None if its.wants is None else its.wants[1]
    return {"control": its.control, **({"missing": why} if its.floor is None else vars(its.floor))}


def _pairing(answer: Answer, pairing: Pairing) -> dict[str, Any]:
    lines = answer.of(pairing)
    return {
        "group": pairing.group,
        "baseline": pairing.baseline["id"],
        "condition": pairing.condition["id"],
        "role": pairing.condition["role"],
        "differs": pairing.differs,
        "counts": counts(lines),
        "rows": [
            {name: None if _is_none(value) else value for name, value in line.items()}
            for line in lines.drop(columns=["group", "baseline", "condition", "role"]).to_dict("records")
        ],
    }


def render_markdown(analysis: Analysis, answer: Answer) -> str:
    """The report."""
    question, plan = answer.question, analysis.plan
    parts = [f"# {escape(question['title'])}", "", escape(question["question"]), ""]
    if plan.get("stamp"):
        parts += [f"**{escape(plan['stamp'])}: no verdict is given.**", ""]
    parts += [f"**{escape(outcome(answer))}**", "", *_counted(answer), ""]
    for group in question["groups"]:
        parts += [f"## {escape(group['name'])}", ""]
        for condition in group["conditions"]:
            parts.append(f"- {condition['role']} {escape(condition['id'])}: {escape(in_words(condition))}")
        parts.append("")
        for pairing in answer.pairings:
            if pairing.group == group["name"]:
                parts += [*_table(answer, pairing), ""]
    if question["energy"]:
        lines = energy.energy_lines(analysis)
        parts += [energy.render_markdown(analysis, lines, "##"), "No verdict rests on energy.", ""]
    parts += ["## How it was judged", "", *_rules(analysis, answer), "", "## The plan file", ""]
    parts += [*_plan_file(plan, answer), ""]
    return "\n".join(parts)


def outcome(answer: Answer) -> str:
    """How many candidates' rows fail, and on what; and that nothing is answered, where that is so."""
    on = joined(answer.question["fail_on"]) if answer.question["fail_on"] else "nothing"
    said = f"{len(answer.failing)} of {len(answer.candidates)} rows of candidates fail (it fails on: {on})."
    return f"{said} Nothing is answered: {answer.unjudged}." if answer.unjudged else said


def _counted(answer: Answer) -> Iterator[str]:
    """How many rows of each verdict, with their denominators."""
    words, figures = ("Group", "Condition", "Role", "Against"), ("Rows", *map(str.capitalize, VERDICTS))
    yield from _head({**dict.fromkeys(words, "---"), **dict.fromkeys(figures, "---:")})
    for pairing in answer.pairings:
        lines = answer.of(pairing)
        shown = [pairing.group, pairing.condition["id"], pairing.condition["role"], pairing.baseline["id"]]
        yield _row([*map(escape, shown), str(len(lines)), *map(str, counts(lines).values())])


def _table(answer: Answer, pairing: Pairing) -> Iterator[str]:
    yield f"{escape(pairing.condition['id'])} against {escape(pairing.baseline['id'])}; declared to differ:"
    yield f"{escape('; '.join(pairing.differs))}."
    yield ""
    yield from _head(HEADS)
    for line in answer.of(pairing).to_dict("records"):
        told = [line["why"], line["notes"]]
        yield _row(
            [
                escape(line["transform"]),
                _speed(line["baseline_throughput"]),
                _speed(line["throughput"]),
                _ratio(line),
                f"**{line['verdict']}**"
                if line["verdict"] in answer.question["fail_on"]
                else line["verdict"],
                "–" if _is_none(line["repeats"]) else f"{line['repeats']:.0f}",
                escape("; ".join(text for text in told if not _is_none(text))),
            ]
        )


def _head(columns: Mapping[str, str]) -> Iterator[str]:
    """Head of a table: title of each column -> how it is aligned."""
    yield _row(list(columns))
    yield _row(list(columns.values()))


def _row(entries: Sequence[str]) -> str:
    return f"| {' | '.join(entries)} |"


def _speed(value: float | None) -> str:
    return "–" if _is_none(value) else figure(value)


def _ratio(line: Mapping[str, Any]) -> str:
    if _is_none(line["ratio"]):
        return "–"
    if _is_none(line["ratio_low"]):
        return f"{line['ratio']:.3f}"
    bounds = escape(f"[{line['ratio_low']:.3f}, {line['ratio_high']:.3f}]")
    return f"{line['ratio']:.3f} {bounds}"


def _rules(analysis: Analysis, answer: Answer) -> list[str]:
    """How verdicts came about, a sentence or two a line."""
    plan, rules, question = analysis.plan, Rules.of_plan(analysis.plan), answer.question
    records = analysis.records
    sessions = analysis.rows["session"].dropna().nunique()
    items = plan["scenarios"][question["scenario"]]["item_sets"][question["mode"]]["items"]
    tested = int(answer.lines["q_value"].notna().sum())
    said = [
        f"Items per second. Ratio: throughput over the baseline's, with its {rules.confidence:.0%} interval, "
        "paired over the repeats of one session.",
        f"Faster, slower: the interval lies wholly beyond {rules.margin:.1%} (the noise floor where that is "
        "larger). Same: wholly within the margin less the noise floor. Undecided: neither, too few "
        f"repeats ({rules.interval_from_repeats} make an interval), other sessions, or no noise floor. "
        "Blocked: not to be compared, and why.",
        *(f"Noise floor of {group}: {_floor(its)}." for group, its in answer.grounds.items()),
        f"{question['scenario']}, {question['mode']}, {question['device']}; {items} items, depth "
        f"{plan['depth']}; repeats: {plan['repeats']['first']}, sessions: {sessions}; the conditions of a "
        "repeat were measured one after the other.",
        f"Machine {machine_words(records.machine, records.frame)}.",
    ]
    if tested:
        rate = f"{rules.false_discovery_rate:.0%}"
        said.append(
            f"Comparisons: {tested}; of those called faster or slower no more than {rate} are expected to be "
            "chance."
        )
    if answer.neither:
        said.append(f"In no count, because neither side has them: {answer.neither} rows.")
    return [f"- {escape(sentence)}" for sentence in said]


def _floor(its: Ground) -> str:
    found = its.floor
    if found is None:
        why = "" if its.wants is None else f" ({its.wants[1]})"
        return f"not known{why}, so that nothing is decided"
    again = f"{found.library} measured a second time ({its.control})"
    return f"{found.ratio:.1%}, from {again}: {found.rows} rows, {found.repeats} repeats"


def _plan_file(plan: PlanContent, answer: Answer) -> Iterator[str]:
    question = answer.question
    yield f"config/plans/{question['name']}.yaml, digest {question['digest']}."
    if given := overridden(plan):
        lists = {key: ",".join(value) if isinstance(value, list) else value for key, value in given.items()}
        told = " ".join(f"{key}={value}" for key, value in lists.items())
        yield f"Overridden on the command line: {escape(told)}."
    for digest, records in answer.versions.items():
        if digest != question["digest"]:
            yield f"{records} of the records were measured under another version of it: {escape(digest)}."
    yield ""
    yield "```yaml"
    yield yaml.safe_dump(
        question, sort_keys=False, default_flow_style=None, allow_unicode=True, width=110
    ).rstrip()
    yield "```"
