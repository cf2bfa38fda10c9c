"""Kornia's JPEG decoder: kornia-rs, which Kornia requires and ``kornia.io.load_image`` calls.

``load_image`` takes a path only. In memory, kornia-rs has two decoders; the one used here, libjpeg-turbo,
is the one that ``load_image`` uses (the other one, written in Rust, is up to ten levels away from every
other library). Its array becomes a tensor as in ``load_image``, by ``image_to_tensor``: uint8 (C, H, W)
whose memory lies in the order H, W, C, as the decoder wrote it. It is left so, in the row too: every pixel
is there, and another layout is no part of decoding. Floats in [0, 1] are made later, by the recipe. A
truncated file raises.
"""

from __future__ import annotations

import numpy as np
import torch
from kornia.image import image_to_tensor
from kornia.io import ImageLoadType, load_image
from kornia_rs import io

from augmark.libraries import torch_common
from augmark.libraries.base import Apply, Params, Registry

builders = Registry()


@builders("Decode")
def _decode(params: Params) -> Apply:
    """Decodes bytes to RGB."""
    return lambda encoded: image_to_tensor(io.decode_image_jpegturbo(encoded, "rgb"))


class KorniaDecoder:
    """JPEG bytes -> RGB uint8 (3, H, W) (see ``augmark.libraries.base.Adapter``)."""

    title = "libjpeg-turbo by kornia-rs (io.decode_image_jpegturbo)"
    form = "uint8 CHW"
    dtype = "uint8"
    builders = builders

    def set_threads(self, threads: int) -> None:
        """Set torch's pool; the decoder has one thread."""
        torch_common.set_threads(threads)

    def seed(self, seed: int) -> None:
        """Nothing is drawn."""

    def native(self, data: bytes) -> bytes:
        """The bytes of a file."""
        return bytes(data)

    def build(self, transform: str, params: Params) -> Apply:
        """Return bytes -> uint8 (3, H, W).

        Raises:
            KeyError: It is not ``Decode``.
        """
        return torch_common.build(self.builders[transform], transform, params)

    def to_numpy(self, output: bytes | torch.Tensor) -> np.ndarray:
        """H x W x 3 uint8 of an image; (n,) uint8 of what is still encoded."""
        if isinstance(output, bytes):
            return np.frombuffer(output, np.uint8)
        return output.permute(1, 2, 0).contiguous().numpy()

    def read(self, path: str) -> torch.Tensor:
        """Decode one file to uint8 (3, H, W), by ``kornia.io.load_image``.

        Raises:
            OSError: It cannot be read.
            ValueError: It is truncated, or no image.
        """
        return load_image(path, ImageLoadType.RGB8)


decoder = KorniaDecoder()
