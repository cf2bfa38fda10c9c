"""Joules per item, of every row that has them; of those that have none, the reason.

No row is compared with another here, and nothing is claimed: counters are of whole packages, other processes
and the machine at rest among them. Rows whose joules are of other parts are told apart by their source.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from augmark.analysis import markdown
from augmark.analysis.found_machine import machine_words
from augmark.analysis.frame import write_text
from augmark.analysis.longform import field
from augmark.analysis.numbers import figure, joined
from augmark.analysis.planned import is_control, library_title
from augmark.analysis.statistics import ROW
from augmark.analysis.tables import Analysis, Entry, Table, repeats_text
from augmark.errors import AugmarkError
from augmark.record import MEASURED, row_id

SECTION = ["scenario", "mode", "device"]
COLUMNS = [
    *("machine", *SECTION, "transform", "condition", "library", "kind", "status", "repeats"),
    *(
        "joules_per_item",
        "joules_low",
        "joules_high",
        "source",
        "parts",
        "coarse",
        "window_seconds",
        "reason",
    ),
]
TITLE = "Energy: joules per item"
OLD = "its record is of before energy was measured"
Line = dict[str, Any]


def energy_lines(analysis: Analysis) -> pd.DataFrame:
    """One line per planned row, in the order of the plan.

    Returns:
        ``COLUMNS``. ``joules_per_item`` is the median over ``repeats`` processes, ``joules_low`` and
        ``joules_high`` their range, ``window_seconds`` the shortest of their windows; None, and ``reason``,
        where there are none.
    """
    repeats = dict(list(analysis.rows.groupby(ROW, sort=False)))
    lines = []
    for summary in analysis.summary.to_dict("records"):
        rows = repeats[tuple(summary[name] for name in ROW)]
        kind = "control" if is_control(analysis.plan, summary["library"]) else "library"
        line = {name: summary[name] for name in (*ROW, "status")}
        lines.append({**dict.fromkeys(COLUMNS), **line, "kind": kind, **_figures(summary, rows)})
    return pd.DataFrame(lines, columns=COLUMNS, dtype=object)


def _figures(summary: Mapping[str, Any], rows: pd.DataFrame) -> Line:
    if summary["status"] not in MEASURED:
        return {"repeats": 0, "reason": f"{summary['status']}: {summary['reason'] or 'no number'}"}
    rows = rows[rows["recorded"].astype(bool) & rows["status"].isin(MEASURED)]
    known = rows[rows["joules_per_item"].notna()]
    ways = list(dict.fromkeys(map(_way, known.to_dict("records"))))
    reasons = "; ".join(dict.fromkeys(rows["energy_reason"].dropna()))
    if not ways:
        return {"repeats": 0, "reason": reasons or OLD}
    if len(ways) > 1:
        told = joined([f"{source} ({parts})" for source, parts, _ in ways])
        return {"repeats": 0, "reason": f"its repeats are of {told}: no figure is made of both"}
    if len(known) < len(rows):
        reasons = f"{len(rows) - len(known)} of {len(rows)} repeats have none: {reasons}"
    joules = known["joules_per_item"].astype(float)
    source, parts, coarse = ways[0]
    return {
        "repeats": len(known),
        "joules_per_item": float(joules.median()),
        "joules_low": float(joules.min()),
        "joules_high": float(joules.max()),
        "source": source,
        "parts": parts,
        "coarse": coarse,
        "window_seconds": float(known["energy_window_seconds"].min()),
        "reason": reasons or None,
    }


def _way(row: Mapping[str, Any]) -> tuple[str, str, bool]:
    """What has to be the same for two figures to be of the same: source, parts, and whether it is coarse."""
    return row["energy_source"], row["energy_parts"], bool(row["energy_coarse"])


def common_reason(lines: pd.DataFrame) -> str | None:
    """Why no row that was measured has joules; None where one has.

    The rows of a machine have one reason, where none has a figure: it is about its counters.
    """
    measured = lines[lines["status"].isin(MEASURED)]
    if measured["joules_per_item"].notna().any():
        return None
    reasons = list(dict.fromkeys(measured["reason"]))
    return "; ".join(reasons) if reasons else "no row was measured"


def build_tables(analysis: Analysis, lines: pd.DataFrame) -> list[Table]:
    """One table per scenario, mode and device that has a figure: transforms against libraries."""
    shown = lines[lines["kind"] == "library"]
    return [
        _table(analysis, section, part)
        for section, part in shown.groupby(SECTION, sort=False)
        if part["joules_per_item"].notna().any()
    ]


def _table(analysis: Analysis, section: tuple[str, ...], lines: pd.DataFrame) -> Table:
    plan, footnotes = analysis.plan, {}
    libraries = list(dict.fromkeys(lines["library"]))
    ways = {(line["source"], line["parts"]) for line in lines.to_dict("records") if line["source"]}
    rows = []
    for (transform, condition), part in lines.groupby(["transform", "condition"], sort=False):
        by_library = {line["library"]: line for line in part.to_dict("records")}
        entries = [_entry(by_library.get(name), footnotes, len(ways) > 1) for name in libraries]
        rows.append((row_id(transform, condition), entries))
    return Table(
        name=f"energy-{'-'.join(section)}",
        title=f"{TITLE}, {', '.join(section)}",
        stamp=plan.get("stamp") or "",
        columns=[library_title(plan, name) for name in libraries],
        rows=rows,
        notes=list(_notes(analysis, lines)),
        footnotes=list(footnotes),
        legend=[],
        summary=lines,
        raw=lines,
        repeats=[repeats_text(entries) for _, entries in rows],
    )


def _entry(line: Mapping[str, Any] | None, footnotes: dict[str, int], several: bool) -> Entry:
    if line is None:
        return Entry(short="–")
    told = [f"{line['source']}: {line['parts']}"] if several and line["source"] else []
    told += [line["reason"]] if line["reason"] else []
    note = footnotes.setdefault("; ".join(told), len(footnotes) + 1) if told else None
    if line["joules_per_item"] is None:
        return Entry(short="–", footnote=note)
    low, high = figure(line["joules_low"]), figure(line["joules_high"])
    number = figure(line["joules_per_item"])
    return Entry(number=number, low=low, high=high, interval="range", footnote=note, repeats=line["repeats"])


def _notes(analysis: Analysis, lines: pd.DataFrame) -> Iterator[str]:
    known = lines[lines["joules_per_item"].notna()]
    ways = joined(
        [
            f"{source} ({parts})"
            for source, parts in dict.fromkeys(zip(known["source"], known["parts"], strict=True))
        ]
    )
    yield f"Machine {machine_words(analysis.records.machine, analysis.records.frame)}."
    yield (
        f"Counted by {ways}. Median over n repeats and their range: no interval, and nothing is claimed. Of "
        "whole packages, so that other processes and what the machine takes at rest are in it; windows of "
        f"{known['window_seconds'].min():.2g} s and more of the row's own work."
    )
    if known["coarse"].astype(bool).any():
        yield "Coarse: integrated from samples of estimated power; not to be held against other machines."
    measured = int(lines["status"].isin(MEASURED).sum())
    yield f"Rows with a figure, of those measured: {len(known)} of {measured}."


def render_csv(lines: pd.DataFrame) -> str:
    """One line per planned row, raw figures, controls too (``kind``)."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for line in lines.to_dict("records"):
        writer.writerow([field(line[name]) for name in COLUMNS])
    return out.getvalue()


def render_markdown(analysis: Analysis, lines: pd.DataFrame, level: str = "#") -> str:
    """A table per scenario, mode and device, or the one sentence that says why there is none.

    Args:
        level: Of its headings.
    """
    reason = common_reason(lines)
    if reason is None:
        return "\n".join(f"{level}{markdown.render(table)[1:]}" for table in build_tables(analysis, lines))
    machine = machine_words(analysis.records.machine, analysis.records.frame)
    words = [f"Machine {machine}.", "", f"Energy was not measured: {reason}."]
    return "\n".join([f"{level} {TITLE}", "", *map(markdown.escape, words)]) + "\n"


def write_energy(analysis: Analysis, paths: Sequence[Path]) -> None:
    """Write the energy as ``.csv`` or ``.md``, by suffix.

    Raises:
        AugmarkError: Another suffix.
    """
    lines = energy_lines(analysis)
    for path in paths:
        if path.suffix == ".csv":
            text = render_csv(lines)
        elif path.suffix == ".md":
            text = render_markdown(analysis, lines)
        else:
            raise AugmarkError("energy is a .csv or a .md", where=str(path))
        write_text(path, text)
