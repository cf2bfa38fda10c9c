"""A tiny adapter of a few transforms, and rows of them, for tests of one row in this process."""

import random
import time
import warnings

import numpy as np

from augmark.libraries.base import Registry, Unsupported

JOB = {
    "values": 3,
    "warmup_seconds": 0.0,
    "slow_measured_items": 2,
    "slow_judged_on_items": 2,
    "slow_floor_seconds_per_item": 0.05,
    "failure_calls": 10,
    "sample_items": 2,
    "probe_items": 4,
    "mode": "micro",
    "device": "cpu",
}
PROMISED = {"shape": "same", "dtype": "native"}
builds = Registry()


class Tiny:
    """An adapter of a few transforms (see augmark.libraries.base.Adapter)."""

    form, dtype, builders = "uint8 HWC", "uint8", builds

    def __init__(self):
        self.calls, self.draws = [], random.Random()

    def set_threads(self, threads):
        """There is no pool."""

    def seed(self, seed):
        self.draws.seed(seed)

    def native(self, item):
        return item.copy()

    def build(self, transform, params):
        made = self.builders[transform](params)

        def apply(item):
            self.calls.append(item)
            return made(self, item)

        return apply

    def to_numpy(self, output):
        return output


@builds("Invert")
def _invert(params):
    return lambda adapter, item: 255 - item


@builds("Shift")
def _shift(params):
    low, high = params.get("shift_levels", (1, 200))
    return lambda adapter, item: item + np.uint8(adapter.draws.randint(low, high))


@builds("Cold")
def _cold(params):
    def apply(adapter, item):
        time.sleep(0.4 if len(adapter.calls) == 1 else 0.001)
        return 255 - item

    return apply


@builds("Sleepy")
def _sleepy(params):
    def apply(adapter, item):
        time.sleep(0.06)
        return 255 - item

    return apply


@builds("Raises")
def _raises(params):
    def apply(adapter, item):
        if len(adapter.calls) % params["every"] == 0:
            raise ValueError("this call")
        return 255 - item

    return apply


@builds("Warns")
def _warns(params):
    warnings.warn("argument 'sigma' is not known", UserWarning, stacklevel=2)
    return _invert(params)


@builds("Refuses")
def _refuses(params):
    raise Unsupported("the same work cannot be done so")


@builds("Identity")
def _identity(params):
    return lambda adapter, item: item.copy()


@builds("BlackToo")
def _black_too(params):
    """Leaves half of its draws as they are."""
    return lambda adapter, item: item.copy() if adapter.draws.random() < 0.5 else 255 - item


@builds("Forgets")
def _forgets(params):
    """Draws from somewhere that no seed reaches."""
    return lambda adapter, item: item + np.uint8(random.SystemRandom().randint(1, 200))


def row(transform, **more):
    base = {"params": {}, "output": PROMISED, "random": False, "control": False, "pinned": None}
    base |= {"condition": "plain", "setting": {}, "chunked": None}
    told = {"loops": 4, "shape": "6x4x3", "dtype": "uint8", "probed": "ok", "probe_reason": None, "seed": 7}
    return {"transform": transform, **base, **told, **more}
