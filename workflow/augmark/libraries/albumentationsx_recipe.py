"""AlbumentationsX in a DataLoader: one ``A.Compose`` from RandomCrop to ToTensorV2.

uint8 H x W x C from first to last, as the library's documentation has it; Normalize makes float32 of the
levels, ToTensorV2 a tensor of the transposed array. Files are decoded by OpenCV (see
``albumentationsx_decoder``).

Where the transform takes three channels at a time, what is before and after it are pipelines of their own.
"""

from __future__ import annotations

import random
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import albumentations as A
import numpy as np
from albumentations.pytorch import ToTensorV2

from augmark.data.views import stack
from augmark.libraries import albumentationsx as micro
from augmark.libraries import torch_common
from augmark.libraries.albumentationsx_decoder import decoder
from augmark.libraries.base import Params
from augmark.libraries.recipe_common import CROP, Pipeline, chain, transform_of


class AlbumentationsXRecipe:
    """The recipe of AlbumentationsX (see ``augmark.libraries.recipe_common.Recipe``)."""

    form = "float32 CHW, normalised"
    dtype = "float32"

    def __init__(self) -> None:
        self._built: weakref.WeakSet[A.Compose] = weakref.WeakSet()
        self._seeds = random.Random()

    def set_threads(self, threads: int) -> None:
        """Limit the pools of OpenCV and torch."""
        micro.adapter.set_threads(threads)

    def seed(self, seed: int) -> None:
        """Seed every pipeline, built and still to be built, and torch, whose seed enters in a worker."""
        torch_common.seed(seed)
        micro.adapter.seed(seed)
        self._seeds.seed(seed)
        for pipeline in self._built:
            pipeline.set_random_seed(seed)

    def build(
        self, row: Mapping[str, Any], crop: Params | None, mean: Sequence[float], std: Sequence[float]
    ) -> Pipeline:
        """Return uint8 H x W x C -> float32 (C, H', W').

        Raises:
            KeyError: The library does not offer the transform.
        """
        builders = micro.adapter.builders
        before = [] if crop is None else [builders[CROP](crop)]
        after = [A.Normalize(mean=tuple(mean), std=tuple(std)), ToTensorV2()]
        if not row["chunked"]:
            return self._compose([*before, builders[row["transform"]](row["params"]), *after])
        cropped = [self._compose(before)] if before else []
        return chain(*cropped, transform_of(micro.adapter, row), self._compose(after))

    def from_item(self, item: np.ndarray) -> np.ndarray:
        """The item itself."""
        return item

    def from_file(self, path: str, views: list[str] | None) -> np.ndarray:
        """Decode a file to uint8 H x W x 3, or stack its views to nine channels."""
        image = decoder.read(path)
        return stack(image, views) if views else image

    def _compose(self, transforms: list[A.BasicTransform]) -> Pipeline:
        pipeline = A.Compose(transforms, seed=self._seeds.getrandbits(32))
        self._built.add(pipeline)

        def apply(item: np.ndarray) -> Any:
            return pipeline(image=item)["image"]

        return apply


recipe = AlbumentationsXRecipe()
