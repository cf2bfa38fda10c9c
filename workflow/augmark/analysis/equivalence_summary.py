"""equivalence.md: how many pairs do the same work, and in words which do not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from augmark.analysis.classes import REFERENCE
from augmark.analysis.markdown import escape
from augmark.analysis.planned import PlanContent, library_title

CLASSES = ("identical", "close", "different", "unpinnable")


def render(frame: pd.DataFrame, plan: PlanContent) -> str:
    """The whole page, one part per scenario."""
    lines = [
        "# The same work",
        "",
        "Outputs of the probes with the randomness pinned, and the distributions of the draws, compared for",
        "every pair of libraries. Only rows of class identical or close are compared in speed.",
    ]
    for scenario in dict.fromkeys(frame["scenario"]):
        title = plan["scenarios"][scenario].get("title") or scenario
        lines += ["", f"## {escape(title)}", "", *_scenario(frame[frame["scenario"] == scenario], plan)]
    return "\n".join(lines) + "\n"


def _scenario(frame: pd.DataFrame, plan: PlanContent) -> Iterable[str]:
    pairs = frame[frame["library_b"] != REFERENCE]
    against = frame[frame["library_b"] == REFERENCE]
    yield _headline(pairs)
    yield ""
    yield from _counts(pairs, plan)
    if not against.empty:
        yield ""
        yield "Each library against an independent NumPy reference, where an honest short one exists:"
        yield ""
        yield from _counts(against, plan)
    for name in ("different", "unpinnable"):
        found = pairs[pairs["class"] == name]
        if not found.empty:
            yield ""
            yield f"### {name.capitalize()}"
            yield ""
            yield from _table(
                ["Transform", "Pair", "Reason"],
                [
                    [
                        line["transform"],
                        _pair(line["library_a"], line["library_b"], plan),
                        str(line["reason"]),
                    ]
                    for line in found.to_dict("records")
                ],
            )


def _headline(pairs: pd.DataFrame) -> str:
    named = {name: set(pairs.loc[pairs["class"] == name, "transform"]) for name in CLASSES}
    return (
        f"Of {pairs['transform'].nunique()} transforms that two libraries offer, {len(named['different'])} "
        f"{'is' if len(named['different']) == 1 else 'are'} different between at least one pair and "
        f"{len(named['unpinnable'])} cannot be pinned."
    )


def _pair(first: str, second: str, plan: PlanContent) -> str:
    return f"{library_title(plan, first)}, {library_title(plan, second)}"


def _counts(frame: pd.DataFrame, plan: PlanContent) -> Iterable[str]:
    rows = []
    for (first, second), lines in frame.groupby(["library_a", "library_b"], sort=False):
        counts = lines["class"].value_counts()
        rows.append(
            [_pair(first, second, plan), str(len(lines)), *(str(counts.get(name, 0)) for name in CLASSES)]
        )
    yield from _table(["Pair", "Both have", *map(str.capitalize, CLASSES)], rows)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterable[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{' --- |' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(map(escape, row))} |"
