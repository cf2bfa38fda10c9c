"""Pillow's JPEG decoder: ``Image.open``, ``convert`` and ``load``, into an image of mode RGB.

A file of mode RGB is converted to itself, which is a copy: it is what loaders of images do by habit, and
what torchvision's ``pil_loader`` does. A truncated file raises ``OSError``.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from PIL import Image

from augmark.libraries.base import Apply, Params, Registry

builders = Registry()


@builders("Decode")
def _decode(params: Params) -> Apply:
    """Decodes bytes to RGB."""
    return lambda encoded: load_rgb(io.BytesIO(encoded))


def load_rgb(file: Any) -> Image.Image:
    """Decode an open file or a path to a loaded RGB image.

    Raises:
        OSError: It is truncated, or no image.
    """
    with Image.open(file) as image:
        return image.convert("RGB")  # loads first


class PillowDecoder:
    """JPEG bytes -> RGB ``PIL.Image`` (see ``augmark.libraries.base.Adapter``)."""

    title = "libjpeg-turbo by Pillow (Image.open, convert, load)"
    form = "PIL.Image RGB"
    dtype = "uint8"
    builders = builders

    def set_threads(self, threads: int) -> None:
        """Pillow has one thread."""

    def seed(self, seed: int) -> None:
        """Nothing is drawn."""

    def native(self, data: bytes) -> bytes:
        """The bytes of a file."""
        return bytes(data)

    def build(self, transform: str, params: Params) -> Apply:
        """Return bytes -> loaded RGB image.

        Raises:
            KeyError: It is not ``Decode``.
        """
        return self.builders[transform](params)

    def to_numpy(self, output: bytes | Image.Image) -> np.ndarray:
        """H x W x 3 uint8 of an image; the bytes themselves, (n,) uint8, of what is still encoded."""
        return np.frombuffer(output, np.uint8) if isinstance(output, bytes) else np.asarray(output)

    def read(self, path: str) -> Image.Image:
        """Decode one file.

        Raises:
            OSError: It cannot be read, is truncated, or no image.
        """
        return load_rgb(path)


decoder = PillowDecoder()
