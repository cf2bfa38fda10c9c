"""Rule figures: a figure of the plan as PDF and PNG, from records alone."""

import argparse
import json
import sys
from pathlib import Path

from augmark.analysis import figures
from augmark.analysis.classes import read_classes
from augmark.analysis.efficiency import timed_shares
from augmark.analysis.frame import read_records
from augmark.analysis.publish import FIGURES, draw_figure
from augmark.analysis.tables import analyse
from augmark.errors import AugmarkError


def main() -> None:
    """Draw one figure in the formats that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=[*FIGURES, "efficiency"])
    parser.add_argument("--plan", required=True, type=Path)
    parser.add_argument("--records", required=True, type=Path, help="records.parquet of one machine")
    parser.add_argument("--classes", type=Path, help="equivalence.csv (not for efficiency)")
    parser.add_argument("--table", help="the table's id in the plan (not for efficiency)")
    parser.add_argument("--out", required=True, type=Path, nargs="+", help=".pdf and .png files")
    args = parser.parse_args()
    for name in ("table", "classes"):
        if (getattr(args, name) is None) != (args.kind == "efficiency"):
            parser.error(f"--{name} is for all kinds but efficiency, and needed there")
    plan = json.loads(args.plan.read_text(encoding="utf-8"))
    classes = read_classes(args.classes) if args.classes else None
    analysis = analyse(read_records(args.records), plan, classes)
    if args.kind == "efficiency":
        figures.efficiency(timed_shares(analysis.records.frame), analysis.plan, args.out)
    else:
        draw_figure(analysis, args.kind, args.table, args.out)


if __name__ == "__main__":
    try:
        main()
    except AugmarkError as error:
        sys.exit(f"error: {error}")
