"""Kornia under the settings of a sweep: batches, and compiled code. It has float32 only."""

from __future__ import annotations

from augmark.libraries.base import Unsupported
from augmark.libraries.kornia import adapter
from augmark.libraries.regimes_common import Setting, Variant, choose
from augmark.libraries.regimes_torch import Batched, compiled


def _dtype(value: str) -> Variant:
    raise Unsupported(
        f"Kornia has float32 only, which is what its plain rows are measured on (asked: {value})"
    )


def variant(setting: Setting) -> Variant:
    """Return Kornia under a setting (see ``regimes_common``).

    Batched, ``same_on_batch=False`` makes each sample draw for itself: the work of as many calls.

    Raises:
        Unsupported: Kornia has no such thing.
    """
    return choose(
        setting,
        {
            "batched": lambda size: Batched(adapter, size, draws="per-sample"),
            "compile": lambda _: compiled(adapter),
            "dtype": _dtype,
        },
        "Kornia",
    )
