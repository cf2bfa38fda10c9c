"""One row of a transform alone, or of decoding alone: trying it, and timing it."""

from __future__ import annotations

import gc
import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from augmark.libraries.base import Adapter, Unsupported
from augmark.modes import PLAIN
from augmark.worker import building, contract, energy, status, timing

Row = dict[str, Any]
DRAWS = 8  # seeds over which a random transform must differ at least once


def probe_row(subject: Any, row: Row, job: Row, beat: Callable[[], None]) -> Row:
    """Build a transform, check its contract, judge its speed warm, keep samples of its work.

    Args:
        subject: ``micro.Subject``.
    """
    adapter, few = subject.adapter, job["probe_items"]
    natives, items = subject.natives[:few], subject.items[:few]
    apply = building.build(adapter, row, row["params"])
    try:
        _prepared(adapter, apply, natives, beat)
        shape = _check_calls(adapter, apply, row, natives, items, job)
        beat()
        _check_randomness(adapter, apply, row, [natives[index] for index in contract.most_telling(items)])
        warm = timing.warm_seconds_per_item(
            apply, natives, job["warmup_seconds"], job["slow_judged_on_items"]
        )
        warm /= subject.group
    except (contract.Invalid, Unsupported):
        raise
    except Exception as error:
        raise status.count_failures(apply, natives, job["failure_calls"], error) from error
    slow = warm > job["slow_floor_seconds_per_item"]
    return {
        "status": "slow" if slow else "ok",
        "reason": f"{warm:.3g} s per item, floor {job['slow_floor_seconds_per_item']} s" if slow else None,
        "warm_seconds_per_item": warm,
        "shape": shape[0],
        "dtype": shape[1],
        **_sampled(adapter, row, natives, items, job),
    }


def _prepared(adapter: Adapter, apply: timing.Apply, natives: Sequence[Any], beat: Callable[[], None]) -> Row:
    """What a setting does before its first timed call (compile), and what is to be known of it."""
    prepare = getattr(adapter, "prepare", None)
    if prepare is None:
        return {"first_call_seconds": None, "flags": []}
    prepared = prepare(apply, natives)
    beat()
    return {"first_call_seconds": prepared.first_call_seconds, "flags": list(prepared.flags)}


def _check_calls(
    adapter: Adapter,
    apply: timing.Apply,
    row: Row,
    natives: Sequence[Any],
    items: Sequence[np.ndarray],
    job: Row,
) -> tuple[str, str]:
    if job["mode"] == "decode":
        return _check_decoded(adapter, apply, row, natives, items, job["tolerance_mean_levels"])
    changed = False
    for index, (native, item) in enumerate(zip(natives, items, strict=True)):
        adapter.seed(index)
        before = np.array(adapter.to_numpy(native))
        output = adapter.to_numpy(apply(native))
        if not contract.same(before, np.asarray(adapter.to_numpy(native))):
            raise contract.Invalid("the transform changed its input")
        contract.check_output(output, item, row["output"], adapter.dtype)
        changed = changed or not contract.same(before, output)
    if not changed and not row["control"]:
        for draw in range(DRAWS):
            adapter.seed(draw)
            if not contract.same(before, adapter.to_numpy(apply(native))):
                break
        else:
            raise contract.Invalid("no-op: the output is the input on every item tried")
    return "x".join(map(str, output.shape)), str(output.dtype)


def _check_decoded(
    adapter: Adapter,
    apply: timing.Apply,
    row: Row,
    natives: Sequence[Any],
    items: Sequence[np.ndarray],
    tolerance: float,
) -> tuple[str, str]:
    """A decoder's output is the image of the file: its size, and Pillow's pixels but for rounding."""
    for native, item in zip(natives, items, strict=True):
        output = adapter.to_numpy(apply(native))
        contract.check_output(output, item, row["output"], adapter.dtype)
        contract.check_decoded(output, item, tolerance)
    return "x".join(map(str, output.shape)), str(output.dtype)


def _check_randomness(adapter: Adapter, apply: timing.Apply, row: Row, natives: Sequence[Any]) -> None:
    """Seeds decide, and only where the row is declared random; on several items, since one may be flat."""

    def draw(native: Any, seed: int) -> np.ndarray:
        adapter.seed(seed)
        return np.array(adapter.to_numpy(apply(native)))

    differs = False
    for native in natives:
        first = draw(native, 0)
        if not contract.same(first, draw(native, 0)):
            raise contract.Invalid("the same seed gave two different outputs")
        differs = any(not contract.same(first, draw(native, seed)) for seed in range(1, DRAWS))
        if differs:
            break
    if row["random"] and not differs:
        raise contract.Invalid(f"not random: {DRAWS} seeds gave the same output on {len(natives)} items")
    if not row["random"] and differs:
        raise contract.Invalid("random although it is declared deterministic")


def _sampled(
    adapter: Adapter, row: Row, natives: Sequence[Any], items: Sequence[np.ndarray], job: Row
) -> Row:
    """What the samples of a row are called; a pin that fails costs the row its samples, not its number."""
    if row["condition"] != PLAIN or job["mode"] == "decode":
        return {"sample": None}
    # By name: what is kept for the comparison of libraries decides no number.
    samples = importlib.import_module("augmark.worker.samples")
    try:
        return {"sample": samples.keep(adapter, row, natives, items, job)}
    except Exception as error:
        return {"sample": None, "sample_problem": status.describe(error)}


def measure_row(subject: Any, row: Row, job: Row, beat: Callable[[], None]) -> Row:
    """Time one row: warm-up, then the declared number of values.

    Returns:
        Row with raw seconds per item; of a slow row over fewer items, with status ``slow``.
    """
    adapter, group = subject.adapter, subject.group
    apply = building.build(adapter, row, row["params"])
    slow = row["probed"] == "slow"
    few = max(1, job["slow_measured_items"] // group)
    chosen = subject.natives[:few] if slow else subject.natives
    values_wanted, loops = (1, 1) if slow else (job["values"], row["loops"])
    gc.collect()
    try:
        prepared = _prepared(adapter, apply, chosen, beat)
        calls, warm = timing.warm_up(apply, chosen, job["warmup_seconds"])
        beat()
        # After the warm-up, whose number of calls varies: the timed draws are the same on every run.
        adapter.seed(row["seed"])
        meter = energy.meter(job["device"] == "cuda")
        window = meter.start()
        between = energy.between(window, beat)
        values = timing.values_of(apply, chosen, loops=loops, values=values_wanted, after=between)
        window.read()
    except Unsupported:
        raise
    except Exception as error:
        raise status.count_failures(apply, chosen, len(chosen), error) from error

    def again() -> int:
        timing.time_passes(apply, chosen, 1)
        return len(chosen) * group

    done = values_wanted * loops * len(chosen) * group
    return {
        "status": "slow" if slow else "ok",
        "reason": row["probe_reason"] if slow else None,
        "values": [value / group for value in values],
        "warmups": [warm / calls / group],
        "loops": loops,
        "items": len(chosen) * group,
        "timed_seconds": sum(values) * loops * len(chosen),
        "energy": meter.energy(window, done, again, beat),
        **prepared,
        "shape": row["shape"],
        "dtype": row["dtype"],
    }
