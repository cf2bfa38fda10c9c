"""Rule stage_dataset: a demo, tarball, folder or download becomes one checked tar under its digest."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow"))

from augmark.data.stage import KINDS, stage_dataset
from augmark.errors import AugmarkError


def _bytes(text: str) -> int | None:
    return None if text == "None" else int(text)


def main() -> None:
    """Stage one dataset and print its folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", required=True, help="a path or an https URL; of the demo, its name")
    parser.add_argument("--kind", required=True, choices=KINDS)
    parser.add_argument("--sha256", required=True, help="the declared digest")
    parser.add_argument("--name", help="the dataset's name (default: that of the source)")
    parser.add_argument("--size", type=_bytes, help="the declared bytes, or None")
    parser.add_argument("--output", required=True, type=Path, help="the output folder")
    args = parser.parse_args()
    print(stage_dataset(args.source, args.kind, args.sha256, args.output, args.name, args.size))


if __name__ == "__main__":
    try:
        main()
    except AugmarkError as error:
        sys.exit(f"error: {error}")
