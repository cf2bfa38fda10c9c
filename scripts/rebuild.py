"""Every table and figure of an unpacked package, made again from its records; with --check, compared."""

import argparse
import sys
from pathlib import Path

from augmark.errors import AugmarkError
from augmark.evidence.rebuild import rebuild_package
from augmark.evidence.verify_products import compare


def main() -> int:
    """Write records.parquet, tables and figures into a folder; 1 where --check finds a byte that differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--package", required=True, type=Path, help="the unpacked folder")
    parser.add_argument("--out", required=True, type=Path, help="folder for what is made")
    parser.add_argument("--check", action="store_true", help="compare with what the package holds")
    args = parser.parse_args()
    made = rebuild_package(args.package, args.out)
    print(f"{len(made)} files made: {args.out}")
    if not args.check:
        return 0
    compared = compare([path.relative_to(args.out).as_posix() for path in made], args.package, args.out)
    print("\n".join([*map(str, compared.findings), compared.said]))
    return 1 if compared.findings else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except AugmarkError as error:
        sys.exit(f"error: {error}")
