"""Kornia: ``kornia.augmentation`` modules, called one by one on float32 tensors (1, C, H, W) in [0, 1].

The module is called as it is, a batch of one item, with p=1 and same_on_batch=False, and its output is made
contiguous. A range is always given as a pair: a single number means a range about a neutral value, so that
half of the usual ways to write a parameter draw something else than what was meant.

* ``align_corners`` is set wherever its default would resize or warp on another grid than the other libraries.
* ``UnsharpMask`` has no augmentation and is ``kornia.filters.UnsharpMask``.
* ``UnsharpMask`` and ``GaussianNoise`` leave values outside [0, 1]; they are clipped, as uint8 saturates.
* ``Brightness``, ``Contrast``, ``Saturation`` and ``ColorJiggle`` use ``ColorJitter``: see ``kornia_colour``.
* Nine channels: ``JpegCompression`` takes three only and is called on each three.
* Randomness is pinned by passing ``params=``, the public argument of every augmentation's call: the
  module's own ``forward_parameters``, with some values replaced.
"""

from __future__ import annotations

import numpy as np
import torch

from augmark.libraries import kornia_colour, kornia_effects, kornia_geometric, torch_common
from augmark.libraries.base import Apply, Params, Registry

builders = Registry()
for family in (kornia_geometric, kornia_colour, kornia_effects):
    for name, builder in family.builders.items():
        builders(name)(builder)


class KorniaAdapter:
    """Kornia on float32 tensors of shape (1, C, H, W)."""

    form = "float32 1CHW in [0, 1]"
    dtype = "float32"
    builders = builders

    def set_threads(self, threads: int) -> None:
        """Set torch's pool inside an operation."""
        torch_common.set_threads(threads)

    def seed(self, seed: int) -> None:
        """Seed the generators that Kornia may draw from."""
        torch_common.seed(seed)

    def native(self, item: np.ndarray) -> torch.Tensor:
        """Turn H x W x C uint8 into a contiguous 1 x C x H x W float32 tensor in [0, 1]."""
        levels = torch.from_numpy(np.array(item)).permute(2, 0, 1)[None].contiguous()
        return levels.to(torch.float32).div_(255)

    def build(self, transform: str, params: Params) -> Apply:
        """Return float32 (1, C, H, W) -> contiguous float32 (1, C, H', W').

        Raises:
            KeyError: Kornia does not offer ``transform``.
            ValueError: A parameter has no effect, or a value that Kornia cannot do.
        """
        return torch_common.build(self.builders[transform], transform, params)

    def build_chunked(self, transform: str, params: Params) -> Apply:
        """Return float32 (1, 9, H, W) -> contiguous float32 (1, 9, H', W') by chunks of three channels.

        One call per chunk, so each would draw for itself, not once for the item: Kornia's one such transform,
        JpegCompression, draws nothing. As a batch of three they take longer (81 against 58 ms for 500 x 375
        pixels), because each call then maps memory anew.

        Raises:
            KeyError: Kornia does not offer ``transform``.
            ValueError: A parameter has no effect, or a value that Kornia cannot do.
        """
        rgb = self.build(transform, params)

        def apply(item: torch.Tensor) -> torch.Tensor:
            return torch.cat([rgb(chunk) for chunk in item.split(torch_common.CHUNK_CHANNELS, dim=1)], dim=1)

        return apply

    def to_numpy(self, output: torch.Tensor) -> np.ndarray:
        """Turn an output into H x W x C float32 in [0, 1]."""
        return output[0].permute(1, 2, 0).contiguous().numpy()


adapter = KorniaAdapter()
