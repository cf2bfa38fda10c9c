"""Scenario x mode x library x device: how many rows are planned, and what became of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from augmark.analysis.coverage import Coverage
from augmark.analysis.marks import SHOWN
from augmark.config.select import campaign_tables
from augmark.config.settings import Settings
from augmark.machines.abilities import not_for
from augmark.plan import Plan

KEYS = ["scenario", "mode", "library", "device"]


def matrix(coverage: Coverage) -> pd.DataFrame:
    """One line per scenario, mode, library and device, in the order of the plan.

    Returns:
        ``scenario mode library device rows repeats planned`` and one column per status that occurs: counts of
        planned rows over all repeats, so that the statuses of a line add up to ``planned``.
    """
    rows = coverage.rows
    counts = rows.groupby([*KEYS, "status"], sort=False).size().unstack(fill_value=0)
    counts = counts.reindex(list(dict.fromkeys(rows[KEYS].itertuples(index=False, name=None))))
    grouped = rows.groupby(KEYS, sort=False)
    present = [name for name in reversed(SHOWN) if name in counts]
    lines = counts[present]
    lines.insert(0, "rows", grouped.apply(_distinct, include_groups=False))
    lines.insert(1, "repeats", grouped["repeat"].nunique())
    lines.insert(2, "planned", lines[present].sum(axis=1))
    return lines.astype(int).reset_index()


def _distinct(rows: pd.DataFrame) -> int:
    return len(rows[["transform", "condition"]].drop_duplicates())


def not_planned(
    scenarios: Mapping[str, Any],
    libraries: Mapping[str, Any],
    machine: Mapping[str, Any],
    lines: pd.DataFrame,
) -> list[str]:
    """In words, what of the declared combinations has no row on this machine, and why.

    Args:
        scenarios, libraries: Stanzas of the configuration, those that were selected.
        machine: The plan's stanza of the machine.
        lines: Of ``matrix``.
    """
    there = set(lines[["scenario", "mode", "library"]].itertuples(index=False, name=None))
    said = []
    for scenario, about in scenarios.items():
        for mode in about["modes"]:
            lacking = [
                stanza["title"]
                for name, stanza in libraries.items()
                if stanza["kind"] == "library" and (scenario, mode, name) not in there
            ]
            planned = any(key[:2] == (scenario, mode) for key in there)
            if not planned:
                why = not_for(machine, scenario, mode) or "not selected, or nothing of it at this depth"
                said.append(f"{scenario} {mode}: not-run, no row here: {why}")
            elif lacking:
                said.append(f"{scenario} {mode}: not offered by {', '.join(lacking)} (libraries.yaml)")
    return said


def without_cells(settings: Settings, plans: Sequence[Plan]) -> Iterator[str]:
    """In words, the campaign's tables that have no cell on any planned machine because of what these are."""
    planned = {tuple(key.split("/")[:2]) for plan in plans for key in plan.content["definitions"]}
    for name in campaign_tables(settings, settings.config["campaign"]):
        place = settings.tables[name]["scenario"], settings.tables[name]["mode"]
        reason = not_for(plans[0].content["machine_stanza"], *place)
        if place not in planned and reason:
            yield f"table {name}: not-run: {reason}"


def render(lines: pd.DataFrame) -> str:
    """The matrix as aligned text."""
    heads = list(lines.columns)
    body = [[str(value) if value != 0 else "." for value in line] for line in lines.to_numpy()]
    totals = [str(int(lines[head].sum())) if index > 5 else "" for index, head in enumerate(heads)]
    totals[0] = "all"
    grid = [heads, *body, totals]
    widths = [max(len(line[column]) for line in grid) for column in range(len(heads))]
    text = []
    for line in grid:
        words = [
            word.ljust(width) if column < len(KEYS) else word.rjust(width)
            for column, (word, width) in enumerate(zip(line, widths, strict=True))
        ]
        text.append("  ".join(words).rstrip())
    return "\n".join(text)
