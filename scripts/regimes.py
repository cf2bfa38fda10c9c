"""Rule regimes: the sweeps of the depth, each condition against plain, as a table or a figure."""

import argparse
import json
import sys
from pathlib import Path

from augmark.analysis.frame import read_records
from augmark.analysis.regimes import write_regimes
from augmark.analysis.regimes_figure import draw
from augmark.analysis.tables import analyse
from augmark.errors import AugmarkError


def main() -> None:
    """Write the table or the figure in the formats that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=["table", "figure"])
    parser.add_argument("--plan", required=True, type=Path)
    parser.add_argument("--records", required=True, type=Path, help="records.parquet of one machine")
    parser.add_argument("--out", required=True, type=Path, nargs="+", help=".md, .csv, .tex; .pdf, .png")
    args = parser.parse_args()
    analysis = analyse(read_records(args.records), json.loads(args.plan.read_text(encoding="utf-8")))
    write = write_regimes if args.kind == "table" else draw
    write(analysis, args.out)


if __name__ == "__main__":
    try:
        main()
    except AugmarkError as error:
        sys.exit(f"error: {error}")
