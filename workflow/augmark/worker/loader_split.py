"""Pure parts of the DataLoader modes: the order of the items, the sizes of a run, and what bounds a row.

Standard library only.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from augmark.cell import short_digest

PARTS = ("decode", "augment", "collate", "copy", "delivery")


def order(seed: int, epoch: int, items: int) -> list[int]:
    """The positions of all items in the order of one epoch: the same for every library and row."""
    positions = list(range(items))
    random.Random(f"{seed}/{epoch}").shuffle(positions)
    return positions


def batches(positions: Sequence[Any], batch_size: int) -> list[list[Any]]:
    """Cut an order into batches; the last one may be smaller, no item is dropped."""
    return [list(positions[begin : begin + batch_size]) for begin in range(0, len(positions), batch_size)]


def worker_seed(row_seed: int, worker: int) -> int:
    """The seed of one worker's draws, below 2**32: another for every row, repeat and worker."""
    return int(short_digest([row_seed, "worker", worker])[:8], 16)


def sizes(workers: int, batch_size: int, items: int, per_worker: int | None) -> tuple[int, int]:
    """Items of an epoch and the batch size: two batches for each worker at least, as far as items go.

    torch gives a worker whole batches: with fewer, some would have nothing to do, and a row of eight workers
    be one of a single worker.

    Args:
        workers: 0 stands for the process itself, which takes any batch that the items fill.
        batch_size: As declared: the largest that it becomes.
        items: How many there are.
        per_worker: Of a slow row, how many items each worker gets at most; None for the others.
    """
    taken = items if per_worker is None else min(items, per_worker * max(workers, 1))
    return taken, min(batch_size, max(1, taken // (2 * workers) if workers else taken))


def lanes(workers: int, cpus: int) -> int:
    """How many items can be worked on at the same moment."""
    return min(max(workers, 1), cpus)


def split_of(
    parts: Mapping[str, float], copy: float | None, epoch_seconds_per_item: float, lane_count: int
) -> dict[str, float | None]:
    """Where the time of one item goes, in seconds per item.

    ``decode``, ``augment`` and ``collate`` are what one worker needs for an item while the others rest,
    ``copy`` what the main process needs to bring it to the device. An epoch offers ``lane_count`` times its
    own length of working time; ``delivery`` is what is left of that for one item once decoding, augmenting
    and collating are taken off, and its copying as far as the workers waited for that. It holds queues,
    pickling, the start of the epoch, the wait for the last batch, and what busy workers cost one another
    (caches, memory, more threads than processors). Never below 0, which it would be where parts overlap.

    Args:
        parts: ``decode``, ``augment``, ``collate`` in seconds per item.
        copy: Seconds per item, or None where nothing is copied.
        epoch_seconds_per_item: Of a timed epoch, all workers together.
        lane_count: See ``lanes``.
    """
    left = epoch_seconds_per_item * lane_count - sum(parts[name] for name in ("decode", "augment", "collate"))
    delivery = max(0.0, left - _waited_for_copy(copy, left, lane_count))
    everything = {**parts, "copy": copy, "delivery": delivery}
    return {f"{name}_seconds_per_item": everything[name] for name in PARTS}


def bound_by(split: Mapping[str, float | None], epoch_seconds_per_item: float, lane_count: int) -> str:
    """The part that takes most of an epoch: ``decode``, ``augment``, ``collate``, ``copy`` or ``delivery``.

    Copying goes on beside the workers, so it counts only as far as they waited for it.
    """
    cost = {name: split[f"{name}_seconds_per_item"] or 0.0 for name in PARTS}
    left = epoch_seconds_per_item * lane_count - cost["decode"] - cost["augment"] - cost["collate"]
    cost["copy"] = _waited_for_copy(cost["copy"], left, lane_count)
    return max(PARTS, key=lambda name: cost[name])


def _waited_for_copy(copy: float | None, left: float, lane_count: int) -> float:
    """Every lane stands still while it waits for a copy, which is made by the one main process."""
    return max(0.0, min((copy or 0.0) * lane_count, left))


def same_draws(sequences: Sequence[Sequence[str]]) -> tuple[int, int] | None:
    """The first two workers whose draws are the same as far as both were recorded, or None.

    Args:
        sequences: Per worker, a hash of each output in order.
    """
    for second, later in enumerate(sequences):
        for first, earlier in enumerate(sequences[:second]):
            common = min(len(earlier), len(later))
            if common and earlier[:common] == later[:common]:
                return first, second
    return None
