"""Rule equivalence: is it the same work? Every pair of libraries, from the samples that the probes kept."""

import argparse
import json
import sys
from pathlib import Path

from augmark.analysis.same_work import write_equivalence
from augmark.errors import AugmarkError
from augmark.plan import Plan


def main() -> None:
    """Write equivalence.csv and equivalence.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plan", required=True, type=Path)
    parser.add_argument("--out", required=True, type=Path, help="the CSV to write")
    parser.add_argument("--summary", required=True, type=Path, help="the Markdown to write")
    args = parser.parse_args()
    content = json.loads(args.plan.read_text(encoding="utf-8"))
    write_equivalence(Plan(content, args.plan.parent.parent), args.out, args.summary)


if __name__ == "__main__":
    try:
        main()
    except AugmarkError as error:
        sys.exit(f"error: {error}")
