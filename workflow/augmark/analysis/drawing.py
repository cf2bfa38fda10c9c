"""What every figure shares: style, palette, and files whose bytes depend on the records alone."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from augmark.errors import AugmarkError
from augmark.files import whole_file

# Okabe-Ito without its yellow (too light on white), each with a marker of its own: nothing rests on colour.
SERIES = [
    ("#0072b2", "o"),
    ("#d55e00", "s"),
    ("#009e73", "^"),
    ("#cc79a7", "D"),
    ("#56b4e9", "v"),
    ("#e69f00", "P"),
    ("#000000", "X"),
]
MUTED, GRID, BAND = "#555555", "#d0d0d0", "#f4f4f4"

_STYLE = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same glyphs everywhere
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "pdf.fonttype": 42,  # text stays text: journals refuse Type 3
    "svg.hashsalt": "augmark",
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "axes.unicode_minus": False,
}


def style() -> AbstractContextManager[None]:
    """The settings under which figures are drawn and saved, whatever the user's matplotlibrc says."""
    return mpl.rc_context({**mpl.rcParamsDefault, **_STYLE, "backend": "agg"})


def series(index: int) -> tuple[str, str]:
    """Colour and marker of the library in this column."""
    return SERIES[index % len(SERIES)]


def headline(figure: Figure, title: str, lines: Iterable[str]) -> None:
    """Title and smaller lines at the top left; heights are in inches, so that tall figures look the same."""
    height = figure.get_figheight()
    figure.text(0.012, 1 - 0.10 / height, title, fontsize=10, fontweight="bold", va="top")
    for index, line in enumerate(lines):
        figure.text(0.012, 1 - (0.32 + 0.16 * index) / height, line, fontsize=7, color=MUTED, va="top")


def save(figure: Figure, paths: Iterable[Path]) -> None:
    """Write a figure as PDF or PNG (by suffix), without a date or a version in it; each renamed when whole.

    Raises:
        AugmarkError: Another suffix.
    """
    for path in paths:
        kind = path.suffix.removeprefix(".")
        if kind not in ("pdf", "png"):
            raise AugmarkError("a figure is a .pdf or a .png", where=str(path))
        metadata = {"Software": None}
        if kind == "pdf":
            metadata = {"CreationDate": None, "ModDate": None, "Producer": None, "Creator": "augmark"}
        with whole_file(path) as part:
            figure.savefig(part, format=kind, metadata=metadata)
