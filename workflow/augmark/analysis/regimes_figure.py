"""The sweeps as a figure: one panel per scenario, mode, device and axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from augmark.analysis.drawing import GRID, MUTED, headline, save, series, style
from augmark.analysis.found_machine import machine_words
from augmark.analysis.planned import library_title
from augmark.analysis.regimes import AXES, SECTION, in_order, plain_value, regimes
from augmark.analysis.tables import Analysis

PANEL_WIDTH, PANEL_HEIGHT, ACROSS = 2.55, 2.5, 3  # inches, panels in a row
TOP, BOTTOM, LEFT = 0.98, 0.1, 0.5
SPREAD = 0.5  # of the distance between two values: libraries side by side


def draw(analysis: Analysis, paths: Sequence[Path]) -> None:
    """Throughput relative to plain over the values of each axis: points per transform, median per library.

    Args:
        analysis: Of one machine.
        paths: PDF and PNG files to write.
    """
    plan, lines = analysis.plan, regimes(analysis)
    lines = lines[lines["kind"] == "library"]
    libraries = list(dict.fromkeys(lines["library"]))
    panels = list(lines.groupby(SECTION, sort=False))
    with style():
        rows = max(1, math.ceil(len(panels) / ACROSS))
        height = TOP + BOTTOM + PANEL_HEIGHT * rows
        width = LEFT + PANEL_WIDTH * min(ACROSS, max(len(panels), 2))
        figure = Figure(figsize=(width, height))
        for index, (section, part) in enumerate(panels):
            row, column = divmod(index, ACROSS)
            left, bottom = LEFT + PANEL_WIDTH * column, height - TOP - PANEL_HEIGHT * (row + 1) + 0.45
            box = (left / width, bottom / height, (PANEL_WIDTH - 0.5) / width, (PANEL_HEIGHT - 0.9) / height)
            _panel(figure.add_axes(box), analysis, section, part, libraries)
        stamp = f" ({plan['stamp']})" if plan.get("stamp") else ""
        found = machine_words(analysis.records.machine, analysis.records.frame)
        about = f"Depth {plan['depth']}{stamp}, machine {found}"
        how = "Points: transforms. Line: their median; n/m where m are planned and only n have a ratio."
        title = "Regimes: throughput relative to the plain row of the same library"
        headline(figure, title, [about, how, "Hollow: one draw for the whole batch, not the same work."])
        handles = [
            Line2D([], [], color=series(i)[0], marker=series(i)[1], markersize=4, linewidth=1, label=title)
            for i, title in enumerate(library_title(plan, library) for library in libraries)
        ]
        figure.legend(
            handles=handles,
            loc="lower left",
            bbox_to_anchor=(0.012, 1 - 0.95 / height),
            ncols=max(len(handles), 1),
            frameon=False,
            borderaxespad=0,
        )
        save(figure, paths)


def _panel(
    axes: Axes, analysis: Analysis, section: tuple[str, ...], lines: pd.DataFrame, libraries: list[str]
) -> None:
    scenario, mode, device, axis = section
    plain = plain_value(analysis.plan, lines.iloc[0])
    values = in_order([*([] if plain is None else [plain]), *lines["value"]])
    place = {value: index for index, value in enumerate(values)}
    axes.axhline(1, color=MUTED, linewidth=0.8, linestyle=(0, (4, 2)), zorder=1)
    if plain is not None:
        axes.plot([place[plain]], [1], marker="o", markersize=4, color=MUTED, zorder=4)
    here = [library for library in libraries if library in set(lines["library"])]
    for order, library in enumerate(here):
        shift = SPREAD * ((order + 0.5) / len(here) - 0.5)
        _library(axes, lines[lines["library"] == library], place, shift, series(libraries.index(library)))
    axes.set_title(f"{AXES.get(axis, axis)}\n{scenario}, {mode}, {device}", fontsize=7, loc="left")
    axes.set_ylabel("times plain", fontsize=6.5, labelpad=1)
    axes.set_xlim(-0.6, len(values) - 0.4)
    axes.set_xticks(range(len(values)), [_words(value, value == plain) for value in values])
    axes.tick_params(axis="x", labelsize=6.5 if len(values) > 3 else 7.5)
    axes.grid(axis="y", color=GRID, linewidth=0.5, zorder=0)
    _log_axis(axes, lines)


def _words(value: Any, plain: bool) -> str:
    if isinstance(value, bool):
        text = "compiled" if value else "eager"
    else:
        text = str(value).removeprefix("pipeline-").replace("-", "\n")
    return f"{text}\nplain" if plain else text


def _library(
    axes: Axes, lines: pd.DataFrame, place: dict[Any, int], shift: float, look: tuple[str, str]
) -> None:
    """One library: its transforms as points, the median over them, and how many are missing."""
    colour, marker = look
    medians = []
    for value, part in lines.groupby("value", sort=False):
        x, ratios = place[value] + shift, part["ratio"].dropna().astype(float)
        hollow = ["per-batch" in marks for marks in part.loc[ratios.index, "marks"]]
        face = ["white" if empty else colour for empty in hollow]
        axes.scatter([x] * len(ratios), ratios, s=9, marker=marker, c=face, edgecolors=colour,
                     linewidths=0.6, zorder=3)  # fmt: skip
        if len(ratios):
            medians.append((x, float(ratios.median())))
        if len(ratios) < len(part):
            axes.annotate(f"{len(ratios)}/{len(part)}", (x, 1), xycoords=("data", "axes fraction"),
                          xytext=(0, -1), textcoords="offset points", ha="center", va="top",
                          fontsize=5.5, color=colour)  # fmt: skip
    medians.sort()
    axes.plot(*zip(*medians, strict=True) if medians else ([], []), color=colour, linewidth=1, zorder=2)
    for x, median in medians:
        axes.plot([x - 0.09, x + 0.09], [median, median], color=colour, linewidth=2, zorder=4)


def _log_axis(axes: Axes, lines: pd.DataFrame) -> None:
    """A log scale about 1, with room above for the counts."""
    known = lines["ratio"].dropna().astype(float)
    low, high = (min(known.min(), 1), max(known.max(), 1)) if len(known) else (1.0, 1.0)
    axes.set_yscale("log")
    axes.set_ylim(min(low / 1.15, 0.8), max(high * 1.35, 1.4))
    subs = (1.0, 2.0, 5.0) if high / low > 20 else (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)
    axes.yaxis.set_major_locator(LogLocator(subs=subs))
    axes.tick_params(axis="y", which="minor", length=0)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
