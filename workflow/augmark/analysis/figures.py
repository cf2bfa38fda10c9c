"""Figures of one table, and of efficiency: throughput, coverage grid, share of time inside timers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from augmark.analysis.drawing import BAND, GRID, MUTED, headline, save, series, style
from augmark.analysis.efficiency import WITH_TARGET
from augmark.analysis.found_machine import machine_words
from augmark.analysis.marks import INTERVALS, SHOWN, mark_letter, order_marks, symbols, worst
from augmark.analysis.numbers import joined
from augmark.analysis.planned import PlanContent, is_control, library_title, table_rows
from augmark.analysis.rules import Rules
from augmark.analysis.tables import Analysis
from augmark.record import MEASURED

# 58 rows, heads and legend fit one A4 page (11.7 inches).
ROW_INCHES = 0.165
GRID_ROW_INCHES = 0.145
LEAST_ROWS = 4  # height of a figure with fewer
WIDTH_INCHES = 7.6
# Of the width of the throughput axis: what a few letters and a marker take.
LETTERS_SHARE = 0.05
ON_WHITE = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
# Beside a point there is room for a letter, and in the margin for a word; the table explains.
SHORT_MARKS = {
    "different": "other work",
    "unpinned": "same work not shown",
    "unsampled": "work not compared",
    "items": "other items",
    "blocked": "other conditions",
    "mixed": "repeats of other conditions left out",
    "dtype": "other dtype",
    "reduced-items": "reduced items",
    "sessions": "other session",
    "partial": "fewer repeats",
    "chunked": "chunks of three channels",
}


def column_heads(plan: PlanContent, rows: pd.DataFrame) -> list[tuple[str, str, str]]:
    """Library, device and head of each column, controls left out."""
    keys = list(dict.fromkeys(zip(rows["library"], rows["device"], strict=True)))
    keys = [key for key in keys if not is_control(plan, key[0])]
    several = len({device for _, device in keys}) > 1
    return [(lib, dev, library_title(plan, lib) + (f" ({dev})" if several else "")) for lib, dev in keys]


def by_speed(summary: pd.DataFrame) -> list[str]:
    """Transforms, the fastest first; those without any number last, by name."""
    best = summary.groupby("transform")["throughput"].max()
    return sorted(best.index, key=lambda name: (-best[name] if best[name] == best[name] else np.inf, name))


def subtitle(analysis: Analysis) -> str:
    plan, records = analysis.plan, analysis.records
    stamp = f" ({plan['stamp']})" if plan.get("stamp") else ""
    return f"Depth {plan['depth']}{stamp}, machine {machine_words(records.machine, records.frame)}"


def _bars_note(summary: pd.DataFrame, rules: Rules) -> str:
    kinds = set(summary.loc[summary["repeats"] > 1, "interval"].dropna())
    words = [INTERVALS[kind].format(rules.confidence) for kind in INTERVALS if kind in kinds]
    bars = f"bars: {joined(words)} over repeats; " if words else ""
    return f"Median over repeats; {bars}hollow: slow. Right margin: status of rows without a number."


def throughput(analysis: Analysis, table: str, paths: Sequence[Path]) -> None:
    """Throughput by transform and library, log scale, with intervals (or ranges below three repeats).

    Args:
        analysis: Of one machine.
        table: A table's id in the plan.
        paths: PDF and PNG files to write.
    """
    plan = analysis.plan
    summary = table_rows(plan, analysis.summary, table)
    columns = column_heads(plan, summary)
    summary = summary[~summary["library"].map(lambda library: is_control(plan, library)).astype(bool)]
    transforms = by_speed(summary)
    with style():
        top, bottom = 1.0, 0.72
        height = top + bottom + ROW_INCHES * max(len(transforms), LEAST_ROWS)
        figure = Figure(figsize=(WIDTH_INCHES, height))
        side = 0.22 * len(columns) / WIDTH_INCHES
        box = (0.2, bottom / height, 0.785 - side, 1 - (top + bottom) / height)
        axes = figure.add_axes(box)
        gaps = figure.add_axes((box[0] + box[2] + 0.005, box[1], side, box[3]))
        _frame(axes, transforms)
        _points(axes, summary, columns, transforms)
        _gaps(gaps, summary, columns, transforms)
        _log_axis(axes, summary)
        lines = [subtitle(analysis), _bars_note(summary, Rules.of_plan(plan))]
        headline(figure, plan["tables"][table].get("title") or table, lines)
        handles = [
            Line2D([], [], color=series(i)[0], marker=series(i)[1], linestyle="", markersize=5, label=title)
            for i, (_, _, title) in enumerate(columns)
        ]
        place = (0.2, 1 - (top - 0.02) / height)
        figure.legend(
            handles=handles,
            loc="lower left",
            bbox_to_anchor=place,
            ncols=len(columns),
            frameon=False,
            borderaxespad=0,
            handletextpad=0.1,
            columnspacing=1.4,
        )
        used = [name for name in reversed(SHOWN) if name in set(summary["status"]) - set(MEASURED)]
        key = "   ".join(f"{SHOWN[name].symbol} {name}" for name in used)
        figure.text(0.012, 0.06 / height, key, fontsize=6, color=MUTED)
        marks = order_marks(mark for marks in summary["marks"] for mark in marks if mark != "slow")
        key = "   ".join(f"{mark_letter(mark)} {SHORT_MARKS.get(mark, mark)}" for mark in marks)
        figure.text(0.012, 0.18 / height, key, fontsize=6, color=MUTED)
        save(figure, paths)


def _frame(axes: Axes, transforms: list[str]) -> None:
    for index in range(0, len(transforms), 2):
        axes.axhspan(index - 0.5, index + 0.5, color=BAND, linewidth=0, zorder=0)
    axes.set_ylim(len(transforms) - 0.5, -0.5)
    axes.set_yticks(range(len(transforms)), transforms)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=GRID, linewidth=0.5, zorder=1)
    axes.set_axisbelow(True)


def _points(
    axes: Axes, summary: pd.DataFrame, columns: list[tuple[str, str, str]], transforms: list[str]
) -> None:
    rank = {name: index for index, name in enumerate(transforms)}
    step = 0.66 / max(len(columns), 1)
    known = summary.dropna(subset="throughput")
    beside = known.groupby("transform")["throughput"].agg(list)
    reach = LETTERS_SHARE * math.log(known["throughput"].max() / known["throughput"].min())
    for column, (library, device, _) in enumerate(columns):
        colour, marker = series(column)
        lines = summary[(summary["library"] == library) & (summary["device"] == device)]
        lines = lines[lines["status"].isin(MEASURED)]
        if lines.empty:
            continue
        x = lines["throughput"].to_numpy(dtype=float)
        y = lines["transform"].map(rank).to_numpy(dtype=float) + step * (column - (len(columns) - 1) / 2)
        bars = np.vstack([x - lines["throughput_low"], lines["throughput_high"] - x]).astype(float)
        # The interval is centred on the geometric mean: the median may lie just outside of it.
        axes.errorbar(
            x, y, xerr=bars.clip(min=0), fmt="none", ecolor=colour, elinewidth=0.8, capsize=1.3, zorder=3
        )
        face = [colour if status == "ok" else "white" for status in lines["status"]]
        for at, line in enumerate(lines.itertuples()):
            side = _free_side(line.throughput, beside[line.transform], reach)
            end = x[at] + max(bars[1, at], 0) if side > 0 else x[at] - max(bars[0, at], 0)
            _letters(axes, line.marks, (end, y[at]), side, colour)
        axes.scatter(x, y, s=13, marker=marker, c=face, edgecolors=colour, linewidths=0.7, zorder=4)


def _free_side(own: float, row: Sequence[float], reach: float) -> int:
    """On which side of a point its letters stand: 1 is right, -1 left, where only the left has room."""
    gaps = [math.log(other / own) for other in row if other != own]
    right, left = any(0 < gap < reach for gap in gaps), any(-reach < gap < 0 for gap in gaps)
    return -1 if right and not left else 1


def _letters(axes: Axes, marks: Sequence[str], place: tuple[float, float], side: int, colour: str) -> None:
    axes.annotate(
        "".join(mark_letter(mark) for mark in marks if mark != "slow"),
        place,
        xytext=(4 * side, 0),
        textcoords="offset points",
        fontsize=5.5,
        ha="left" if side > 0 else "right",
        va="center",
        color=colour,
        zorder=5,
        path_effects=[withStroke(linewidth=1.2, foreground="white")],
    )


def _log_axis(axes: Axes, summary: pd.DataFrame) -> None:
    axes.set_xscale("log")
    known = summary[["throughput", "throughput_low", "throughput_high"]].to_numpy(dtype=float)
    known = known[np.isfinite(known) & (known > 0)]
    low, high = (known.min() / 1.3, known.max() * 1.3) if known.size else (1.0, 10.0)
    axes.set_xlim(low, high)
    if high / low < 100:  # less than two decades: one labelled tick or two would say little
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("items per second (log scale)")


def _gaps(
    axes: Axes, summary: pd.DataFrame, columns: list[tuple[str, str, str]], transforms: list[str]
) -> None:
    """One narrow column per library to the right: the status of every row without a number."""
    axes.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(transforms) - 0.5, -0.5))
    axes.axis("off")
    for index in range(0, len(transforms), 2):
        axes.add_patch(Rectangle((-0.5, index - 0.5), len(columns), 1, facecolor=BAND, linewidth=0))
    rank = {name: index for index, name in enumerate(transforms)}
    row = len(transforms) / max(len(transforms), LEAST_ROWS)  # of a usual height, in the axis's own units
    for column, (library, device, _) in enumerate(columns):
        colour, marker = series(column)
        axes.plot([column], [-0.5 - 0.7 * row], marker=marker, color=colour, markersize=4, clip_on=False)
        lines = summary[(summary["library"] == library) & (summary["device"] == device)]
        for transform, status in zip(lines["transform"], lines["status"], strict=True):
            if status not in MEASURED:
                axes.text(column, rank[transform], SHOWN[status].symbol, ha="center", va="center",
                          fontsize=7, color=colour)  # fmt: skip


def coverage_grid(analysis: Analysis, table: str, paths: Sequence[Path]) -> None:
    """Transform x library: the worst status over the repeats as colour, all of them as symbols.

    Controls are in it: whether they ran is part of what was covered.
    """
    plan = analysis.plan
    rows = table_rows(plan, analysis.rows, table)
    transforms = list(dict.fromkeys(rows["transform"]))
    heads = column_heads(plan, rows)
    controls = dict.fromkeys((lib, dev) for lib, dev in zip(rows["library"], rows["device"], strict=True))
    heads += [(lib, dev, library_title(plan, lib)) for lib, dev in controls if is_control(plan, lib)]
    used = [name for name in reversed(SHOWN) if name in set(rows["status"])]
    with style():
        top, bottom = 1.55, 0.2 + 0.16 * ((len(used) + 1) // 2)
        height = top + bottom + GRID_ROW_INCHES * len(transforms)
        width = 2.0 + 0.62 * len(heads) + 0.2
        width = max(width, 5.0)
        figure = Figure(figsize=(width, height))
        axes = figure.add_axes(
            (1.6 / width, bottom / height, 0.62 * len(heads) / width, 1 - (top + bottom) / height)
        )
        _fields(axes, rows, heads, transforms)
        have = int(rows["recorded"].sum())
        line = f"{have:,} of {len(rows):,} planned rows have a record"
        headline(figure, f"Coverage: {table}", [subtitle(analysis), line])
        patches = [
            Patch(
                facecolor=SHOWN[name].colour,
                label=f"{SHOWN[name].symbol}  {name}: {SHOWN[name].words}",
            )
            for name in used
        ]
        figure.legend(handles=patches, loc="lower left", bbox_to_anchor=(0.012, 0.06 / height), ncols=2,
                      frameon=False, fontsize=6.5, borderaxespad=0, handlelength=1.2)  # fmt: skip
        save(figure, paths)


def _fields(axes: Axes, rows: pd.DataFrame, heads: list[tuple[str, str, str]], transforms: list[str]) -> None:
    axes.set(xlim=(0, len(heads)), ylim=(len(transforms), 0))
    rank = {name: index for index, name in enumerate(transforms)}
    place = {(library, device): index for index, (library, device, _) in enumerate(heads)}
    for (transform, library, device), lines in rows.groupby(["transform", "library", "device"], sort=False):
        x, y = place[library, device], rank[transform]
        status = SHOWN[worst(lines["status"])]
        axes.add_patch(Rectangle((x + 0.03, y + 0.05), 0.94, 0.9, facecolor=status.colour, linewidth=0))
        text = symbols(lines["status"])
        axes.text(x + 0.5, y + 0.52, text, ha="center", va="center", fontsize=7, color=status.ink)
    axes.set_yticks([index + 0.5 for index in range(len(transforms))], transforms)
    axes.set_xticks([index + 0.5 for index in range(len(heads))], [head for _, _, head in heads])
    axes.tick_params(length=0, pad=2, labeltop=True, labelbottom=False)
    axes.tick_params(axis="x", labelrotation=40)
    for label in axes.get_xticklabels():
        label.set(ha="left", rotation_mode="anchor")
    for spine in axes.spines.values():
        spine.set_visible(False)


def efficiency(shares: pd.DataFrame, plan: PlanContent, paths: Sequence[Path]) -> None:
    """Share of the measuring jobs' wall time inside timers, per library, with the target as a line.

    Args:
        shares: As ``efficiency.timed_shares`` gives them.
        plan: Has the target in its policy.
        paths: PDF and PNG files to write.
    """
    target = plan["policy"]["timed_share_target"]
    last = shares["library"].map(lambda library: is_control(plan, library))
    groups = list(shares.assign(last=last).groupby(["machine", "scenario", "mode"], sort=True))
    several = len(groups) > 1
    with style():
        count = len(shares) + several * len(groups)
        height = 1.25 + 0.2 * max(count, 2)
        figure = Figure(figsize=(6.0, height))
        axes = figure.add_axes((0.3, 0.4 / height, 0.62, 1 - 1.25 / height))
        place, ticks, begin = 0, {}, -0.6
        for (_, scenario, mode), lines in groups:
            if several:
                text = f"{scenario} {mode}"
                axes.text(0, place, text, fontsize=7, fontweight="bold", va="center", zorder=5, bbox=ON_WHITE)
                place += 1
                begin = place - 0.6
            for line in lines.sort_values(["last", "library"]).to_dict("records"):
                ticks[place] = library_title(plan, line["library"])
                _share(axes, place, line["timed_share"], mode, control=line["last"])
                place += 1
            if mode in WITH_TARGET:
                _target(axes, target, begin, place - 0.4)
        axes.set_yticks(list(ticks), list(ticks.values()))
        axes.set(xlim=(0, 1.08), ylim=(count - 0.4, -0.6))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0%}"))
        axes.set_xticks(np.linspace(0, 1, 6))
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(not several)
        axes.grid(axis="x", color=GRID, linewidth=0.5, zorder=0)
        about = _about_shares(shares, plan)
        headline(figure, "Share of measuring jobs' wall time inside timers", about)
        save(figure, paths)


def _about_shares(shares: pd.DataFrame, plan: PlanContent) -> list[str]:
    stamp = f" ({plan['stamp']})" if plan.get("stamp") else ""
    machines = "; ".join(sorted(shares["machine_found"].unique()))
    key = f"Dashed: target, {plan['policy']['timed_share_target']:.0%}. Grey: controls."
    lines = [f"Depth {plan['depth']}{stamp}, machine {machines}", key]
    if not shares["mode"].isin(WITH_TARGET).all():
        lines[1] += " Hatched: modes without a target: decode has one row for its start, and"
        lines.append(
            "in DataLoader modes warm-up epoch, start of workers, checks and split are not timed by design."
        )
    return lines


def _share(axes: Axes, place: int, share: float, mode: str, *, control: bool) -> None:
    if share != share:
        words = "unknown: nothing timed in these records"
        axes.text(0.01, place, words, va="center", fontsize=7, color=MUTED)
        return
    face, hatch = ("#b5b5b5" if control else series(0)[0]), ""
    if mode not in WITH_TARGET:
        face, hatch = "#cfe3f1", "/////"
    axes.barh(
        place, share, height=0.66, color=face, hatch=hatch, edgecolor=series(0)[0], linewidth=0, zorder=2
    )
    axes.text(share + 0.01, place, f"{share:.0%}", va="center", fontsize=7, zorder=5, bbox=ON_WHITE)


def _target(axes: Axes, target: float, begin: float, end: float) -> None:
    axes.plot([target, target], [begin, end], color="#d55e00", linestyle=(0, (4, 2)), linewidth=1.2, zorder=4)
