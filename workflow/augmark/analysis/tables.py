"""One table of the plan: what stands in it, whatever it is written as (markdown, latex, longform)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from augmark.analysis.checks import check_records
from augmark.analysis.classes import Classes
from augmark.analysis.coverage import cover
from augmark.analysis.frame import Records
from augmark.analysis.marks import MARKS, OTHER_FLAG, SHOWN, flag_words, mark_letter, order_marks
from augmark.analysis.notes import notes_of
from augmark.analysis.numbers import figure, one_line
from augmark.analysis.planned import PlanContent, is_control, library_title, table_rows
from augmark.analysis.rules import Rules
from augmark.analysis.statistics import summarize
from augmark.record import MEASURED

REASON_LENGTH = 240  # a traceback's last line may be a page long; the CSV has it whole
NOT_PLANNED = "not planned"


@dataclass(frozen=True)
class Analysis:
    """The records of one machine, held against the plan.

    Attributes:
        rows: Planned rows, one line per repeat (``coverage.cover``).
        summary: One line per row over its repeats (``statistics.summarize``).
        classes: What is the same work.
    """

    plan: PlanContent
    records: Records
    rows: pd.DataFrame
    summary: pd.DataFrame
    classes: Classes = field(default_factory=Classes)


@dataclass(frozen=True)
class Entry:
    """One field of a table.

    Attributes:
        number: Throughput in items per second; None unless the row is ``ok`` or ``slow``.
        low, high, interval: Its bounds and what they are (``student``, ``bca`` or ``range``).
        short: What stands there in place of a number.
        best: Fastest, or tied with it.
        marks: Letters, explained under the table.
        footnote: Number of the footnote with the reason, from 1.
        repeats: That the number rests on; None without a number.
    """

    number: str | None = None
    low: str = ""
    high: str = ""
    interval: str | None = None
    short: str = ""
    best: bool = False
    marks: str = ""
    footnote: int | None = None
    repeats: int | None = None

    @property
    def bounds(self) -> str:
        """``[low, high]`` for an interval, ``(low to high)`` for a range; empty for one repeat."""
        if self.number is None or self.low == self.high == self.number:
            return ""
        return f"({self.low}, {self.high})" if self.interval == "range" else f"[{self.low}, {self.high}]"


@dataclass
class Table:
    """A table, ready to be written.

    Attributes:
        columns: Heads of the libraries.
        rows: Transform and one entry per column.
        stamp: What the depth says about its numbers, or empty.
        notes: Sentences under the table.
        footnotes: Texts, numbered from 1.
        legend: Mark letter and meaning, those that occur.
        repeats: On how many repeats each row's numbers rest (column ``n``); empty: there is no such column.
        summary, raw: The lines that it was made from.
    """

    name: str
    title: str
    stamp: str
    columns: list[str]
    rows: list[tuple[str, list[Entry]]]
    notes: list[str]
    footnotes: list[str]
    legend: list[tuple[str, str]]
    summary: pd.DataFrame = field(repr=False)
    raw: pd.DataFrame = field(repr=False)
    repeats: list[str] = field(default_factory=list)

    @property
    def heads(self) -> list[str]:
        """Heads of every column."""
        return ["Transform", *(["n"] if self.repeats else []), *self.columns]

    def lines(self) -> Iterator[tuple[list[str], list[Entry]]]:
        """Each row's texts that stand before its entries, and the entries."""
        counts: list[list[str]] = [[count] for count in self.repeats] or [[] for _ in self.rows]
        for (transform, entries), count in zip(self.rows, counts, strict=True):
            yield [transform, *count], entries


def analyse(
    records: Records,
    plan: PlanContent,
    classes: pd.DataFrame | None = None,
    *,
    target: str = "paper_tables",
) -> Analysis:
    """Check that the records are the plan's, and summarize them.

    Args:
        records: Of one machine.
        plan: That they were collected for.
        classes: equivalence.csv (``classes.read_classes``); without it no two libraries are compared.
        target: What a remedy asks for.

    Raises:
        AugmarkError: They are not, or are not alike (``checks.check_records``).
    """
    check_records(records, plan, target=target)
    rows = cover(plan, records.frame, machine=records.machine).rows
    known = Classes() if classes is None else Classes.of_frame(classes)
    return Analysis(plan, records, rows, summarize(rows, Rules.of_plan(plan), known), known)


class _Footnotes:
    """Numbers equal reasons alike, in the order in which they are met."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers) + 1)


def _short(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= REASON_LENGTH else f"{line[: REASON_LENGTH - 3].rstrip()}..."


def _entry(line: Mapping[str, Any] | None, footnotes: _Footnotes) -> Entry:
    if line is None:
        text = "not planned: the plan has no such row for this library"
        return Entry(short=NOT_PLANNED, footnote=footnotes.number(text))
    if line["status"] not in MEASURED:
        reason = line["reason"] or SHOWN[line["status"]].words
        return Entry(
            short=SHOWN[line["status"]].short,
            footnote=footnotes.number(f"{line['status']}: {_short(reason)}"),
        )
    return Entry(
        number=figure(line["throughput"]),
        low=figure(line["throughput_low"]),
        high=figure(line["throughput_high"]),
        interval=line["interval"] if line["repeats"] > 1 else None,
        best=line["best"],
        marks="".join(dict.fromkeys(mark_letter(mark) for mark in line["marks"])),
        footnote=_about(line, footnotes),
        repeats=line["repeats"],
    )


def repeats_text(entries: Sequence[Entry]) -> str:
    """``3``, or ``3/–/5`` in the order of the columns where they differ; ``–`` for one without a number."""
    counts = {entry.repeats for entry in entries if entry.repeats is not None}
    if len(counts) < 2:
        return str(*counts) or "–"
    return "/".join("–" if entry.repeats is None else str(entry.repeats) for entry in entries)


def _about(line: Mapping[str, Any], footnotes: _Footnotes) -> int | None:
    """The footnote of a row with a number: what is other work, measured otherwise, or done in chunks."""
    texts = {
        "other work": line["different"],
        "measured under other conditions": line["blocked"],
        "repeats under other conditions": line["mixed"],
        "in chunks of three channels": line["chunked"],
    }
    said = [f"{what}: {_short(text)}" for what, text in texts.items() if text]
    return footnotes.number("; ".join(said)) if said else None


def _legend(summary: pd.DataFrame, rules: Rules) -> list[tuple[str, str]]:
    used = order_marks(mark for marks in summary["marks"] for mark in marks)
    legend = [
        (MARKS[mark][0], MARKS[mark][1].format(unstable_cv=rules.unstable_cv))
        for mark in used
        if mark in MARKS
    ]
    if others := [mark for mark in used if mark not in MARKS]:
        legend.append((OTHER_FLAG, f"flagged by the measuring process: {', '.join(map(flag_words, others))}"))
    return legend


def build_table(analysis: Analysis, name: str) -> Table:
    """Build one table of the plan.

    Args:
        analysis: Of one machine.
        name: A table's id in the plan.

    Raises:
        AugmarkError: The plan has no such table, or the table no planned row.
    """
    plan = analysis.plan
    summary = table_rows(plan, analysis.summary, name)
    raw = table_rows(plan, analysis.rows, name)
    shown = summary[~summary["library"].map(lambda library: is_control(plan, library))]
    keys = list(dict.fromkeys(zip(shown["library"], shown["device"], strict=True)))
    devices = {device for _, device in keys}
    lines = {
        (line["transform"], line["library"], line["device"]): _plain(line)
        for line in shown.to_dict("records")
    }
    footnotes = _Footnotes()
    rows = []
    for transform in dict.fromkeys(shown["transform"]):
        rows.append((transform, [_entry(lines.get((transform, *key)), footnotes) for key in keys]))
    titles = [
        library_title(plan, library) + (f" ({device})" if len(devices) > 1 else "")
        for library, device in keys
    ]
    rules = Rules.of_plan(plan)
    stanza = plan["tables"][name]
    return Table(
        name=name,
        title=stanza.get("title") or name,
        stamp=plan.get("stamp") or "",
        columns=titles,
        rows=rows,
        notes=notes_of(plan, analysis.records, summary, raw, rules),
        footnotes=list(footnotes.numbers),
        legend=_legend(shown, rules),
        summary=summary,
        raw=raw,
        repeats=[repeats_text(entries) for _, entries in rows],
    )


def _plain(line: dict[str, Any]) -> dict[str, Any]:
    """A line with None for what is missing, however pandas spells it."""
    return {
        key: None if isinstance(value, float) and value != value else value for key, value in line.items()
    }
