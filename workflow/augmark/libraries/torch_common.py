"""What the adapters of the two torch libraries share: parameters that cannot be lost, seeds, threads.

A neutral parameter that a builder neither uses nor declares is an error, because the usual way in which
libraries end up doing different work is a parameter that one of them silently drops.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch

from augmark.libraries.base import Apply, Builder, Params

CHUNK_CHANNELS = 3  # of an item that is worked on in chunks


class Reading(Mapping[str, Any]):
    """The neutral parameters of one transform, which remembers the keys that were read."""

    def __init__(self, transform: str, params: Params) -> None:
        self.transform = transform
        self.read: set[str] = set()
        self._params = params

    def __getitem__(self, key: str) -> Any:
        self.read.add(key)
        return self._params[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._params)

    def __len__(self) -> int:
        return len(self._params)


def build(builder: Builder, transform: str, params: Params) -> Apply:
    """Call a builder and make sure that it has used every parameter.

    Raises:
        ValueError: The builder left a parameter unread: it would have no effect.
    """
    reading = Reading(transform, params)
    apply = builder(reading)
    unread = sorted(set(params) - reading.read)
    if unread:
        raise ValueError(f"{transform}: no effect of {', '.join(unread)}")
    return apply


def fixed(params: Params, **values: Any) -> None:
    """Check parameters that the library cannot vary: they must have the one value that it has built in.

    Raises:
        ValueError: Another value is asked for.
    """
    for key, value in values.items():
        if params[key] != value:
            raise ValueError(f"{key} is always {value!r} in this library, not {params[key]!r}")


def without(params: Params, *keys: str) -> None:
    """Declare parameters that the library has no counterpart of (see ``differences`` in transforms.yaml)."""
    for key in keys:
        params[key]


def symmetric(bounds: list[float]) -> float:
    """Return the bound of a range that is symmetric about zero.

    Raises:
        ValueError: It is not: the libraries take one number here.
    """
    low, high = bounds
    if low != -high:
        raise ValueError(f"a range symmetric about 0 is needed, not {bounds}")
    return high


def degenerate(bounds: list[float]) -> bool:
    """Tell whether a range holds a single value."""
    return bounds[0] == bounds[1]


def seed(value: int) -> None:
    """Seed torch, from which both libraries draw, and for good measure Python and NumPy."""
    torch.manual_seed(value)
    random.seed(value)
    np.random.seed(value % 2**32)


def set_threads(threads: int) -> None:
    """Set the size of torch's pool inside an operation, and OpenCV's where something has imported it."""
    torch.set_num_threads(threads)
    if "cv2" in sys.modules:
        sys.modules["cv2"].setNumThreads(threads)
