"""What stands under a table: on what, with what, when and how much of it was measured."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from augmark.analysis.claim_notes import notes_of_claims
from augmark.analysis.found_machine import machine_words
from augmark.analysis.frame import Records
from augmark.analysis.marks import INTERVALS
from augmark.analysis.mode_notes import notes_of_mode
from augmark.analysis.numbers import duration, figure, joined
from augmark.analysis.planned import PlanContent, definition_key, is_control, library_facts, library_title
from augmark.analysis.rules import Rules
from augmark.modes import mode_facts
from augmark.record import MEASURED

DIGEST_SHOWN = 10


def _texts(values: Iterable[object]) -> list[str]:
    return sorted({str(value) for value in values if not pd.isna(value)})


def _digests(values: Iterable[object]) -> str:
    return joined([text[:DIGEST_SHOWN] for text in _texts(values)] or ["unknown"])


def _span(numbers: pd.Series) -> str:
    """``3`` or ``2 to 3``."""
    low, high = int(numbers.min()), int(numbers.max())
    return str(low) if low == high else f"{low} to {high}"


def notes_of(
    plan: PlanContent, records: Records, summary: pd.DataFrame, raw: pd.DataFrame, rules: Rules
) -> list[str]:
    """Sentences under one table.

    Args:
        summary, raw: The table's lines, controls included.
    """
    control = summary["library"].map(lambda library: is_control(plan, library)).astype(bool)
    shown = summary[~control]
    numbered = shown[shown["status"].isin(MEASURED)]
    notes = [_depth(plan), _reading(numbered, rules), *notes_of_claims(plan, shown, raw, rules)]
    of_libraries = raw["library"].isin(shown["library"])
    notes += [*notes_of_mode(plan, shown, raw[of_libraries]), _machine(records, raw)]
    if not numbered.empty:
        notes += [_versions(plan, numbered, raw), _data(numbered, raw), _dates(raw)]
    notes += [_coverage(plan, shown), *_controls(plan, summary[control])]
    return [note for note in notes if note]


def _depth(plan: PlanContent) -> str:
    stamp = f": {plan['stamp']}" if plan.get("stamp") else ""
    return f"Depth {plan['depth']}{stamp}."


def _reading(numbered: pd.DataFrame, rules: Rules) -> str:
    if numbered.empty:
        return "No row has a number."
    if numbered["repeats"].max() == 1:
        return "Throughput in items per second of one repeat (a fresh process)."
    parts = [
        f"Median throughput in items per second over {_span(numbered['repeats'])} repeats (fresh processes; "
        "n: of each row, in the order of the columns where they differ)"
    ]
    used = set(numbered.loc[numbered["repeats"] > 1, "interval"])
    for kind, words in INTERVALS.items():
        if kind in used:
            brackets = "( )" if kind == "range" else "[ ]"
            parts.append(f"in {brackets} the {words.format(rules.confidence)} over repeats")
    return "; ".join(parts) + "."


def _machine(records: Records, raw: pd.DataFrame) -> str:
    # Those of a worker are a matter of its loader's policy.
    batched = mode_facts(raw["mode"].iloc[0]).batched
    threads = [] if batched else _texts(raw["threads_declared"])
    declared = f"; threads per library: {joined(threads)}" if threads else ""
    return f"Machine {machine_words(records.machine, raw)}{declared}."


def _versions(plan: PlanContent, numbered: pd.DataFrame, raw: pd.DataFrame) -> str:
    parts = []
    for library, lines in numbered.groupby("library", sort=False):
        version = joined(_texts(lines["library_version"]) or ["version unknown"])
        form = joined(_texts(lines["form"]) or ["form unknown"])
        parts.append(f"{library_title(plan, library)} {version} ({form})")
    python = joined(_texts(raw["python_version"]) or ["unknown"])
    mixed = len(_texts(numbered["dtype"])) > 1
    warning = "; native types differ, and a difference in speed includes that of the types" if mixed else ""
    return f"Libraries: {', '.join(parts)}; Python {python}{warning}."


def _data(numbered: pd.DataFrame, raw: pd.DataFrame) -> str:
    recorded = raw[raw["recorded"]]
    items = sorted({int(count) for text in numbered["items"].dropna() for count in str(text).split("; ")})
    counts = joined([f"{count:,}" for count in items] or ["unknown"])
    names = joined(_texts(recorded["dataset_name"]) or ["unknown"])
    return (
        f"Dataset {names} (sha256 {_digests(recorded['dataset_digest'])}, manifest "
        f"{_digests(recorded['manifest_digest'])}, items {_digests(recorded['items_digest'])}); "
        f"items per row: {counts}."
    )


def _dates(raw: pd.DataFrame) -> str:
    days = [text[:10] for text in _texts(raw.loc[raw["status"].isin(MEASURED), "started"])]
    if not days:
        return ""
    return f"Measured on {days[0]}." if days[0] == days[-1] else f"Measured from {days[0]} to {days[-1]}."


def _coverage(plan: PlanContent, shown: pd.DataFrame) -> str:
    parts = []
    for library, lines in shown.groupby("library", sort=False):
        have = int(lines["status"].isin(MEASURED).sum())
        parts.append(f"{library_title(plan, library)} {have} of {len(lines)}")
    return f"Rows with a number, of those planned: {', '.join(parts)}."


def known_delay_seconds(plan: PlanContent, line: pd.Series) -> float | None:
    """The delay that a control's parameters declare (``seconds``, ``..._milliseconds``), in seconds."""
    key = definition_key(line["scenario"], line["mode"], line["library"], line["device"])
    for row in plan["definitions"][key]["rows"]:
        if row["transform"] == line["transform"]:
            for name, value in (row.get("params") or {}).items():
                for unit, scale in (("milliseconds", 1e-3), ("seconds", 1.0)):
                    if name.endswith(unit) and isinstance(value, (int, float)) and value > 0:
                        return value * scale
    return None


def _controls(plan: PlanContent, lines: pd.DataFrame) -> list[str]:
    """What the controls say: of the harness, and of the timer."""
    parts = []
    for _, line in lines.iterrows():
        if library_facts(plan, line["library"]).get("again") and line["status"] in MEASURED:
            continue  # what it says is the noise floor
        if line["status"] not in MEASURED:
            reason = f" ({line['reason']})" if isinstance(line["reason"], str) else ""
            parts.append(f"{line['library']} has no number: {line['status']}{reason}")
            continue
        seconds, delay = line["seconds_median"], known_delay_seconds(plan, line)
        if delay is not None:
            off = seconds / delay - 1
            parts.append(
                f"{line['library']} took {duration(seconds)} for a known delay of {duration(delay)} "
                f"({off:+.1%})"
            )
        elif line["library"] == "control-copy":
            parts.append(
                f"{line['library']} took {duration(seconds)} per item for a copy of it, which is "
                "what the least of transforms takes here"
            )
        else:
            parts.append(
                f"{line['library']} took {duration(seconds)} per item ({figure(1 / seconds)} items/s)"
            )
    return [f"Controls: {'; '.join(parts)}."] if parts else []
