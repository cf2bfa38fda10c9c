"""The decoder of AlbumentationsX's users: OpenCV.

The library has none of its own; its documentation reads files by OpenCV with ``IMREAD_COLOR_RGB``, so no
colours are swapped afterwards. That is what is measured, from bytes in memory by ``cv2.imdecode``.

``cv2.imread`` fills what a truncated file lacks and only prints a line; ``cv2.imdecode`` gives None for the
same bytes. A file is therefore read by NumPy and decoded from memory, which takes as long (0.96 ms for
both, 500 x 375).
"""

from __future__ import annotations

import cv2
import numpy as np

from augmark.libraries.base import Apply, Params, Registry

builders = Registry()


@builders("Decode")
def _decode(params: Params) -> Apply:
    """Decodes bytes to RGB."""
    return decode


def decode(encoded: np.ndarray) -> np.ndarray:
    """Decode (n,) uint8 to H x W x 3 uint8.

    Raises:
        ValueError: It is truncated, or no image.
    """
    image = cv2.imdecode(encoded, cv2.IMREAD_COLOR_RGB)
    if image is None:
        raise ValueError("OpenCV cannot decode this file: it is truncated, or no image")
    return image


class OpenCVDecoder:
    """JPEG bytes -> RGB uint8 H x W x 3 (see ``augmark.libraries.base.Adapter``)."""

    title = "libjpeg-turbo by OpenCV (cv2.imdecode, IMREAD_COLOR_RGB)"
    form = "uint8 HWC"
    dtype = "uint8"
    builders = builders

    def set_threads(self, threads: int) -> None:
        """Limit OpenCV's pool."""
        cv2.setNumThreads(threads)

    def seed(self, seed: int) -> None:
        """Nothing is drawn."""

    def native(self, data: bytes) -> np.ndarray:
        """The bytes of a file as an own (n,) uint8 array."""
        return np.frombuffer(data, np.uint8).copy()

    def build(self, transform: str, params: Params) -> Apply:
        """Return (n,) uint8 -> H x W x 3 uint8.

        Raises:
            KeyError: It is not ``Decode``.
        """
        return self.builders[transform](params)

    def to_numpy(self, output: np.ndarray) -> np.ndarray:
        """The array itself."""
        return output

    def read(self, path: str) -> np.ndarray:
        """Decode one file to H x W x 3 uint8.

        Raises:
            OSError: It cannot be read.
            ValueError: It is truncated, or no image.
        """
        return decode(np.fromfile(path, np.uint8))


decoder = OpenCVDecoder()
