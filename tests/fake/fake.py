"""A tiny library that fails in every way that a row has a status for. Standard library and numpy."""

import os
import random
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from augmark.libraries.base import Apply, Registry

builds = Registry()
Params = Mapping[str, Any]
_random = random.Random()


class Fake:
    """See augmark.libraries.base.Adapter."""

    form, dtype, builders = "uint8 HWC", "uint8", builds

    def set_threads(self, threads: int) -> None:
        """There is no pool."""

    def seed(self, seed: int) -> None:
        _random.seed(seed)

    def native(self, item: np.ndarray) -> np.ndarray:
        return item.copy()

    def build(self, transform: str, params: Params) -> Apply:
        return self.builders[transform](params)

    def to_numpy(self, output: np.ndarray) -> np.ndarray:
        return output


adapter = Fake()


def invert(item: np.ndarray) -> np.ndarray:
    return 255 - item


@builds("Works")
def works(params: Params) -> Apply:
    return invert


@builds("Invert")
def inverts(params: Params) -> Apply:
    """As a real library does beside this one."""
    return invert


@builds("WorksAtRandom")
def works_at_random(params: Params) -> Apply:
    low, high = params["shift_levels"]
    return lambda item: item + np.uint8(_random.randint(low, high))


@builds("SleepsForEver")
def sleeps_for_ever(params: Params) -> Apply:
    def apply(item: np.ndarray) -> np.ndarray:
        while True:
            time.sleep(60)

    return apply


@builds("Aborts")
def aborts(params: Params) -> Apply:
    return lambda item: os.abort()


@builds("AllocatesWithoutEnd")
def allocates_without_end(params: Params) -> Apply:
    def apply(item: np.ndarray) -> np.ndarray:
        kept = []
        while True:
            kept.append(np.ones(16 << 20, np.uint8))
            time.sleep(0.005)

    return apply


@builds("RaisesOneInSeven")
def raises_one_in_seven(params: Params) -> Apply:
    calls = iter(range(1 << 62))

    def apply(item: np.ndarray) -> np.ndarray:
        if next(calls) % 7 == 6:
            raise ValueError("the seventh call")
        return invert(item)

    return apply


@builds("WrongShape")
def wrong_shape(params: Params) -> Apply:
    return lambda item: np.ascontiguousarray(item[:-1])


@builds("ReturnsNaN")
def returns_nan(params: Params) -> Apply:
    return lambda item: np.full(item.shape, np.nan, np.float32)


@builds("ReturnsItsInput")
def returns_its_input(params: Params) -> Apply:
    return lambda item: item


@builds("ChangesItsInput")
def changes_its_input(params: Params) -> Apply:
    def apply(item: np.ndarray) -> np.ndarray:
        item[:] = 255 - item
        return item.copy()

    return apply


@builds("NeverRandom")
def never_random(params: Params) -> Apply:
    return invert


@builds("SlowFirstCall")
def slow_first_call(params: Params) -> Apply:
    called: list[bool] = []

    def apply(item: np.ndarray) -> np.ndarray:
        if not called:
            called.append(True)
            time.sleep(1.0)
        return invert(item)

    return apply


@builds("SlowEveryCall")
def slow_every_call(params: Params) -> Apply:
    def apply(item: np.ndarray) -> np.ndarray:
        time.sleep(0.08)
        return invert(item)

    return apply


@builds("WarnsWhenBuilt")
def warns_when_built(params: Params) -> Apply:
    import warnings

    warnings.warn("argument 'sigma' is not known and is ignored", UserWarning, stacklevel=2)
    return invert


@builds("ExitsThePython")
def exits_the_python(params: Params) -> Apply:
    return lambda item: os._exit(3)


@builds("DiesWhenMeasured")
def dies_when_measured(params: Params) -> Apply:
    """Well in the probe (few items), dead among many: the row in flight is to blame."""
    seen: set[int] = set()

    def apply(item: np.ndarray) -> np.ndarray:
        seen.add(id(item))
        if len(seen) > params["items_limit"]:
            os.abort()
        return invert(item)

    return apply
