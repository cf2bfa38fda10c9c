"""``refresh=blocks``: measure torn blocks again, whole, so that pairs stay inside one session.

A block is repeat k of every library of one scenario, mode and device. It is torn when a record of it is
missing, or when its records (or rows carried into them) are of more than one session.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

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


def set_aside(plan: Plan, blocks: set[Block]) -> list[Path]:
    """Move the records of these blocks into ``history/`` beside their places, under their session's name.

    Returns:
        Where they are now.
    """
    moved = []
    for cell in plan.cells():
        path = plan.output / "records" / cell["path"]
        if block_of(cell) in blocks and path.exists():
            session = read_record(path)["session"]
            kept = path.parent / "history" / f"{path.stem}.{session}.json"
            kept.parent.mkdir(exist_ok=True)
            path.rename(kept)
            moved.append(kept)
    return moved
