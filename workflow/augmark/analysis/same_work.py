"""The samples of a plan's probes as files: equivalence.csv, equivalence.md and the contact sheets."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from augmark.analysis import classes, equivalence_summary
from augmark.analysis.equivalence import compare_scenario
from augmark.analysis.frame import write_text
from augmark.analysis.sampled import archives, rows_of, sheet_path
from augmark.analysis.samples import read_scenario
from augmark.plan import Plan


def write_equivalence(plan: Plan, csv: Path, summary: Path) -> None:
    """Compare every pair of libraries, from the sample archives of a plan that are there.

    Args:
        plan: Its ``output`` holds the probes.
        csv, summary: equivalence.csv and equivalence.md.
    """
    lines = []
    for scenario, paths in archives(plan).items():
        lines += compare_scenario(plan.content, scenario, read_scenario(paths))
    frame = classes.frame_of_lines(lines)
    write_text(csv, classes.render(frame))
    write_text(summary, equivalence_summary.render(frame, plan.content))


def draw_sheets(plan: Plan, known: pd.DataFrame, products: Path) -> list[Path]:
    """Draw every contact sheet of a plan.

    Args:
        plan: Its ``output`` holds the probes.
        known: equivalence.csv (``classes.read_classes``).
        products: The folder that holds ``figures``.

    Returns:
        The sheets.
    """
    from augmark.analysis.contact import draw_sheet

    drawn = []
    for scenario, paths in archives(plan).items():
        samples = read_scenario(paths)
        for row in rows_of(plan.content, scenario):
            name = row["transform"]
            have = {library: kept[name] for library, kept in samples.items() if name in kept}
            lines = known[(known["scenario"] == scenario) & (known["transform"] == name)]
            drawn.append(sheet_path(products, scenario, name))
            draw_sheet(plan.content, scenario, name, have, lines, drawn[-1])
    return drawn
