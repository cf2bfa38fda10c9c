"""AlbumentationsX: uint8 H x W x C arrays.

A transform is called through ``A.Compose([transform])``: what the documentation shows first, and the cheapest
public way to apply one (a transform called by itself also publishes what it drew: 8 microseconds against 6
for a vertical flip in 2.5.1). Each pipeline owns its generators, so the adapter remembers what it has built
and seeds all of it. Every name is built with ``p=1``.

Pinned rows that a range cannot pin subclass the transform and give its draws by ``sample_parameters``, the
method that the library documents for one's own transforms; the pixels are still computed by the library.
"""

from __future__ import annotations

import random
import weakref
from typing import Any

import albumentations as A
import cv2
import numpy as np
import torch

from augmark.libraries.albumentationsx_colour import builders as colour_builders
from augmark.libraries.albumentationsx_geometry import builders as geometry_builders
from augmark.libraries.albumentationsx_pixel import builders as pixel_builders
from augmark.libraries.base import Apply, Builder, Params

_CHUNKS = {"image2": "image", "image3": "image"}  # beside the target "image"


class AlbumentationsXAdapter:
    """The adapter of AlbumentationsX (see ``augmark.libraries.base.Adapter``)."""

    form = "uint8 HWC"
    dtype = "uint8"

    def __init__(self) -> None:
        # These build the library's transform; `build` makes it the callable of the contract.
        self.builders: dict[str, Builder] = {**geometry_builders, **pixel_builders, **colour_builders}
        self._built: weakref.WeakSet[A.Compose] = weakref.WeakSet()
        self._seeds = random.Random()

    def set_threads(self, threads: int) -> None:
        """Limit OpenCV's pool, and torch's, which the library imports."""
        cv2.setNumThreads(threads)
        torch.set_num_threads(threads)

    def seed(self, seed: int) -> None:
        """Seed every pipeline built so far, and those still to be built."""
        self._seeds.seed(seed)
        for pipeline in self._built:
            pipeline.set_random_seed(seed)

    def native(self, item: np.ndarray) -> np.ndarray:
        """Own, contiguous copy of a uint8 H x W x C array."""
        return np.array(item, dtype=np.uint8, order="C", copy=True)

    def build(self, transform: str, params: Params) -> Apply:
        """Build one transform; its output is made contiguous.

        Raises:
            KeyError: The library does not offer ``transform``.
        """
        pipeline = self._pipeline(transform, params)
        contiguous = np.ascontiguousarray

        def apply(item: np.ndarray) -> np.ndarray:
            return contiguous(pipeline(image=item)["image"])

        return apply

    def build_chunked(self, transform: str, params: Params) -> Apply:
        """Build one transform for H x W x 9 arrays that it takes as three images of three channels.

        They are three targets of one call, for which the library draws once. OpenCV splits and joins: 0.6 ms
        for 500 x 375 pixels, where slices of a NumPy array take 3.7 ms.

        Raises:
            KeyError: The library does not offer ``transform``.
        """
        pipeline = self._pipeline(transform, params, additional_targets=_CHUNKS)
        split, merge = cv2.split, cv2.merge

        def apply(item: np.ndarray) -> np.ndarray:
            channels = split(item)
            done = pipeline(
                image=merge(channels[:3]), image2=merge(channels[3:6]), image3=merge(channels[6:])
            )
            return merge((done["image"], done["image2"], done["image3"]))

        return apply

    def _pipeline(self, transform: str, params: Params, **arguments: Any) -> A.Compose:
        """The transform alone in a pipeline with a generator of its own, which ``seed`` reaches."""
        seed = self._seeds.getrandbits(32)
        pipeline = A.Compose([self.builders[transform](params)], seed=seed, **arguments)
        self._built.add(pipeline)
        return pipeline

    def to_numpy(self, output: Any) -> np.ndarray:
        """The output itself: H x W x C, levels 0..255."""
        return np.asarray(output)


adapter = AlbumentationsXAdapter()
