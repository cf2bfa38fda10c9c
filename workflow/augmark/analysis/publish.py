"""Analyses as files: which module writes which kind of file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from augmark.analysis import latex, longform, markdown
from augmark.analysis.frame import write_text
from augmark.analysis.numbers import one_line
from augmark.analysis.tables import Analysis, build_table
from augmark.errors import AugmarkError

FIGURES = ("throughput", "coverage", "bounds")  # of a table


def write_table(analysis: Analysis, name: str, paths: Sequence[Path]) -> None:
    """Write one table of the plan as ``.md``, ``.csv`` or ``.tex``, by suffix.

    Raises:
        AugmarkError: Another suffix, or no such table.
    """
    table = build_table(analysis, name)
    for path in paths:
        if path.suffix == ".md":
            text = markdown.render(table)
        elif path.suffix == ".csv":
            text = longform.render(table, analysis.plan)
        elif path.suffix == ".tex":
            text = latex.render(table)
        else:
            raise AugmarkError("a table is a .md, a .csv or a .tex", where=str(path))
        write_text(path, text)


def write_summary(analysis: Analysis, path: Path) -> None:
    """Write every row's figures, of all tables, as one CSV."""
    summary = analysis.summary.assign(
        marks=analysis.summary["marks"].map("; ".join),
        reason=analysis.summary["reason"].map(one_line, na_action="ignore"),
    )
    write_text(path, summary.to_csv(index=False, lineterminator="\n"))


def draw_figure(analysis: Analysis, kind: str, table: str, paths: Sequence[Path]) -> None:
    """Draw one figure of a table, ``throughput``, ``coverage`` or ``bounds``, as ``.pdf`` and ``.png``."""
    from augmark.analysis import bounds_figure, figures  # what only writes does not wait for matplotlib

    draw = dict(zip(FIGURES, (figures.throughput, figures.coverage_grid, bounds_figure.draw), strict=True))
    draw[kind](analysis, table, paths)
