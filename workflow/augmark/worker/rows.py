"""One row in the measured process: probing it, or timing it. Every failure is a status and a reason."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from augmark.libraries.base import Adapter
from augmark.worker import contract, timing

Row = dict[str, Any]
DRAWS = 8  # seeds over which a random transform must differ at least once


class Raised(Exception):
    """Calls of the transform raised: how many of how many, and the first error."""


def build(adapter: Adapter, transform: str, params: dict[str, Any]) -> timing.Apply:
    """Build one transform; a warning while it is built is an error, since libraries only warn on
    unknown arguments and then measure their defaults."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return adapter.build(transform, params)


def count_failures(apply: timing.Apply, items: Sequence[Any], calls: int, first: BaseException) -> Raised:
    """Call ``calls`` times, count what raises, and say it with the error that was met first."""
    failed = 0
    for index in range(calls):
        try:
            apply(items[index % len(items)])
        except Exception:
            failed += 1
    # The error that led here was seen on top of these calls and may not come again.
    failed, calls = (failed, calls) if failed else (1, calls + 1)
    return Raised(f"raised in {failed} of {calls} calls: {describe(first)}")


def describe(error: BaseException) -> str:
    """Type and first line of an error, short enough for a footnote."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:300]}" if text else type(error).__name__


def guarded(work: Callable[[], Row]) -> Row:
    """Run one row's work and turn what it raises into a status and a reason."""
    try:
        return work()
    except contract.Invalid as error:
        return {"status": "invalid", "reason": str(error)}
    except Raised as error:
        return {"status": "failed", "reason": str(error)}
    except MemoryError as error:
        return {"status": "oom", "reason": describe(error)}
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a library may even call sys.exit: that is a row's failure, not the job's
        return {"status": "failed", "reason": f"raised while it was built or checked: {describe(error)}"}


def probe_row(
    adapter: Adapter, row: Row, natives: Sequence[Any], items: Sequence[np.ndarray], job: Row
) -> Row:
    """Build a transform, check its contract, judge its speed warm, keep a pinned sample."""
    apply = build(adapter, row["transform"], row["params"])
    try:
        shape = _check_calls(adapter, apply, row, natives, items)
        _check_randomness(adapter, apply, row, natives[0])
        warm = timing.warm_seconds_per_item(
            apply, natives, job["warmup_seconds"], job["slow_judged_on_items"]
        )
    except contract.Invalid:
        raise
    except Exception as error:
        raise count_failures(apply, natives, job["failure_calls"], error) from error
    slow = warm > job["slow_floor_seconds_per_item"]
    result = {
        "status": "slow" if slow else "ok",
        "reason": f"{warm:.3g} s per item, floor {job['slow_floor_seconds_per_item']} s" if slow else None,
        "warm_seconds_per_item": warm,
        "shape": shape[0],
        "dtype": shape[1],
    }
    result["sample"] = _keep_sample(adapter, row, natives, job)
    return result


def _check_calls(
    adapter: Adapter, apply: timing.Apply, row: Row, natives: Sequence[Any], items: Sequence[np.ndarray]
) -> tuple[str, str]:
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


def _check_randomness(adapter: Adapter, apply: timing.Apply, row: Row, native: Any) -> None:
    def draw(seed: int) -> np.ndarray:
        adapter.seed(seed)
        return np.array(adapter.to_numpy(apply(native)))

    first = draw(0)
    if not contract.same(first, draw(0)):
        raise contract.Invalid("the same seed gave two different outputs")
    differs = any(not contract.same(first, draw(seed)) for seed in range(1, DRAWS))
    if row["random"] and not differs:
        raise contract.Invalid(f"not random: {DRAWS} seeds gave the same output")
    if not row["random"] and differs:
        raise contract.Invalid("random although it is declared deterministic")


def _keep_sample(adapter: Adapter, row: Row, natives: Sequence[Any], job: Row) -> str | None:
    """Outputs with the randomness pinned, for the equivalence of libraries: uint8, one file per row."""
    if row["pinned"] is None or job.get("samples_dir") is None:
        return None
    apply = build(adapter, row["transform"], {**row["params"], **row["pinned"]})
    name = f"{row['transform']}.npz"
    outputs = {}
    for index, native in enumerate(natives[: job["sample_items"]]):
        adapter.seed(index)
        output = np.asarray(adapter.to_numpy(apply(native)))
        if output.dtype.kind == "f":
            output = np.clip(np.rint(output * 255.0), 0, 255).astype(np.uint8)
        outputs[f"item{index}"] = output
    np.savez_compressed(Path(job["samples_dir"]) / name, **outputs)
    return name


def measure_row(
    adapter: Adapter, row: Row, natives: Sequence[Any], job: Row, beat: Callable[[], None]
) -> Row:
    """Time one row: warm-up, then the declared number of values.

    Returns:
        Row with raw seconds per item; of a slow row over fewer items, with status ``slow``.
    """
    apply = build(adapter, row["transform"], row["params"])
    slow = row["probed"] == "slow"
    chosen = natives[: job["slow_measured_items"]] if slow else natives
    values_wanted, loops = (1, 1) if slow else (job["values"], row["loops"])
    gc.collect()
    try:
        calls, warm = timing.warm_up(apply, chosen, job["warmup_seconds"])
        beat()
        # After the warm-up, whose number of calls varies: the timed draws are the same on every run.
        adapter.seed(row["seed"])
        values = timing.values_of(apply, chosen, loops=loops, values=values_wanted, after=beat)
    except Exception as error:
        raise count_failures(apply, natives, len(natives), error) from error
    return {
        "status": "slow" if slow else "ok",
        "reason": row["probe_reason"] if slow else None,
        "values": values,
        "warmups": [warm / calls],
        "loops": loops,
        "items": len(chosen),
        "timed_seconds": sum(values) * loops * len(chosen),
        "shape": row["shape"],
        "dtype": row["dtype"],
    }
