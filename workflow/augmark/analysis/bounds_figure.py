"""The figure of what bounds the rows of a DataLoader table: one stacked bar per transform and library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from augmark.analysis.bounds import FACTS, SEVERAL, bounds, shares
from augmark.analysis.drawing import BAND, MUTED, headline, save, style
from augmark.analysis.figures import ROW_INCHES, WIDTH_INCHES, by_speed, column_heads, subtitle
from augmark.analysis.frame import PARTS
from augmark.analysis.marks import MARKS
from augmark.analysis.numbers import figure as number
from augmark.analysis.numbers import joined
from augmark.analysis.planned import table_rows
from augmark.analysis.tables import NOT_PLANNED, Analysis
from augmark.record import MEASURED


@dataclass(frozen=True)
class Look:
    """How a part is drawn: Okabe-Ito colours, and a hatch of its own, so that nothing rests on colour."""

    colour: str
    hatch: str
    words: str


LOOKS = {
    "decode": Look("#56b4e9", "", "decode"),
    "augment": Look("#e69f00", "/////", "augment (the whole recipe)"),
    "collate": Look("#009e73", "xxxxx", "collate"),
    "copy": Look("#cc79a7", ".....", "copy to the device"),
    "delivery": Look("#ececec", "|||||", "delivery and waiting"),
}
MIXED = "mixed"
LABEL_INCHES, GAP_INCHES, TEXT_INCHES = 1.2, 0.08, 0.72
EXPLAINED = (
    "Bars: shares of the workers' time for an item, median over repeats. Decode, augment and collate were "
    "timed in one worker alone;",
    "delivery is the rest of an epoch: queues, waiting, what busy workers cost one another. Beside a bar: "
    "items per second, and what bounds it.",
)


def draw(analysis: Analysis, table: str, paths: Sequence[Path]) -> None:
    """Draw decode, augment, collate, copy and delivery of every row of a DataLoader table.

    Args:
        analysis: Of one machine.
        table: A table's id in the plan, of a DataLoader mode.
        paths: PDF and PNG files to write.
    """
    plan = analysis.plan
    summary = table_rows(plan, analysis.summary, table)
    heads, transforms = column_heads(plan, summary), by_speed(summary)
    lines = table_lines(analysis, table)
    with style(), rc_context({"hatch.linewidth": 0.4}):
        top, bottom = 1.36, 0.3
        height = top + bottom + ROW_INCHES * max(len(transforms), 2)
        figure = Figure(figsize=(WIDTH_INCHES, height))
        step = (WIDTH_INCHES - LABEL_INCHES - 0.05) / len(heads)
        width = step - GAP_INCHES
        for column, (library, device, title) in enumerate(heads):
            left = (LABEL_INCHES + column * step) / WIDTH_INCHES
            box = (left, bottom / height, width / WIDTH_INCHES, 1 - (top + bottom) / height)
            axes = figure.add_axes(box)
            # One unit of the axis is the bar; what is right of it belongs to the text.
            _frame(axes, transforms, width / (width - TEXT_INCHES), first=column == 0)
            axes.set_title(title, fontsize=8, loc="left", pad=3)
            for rank, transform in enumerate(transforms):
                _row(axes, rank, lines.get((transform, library, device)), analysis.records.host.get("cpus"))
        about = [subtitle(analysis), loader_words(lines.values()), *EXPLAINED]
        headline(figure, f"{plan['tables'][table].get('title') or table}: what bounds it", about)
        _keys(figure, lines.values(), height, top)
        save(figure, paths)


def table_lines(analysis: Analysis, table: str) -> dict[tuple[str, str, str], Mapping[str, Any]]:
    """Transform, library and device -> line of ``bounds``, of one table."""
    frame = bounds(analysis)
    stanza = analysis.plan["tables"][table]
    chosen = frame[
        (frame["scenario"] == stanza["scenario"])
        & (frame["mode"] == stanza["mode"])
        & frame["device"].isin(stanza["devices"])
    ]
    return {(line["transform"], line["library"], line["device"]): line for line in chosen.to_dict("records")}


def loader_words(lines: Any) -> str:
    """The loader that the rows ran in; rows that differ are named by all their values."""
    lines, said = list(lines), {}
    for name in FACTS:
        if values := sorted({str(line[name]) for line in lines if line[name] is not None}):
            said[name] = joined(values)
    if "workers" not in said:
        return "No row has a number."
    copied = f", copied to {said['copy_to']}" if "copy_to" in said else ""
    return (
        f"{said['workers']} workers, batches of {said['batch_size']}, {said['prefetch_factor']} ahead per "
        f"worker, threads: {said['thread_policy']}{copied}"
    )


def _frame(axes: Axes, transforms: Sequence[str], width: float, *, first: bool) -> None:
    axes.set(xlim=(0, width), ylim=(len(transforms) - 0.5, -0.5))
    for index in range(0, len(transforms), 2):
        axes.axhspan(index - 0.5, index + 0.5, color=BAND, linewidth=0, zorder=0)
    axes.set_yticks(range(len(transforms)), transforms if first else [], fontsize=7)
    axes.set_xticks([0, 0.5, 1], ["0", "50%", "100%"], fontsize=6)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", length=2, pad=1)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)


def _row(axes: Axes, rank: int, line: Mapping[str, Any] | None, cpus: int | None) -> None:
    """One bar and what stands beside it, or why there is none."""
    if line is None or line["status"] not in MEASURED:
        words = NOT_PLANNED if line is None else line["status"]
        axes.text(0, rank, words, va="center", fontsize=6, color=MUTED, style="italic")
        return
    parts, left = shares(line, cpus), 0.0
    for part, share in (parts or {}).items():
        look = LOOKS[part]
        axes.barh(rank, share, left=left, height=0.72, facecolor=look.colour, hatch=look.hatch,
                  edgecolor="#333333", linewidth=0.3, zorder=2)  # fmt: skip
        left += share
    slow = f" {MARKS['slow'][0]}" if line["status"] == "slow" else ""
    flag = f" {MARKS['oversubscribed'][0]}" if line["oversubscribed"] else ""
    text = f"{number(line['items_per_second'])}{slow}{flag}"
    axes.text(1.03 if parts else 0, rank, text, va="center", fontsize=5.8, fontweight="bold")
    bound, end = line["bound_by"] or "no split", axes.get_xlim()[1]
    bound = MIXED if SEVERAL in bound else bound  # there is room for one word
    axes.text(end, rank, bound, va="center", ha="right", fontsize=5.8)


def _keys(figure: Figure, lines: Any, height: float, top: float) -> None:
    """The parts above, what the letters and words beside a bar mean below."""
    lines = list(lines)
    copied = any(line["copy_seconds_per_item"] is not None for line in lines)
    patches = [
        Patch(facecolor=LOOKS[part].colour, hatch=LOOKS[part].hatch, edgecolor="#333333", linewidth=0.3,
              label=LOOKS[part].words)
        for part in PARTS
        if part != "copy" or copied
    ]  # fmt: skip
    figure.legend(
        handles=patches,
        loc="lower left",
        bbox_to_anchor=(LABEL_INCHES / WIDTH_INCHES, 1 - (top - 0.17) / height),
        ncols=len(patches),
        frameon=False,
        borderaxespad=0,
        fontsize=7,
        handlelength=1.6,
        columnspacing=1.4,
    )
    said = {
        f"{MARKS['slow'][0]} slow": any(line["status"] == "slow" for line in lines),
        f"{MARKS['oversubscribed'][0]} {MARKS['oversubscribed'][1]}": any(
            line["oversubscribed"] for line in lines
        ),
        f"{MIXED}: as many repeats are bound by one part as by another (bounds.csv)": any(
            SEVERAL in (line["bound_by"] or "") for line in lines
        ),
    }
    words = "   ".join(text for text, holds in said.items() if holds)
    figure.text(0.012, 0.05 / height, words, fontsize=6, color=MUTED)
