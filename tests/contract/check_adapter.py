"""Runs inside a library's own environment: what each transform of an adapter really does.

Usage: ``<library python> -I check_adapter.py <adapter>``, with a JSON object of transform name -> stanza of
``transforms.yaml`` on standard input. Prints one JSON line with the names that the adapter builds, then one
per transform. It reports and judges nothing: the expectations are in ``test_adapters.py``.
"""

from __future__ import annotations

import importlib
import json
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workflow"))

HEIGHT, WIDTH = 240, 320  # both above the crops' 224, and not square, so that swapped sides show
SEEDS = range(6)


def make_item() -> np.ndarray:
    """A photo-like uint8 item; its levels are 40..200, so that AutoContrast has something to do."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float64)
    smooth = np.stack([np.sin(x / 31 + y / 53), np.cos(x / 47 - y / 29), np.sin((x + 2 * y) / 61)], axis=-1)
    texture = np.random.default_rng(20).normal(0, 0.05, smooth.shape)
    return np.clip(120 + 70 * (smooth + texture), 40, 200).astype(np.uint8)


def is_real(output: Any) -> bool:
    """Whether the output is computed and lies in one contiguous piece of memory."""
    if hasattr(output, "is_contiguous"):  # torch
        return bool(output.is_contiguous())
    if isinstance(output, np.ndarray):
        return bool(output.flags.c_contiguous)
    return not getattr(output, "tile", [])  # a Pillow image that is still to be decoded has tiles


def distinct(outputs: list[np.ndarray]) -> int:
    """How many different arrays there are."""
    return len({(output.shape, output.tobytes()) for output in outputs})


def build(adapter: Any, name: str, params: dict[str, Any]) -> Any:
    """Build a transform with every warning an error, as the worker does."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return adapter.build(name, params)


def examine(adapter: Any, name: str, stanza: dict[str, Any], item: np.ndarray) -> dict[str, Any]:
    """What one transform does, as plain values."""
    native = adapter.native(item)
    before = adapter.to_numpy(native).copy()
    adapter.seed(3)
    free = build(adapter, name, stanza["params"])
    first = free(native)
    seen = np.array(adapter.to_numpy(first), copy=True)

    def call(apply: Any, seed: int | None) -> np.ndarray:
        if seed is not None:
            adapter.seed(seed)
        return np.array(adapter.to_numpy(apply(native)), copy=True)

    over_seeds = [call(free, seed) for seed in SEEDS]
    adapter.seed(3)
    rebuilt = call(build(adapter, name, stanza["params"]), None)
    report = {
        "real": is_real(first),
        "shape": list(seen.shape),
        "dtype": str(seen.dtype),
        "finite": bool(np.isfinite(seen).all()),
        "lowest": float(min(output.min() for output in over_seeds)),
        "highest": float(max(output.max() for output in over_seeds)),
        "repeats_after_seed": all(
            np.array_equal(output, call(free, seed)) for seed, output in zip(SEEDS, over_seeds, strict=True)
        ),
        "repeats_when_rebuilt": bool(np.array_equal(rebuilt, seen)),
        "distinct_over_seeds": distinct(over_seeds),
        "distinct_in_a_row": distinct([call(free, None) for _ in SEEDS]),
    }
    sample, needed = over_seeds, len(SEEDS) // 2  # a draw may come out as no change
    if "pinned" in stanza:
        pinned = build(adapter, name, {**stanza["params"], **stanza["pinned"]})
        sample, needed = [call(pinned, seed) for seed in SEEDS], len(SEEDS)
        report["distinct_pinned"] = distinct([*sample, *(call(pinned, None) for _ in SEEDS)])
    report["changes_image"] = sum(not np.array_equal(output, before) for output in sample) >= needed
    report["input_unchanged"] = bool(np.array_equal(before, adapter.to_numpy(native)))
    return report


def main() -> None:
    stanzas = json.load(sys.stdin)
    adapter = importlib.import_module(f"augmark.libraries.{sys.argv[1]}").adapter
    adapter.set_threads(1)
    item = make_item()
    described = {"form": adapter.form, "dtype": adapter.dtype, "builders": sorted(adapter.builders)}
    print(json.dumps(described), flush=True)
    for name, stanza in stanzas.items():
        try:
            report = examine(adapter, name, stanza, item)
        except Exception:
            report = {"error": traceback.format_exc(limit=-4)}
        print(json.dumps({"transform": name, **report}), flush=True)


if __name__ == "__main__":
    main()
