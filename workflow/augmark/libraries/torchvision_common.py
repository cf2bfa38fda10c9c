"""How every torchvision transform is called and, for the probe, pinned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torchvision.transforms import v2

from augmark.libraries.base import Apply


def real(transform: Callable[[torch.Tensor], torch.Tensor]) -> Apply:
    """Return the transform with its output made contiguous; its attribute ``transform`` is what was given."""

    def apply(item: torch.Tensor) -> torch.Tensor:
        return transform(item).contiguous()

    apply.transform = transform
    return apply


def pin(transform: v2.Transform, override: Callable[[int, int], dict[str, Any]]) -> v2.Transform:
    """Replace drawn parameters of a transform by those that ``override(height, width)`` returns."""
    draw = transform.make_params

    def make_params(flat_inputs: list[torch.Tensor]) -> dict[str, Any]:
        height, width = flat_inputs[0].shape[-2:]
        return {**draw(flat_inputs), **override(height, width)}

    transform.make_params = make_params
    return transform


def fill_or_none(level: int) -> int | None:
    """Return the fill of a warp; None stands for 0.

    Both leave zeros outside. With a number, torchvision also warps a mask and blends by it, which takes up to
    a third more time and darkens the pixels on the border twice; no other library does that.
    """
    return level or None


def turns(degrees: list[float]) -> tuple[float, float]:
    """Turn a range of degrees into a range of fractions of a full turn, as hue is given."""
    return degrees[0] / 360, degrees[1] / 360
