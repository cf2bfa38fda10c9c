"""Kornia in a DataLoader: RandomCrop, the transform and Normalize in turn, on float32 (1, C, H, W).

Kornia has no uint8, so the whole image becomes float32 in [0, 1] first, as ``load_image`` would give it
(``RGB32``). Then come the modules, called one after the other as an ``nn.Sequential`` of them would, with p=1
and same_on_batch=False. The batch of one is taken off at the end; a tensor it is already.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import kornia.augmentation as K
import numpy as np
import torch

from augmark.data.views import stack
from augmark.libraries import kornia as micro
from augmark.libraries import torch_common
from augmark.libraries.base import Params
from augmark.libraries.kornia_common import LEVELS
from augmark.libraries.kornia_decoder import decoder
from augmark.libraries.recipe_common import Pipeline, chain, channels_first, crop_and_transform


def _batch_of_one(image: torch.Tensor) -> torch.Tensor:
    """Make float32 (1, C, H, W) in [0, 1] of uint8 (C, H, W)."""
    return image[None].float() / LEVELS


class KorniaRecipe:
    """The recipe of Kornia (see ``augmark.libraries.recipe_common.Recipe``)."""

    form = "float32 CHW, normalised"
    dtype = "float32"

    def set_threads(self, threads: int) -> None:
        """Set torch's pool inside an operation."""
        micro.adapter.set_threads(threads)

    def seed(self, seed: int) -> None:
        """Seed the generators that Kornia may draw from: they are the process's."""
        torch_common.seed(seed)

    def build(
        self, row: Mapping[str, Any], crop: Params | None, mean: Sequence[float], std: Sequence[float]
    ) -> Pipeline:
        """Return uint8 (C, H, W) -> float32 (C, H', W').

        Raises:
            KeyError: Kornia does not offer the transform.
            ValueError: A parameter has no effect, or a value that Kornia cannot do.
        """
        steps = crop_and_transform(micro.adapter, row, crop)
        normalize = K.Normalize(torch.tensor(mean), torch.tensor(std))
        return chain(_batch_of_one, *steps, normalize, lambda output: output[0])

    def from_item(self, item: np.ndarray) -> torch.Tensor:
        """View the item as uint8 (C, H, W)."""
        return channels_first(item)

    def from_file(self, path: str, views: list[str] | None) -> torch.Tensor:
        """Decode a file to uint8 (3, H, W), or stack its views to nine channels."""
        image = decoder.read(path)
        return channels_first(stack(image.permute(1, 2, 0).numpy(), views)) if views else image


recipe = KorniaRecipe()
