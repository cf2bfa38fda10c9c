"""Rule efficiency: how much of the measuring jobs' wall time was spent inside timers, per library."""

import argparse
import json
import sys
from pathlib import Path

from augmark.analysis.efficiency import render, report, timed_shares
from augmark.analysis.frame import read_records, write_text
from augmark.analysis.tables import analyse
from augmark.errors import AugmarkError


def main() -> None:
    """Write efficiency.csv and print it beside the target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plan", required=True, type=Path)
    parser.add_argument("--records", required=True, type=Path, help="records.parquet of one machine")
    parser.add_argument("--out", required=True, type=Path, help="the CSV to write")
    args = parser.parse_args()
    analysis = analyse(read_records(args.records), json.loads(args.plan.read_text(encoding="utf-8")))
    shares = timed_shares(analysis.records.frame)
    write_text(args.out, render(shares))
    print(report(shares, analysis.plan))


if __name__ == "__main__":
    try:
        main()
    except AugmarkError as error:
        sys.exit(f"error: {error}")
