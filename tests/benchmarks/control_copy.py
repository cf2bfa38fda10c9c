"""What the harness costs per call: the timer with ``control-copy``, against a bare loop of the same calls.

    nice python tests/benchmarks/control_copy.py          # exit status 1 where it is over the target

Both sides copy the same items; they take turns in a random order, so that a drift of the machine is in
both. A third side does nothing in its calls: what the timer's loop and a call of Python cost at all. The
figure is the median of the paired differences, with the 95 % interval of a median (order statistics).
Needs NumPy and pyperf: the workflow's environment, or that of the controls.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from pyperf import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workflow"))

from augmark.libraries.control import adapter
from augmark.worker.timing import time_passes

TARGET_SECONDS = 2e-6


def bare(items: Sequence[np.ndarray], loops: int) -> float:
    """Seconds of the shortest loop that does the same work."""
    copy, passes = np.copy, range(loops)
    start = perf_counter()
    for _ in passes:
        for item in items:
            copy(item)
    return perf_counter() - start


def nothing(item: np.ndarray) -> None:
    """What is left of a call when nothing is done: the loop, and Python's own cost of a call."""


def interval_of_median(values: Sequence[float]) -> tuple[float, float]:
    """95 % interval of the median, from order statistics: no assumption about the distribution."""
    ordered, count = sorted(values), len(values)
    below = max(0, math.floor(count / 2 - 0.98 * math.sqrt(count)))
    return ordered[below], ordered[count - 1 - below]


def main() -> int:
    """Measure, print, and say by the exit status whether the target is met."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=2000, help="paired repeats (default: %(default)s)")
    parser.add_argument("--items", type=int, default=16, help="items per pass (default: %(default)s)")
    parser.add_argument("--loops", type=int, default=20, help="passes per repeat (default: %(default)s)")
    parser.add_argument("--side", type=int, default=32, help="side in pixels (default: %(default)s)")
    args = parser.parse_args()
    draws = random.Random(1)
    apply = adapter.build("Copy", {})
    pixels = np.random.default_rng(1).integers(0, 256, (args.items, args.side, args.side, 3), dtype=np.uint8)
    items = [adapter.native(item) for item in pixels]
    sides = {
        "harness": lambda: time_passes(apply, items, args.loops),
        "bare": lambda: bare(items, args.loops),
        "nothing": lambda: time_passes(nothing, items, args.loops),
    }
    calls = args.items * args.loops
    for side in sides.values():
        side()
    taken: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(args.pairs):
        for name in draws.sample(sorted(sides), len(sides)):
            taken[name].append(sides[name]() / calls)
    extra = [one - two for one, two in zip(taken["harness"], taken["bare"], strict=True)]
    middle, (low, high) = statistics.median(extra), interval_of_median(extra)
    for name in sides:
        print(f"{name:8}{statistics.median(taken[name]) * 1e9:9.1f} ns a call, median of {args.pairs}")
    print(
        f"harness above the bare loop: {middle * 1e9:.1f} ns a call, 95 % interval {low * 1e9:.1f} to "
        f"{high * 1e9:.1f} ns, target under {TARGET_SECONDS * 1e9:.0f} ns"
    )
    return int(high >= TARGET_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
