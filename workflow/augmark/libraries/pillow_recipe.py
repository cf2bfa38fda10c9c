"""Pillow in a DataLoader: crop and transform by Pillow, then Normalize by NumPy and a tensor of the array.

Pillow has neither Normalize nor ToTensor, and its users take them from torchvision. Another library does
not belong in a row of Pillow's, so the same arithmetic is written here, (level / 255 - mean) / std, in
float32, channels first. Items become an image by ``Image.fromarray``, which copies them into Pillow's four
bytes a pixel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from PIL import Image

from augmark.libraries import pillow as micro
from augmark.libraries import torch_common
from augmark.libraries.base import Params
from augmark.libraries.pillow_decoder import decoder
from augmark.libraries.recipe_common import Pipeline, Step, chain, crop_and_transform


def _normalised(mean: Sequence[float], std: Sequence[float]) -> Step:
    """Return RGB image -> float32 (3, H, W): one multiplication and one addition per level."""
    factor = (1 / (255 * np.array(std))).astype(np.float32)[:, None, None]
    shift = (-np.array(mean) / np.array(std)).astype(np.float32)[:, None, None]

    def apply(image: Image.Image) -> torch.Tensor:
        levels = np.asarray(image).transpose(2, 0, 1)
        output = np.empty(levels.shape, np.float32)
        np.multiply(levels, factor, out=output)
        output += shift
        return torch.from_numpy(output)

    return apply


class PillowRecipe:
    """The recipe of Pillow (see ``augmark.libraries.recipe_common.Recipe``)."""

    form = "float32 CHW, normalised"
    dtype = "float32"

    def set_threads(self, threads: int) -> None:
        """Set torch's pool; Pillow has one thread."""
        torch_common.set_threads(threads)

    def seed(self, seed: int) -> None:
        """Seed what the adapter's glue draws from; Pillow draws nothing."""
        micro.adapter.seed(seed)

    def build(
        self, row: Mapping[str, Any], crop: Params | None, mean: Sequence[float], std: Sequence[float]
    ) -> Pipeline:
        """Return RGB image -> float32 (3, H', W').

        Raises:
            KeyError: Pillow does not offer the transform.
        """
        return chain(*crop_and_transform(micro.adapter, row, crop), _normalised(mean, std))

    def from_item(self, item: np.ndarray) -> Image.Image:
        """Copy the item into an image."""
        return Image.fromarray(item)

    def from_file(self, path: str, views: list[str] | None) -> Image.Image:
        """Decode a file to an RGB image.

        Raises:
            ValueError: ``views`` are named: Pillow has no image of nine channels.
        """
        if views:
            raise ValueError("Pillow has no image of more than four channels")
        return decoder.read(path)


recipe = PillowRecipe()
