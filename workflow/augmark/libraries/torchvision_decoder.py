"""torchvision's JPEG decoder: ``torchvision.io.decode_jpeg`` from memory, ``decode_image`` from disk.

Both are deprecated since 0.29 in favour of TorchCodec, which needs a system FFmpeg; the warning is silenced
by ``augmark.libraries.torchvision``. They give (C, H, W) whose memory lies in the order H, W, C, as the
decoder wrote it. It is left so, in the row too: every pixel is there, and another layout is no part of
decoding (it would take a third longer, 0.70 ms instead of 0.53 ms for 500 x 375). A truncated file raises
``RuntimeError``.
"""

from __future__ import annotations

import numpy as np
import torch
from torchvision import io

from augmark.libraries import torch_common, torchvision  # noqa: F401 - silences the deprecation
from augmark.libraries.base import Apply, Params, Registry

builders = Registry()


@builders("Decode")
def _decode(params: Params) -> Apply:
    """Decodes bytes to RGB."""
    return lambda encoded: io.decode_jpeg(encoded, mode="RGB")


class TorchvisionDecoder:
    """JPEG bytes -> RGB uint8 (3, H, W) (see ``augmark.libraries.base.Adapter``)."""

    title = "libjpeg-turbo by torchvision (io.decode_jpeg)"
    form = "uint8 CHW"
    dtype = "uint8"
    builders = builders

    def set_threads(self, threads: int) -> None:
        """Set torch's pool; the decoder has one thread."""
        torch_common.set_threads(threads)

    def seed(self, seed: int) -> None:
        """Nothing is drawn."""

    def native(self, data: bytes) -> torch.Tensor:
        """The bytes of a file as an own (n,) uint8 tensor."""
        return torch.frombuffer(bytearray(data), dtype=torch.uint8)

    def build(self, transform: str, params: Params) -> Apply:
        """Return (n,) uint8 -> uint8 (3, H, W).

        Raises:
            KeyError: It is not ``Decode``.
        """
        return torch_common.build(self.builders[transform], transform, params)

    def to_numpy(self, output: torch.Tensor) -> np.ndarray:
        """H x W x 3 uint8 of an image; (n,) uint8 of what is still encoded."""
        return output.numpy() if output.ndim == 1 else output.permute(1, 2, 0).contiguous().numpy()

    def read(self, path: str) -> torch.Tensor:
        """Decode one file to uint8 (3, H, W).

        Raises:
            RuntimeError: It cannot be read, is truncated, or no image.
        """
        return io.decode_image(path, mode="RGB")


decoder = TorchvisionDecoder()
