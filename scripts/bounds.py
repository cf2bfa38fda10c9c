"""Rule bounds: where the time of every DataLoader row goes, and what it is bound by, from records alone."""

import argparse
import json
import sys
from pathlib import Path

from augmark.analysis.bounds import bounds, render
from augmark.analysis.frame import read_records, write_text
from augmark.analysis.tables import analyse
from augmark.errors import AugmarkError


def main() -> None:
    """Write bounds.csv."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plan", required=True, type=Path)
    parser.add_argument("--records", required=True, type=Path, help="records.parquet of one machine")
    parser.add_argument("--out", required=True, type=Path, help="bounds.csv")
    args = parser.parse_args()
    plan = json.loads(args.plan.read_text(encoding="utf-8"))
    write_text(args.out, render(bounds(analyse(read_records(args.records), plan))))


if __name__ == "__main__":
    try:
        main()
    except AugmarkError as error:
        sys.exit(f"error: {error}")
