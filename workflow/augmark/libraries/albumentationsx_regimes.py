"""AlbumentationsX under the settings of a sweep: float32 items. It has no batches here, and no compiled code.

The library takes float32 in [0, 1] for every transform; where it has no float code (JPEG, equalisation,
CLAHE and some more) it goes through uint8 and back by itself, and that is inside the timer.
"""

from __future__ import annotations

import numpy as np

from augmark.libraries.albumentationsx import adapter
from augmark.libraries.base import Apply, Params, Unsupported
from augmark.libraries.regimes_common import LEVELS, Setting, Variant, choose, level_as_fraction


class Float32(Variant):
    """float32 H x W x C arrays in [0, 1]: the same transforms, a fill given as a fraction of the range.

    Other levels (shifts, thresholds, bits) are scaled by the library itself.
    """

    def __init__(self) -> None:
        super().__init__(adapter)
        self.form, self.dtype = "float32 HWC in [0, 1]", "float32"

    def native(self, item: np.ndarray) -> np.ndarray:
        """Own, contiguous float32 copy in [0, 1] of a uint8 H x W x C array."""
        return np.ascontiguousarray(item, dtype=np.float32) / np.float32(LEVELS)

    def build(self, transform: str, params: Params) -> Apply:
        """Return float32 (H, W, C) -> contiguous float32 (H', W', C).

        Raises:
            KeyError: The library does not offer ``transform``.
            Unsupported: A threshold in levels, which it does not scale.
        """
        if transform == "UnsharpMask" and params["threshold_levels"]:
            raise Unsupported("the threshold of UnsharpMask is in levels of uint8 whatever the item is")
        return adapter.build(transform, level_as_fraction(params, "fill_level"))


def _float32(value: str) -> Variant:
    if value != "float32":
        raise Unsupported(f"AlbumentationsX is measured on uint8 and float32, not on {value}")
    return Float32()


def variant(setting: Setting) -> Variant:
    """Return AlbumentationsX under a setting (see ``regimes_common``).

    Raises:
        Unsupported: It has no such thing.
    """
    return choose(setting, {"dtype": _float32}, "AlbumentationsX")
