#!/usr/bin/env python3
"""Write the generated parts of the documentation, or with --check fail naming the pages that are stale."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow"))

from augmark.config.load import load
from augmark.errors import AugmarkError
from augmark.pages import generate, stale, with_rule_graph

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where a page is stale")
    parser.add_argument("--rulegraph", type=Path, metavar="FILE", help="output of snakemake --rulegraph")
    arguments = parser.parse_args()
    try:
        pages = generate(ROOT, load(ROOT))
        if arguments.rulegraph:
            pages |= with_rule_graph(ROOT, arguments.rulegraph.read_text(encoding="utf-8"))
        old = stale(ROOT, pages)
    except AugmarkError as error:
        print(error, file=sys.stderr)
        return 2
    for page in old:
        if arguments.check:
            print(f"{page} is stale: run scripts/generate_docs.py", file=sys.stderr)
        else:
            (ROOT / page).write_text(pages[page], encoding="utf-8")
            print(f"wrote {page}")
    return 1 if old and arguments.check else 0


if __name__ == "__main__":
    sys.exit(main())
