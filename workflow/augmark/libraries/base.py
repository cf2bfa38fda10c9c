"""What every library's adapter offers to the worker: nothing here knows about timing.

Imported inside a library's own environment, so: standard library and numpy only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

Params = Mapping[str, Any]
Apply = Callable[[Any], Any]
Builder = Callable[[Params], Apply]


class Unsupported(Exception):
    """What is asked for cannot be done as the same work; the message is the reason in words."""


class Adapter(Protocol):
    """One library, seen by the worker.

    Attributes:
        form: Native form of an item in words, e.g. ``"uint8 HWC"``.
        dtype: Native dtype, e.g. ``"uint8"``.
        builders: Transform name -> builder; exactly the names that ``libraries.yaml`` offers.
    """

    form: str
    dtype: str
    builders: Mapping[str, Builder]

    def set_threads(self, threads: int) -> None:
        """Give every pool of the library this many threads (after import)."""

    def seed(self, seed: int) -> None:
        """Seed every generator that the library draws from."""

    def native(self, item: np.ndarray) -> Any:
        """Turn one decoded item (uint8, H x W x C) into the native form, owning its memory."""

    def build(self, transform: str, params: Params) -> Apply:
        """Return a callable: native item -> real output (contiguous, loaded, synchronised).

        Raises:
            KeyError: The library does not offer ``transform``.
        """

    def build_chunked(self, transform: str, params: Params) -> Apply:
        """As ``build``, for items of nine channels, by an operation that takes three.

        The item is taken as three chunks of three channels, each as the operation would an RGB image, with
        one draw of parameters for all of them. Splitting and joining are part of the callable. Only for
        transforms that ``libraries.yaml`` calls chunked; a library without such items need not have it.
        """

    def to_numpy(self, output: Any) -> np.ndarray:
        """Turn one output into H x W x C, in the value range of the native form."""


class Registry(dict[str, Builder]):
    """Transform name -> builder, filled by decorating the builders of one adapter module."""

    def __call__(self, *names: str) -> Callable[[Builder], Builder]:
        def register(builder: Builder) -> Builder:
            for name in names:
                if name in self:
                    raise ValueError(f"transform {name} is built twice")
                self[name] = builder
            return builder

        return register
