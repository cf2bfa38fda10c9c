"""What recipes are, and what they share. A recipe is a library's part of a DataLoader row.

It is what the library's own users write for one training image: RandomCrop224, the transform, Normalize,
ToTensor. It knows nothing about timing, batches or workers. Imported inside a library's own environment,
so: standard library, numpy and torch only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import torch

from augmark.libraries.base import Adapter, Apply, Params

Step = Callable[[Any], Any]
Pipeline = Callable[[Any], torch.Tensor]
CROP = "RandomCrop224"


class Recipe(Protocol):
    """One library's pipeline of the DataLoader modes, seen by the worker.

    Attributes:
        form: What comes out, in words: ``"float32 CHW, normalised"``.
        dtype: Its dtype, ``"float32"``.
    """

    form: str
    dtype: str

    def set_threads(self, threads: int) -> None:
        """Give every pool of the library this many threads (after import)."""

    def seed(self, seed: int) -> None:
        """Seed every generator that the pipelines of this process draw from, built and still to be built."""

    def build(
        self, row: Mapping[str, Any], crop: Params | None, mean: Sequence[float], std: Sequence[float]
    ) -> Pipeline:
        """Return a callable: what `from_item` or `from_file` gives -> float32 (C, H, W), contiguous, its own.

        Args:
            row: ``transform``, ``params``, and ``chunked``: None, or why it takes three channels at a time.
            crop: Parameters of RandomCrop224; None where the row's transform crops by itself.
            mean: One per channel, of levels in [0, 1].
            std: Likewise.

        Raises:
            KeyError: The library does not offer the transform.
        """

    def from_item(self, item: np.ndarray) -> Any:
        """Return a decoded item (uint8 H x W x C, read-only) as the pipeline takes it, copied if need be."""

    def from_file(self, path: str, views: list[str] | None) -> Any:
        """Decode a file by the library's own decoder; stack nine channels where ``views`` are named.

        Raises:
            OSError: The file cannot be read.
            Exception: It cannot be decoded (the type is the library's).
        """


def chain(*steps: Step) -> Step:
    """Return the steps as one callable, applied in turn."""

    def apply(value: Any) -> Any:
        for step in steps:
            value = step(value)
        return value

    return apply


def transform_of(adapter: Adapter, row: Mapping[str, Any]) -> Apply:
    """Build a row's transform as mode micro does, on three chunks of three channels where the row says so."""
    if row["chunked"]:
        return adapter.build_chunked(row["transform"], row["params"])
    return adapter.build(row["transform"], row["params"])


def crop_and_transform(adapter: Adapter, row: Mapping[str, Any], crop: Params | None) -> list[Step]:
    """Build both by the library's adapter; the crop is left out where the transform crops by itself."""
    transform = transform_of(adapter, row)
    return [transform] if crop is None else [adapter.build(CROP, crop), transform]


def channels_first(item: np.ndarray) -> torch.Tensor:
    """View H x W x C as a (C, H, W) tensor; nothing is copied.

    Through DLPack, because ``torch.from_numpy`` warns of arrays that cannot be written, as are those of a
    file that is mapped for reading. Nor may the tensor be written: the process would end with SIGSEGV.
    """
    return torch.from_dlpack(item).permute(2, 0, 1)
