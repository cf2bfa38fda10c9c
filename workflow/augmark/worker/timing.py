"""The timer of mode ``micro``.

Inside the timer: the transform is applied to each item and its output made real (the adapter's
callable does both). Outside: decoding, conversion to the native form, NumPy, checks, warm-up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from pyperf import perf_counter

Apply = Callable[[Any], Any]


def time_passes(apply: Apply, items: Sequence[Any], loops: int) -> float:
    """Seconds for ``loops`` passes over ``items``, each item transformed and its output made real."""
    passes = range(loops)
    start = perf_counter()
    for _ in passes:
        for item in items:
            apply(item)
    return perf_counter() - start


def warm_up(apply: Apply, items: Sequence[Any], seconds: float) -> tuple[int, float]:
    """Apply the transform until ``seconds`` have passed, at least to two items.

    Returns:
        Calls made and seconds taken; the first call, which may be cold, is in both.
    """
    calls, start = 0, perf_counter()
    while calls < 2 or perf_counter() - start < seconds:
        apply(items[calls % len(items)])
        calls += 1
    return calls, perf_counter() - start


def warm_seconds_per_item(apply: Apply, items: Sequence[Any], warmup_seconds: float, judged_on: int) -> float:
    """Seconds per item once warm: what a row is judged slow by, never on a first call.

    Args:
        judged_on: How many calls it is the median of: one stall must not make a row slow.
    """
    warm_up(apply, items, warmup_seconds)
    return median(time_passes(apply, [items[index % len(items)]], 1) for index in range(judged_on))


def loops_for(seconds_per_item: float, items: int, min_value_seconds: float) -> int:
    """Passes that make one value last at least ``min_value_seconds``."""
    return max(1, math.ceil(min_value_seconds / max(seconds_per_item * items, 1e-9)))


def values_of(
    apply: Apply, items: Sequence[Any], *, loops: int, values: int, after: Callable[[], None]
) -> list[float]:
    """Raw seconds per item, one per value; ``after`` runs between values, outside the timer."""
    taken = []
    for _ in range(values):
        taken.append(time_passes(apply, items, loops) / (loops * len(items)))
        after()
    return taken
