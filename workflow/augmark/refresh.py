"""``refresh=blocks``: measure torn blocks again, whole, so that pairs stay inside one session.

A block is repeat k of every library of one scenario, mode and device. It is torn when a record of it is
missing, or when its records (or rows carried into them) are of more than one session.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from augmark.errors import AugmarkError
from augmark.plan import Plan
from augmark.record import read_record

Block = tuple[str, str, str, int]


def block_of(cell: Any) -> Block:
    """The block of a cell, given as a dict of the plan."""
    return cell["scenario"], cell["mode"], cell["device"], int(cell["repeat"])


def torn_blocks(plan: Plan) -> set[Block]:
    """The blocks of a plan that are not whole and of one session. Reads every record."""
    sessions: dict[Block, set[str]] = {}
    for cell in plan.cells():
        path = plan.output / "records" / cell["path"]
        found = sessions.setdefault(block_of(cell), set())
        if not path.exists():
            found.update(("missing", "record"))
            continue
        record = read_record(path)
        found.add(record["session"])
        found.update(row["session"] for row in record["rows"])
    return {block for block, found in sessions.items() if len(found) > 1}


def keep_history(records: Iterable[Path]) -> list[Path]:
    """Keep records that are about to be measured again, in ``history/`` under their session's name.

    Linked, not moved: Snakemake removes a record just before its job starts, so that one which is not
    reached after all stays in its place.

    Returns:
        The names in ``history/``.
    """
    kept = []
    for path in records:
        try:
            session = read_record(path)["session"]
        except AugmarkError:
            session = "damaged"  # it is replaced all the same
        place = path.parent / "history" / f"{path.stem}.{session}.json"
        place.parent.mkdir(exist_ok=True)
        if not place.exists():
            os.link(path, place)
        kept.append(place)
    return kept
