"""Sweeps of a depth: one axis at a time, each value a condition of its rows. Standard library only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from augmark.modes import PLAIN, mode_facts

# Axis -> where it can be swept: modes that time the transform alone, or those with batches and workers.
AXES = {
    "threads": "micro",
    "batched": "micro",
    "compile": "micro",
    "dtype": "micro",
    "workers": "loader",
    "batch_size": "loader",
    "policy": "loader",
}
# Axes that need code of the library's own, in its regimes module.
CODED = ("batched", "compile", "dtype")
POWERS = "up-to-cpus"  # 1, 2, 4, ... and the number of processors
POWERS_FROM_0 = "up-to-cpus-from-0"  # the same, and 0: no worker process at all


def has_conditions(plan: Mapping[str, Any]) -> bool:
    """Whether a plan sweeps anything."""
    return any(row["condition"] != PLAIN for about in plan["definitions"].values() for row in about["rows"])


def has_axis(axis: str, mode: str) -> bool:
    """Whether a mode has an axis."""
    return AXES[axis] == ("loader" if mode_facts(mode).batched else mode)


def values_of(values: Any, cpus: int) -> list[Any]:
    """The values of a sweep on a machine with so many processors."""
    if values not in (POWERS, POWERS_FROM_0):
        return list(values)
    powers = [1 << power for power in range(cpus.bit_length()) if 1 << power < cpus]
    return [*([0] if values == POWERS_FROM_0 else []), *powers, cpus]


def condition_name(axis: str, value: Any) -> str:
    """The id of a condition: ``threads-2``, ``compiled``, ``dtype-float32``."""
    return "compiled" if axis == "compile" else f"{axis.replace('_', '-')}-{value}"


def conditions(
    depth: Mapping[str, Any], mode: str, library: str, plain: Mapping[str, Any], cpus: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and setting of every condition of one library's rows in one mode.

    Args:
        plain: Axis -> its value in the plain rows: that one is measured already and no condition.
        cpus: Processors of the machine.
    """
    for sweep in depth.get("sweeps", []):
        axis, libraries = sweep["axis"], sweep.get("libraries", "all")
        if mode not in sweep["modes"] or (libraries != "all" and library not in libraries):
            continue
        for value in values_of(sweep["values"], cpus):
            if value != plain.get(axis):
                yield condition_name(axis, value), {axis: value}
