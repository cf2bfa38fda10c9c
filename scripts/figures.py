"""Rule figures: a figure of the plan as PDF and PNG, from records alone."""

import argparse
import json
import sys
from pathlib import Path

from augmark.analysis import figures
from augmark.analysis.efficiency import timed_shares
from augmark.analysis.frame import read_records
from augmark.analysis.tables import analyse
from augmark.errors import AugmarkError


def main() -> None:
    """Draw one figure in the formats that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=["throughput", "coverage", "efficiency"])
    parser.add_argument("--plan", required=True, type=Path)
    parser.add_argument("--records", required=True, type=Path, help="records.parquet of one machine")
    parser.add_argument("--table", help="the table's id in the plan (not for efficiency)")
    parser.add_argument("--out", required=True, type=Path, nargs="+", help=".pdf and .png files")
    args = parser.parse_args()
    if (args.table is None) != (args.kind == "efficiency"):
        parser.error("--table is for throughput and coverage, and needed there")
    analysis = analyse(read_records(args.records), json.loads(args.plan.read_text(encoding="utf-8")))
    if args.kind == "efficiency":
        figures.efficiency(timed_shares(analysis.records.frame), analysis.plan, args.out)
    else:
        draw = figures.throughput if args.kind == "throughput" else figures.coverage_grid
        draw(analysis, args.table, args.out)


if __name__ == "__main__":
    try:
        main()
    except AugmarkError as error:
        sys.exit(f"error: {error}")
