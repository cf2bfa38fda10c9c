"""``refresh=blocks``: measure torn blocks again, whole, so that pairs stay inside one session.

A block is repeat k of every library of one scenario, mode and device. It is torn when a record of it is
missing, or when its numbers are of more than one session (rows carried into a record keep theirs).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from augmark.errors import AugmarkError
from augmark.plan import Plan
from augmark.record import MEASURED, read_record

Block = tuple[str, str, str, int]


def block_of(cell: Any) -> Block:
    """The block of a cell, given as a dict of the plan."""
    return cell["scenario"], cell["mode"], cell["device"], int(cell["repeat"])


def torn_blocks(
    cells: Iterable[Mapping[str, Any]], records: Mapping[str, Mapping[str, Any]]
) -> dict[Block, list[str]]:
    """The blocks that are not whole and of one session, each with the sessions of its numbers, sorted.

    Args:
        cells: Of a plan.
        records: Path below ``<output>/records`` -> record, of those that are there.
    """
    sessions: dict[Block, set[str]] = {}
    broken = set()
    for cell in cells:
        found = sessions.setdefault(block_of(cell), set())
        if cell["path"] not in records:
            broken.add(block_of(cell))
            continue
        # What has no number is in no pair; nor is a record torn whose rows were all carried together.
        rows = records[cell["path"]]["rows"]
        found.update(row["session"] for row in rows if row["status"] in MEASURED)
    return {block: sorted(found) for block, found in sessions.items() if len(found) > 1 or block in broken}


def blocks_to_refresh(plan: Plan) -> set[Block]:
    """The torn blocks of a plan. Reads every record."""
    folder = plan.output / "records"
    paths = [cell["path"] for cell in plan.cells() if (folder / cell["path"]).exists()]
    return set(torn_blocks(plan.cells(), {path: read_record(folder / path) for path in paths}))


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
