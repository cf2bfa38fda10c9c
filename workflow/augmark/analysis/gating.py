"""Which rows of a field do the same work, so that a ratio between them means something."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from augmark.analysis.classes import SAME, Classes

# Class of a pair -> mark of the row that is left out because of it; without a class there was no sample.
MARK_OF = {"different": "different", "unpinnable": "unpinned", None: "unsampled"}
LEFT_OUT = frozenset(MARK_OF.values())

Line = dict[str, Any]


def gate(lines: Sequence[Line], able: Sequence[Line], classes: Classes) -> list[Line]:
    """The rows to compare; the others get a mark, and a reason where they are other work.

    The rule: of the rows that may be compared, the largest set in which *every* pair is ``identical`` or
    ``close`` (closeness does not add up, so a chain of close pairs is no set). Of sets of one size it is the
    one with the fastest row, then with the next. So a library that is fast because it does something else
    neither wins nor takes the field from the many that agree. Whoever is outside is marked by its class with
    the fastest of the set, or with the first member that it does not agree with. Where no two agree, nothing
    is compared and each is marked by its class with the fastest of the others.

    Args:
        lines: Of one transform in one scenario, mode and device; those with a figure are marked.
        able: Those of them that may be compared as far as measuring goes.
        classes: Of the pairs of libraries. Decoders are not gated: their contract is what is decoded.
    """
    if not lines or lines[0]["mode"] == "decode":
        return list(able)
    chosen = _same_work(able, classes)
    measured = sorted((line for line in lines if line["seconds_median"] is not None), key=_speed)
    if len(measured) < 2:
        return list(able)
    for line in measured:
        if any(line is member for member in chosen) and len(chosen) > 1:
            continue
        others = chosen if len(chosen) > 1 else [other for other in measured if other is not line]
        _mark(line, others, classes)
    return chosen if len(chosen) > 1 else []


def _speed(line: Mapping[str, Any]) -> tuple[float, str]:
    return line["seconds_median"], line["library"]


def _of_pair(classes: Classes, line: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[Any, str | None]:
    return classes.of(line["scenario"], line["transform"], line["library"], other["library"])


def _same_work(able: Sequence[Line], classes: Classes) -> list[Line]:
    """The largest set that agrees pair by pair, the fastest first."""
    ordered = sorted(able, key=_speed)
    for size in range(len(ordered), 1, -1):
        # In order of speed, so the first that is found has the fastest row, then the next.
        for members in combinations(ordered, size):
            if all(_of_pair(classes, *pair)[0] in SAME for pair in combinations(members, 2)):
                return list(members)
    return ordered[:1]


def _mark(line: Line, others: Sequence[Line], classes: Classes) -> None:
    for other in others:
        name, reason = _of_pair(classes, line, other)
        if name not in SAME:
            line["marks"].append(MARK_OF[name])
            if name == "different":
                line["different"] = f"against {other['library']}: {reason}"
            return
