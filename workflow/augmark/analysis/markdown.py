"""A table as Markdown (GitHub's)."""

from __future__ import annotations

import re

from augmark.analysis.numbers import one_line
from augmark.analysis.tables import Entry, Table

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~$])")


def escape(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    return _SPECIAL.sub(r"\\\1", one_line(text)).replace("&", "&amp;")


def _raised(entry: Entry) -> str:
    parts = [part for part in (entry.marks, str(entry.footnote or "")) if part]
    return f"<sup>{','.join(parts)}</sup>" if parts else ""


def entry_text(entry: Entry) -> str:
    """One field: number, bounds and marks, or what stands in place of a number."""
    if entry.number is None:
        return f"{entry.short}{_raised(entry)}"
    number = f"**{entry.number}**" if entry.best else entry.number
    bounds = f" {escape(entry.bounds)}" if entry.bounds else ""
    return f"{number}{_raised(entry)}{bounds}"


def render(table: Table) -> str:
    """The whole file."""
    head = [f"# {escape(table.title)}", ""]
    if table.stamp:
        head += [f"**{escape(table.stamp[:1].upper() + table.stamp[1:])}.**", ""]
    lines = [
        "| " + " | ".join(map(escape, table.heads)) + " |",
        "| " + " | ".join(["---", *("---:" for _ in table.heads[1:])]) + " |",
    ]
    for texts, entries in table.lines():
        lines.append("| " + " | ".join([*map(escape, texts), *map(entry_text, entries)]) + " |")
    below = ["", *(f"- {escape(note)}" for note in table.notes)]
    if table.legend:
        marks = "; ".join(f"<sup>{letter}</sup> {escape(words)}" for letter, words in table.legend)
        below.append(f"- Marks: {marks}.")
    if table.footnotes:
        below += ["", "Footnotes (why a row has no number, or is not compared):", ""]
        below += [f"{number}. {escape(text)}" for number, text in enumerate(table.footnotes, 1)]
    return "\n".join([*head, *lines, *below]) + "\n"
