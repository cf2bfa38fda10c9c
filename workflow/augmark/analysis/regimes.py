"""The sweeps: each condition of a row against the plain row of the same library, and nothing else.

A ratio here is throughput under the condition over plain throughput: above 1 the condition is faster.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from augmark.analysis import latex, markdown
from augmark.analysis.compare import compare, samples_of
from augmark.analysis.found_machine import machine_words
from augmark.analysis.frame import PLACE, write_text
from augmark.analysis.marks import MARKS, OTHER_FLAG, SHOWN, flag_words
from augmark.analysis.numbers import figure, one_line
from augmark.analysis.planned import PlanContent, definition_key, is_control, library_title
from augmark.analysis.rules import Rules
from augmark.analysis.tables import REASON_LENGTH, Analysis, Entry, Table, repeats_text
from augmark.errors import AugmarkError
from augmark.modes import PLAIN
from augmark.record import MEASURED
from augmark.sweeps import has_conditions

SECTION = ["scenario", "mode", "device", "axis"]
KEY = [*PLACE, "transform"]
AXES = {
    "batched": "batch in one call",
    "compile": "torch.compile",
    "dtype": "dtype of the items",
    "threads": "threads",
    "workers": "worker processes",
    "batch_size": "batch size",
    "policy": "thread policy of the workers",
}
# Marks of a row's own that a sweep shows; the others tell how libraries compare, which nothing here does.
OWN_MARKS = (
    *("slow", "unstable", "partial", "carried", "threads", "reduced-items", "oversubscribed"),
    *("reduced-batch", "idle-workers"),
)
# Marks of either row that leave it without a ratio: what is said to differ is not, or not alone.
SPOILT = {"threads", "reduced-batch", "idle-workers"}
# What stands beside a ratio here alone.
LETTERS = {
    "per-batch": ("b", "one draw for the whole batch: not the work of a draw per item"),
    "graph-breaks": ("g", "compiled in parts, with Python code between them"),
}
COLUMNS = [
    *KEY,
    "condition",
    "axis",
    "value",
    "kind",
    *("status", "reason", "throughput", "throughput_low", "throughput_high", "interval", "repeats"),
    *("plain_status", "plain_throughput", "ratio", "ratio_low", "ratio_high", "comparison", "pairs"),
    *("draws", "first_call_seconds", "form", "items", "plain_items", "marks"),
]


def regimes(analysis: Analysis) -> pd.DataFrame:
    """One line per row with a condition, with the columns ``COLUMNS``.

    ``ratio`` where both it and the plain row have a number, timed alike (the same items, in full or both in
    part); its bounds where there are repeats for an interval; paired over the repeats of one session, as
    ``statistics.compare`` does. ``first_call_seconds`` is the median over repeats.
    """
    rules, settings = Rules.of_plan(analysis.plan), _settings(analysis.plan)
    repeats = dict(iter(analysis.rows.groupby([*KEY, "condition"], sort=False)))
    summary = {
        tuple(line[name] for name in [*KEY, "condition"]): line
        for line in analysis.summary.to_dict("records")
    }
    lines = []
    for key, line in summary.items():
        if key[-1] == PLAIN:
            continue
        plain = (*key[:-1], PLAIN)
        axis, value = settings[definition_key(*key[1:5]), key[-1]]
        known = {**line, "axis": axis, "value": value, "kind": _kind(analysis.plan, line["library"])}
        known.update(_repeated(repeats[key], line))
        known.update(_against_plain(line, summary.get(plain), repeats[key], repeats.get(plain), rules))
        lines.append({name: known[name] for name in COLUMNS})
    return pd.DataFrame(lines, columns=COLUMNS)


def _kind(plan: PlanContent, library: str) -> str:
    return "control" if is_control(plan, library) else "library"


def _settings(plan: PlanContent) -> dict[tuple[str, str], tuple[str, Any]]:
    """Definition and condition -> its axis and value."""
    found = {}
    for key, definition in plan["definitions"].items():
        for row in definition["rows"]:
            if row["condition"] != PLAIN:
                ((axis, value),) = row["setting"].items()
                found[key, row["condition"]] = (axis, value)
    return found


def _repeated(repeats: pd.DataFrame, line: Mapping[str, Any]) -> dict[str, Any]:
    """What the repeats of a row say beside its time."""
    draws = sorted(set(repeats["draws"].dropna()))
    first = repeats["first_call_seconds"].dropna()
    marks = [mark for mark in line["marks"] if mark in OWN_MARKS or mark not in MARKS]
    if "per-batch" in draws:
        marks.append("per-batch")
    return {
        "draws": "; ".join(draws) or None,
        "first_call_seconds": float(first.median()) if len(first) else None,
        "marks": tuple(marks),
    }


def _against_plain(
    line: Mapping[str, Any],
    plain: Mapping[str, Any] | None,
    repeats: pd.DataFrame,
    plain_repeats: pd.DataFrame | None,
    rules: Rules,
) -> dict[str, Any]:
    """The ratio to the plain row; no ratio where one of them has no number or they are not timed alike."""
    names = ("plain_status", "plain_throughput", "plain_items", "ratio", "ratio_low", "ratio_high")
    found: dict[str, Any] = dict.fromkeys([*names, "comparison", "pairs"])
    if plain is None or plain_repeats is None:
        return found
    found.update(
        plain_status=plain["status"], plain_throughput=plain["throughput"], plain_items=plain["items"]
    )
    if line["status"] not in MEASURED or plain["status"] not in MEASURED:
        return found
    alike = ("status", "items", "items_digest")
    spoilt = SPOILT & {*line["marks"], *plain["marks"]}
    if spoilt or any(line[name] != plain[name] for name in alike):
        return found
    result = compare(samples_of(plain_repeats), samples_of(repeats), rules)
    found.update(ratio=math.exp(result.log_ratio), pairs=result.count)
    found["comparison"] = "paired" if result.paired else "unpaired"
    if result.low is not None and result.high is not None:
        found.update(ratio_low=math.exp(result.low), ratio_high=math.exp(result.high))
    return found


def plain_value(plan: PlanContent, line: Mapping[str, Any]) -> Any:
    """The value of a line's axis in the plain row; None where the plan does not say."""
    key = definition_key(line["scenario"], line["mode"], line["library"], line["device"])
    definition, axis = plan["definitions"][key], line["axis"]
    if axis in ("batched", "compile"):
        return 1 if axis == "batched" else False
    if axis == "threads":
        return definition["timing"].get("threads")
    loaders = (row["loader"] for row in definition["rows"] if row["condition"] == PLAIN and row["loader"])
    return next(loaders, {}).get(axis)


def in_order(values: Sequence[Any]) -> list[Any]:
    """Values of one axis: numbers by size, words as planned; each once."""
    once = list(dict.fromkeys(values))
    return sorted(once) if all(isinstance(value, int) for value in once) else once


# --- the table --------------------------------------------------------------------------------------


def build_tables(analysis: Analysis, lines: pd.DataFrame) -> list[Table]:
    """One table per scenario, mode, device and axis; a line per library and transform, controls left out."""
    shown = lines[lines["kind"] == "library"]
    return [_table(analysis, section, part) for section, part in shown.groupby(SECTION, sort=False)]


def _table(analysis: Analysis, section: tuple[str, ...], lines: pd.DataFrame) -> Table:
    plan, (scenario, mode, device, axis) = analysis.plan, section
    conditions = lines.drop_duplicates("condition").set_index("value")["condition"]
    values = in_order(list(lines["value"]))
    footnotes: dict[str, int] = {}
    rows = []
    for (library, transform), part in lines.groupby(["library", "transform"], sort=False):
        by_value = {line["value"]: line for line in part.to_dict("records")}
        entries = [_plain_entry(part.iloc[0])]
        for value in values:
            entries += _entries(by_value.get(value), footnotes)
        rows.append((f"{library_title(plan, library)}: {transform}", entries))
    columns = ["plain", *(head for value in values for head in (conditions[value], "against plain"))]
    return Table(
        name=f"regimes-{scenario}-{mode}-{device}-{axis.replace('_', '-')}",
        title=f"Regimes: {scenario}, {mode}, {device}: {AXES.get(axis, axis)}",
        stamp=plan.get("stamp") or "",
        columns=columns,
        rows=rows,
        notes=_notes(analysis, lines),
        footnotes=list(footnotes),
        legend=_legend(lines, Rules.of_plan(plan)),
        summary=lines,
        raw=lines,
        repeats=[repeats_text([each for each in entries if each.repeats is not None]) for _, entries in rows],
    )


def _plain_entry(line: Mapping[str, Any]) -> Entry:
    value = line["plain_throughput"]
    if value is None or value != value:
        status = line["plain_status"]
        return Entry(short=SHOWN[status].short if isinstance(status, str) else "not planned")
    return _alone(figure(value))


def _entries(line: Mapping[str, Any] | None, footnotes: dict[str, int]) -> list[Entry]:
    """Throughput under a condition, and its ratio."""
    if line is None:
        return [Entry(short="not planned"), Entry(short="–")]
    if line["status"] not in MEASURED:
        reason = line["reason"] if isinstance(line["reason"], str) else SHOWN[line["status"]].words
        text = f"{line['status']}: {one_line(reason)[:REASON_LENGTH]}"
        note = footnotes.setdefault(text, len(footnotes) + 1)
        return [Entry(short=SHOWN[line["status"]].short, footnote=note), Entry(short="–")]
    speed = Entry(
        number=figure(line["throughput"]),
        low=figure(line["throughput_low"]),
        high=figure(line["throughput_high"]),
        interval=line["interval"] if line["repeats"] > 1 else None,
        marks="".join(dict.fromkeys(_letter(mark) for mark in line["marks"])),
        repeats=line["repeats"],
    )
    ratio = line["ratio"]
    if ratio is None or ratio != ratio:
        text = "no ratio: the plain row has no number, or the two were not timed on the same items"
        return [speed, Entry(short="–", footnote=footnotes.setdefault(text, len(footnotes) + 1))]
    marks = MARKS["sessions"][0] if line["comparison"] == "unpaired" else ""
    low, high = line["ratio_low"], line["ratio_high"]
    if low is None or low != low:
        return [speed, _alone(f"{ratio:.2f}", marks)]
    bounds = {"low": f"{low:.2f}", "high": f"{high:.2f}", "interval": "student"}
    return [speed, Entry(number=f"{ratio:.2f}", marks=marks, **bounds)]


def _alone(number: str, marks: str = "") -> Entry:
    """A number without bounds."""
    return Entry(number=number, low=number, high=number, marks=marks)


def _letter(mark: str) -> str:
    return {**MARKS, **LETTERS}.get(mark, (OTHER_FLAG,))[0]


def _legend(lines: pd.DataFrame, rules: Rules) -> list[tuple[str, str]]:
    used = dict.fromkeys(mark for marks in lines["marks"] for mark in marks)
    known = {**MARKS, **LETTERS}
    legend = [(known[m][0], known[m][1].format(unstable_cv=rules.unstable_cv)) for m in used if m in known]
    if others := [mark for mark in used if mark not in known]:
        legend.append((OTHER_FLAG, f"flagged by the measuring process: {', '.join(map(flag_words, others))}"))
    if (lines["comparison"] == "unpaired").any():
        legend.append((MARKS["sessions"][0], "not measured in one session with the plain row: unpaired"))
    return legend


def _notes(analysis: Analysis, lines: pd.DataFrame) -> list[str]:
    plan, rules, records = analysis.plan, Rules.of_plan(analysis.plan), analysis.records
    have, count = int(lines["ratio"].notna().sum()), len(lines)
    interval = (
        f"in [ ] its {rules.confidence:.0%} interval"
        if lines["ratio_low"].notna().any()
        else f"no interval below {rules.interval_from_repeats} repeats"
    )
    notes = [
        f"Depth {plan['depth']}{': ' + plan['stamp'] if plan.get('stamp') else ''}.",
        f"Machine {machine_words(records.machine, records.frame)}.",
        "Items per second; against plain: throughput over that of the plain row of the same library, paired "
        f"over repeats of one session; {interval}. Libraries are not compared here.",
        f"Rows with a ratio, of those planned: {have} of {count}.",
    ]
    first = lines.dropna(subset="first_call_seconds")
    if (first["axis"] == "compile").any():
        low, high = first["first_call_seconds"].min(), first["first_call_seconds"].max()
        notes.append(f"Compilation is not in these figures: a first call took {low:.1f} to {high:.1f} s.")
    return notes


# --- files ------------------------------------------------------------------------------------------


def render_csv(lines: pd.DataFrame) -> str:
    """One line per row with a condition, raw figures, controls too (``kind``)."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for line in lines.to_dict("records"):
        writer.writerow([_field(line[name]) for name in COLUMNS])
    return out.getvalue()


def _field(value: Any) -> str:
    if isinstance(value, tuple):
        return "; ".join(value)
    if value is None or value is pd.NA or value != value:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(float(value)) if isinstance(value, float) else one_line(str(value))


def write_regimes(analysis: Analysis, paths: Sequence[Path]) -> None:
    """Write the regimes as ``.md``, ``.csv`` or ``.tex``, by suffix.

    Raises:
        AugmarkError: Another suffix, or the plan sweeps nothing.
    """
    if not has_conditions(analysis.plan):
        raise AugmarkError("the plan has no conditions: its depth sweeps nothing", where="plan")
    lines = regimes(analysis)
    tables = build_tables(analysis, lines)
    for path in paths:
        if path.suffix == ".md":
            text = "\n".join(map(markdown.render, tables))
        elif path.suffix == ".tex":
            text = "\n".join(map(latex.render, tables))
        elif path.suffix == ".csv":
            text = render_csv(lines)
        else:
            raise AugmarkError("a table is a .md, a .csv or a .tex", where=str(path))
        write_text(path, text)
