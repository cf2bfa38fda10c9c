"""Rule equivalence: is it the same work? Every pair of libraries, from the samples that the probes kept."""

import argparse
import json
import sys
from pathlib import Path

from augmark.analysis.classes import frame_of_lines, render
from augmark.analysis.equivalence import compare_scenario
from augmark.analysis.equivalence_summary import render as render_summary
from augmark.analysis.frame import write_text
from augmark.analysis.sampled import archives
from augmark.analysis.samples import read_scenario
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
    lines = []
    for scenario, paths in archives(Plan(content, Path(content["config"]["output"]))).items():
        lines += compare_scenario(content, scenario, read_scenario(paths))
    frame = frame_of_lines(lines)
    write_text(args.out, render(frame))
    write_text(args.summary, render_summary(frame, content))


if __name__ == "__main__":
    try:
        main()
    except AugmarkError as error:
        sys.exit(f"error: {error}")
