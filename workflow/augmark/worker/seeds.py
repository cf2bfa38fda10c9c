"""Seeds of a cell: what is drawn, and in which order. Part of the digest of every row."""

from __future__ import annotations

from augmark.cell import Cell, short_digest


def row_seed(cell: Cell, seed: int, what: str) -> int:
    """Seed of a row's draws: the same for every library and condition, another for every repeat.

    Args:
        seed: The policy's.
        what: A transform's name; or ``order`` (of rows) and ``epochs`` (of items in an epoch).
    """
    return int(short_digest([seed, cell.scenario, cell.mode, cell.repeat, what])[:8], 16)
