"""Rule energy_table: joules per item of every row, or why there are none, from records alone."""

import argparse
import json
import sys
from pathlib import Path

from augmark.analysis.energy import write_energy
from augmark.analysis.frame import read_records
from augmark.analysis.tables import analyse
from augmark.errors import AugmarkError


def main() -> None:
    """Write energy.csv and energy.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plan", required=True, type=Path)
    parser.add_argument("--records", required=True, type=Path, help="records.parquet of one machine")
    parser.add_argument("--out", required=True, type=Path, nargs="+", help="energy.csv, energy.md")
    args = parser.parse_args()
    plan = json.loads(args.plan.read_text(encoding="utf-8"))
    write_energy(analyse(read_records(args.records), plan), args.out)


if __name__ == "__main__":
    try:
        main()
    except AugmarkError as error:
        sys.exit(f"error: {error}")
