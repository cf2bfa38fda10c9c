"""Rule prepare_items: the chosen items of the common set, decoded in one flat file and as encoded."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow"))

from augmark.data.items import prepare_items, summary
from augmark.errors import AugmarkError


def main() -> None:
    """Prepare the items of one scenario and print how many."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", required=True, type=Path, help="the staged dataset.tar")
    parser.add_argument("--manifest", required=True, type=Path)
    parser.add_argument("--items", required=True, help="how many, or all")
    parser.add_argument("--exact", action="store_true", help="refuse when there are fewer")
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--scenario", required=True)
    parser.add_argument("--digest", required=True, help="the planned digest of the items")
    parser.add_argument("--channels", type=int, default=3, help="of an item")
    parser.add_argument("--views", default="", help="of each image, stacked: a,b,c; none: itself")
    parser.add_argument("--out", required=True, type=Path, help="the folder that is made")
    args = parser.parse_args()
    index = prepare_items(
        args.dataset,
        args.manifest,
        items=None if args.items == "all" else int(args.items),
        seed=args.seed,
        out_dir=args.out,
        scenario=args.scenario,
        exact=args.exact,
        digest=args.digest,
        channels=args.channels,
        views=args.views.split(",") if args.views else None,
    )
    print(summary(index))


if __name__ == "__main__":
    try:
        main()
    except AugmarkError as error:
        sys.exit(f"error: {error}")
