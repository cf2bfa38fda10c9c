"""What the variants of every library share: an adapter under one setting of a sweep (depth ``pro``).

A setting is one of ``{"batched": B}``, ``{"compile": True}`` and ``{"dtype": "float32"}``. A library's
regimes module exports ``variant(setting)``; what a library has no such thing for is ``Unsupported``. Imported
inside a library's own environment: standard library and numpy only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from augmark.libraries.base import Adapter, Apply, Builder, Params, Unsupported

Setting = Mapping[str, Any]
LEVELS = 255.0


@dataclass(frozen=True)
class Prepared:
    """What getting a built transform ready took and showed.

    Attributes:
        first_call_seconds: The first call of compiled code, compilation and all; None for other code.
        flags: Facts that belong to the row, such as ``graph-breaks``.
    """

    first_call_seconds: float | None = None
    flags: list[str] = field(default_factory=list)


class Variant:
    """An adapter under one setting: here, one that changes nothing.

    Attributes:
        form, dtype: Of a native item (of a batch, of each item in it).
        group: Items per native: a call transforms so many.
        draws: ``per-sample`` or ``per-batch`` where a native holds more than one item, else None.
        builders: Names that can be built.
    """

    group = 1
    draws: str | None = None

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self.form, self.dtype = adapter.form, adapter.dtype
        self.builders: Mapping[str, Builder] = adapter.builders

    def set_threads(self, threads: int) -> None:
        """Give every pool of the library this many threads."""
        self.adapter.set_threads(threads)

    def seed(self, seed: int) -> None:
        """Seed every generator that the library draws from."""
        self.adapter.seed(seed)

    def draws_of(self, transform: str) -> str | None:
        """``draws`` of one transform, where it is random."""
        return self.draws

    def native(self, item: np.ndarray) -> Any:
        """Turn one decoded item (uint8, H x W x C) into the native form of a single one."""
        return self.adapter.native(item)

    def groups(self, items: Sequence[np.ndarray]) -> list[list[int]]:
        """Which items each native of ``natives(items)`` holds, by their index.

        Raises:
            Unsupported: There are too few items for one native.
        """
        return [[index] for index in range(len(items))]

    def natives(self, items: Sequence[np.ndarray]) -> tuple[list[Any], list[np.ndarray]]:
        """Turn decoded items into natives, each owning its memory, beside the first item of each.

        Raises:
            Unsupported: There are too few items for one native.
        """
        groups = self.groups(items)
        return [self.together([items[index] for index in group]) for group in groups], [
            items[group[0]] for group in groups
        ]

    def together(self, items: Sequence[np.ndarray]) -> Any:
        """Make one native of the decoded items of a group."""
        return self.native(items[0])

    def build(self, transform: str, params: Params) -> Apply:
        """Return a callable: native -> real output.

        Raises:
            KeyError: The library does not offer ``transform``.
            Unsupported: The same work cannot be done under this setting.
        """
        return self.adapter.build(transform, params)

    def build_chunked(self, transform: str, params: Params) -> Apply:
        """Refuse: rows of three channels at a time are measured plain only."""
        raise Unsupported("an operation of three channels at a time is measured plain only")

    def prepare(self, apply: Apply, natives: Sequence[Any]) -> Prepared:
        """Get what ``build`` returned ready to be timed on these natives, before any warm-up.

        Raises:
            Unsupported: The calls show that it does not do what the setting says.
        """
        return Prepared()

    def to_numpy(self, output: Any) -> np.ndarray:
        """Turn one output, or native, into H x W x C: the first item in it."""
        return self.adapter.to_numpy(output)

    def samples(self, output: Any) -> list[np.ndarray]:
        """Turn one output, or native, into H x W x C arrays, one per item in it."""
        return [self.to_numpy(output)]


def equal_groups(items: Sequence[np.ndarray], size: int) -> list[list[int]]:
    """Groups of ``size`` items of one shape: the commonest shape, the first of several as common.

    A rest that does not fill a group is left out.

    Raises:
        Unsupported: No shape has enough items for one group.
    """
    shapes: dict[tuple[int, ...], list[int]] = {}
    for index, item in enumerate(items):
        shapes.setdefault(item.shape, []).append(index)
    most = max(shapes.values(), key=len, default=[])
    if len(most) < size:
        raise Unsupported(f"a batch of {size} needs as many items of one shape; there are {len(most)}")
    return [most[start : start + size] for start in range(0, len(most) - size + 1, size)]


def level_as_fraction(params: Params, key: str) -> dict[str, Any]:
    """Parameters with a level of 0..255, where there is one, as a fraction of the range: for float items."""
    return {**params, key: params[key] / LEVELS} if params.get(key) else dict(params)


def choose(setting: Setting, makers: Mapping[str, Callable[[Any], Variant]], title: str) -> Variant:
    """Make the variant of a setting.

    Args:
        makers: Axis -> what makes the variant from the axis' value.
        title: The library's name, for the reason.

    Raises:
        ValueError: The setting does not name exactly one axis.
        Unsupported: The library has no such axis.
    """
    if len(setting) != 1:
        raise ValueError(f"a setting is one axis and its value, not {dict(setting)}")
    ((axis, value),) = setting.items()
    if axis not in makers:
        raise Unsupported(f"{title} has no way of its own to do this ({axis})")
    return makers[axis](value)
