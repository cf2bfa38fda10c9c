"""Rule collect: the records of one machine's cells become one parquet file, and a pyperf file each."""

import argparse
import json
import sys
from pathlib import Path

from augmark.analysis.gather import collect
from augmark.analysis.pyperf_export import export
from augmark.errors import AugmarkError
from augmark.record import read_record


def main() -> None:
    """Gather every planned record that is there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plan", required=True, type=Path)
    parser.add_argument("--pyperf", required=True, type=Path, help="folder for the pyperf files")
    parser.add_argument("--out", required=True, type=Path, help="records.parquet")
    args = parser.parse_args()
    plan = json.loads(args.plan.read_text(encoding="utf-8"))
    records = args.plan.parent.parent / "records"
    paths = {cell["path"]: records / cell["path"] for cell in plan["cells"]}
    for name, path in paths.items():
        export(read_record(path), args.pyperf / name)
    lines = collect(paths.values(), plan, args.out)
    print(f"{lines} rows of {len(paths)} records: {args.out}")


if __name__ == "__main__":
    try:
        main()
    except AugmarkError as error:
        sys.exit(f"error: {error}")
