"""Runs inside a library's own environment: what a library's transforms do under one setting of a sweep.

Usage: ``<library python> -I check_regimes.py <adapter> <setting as JSON>``, with a JSON object of transform
name -> stanza of ``transforms.yaml`` on standard input. Prints one JSON line per transform. It reports and
judges nothing: the expectations are in ``test_regimes.py``.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "workflow"), str(HERE)]

from check_adapter import build, distinct, is_real, make_item  # noqa: E402

from augmark.libraries.base import Unsupported  # noqa: E402

SEEDS = range(6)


def make_items(count: int) -> list[np.ndarray]:
    """Different items of one shape, and one of another in their midst."""
    item = make_item()
    ways = [item, item[::-1], item[:, ::-1], 240 - item]
    items = [np.ascontiguousarray(ways[index % len(ways)]) for index in range(count)]
    return [items[0], np.ascontiguousarray(item.transpose(1, 0, 2)), *items[1:]]


def levels(outputs: list[np.ndarray]) -> list[np.ndarray]:
    """Outputs on the scale 0..255."""
    return [output * 255.0 if output.dtype.kind == "f" else output.astype(np.float64) for output in outputs]


def apart(first: list[np.ndarray], second: list[np.ndarray]) -> dict[str, Any]:
    """How far outputs are from each other, in levels."""
    pairs = list(zip(levels(first), levels(second), strict=True))
    if any(one.shape != other.shape for one, other in pairs):
        return {"shapes": [[list(one.shape), list(other.shape)] for one, other in pairs]}
    off = [np.abs(one - other) for one, other in pairs]
    return {"most": float(max(each.max() for each in off)), "mean": float(np.mean([e.mean() for e in off]))}


def call(adapter: Any, apply: Any, native: Any, seed: int) -> list[np.ndarray]:
    """Samples of one call after seeding, copied: H x W x C each."""
    adapter.seed(seed)
    output = apply(native)
    samples = adapter.samples(output) if hasattr(adapter, "samples") else [adapter.to_numpy(output)]
    return [np.array(sample, copy=True) for sample in samples]


def examine(plain: Any, variant: Any, name: str, stanza: dict[str, Any]) -> dict[str, Any]:
    """What one transform does under the setting, as plain values."""
    items = make_items(max(variant.group, 2))
    natives, firsts = variant.natives(items)
    native, group = natives[0], [items[index] for index in variant.groups(items)[0]]
    before = [sample.copy() for sample in variant.samples(native)]
    free = build(variant, name, stanza["params"])
    prepared = variant.prepare(free, natives)
    over_seeds = [call(variant, free, native, seed) for seed in SEEDS]
    repeated = [items[0]] * variant.group
    same = [call(variant, free, variant.natives(repeated)[0][0], seed) for seed in SEEDS]
    variant.seed(0)
    report = {
        "draws": variant.draws_of(name),
        "flags": prepared.flags,
        "first_call_seconds": prepared.first_call_seconds,
        "real": is_real(free(native)),
        "firsts_fit": bool(np.array_equal(firsts[0], group[0])) and len(firsts) == len(natives),
        "samples": len(over_seeds[0]),
        "dtype": str(over_seeds[0][0].dtype),
        "lowest": float(min(sample.min() for samples in over_seeds for sample in samples)),
        "highest": float(max(sample.max() for samples in over_seeds for sample in samples)),
        "same_after_seed": distinct([over_seeds[0][0], call(variant, free, native, 0)[0]]) == 1,
        "distinct_over_seeds": distinct([samples[0] for samples in over_seeds]),
        "distinct_in_batch": max(distinct(samples) for samples in same),
        "input_unchanged": apart(before, variant.samples(native))["most"] == 0,
    }
    # A batch has one draw per item, and pins are of one item: a batch is compared where nothing is drawn.
    if "pinned" in stanza and not (variant.group > 1 and stanza["random"]):
        params = {**stanza["params"], **stanza["pinned"]}
        one_by_one = build(plain, name, params)
        wanted = [call(plain, one_by_one, plain.native(item), 0)[0] for item in group]
        pinned = build(variant, name, params)
        report["apart"] = apart(call(variant, pinned, native, 0), wanted)
    return report


def main() -> None:
    stanzas = json.load(sys.stdin)
    library = f"augmark.libraries.{sys.argv[1]}"
    plain = importlib.import_module(library).adapter
    variant = importlib.import_module(f"{library}_regimes").variant(json.loads(sys.argv[2]))
    plain.set_threads(1)
    variant.set_threads(1)
    for name, stanza in stanzas.items():
        try:
            report = examine(plain, variant, name, stanza)
        except Unsupported as reason:
            report = {"unsupported": str(reason)}
        print(json.dumps({"transform": name, **report}), flush=True)


if __name__ == "__main__":
    main()
