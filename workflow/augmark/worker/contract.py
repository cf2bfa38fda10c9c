"""Is an output what the row promises? Checks of shape, dtype, values, effect and randomness."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


class Invalid(Exception):
    """An output that breaks the row's contract; the message says how."""


def expected_shape(rule: Any, height: int, width: int) -> list[tuple[int, int]]:
    """Height and width that an output may have.

    Args:
        rule: The ``output.shape`` of ``transforms.yaml``.
        height, width: Of the item, in pixels.

    Raises:
        ValueError: Unknown rule.
    """
    if isinstance(rule, Sequence) and not isinstance(rule, str):
        return [(int(rule[0]), int(rule[1]))]
    name, _, figure = str(rule).partition("-")
    if rule == "same":
        return [(height, width)]
    if rule == "transposed":
        return [(width, height)]
    if rule == "quarter-turns":
        return [(height, width), (width, height)]
    if name == "pad" and figure:
        return [(height + 2 * int(figure), width + 2 * int(figure))]
    if name in ("longest", "shortest") and figure:
        longer, shorter, wanted = max(height, width), min(height, width), int(figure)
        fixed, other = (longer, shorter) if name == "longest" else (shorter, longer)
        # Libraries round half up, half even or down, some in floats: a pixel either way is the same contract.
        lowest, highest = -(-(other * wanted - fixed) // fixed), (other * wanted + fixed) // fixed
        upright = height == fixed
        return [(wanted, side) if upright else (side, wanted) for side in range(lowest, highest + 1)]
    raise ValueError(f"unknown output shape {rule!r}")


def check_output(output: np.ndarray, item: np.ndarray, contract: dict[str, Any], native_dtype: str) -> None:
    """Raise Invalid unless ``output`` (H x W x C) keeps the row's contract.

    Args:
        item: The decoded item, uint8, H x W x C.
        contract: The ``output`` stanza of the transform.
        native_dtype: The adapter's dtype.
    """
    if output.ndim != 3:
        raise Invalid(f"output has {output.ndim} axes, 3 expected")
    allowed = expected_shape(contract["shape"], item.shape[0], item.shape[1])
    if output.shape[:2] not in allowed or output.shape[2] != item.shape[2]:
        sizes = " or ".join(f"{h}x{w}x{item.shape[2]}" for h, w in allowed)
        raise Invalid(f"shape {'x'.join(map(str, output.shape))}, expected {sizes}")
    dtype = native_dtype if contract.get("dtype", "native") == "native" else contract["dtype"]
    if str(output.dtype) != dtype:
        raise Invalid(f"dtype {output.dtype}, expected {dtype}")
    if output.dtype.kind == "f" and not np.isfinite(output).all():
        raise Invalid("output holds NaN or infinity")


def check_decoded(output: np.ndarray, item: np.ndarray, tolerance_mean_levels: float) -> None:
    """Raise Invalid where a decoder gives another picture than the item, which Pillow has decoded.

    Args:
        output, item: uint8, H x W x 3.
        tolerance_mean_levels: Largest mean absolute difference, in levels of 255.
    """
    mean = float(np.abs(output.astype(np.int16) - item).mean())
    if mean > tolerance_mean_levels:
        raise Invalid(f"decodes to another picture: {mean:.1f} levels from Pillow's in the mean")


def most_telling(items: Sequence[np.ndarray], count: int = 3) -> list[int]:
    """Positions of the items (H, W, C) that show most of what a transform does, the best first.

    A transform works on places or on colours, so an item has to show both: on a flat one most do next to
    nothing, on a grey one those of colours. Judged by one such item, a library would be blamed for the data.
    """
    told = []
    for item in items:
        places = float(item.std(axis=(0, 1)).max())
        colours = float(np.ptp(item, axis=2).mean())
        told.append((min(places, colours), places))
    return sorted(range(len(items)), key=lambda position: told[position], reverse=True)[:count]


def same(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether two outputs are equal to the bit."""
    return first.shape == second.shape and bool(np.array_equal(first, second))
