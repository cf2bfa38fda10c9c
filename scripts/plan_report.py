"""Rules plan_verdicts and plan_report: the answer to a plan file, as files; and said, with an exit status."""

import argparse
import sys
from pathlib import Path

from augmark.analysis.question_said import say, write
from augmark.errors import AugmarkError


def main() -> int:
    """Write, or say."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True, dest="command")
    writing = commands.add_parser("write")
    writing.add_argument("--plan", required=True, type=Path)
    writing.add_argument("--records", required=True, type=Path, help="records.parquet of the plan file")
    writing.add_argument("--classes", required=True, type=Path, help="equivalence.csv of the plan file")
    writing.add_argument("--out", required=True, type=Path, nargs="+", help="report.md, .json, .csv")
    saying = commands.add_parser("say")
    saying.add_argument("report", type=Path, nargs="*", help="report.json, and the others")
    args = parser.parse_args()
    if args.command == "say":
        return say(args.report)
    write(args.plan, args.records, args.classes, args.out)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except AugmarkError as error:
        sys.exit(f"error: {error}")
