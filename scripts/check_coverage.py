"""Rule check_coverage: planned rows against records, as a grid; fails where a planned row has none."""

import argparse
import json
import sys
from pathlib import Path

from augmark.analysis.coverage import cover, render
from augmark.analysis.frame import read_records, write_text
from augmark.errors import AugmarkError


def main() -> int:
    """Print the grid, keep it, and say by the exit status whether it is whole."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plan", required=True, type=Path)
    parser.add_argument("--records", required=True, type=Path, help="records.parquet of one machine")
    parser.add_argument("--out", type=Path, help="the text file to write")
    args = parser.parse_args()
    records = read_records(args.records)
    coverage = cover(
        json.loads(args.plan.read_text(encoding="utf-8")), records.frame, machine=records.machine
    )
    text = render(coverage)
    if args.out is not None:
        write_text(args.out, f"{text}\n")
    print(text)
    return coverage.exit_status


if __name__ == "__main__":
    try:
        sys.exit(main())
    except AugmarkError as error:
        sys.exit(f"error: {error}")
