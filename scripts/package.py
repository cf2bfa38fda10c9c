"""Rule package: records, tables, figures, configuration, locks and source of a plan in one archive."""

import argparse
import json
import sys
from pathlib import Path

from augmark.errors import AugmarkError
from augmark.evidence.package import package, said
from augmark.plan import Plan


def main() -> None:
    """Write the archive, or say what speaks against it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plan", required=True, type=Path, help="the resolved plan (JSON)")
    parser.add_argument("--out", required=True, type=Path, help="the archive to write (.tar.gz)")
    args = parser.parse_args()
    content = json.loads(args.plan.read_text(encoding="utf-8"))
    plan = Plan(content, Path(content["config"]["output"]))
    print(said(package(plan, Path.cwd(), args.out)))


if __name__ == "__main__":
    try:
        main()
    except AugmarkError as error:
        sys.exit(f"error: {error}")
