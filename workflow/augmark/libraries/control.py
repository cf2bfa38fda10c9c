"""The controls: transforms whose cost is known. Standard library and numpy only.

``Copy`` shows what the harness itself costs, ``Delay`` that a known time is measured as what it is.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from augmark.libraries.base import Apply, Params, Registry

builders = Registry()


@builders("Copy")
def _copy(params: Params) -> Apply:
    """Copies the item."""
    return np.copy


@builders("Delay")
def _delay(params: Params) -> Apply:
    """Keeps the processor busy for ``seconds``, then copies the item.

    A sleep would be late by what the system's timer is late, 50 microseconds and more.
    """
    seconds, clock = params["seconds"], time.perf_counter

    def apply(item: np.ndarray) -> np.ndarray:
        until = clock() + seconds
        output = item.copy()
        while clock() < until:
            pass
        return output

    return apply


class ControlAdapter:
    """The adapter of the controls (see ``augmark.libraries.base.Adapter``)."""

    form = "uint8 HWC"
    dtype = "uint8"
    builders = builders

    def set_threads(self, threads: int) -> None:
        """Nothing here has a pool of threads."""

    def seed(self, seed: int) -> None:
        """Nothing here is drawn."""

    def native(self, item: np.ndarray) -> np.ndarray:
        """Own, contiguous copy of a uint8 H x W x C array."""
        return np.array(item, dtype=np.uint8, order="C", copy=True)

    def build(self, transform: str, params: Params) -> Apply:
        """Build one control.

        Raises:
            KeyError: There is no such control.
        """
        return self.builders[transform](params)

    def to_numpy(self, output: Any) -> np.ndarray:
        """The output itself."""
        return np.asarray(output)


adapter = ControlAdapter()
