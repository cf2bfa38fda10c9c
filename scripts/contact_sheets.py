"""Rule contact_sheets: input and each library's output side by side, per transform and scenario."""

import argparse
import json
import sys
from pathlib import Path

from augmark.analysis.classes import read_classes
from augmark.analysis.contact import draw_sheet
from augmark.analysis.sampled import archives, rows_of, sheet_path
from augmark.analysis.samples import read_scenario
from augmark.errors import AugmarkError
from augmark.plan import Plan


def main() -> None:
    """Draw every sheet of the plan."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plan", required=True, type=Path)
    parser.add_argument("--classes", required=True, type=Path, help="equivalence.csv")
    args = parser.parse_args()
    plan = json.loads(args.plan.read_text(encoding="utf-8"))
    output = Path(plan["config"]["output"])
    classes = read_classes(args.classes)
    for scenario, paths in archives(Plan(plan, output)).items():
        samples = read_scenario(paths)
        for row in rows_of(plan, scenario):
            name = row["transform"]
            have = {library: kept[name] for library, kept in samples.items() if name in kept}
            lines = classes[(classes["scenario"] == scenario) & (classes["transform"] == name)]
            draw_sheet(plan, scenario, name, have, lines, sheet_path(output, scenario, name))


if __name__ == "__main__":
    try:
        main()
    except AugmarkError as error:
        sys.exit(f"error: {error}")
