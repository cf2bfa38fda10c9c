"""Rule contact_sheets: input and each library's output side by side, per transform and scenario."""

import argparse
import json
import sys
from pathlib import Path

from augmark.analysis.classes import read_classes
from augmark.analysis.same_work import draw_sheets
from augmark.errors import AugmarkError
from augmark.plan import Plan


def main() -> None:
    """Draw every sheet of the plan."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plan", required=True, type=Path)
    parser.add_argument("--classes", required=True, type=Path, help="equivalence.csv")
    args = parser.parse_args()
    content = json.loads(args.plan.read_text(encoding="utf-8"))
    plan = Plan(content, args.plan.parent.parent)
    draw_sheets(plan, read_classes(args.classes), plan.products)


if __name__ == "__main__":
    try:
        main()
    except AugmarkError as error:
        sys.exit(f"error: {error}")
