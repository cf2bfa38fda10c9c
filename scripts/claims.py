"""Rule claims: what config/claims.yaml says of the libraries, held against the records."""

import argparse
import json
import sys
from pathlib import Path

from augmark.analysis.claims_files import write_claims
from augmark.analysis.classes import read_classes
from augmark.analysis.frame import read_records
from augmark.analysis.tables import analyse
from augmark.errors import AugmarkError


def main() -> None:
    """Write the verdict on every claim; one that is refused is no failure of the job."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plan", required=True, type=Path)
    parser.add_argument("--records", required=True, type=Path, help="records.parquet of one machine")
    parser.add_argument("--classes", required=True, type=Path, help="equivalence.csv")
    parser.add_argument("--out", required=True, type=Path, nargs="+", help="claims.md and claims.csv")
    args = parser.parse_args()
    plan = json.loads(args.plan.read_text(encoding="utf-8"))
    write_claims(analyse(read_records(args.records), plan, read_classes(args.classes)), args.out)


if __name__ == "__main__":
    try:
        main()
    except AugmarkError as error:
        sys.exit(f"error: {error}")
