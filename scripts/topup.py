"""Rule topup: decide from the records which rows get more repeats; a decision is written once."""

import argparse
import json
import sys
from pathlib import Path

from augmark import topup
from augmark.analysis.classes import read_classes
from augmark.analysis.frame import read_records
from augmark.analysis.tables import analyse
from augmark.errors import AugmarkError
from augmark.files import write_json


def main() -> None:
    """Decide the next stage of one machine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plan", required=True, type=Path)
    parser.add_argument("--records", required=True, type=Path, help="records.parquet of one machine")
    parser.add_argument("--classes", required=True, type=Path, help="equivalence.csv")
    parser.add_argument("--out", required=True, type=Path, help="the stage, as JSON")
    args = parser.parse_args()
    plan = json.loads(args.plan.read_text(encoding="utf-8"))
    analysis = analyse(read_records(args.records), plan, read_classes(args.classes), target="topup")
    stage = topup.decide(plan, analysis.summary, analysis.rows)
    write_json(args.out, stage)
    print(topup.in_words(stage))


if __name__ == "__main__":
    try:
        main()
    except AugmarkError as error:
        sys.exit(f"error: {error}")
