"""How every Kornia transform is called and, for the probe, pinned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from augmark.libraries.base import Apply

Override = dict[str, torch.Tensor]

# p=1: applied on every call; same_on_batch=False: each item of a batch draws for itself.
ALWAYS: dict[str, Any] = {"p": 1.0, "same_on_batch": False}
LEVELS = 255.0


def real(module: Callable[[torch.Tensor], torch.Tensor]) -> Apply:
    """Return the module with its output made contiguous."""

    def apply(item: torch.Tensor) -> torch.Tensor:
        return module(item).contiguous()

    return apply


def pinned(module: Any, override: Callable[[int, int], Override]) -> Apply:
    """Call the module with its own parameters, those of ``override(height, width)`` replaced."""

    def apply(item: torch.Tensor) -> torch.Tensor:
        params = module.forward_parameters(item.shape)
        params.update(override(*item.shape[-2:]))
        return module(item, params=params).contiguous()

    return apply


def chosen(module: Any, wanted: Callable[[Override], bool]) -> Apply:
    """Call the module with the first of its own draws that is wanted (for what no argument can pin)."""

    def apply(item: torch.Tensor) -> torch.Tensor:
        params = module.forward_parameters(item.shape)
        while not wanted(params):
            params = module.forward_parameters(item.shape)
        return module(item, params=params).contiguous()

    return apply


def box_corners(top: float, left: float, height: float, width: float) -> torch.Tensor:
    """Return the pixels at the corners of a box, (1, 4, 2) as x, y, clockwise from the upper left."""
    right, bottom = left + width - 1, top + height - 1
    return torch.tensor([[[left, top], [right, top], [right, bottom], [left, bottom]]], dtype=torch.float32)


def pair(bounds: list[float]) -> tuple[float, float]:
    """Return a range as the tuple of floats that Kornia takes for one."""
    low, high = bounds
    return float(low), float(high)


def scaled(bounds: list[float], unit: float) -> tuple[float, float]:
    """Return a range in another unit, e.g. levels / 255 or degrees / 360."""
    low, high = bounds
    return low / unit, high / unit
