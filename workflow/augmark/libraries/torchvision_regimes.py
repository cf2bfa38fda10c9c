"""torchvision under the settings of a sweep: batches, compiled code, and float32 items."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torchvision.transforms import v2

from augmark.libraries import torch_common
from augmark.libraries.base import Apply, Params, Unsupported
from augmark.libraries.regimes_common import LEVELS, Setting, Variant, choose, level_as_fraction
from augmark.libraries.regimes_torch import Batched, compiled
from augmark.libraries.torchvision import adapter
from augmark.libraries.torchvision_common import real

# The noise itself is drawn for each level of each item; everything else is drawn once per call.
DRAWN_PER_LEVEL = frozenset({"GaussianNoise"})


class Float32(Variant):
    """float32 tensors (C, H, W) in [0, 1]: the same transforms, levels given as fractions of the range.

    * ``GaussianNoise`` is the class alone: the uint8 row's conversions there and back are not needed.
    * ``JpegCompression`` has no float form: the encoder takes uint8.
    * ``Posterize`` and ``Equalize`` go through levels inside the library.
    """

    form = "float32 CHW in [0, 1]"
    dtype = "float32"

    def __init__(self) -> None:
        super().__init__(adapter)
        self.form, self.dtype = type(self).form, type(self).dtype

    def native(self, item: np.ndarray) -> torch.Tensor:
        """Turn H x W x C uint8 into a contiguous C x H x W float32 tensor in [0, 1]."""
        return adapter.native(item).to(torch.float32).div_(LEVELS)

    def build(self, transform: str, params: Params) -> Apply:
        """Return float32 (C, H, W) -> contiguous float32 (C, H', W').

        Raises:
            KeyError: torchvision does not offer ``transform``.
            Unsupported: It has no float form.
        """
        if transform == "JpegCompression":
            raise Unsupported("v2.JPEG takes uint8 only: its encoder has no float form")
        if transform == "GaussianNoise":
            return torch_common.build(_gaussian_noise, transform, params)
        scaled: dict[str, Any] = level_as_fraction(params, "fill_level")
        if transform == "Solarize":
            # Half a level below: one that equals the threshold is on the same side whatever its rounding.
            scaled["threshold_levels"] = (params["threshold_levels"] - 0.5) / LEVELS
        return adapter.build(transform, scaled)


def _gaussian_noise(params: Params) -> Apply:
    return real(v2.GaussianNoise(mean=params["mean_fraction"], sigma=params["std_fraction"], clip=True))


def _float32(value: str) -> Variant:
    if value != "float32":
        raise Unsupported(f"torchvision is measured on uint8 and float32, not on {value}")
    return Float32()


def variant(setting: Setting) -> Variant:
    """Return torchvision under a setting (see ``regimes_common``).

    Batched, a class draws once for the whole batch: less work than a draw per sample, and other augmentation.

    Raises:
        Unsupported: torchvision has no such thing.
    """
    return choose(
        setting,
        {
            "batched": lambda size: Batched(adapter, size, draws="per-batch", per_sample=DRAWN_PER_LEVEL),
            "compile": lambda _: compiled(adapter),
            "dtype": _float32,
        },
        "torchvision",
    )
