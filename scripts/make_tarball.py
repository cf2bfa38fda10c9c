#!/usr/bin/env python3
"""Make a tarball of a folder: the same bytes on every system, without what desktops leave behind."""

import argparse
import sys
from pathlib import Path

if sys.version_info < (3, 11):  # noqa: UP036 (typed on a bare host, whose Python may be any)
    sys.exit(f"error: Python 3.11 or newer is needed, this is {sys.version.split()[0]}")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow"))

from augmark.data.stage import dataset_name
from augmark.data.tarball import make_tarball, report
from augmark.errors import AugmarkError


def main() -> None:
    """Pack, and say what to type next."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="the folder that holds the files")
    parser.add_argument("out", type=Path, metavar="OUT.tar", help="the tarball to make")
    args = parser.parse_args()
    made = make_tarball(args.folder, args.out)
    print(report(made, dataset_name(str(args.out))))


if __name__ == "__main__":
    try:
        main()
    except AugmarkError as error:
        sys.exit(f"error: {error}")
