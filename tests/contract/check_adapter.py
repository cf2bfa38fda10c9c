"""Runs inside a library's own environment: what each transform of an adapter really does.

Usage: ``<library python> -I check_adapter.py <adapter> [<channels>]``, with a JSON object of transform name
-> stanza of ``transforms.yaml`` on standard input; a stanza may have ``chunked``: why it is built so. Prints
one JSON line with the names that the adapter builds, then one per transform. It reports and judges nothing:
the expectations are in ``test_adapters.py`` and, for more channels than three, in ``test_nine_channels.py``.
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


def make_item(channels: int = 3) -> np.ndarray:
    """A photo-like uint8 item; its levels are 40..200, so that AutoContrast has something to do.

    More than three channels are further pictures of three, each another one, and of another brightness.
    """
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float64)
    pictures = []
    for number in range(channels // 3):
        waves = [np.sin(x / 31 + y / 53 + number), np.cos(x / 47 - y / 29), np.sin((x + 2 * y) / 61 - number)]
        smooth = np.stack(waves, axis=-1)
        texture = np.random.default_rng(20 + number).normal(0, 0.05, smooth.shape)
        pictures.append(np.clip(120 + 15 * number + 70 * (smooth + texture), 40, 200).astype(np.uint8))
    return np.concatenate(pictures, axis=-1)


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


def build(adapter: Any, name: str, params: dict[str, Any], chunked: bool = False) -> Any:
    """Build a transform with every warning an error, as the worker does."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return (adapter.build_chunked if chunked else adapter.build)(name, params)


def examine(adapter: Any, name: str, stanza: dict[str, Any], item: np.ndarray) -> dict[str, Any]:
    """What one transform does, as plain values."""
    native, chunked = adapter.native(item), "chunked" in stanza
    before = adapter.to_numpy(native).copy()
    adapter.seed(3)
    free = build(adapter, name, stanza["params"], chunked)
    first = free(native)
    seen = np.array(adapter.to_numpy(first), copy=True)

    def call(apply: Any, seed: int | None) -> np.ndarray:
        if seed is not None:
            adapter.seed(seed)
        return np.array(adapter.to_numpy(apply(native)), copy=True)

    over_seeds = [call(free, seed) for seed in SEEDS]
    adapter.seed(3)
    rebuilt = call(build(adapter, name, stanza["params"], chunked), None)
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
        pinned = build(adapter, name, {**stanza["params"], **stanza["pinned"]}, chunked)
        sample, needed = [call(pinned, seed) for seed in SEEDS], len(SEEDS)
        report["distinct_pinned"] = distinct([*sample, *(call(pinned, None) for _ in SEEDS)])
    report["changes_image"] = sum(not np.array_equal(output, before) for output in sample) >= needed
    report["input_unchanged"] = bool(np.array_equal(before, adapter.to_numpy(native)))
    return report


def examine_channels(adapter: Any, name: str, stanza: dict[str, Any], item: np.ndarray) -> dict[str, Any]:
    """What one transform does with each of more than three channels, pinned and seeded; as plain values."""
    params = {**stanza["params"], **stanza.get("pinned", {})}

    def run(pixels: np.ndarray, chunked: bool = False, given: dict[str, Any] = params) -> np.ndarray:
        apply = build(adapter, name, given, chunked)
        adapter.seed(5)
        return np.array(adapter.to_numpy(apply(adapter.native(pixels))), np.float64)

    def largest(one: np.ndarray, other: np.ndarray) -> float | None:
        return float(np.abs(one - other).max()) if one.shape == other.shape else None

    channels = item.shape[2]
    output = run(item, "chunked" in stanza)
    before = adapter.to_numpy(adapter.native(item)).astype(np.float64)
    of_rgb = {**stanza["rgb"]["params"], **stanza["rgb"].get("pinned", {})}
    groups = [slice(first, first + 3) for first in range(0, channels, 3)]
    report = {
        # Each group of three channels, against the same operation on the same three as an image.
        "beside_rgb": [largest(output[..., group], run(item[..., group], given=of_rgb)) for group in groups],
        "changed": output.shape != before.shape
        or [float(np.abs(output - before)[..., channel].mean()) for channel in range(channels)],
        "raises": None,
    }
    if name in REFERENCES:
        report["beside_numpy"] = {
            key: largest(output, reference(before, params)) for key, reference in REFERENCES[name].items()
        }
    if output.shape == before.shape:
        moved = (output - before).reshape(-1, channels)
        with np.errstate(invalid="ignore", divide="ignore"):
            together = np.corrcoef(moved, rowvar=False) - np.eye(channels)
        report["correlation"] = float(np.nan_to_num(np.abs(together)).max())
    # Channels in another order come out in that order where all are treated alike. Every group gets channels
    # of two others, in another place.
    order = [(channel + 4) % channels for channel in range(channels)]
    try:
        report["unlike"] = largest(run(item[..., order]), run(item)[..., order])
    except Exception as error:
        report["raises"] = f"{type(error).__name__}: {error}"
    return report


def one_draw(adapter: Any, name: str, stanza: dict[str, Any], item: np.ndarray) -> bool:
    """Whether chunks that are the same image come out the same, in six calls of the random transform."""
    apply = build(adapter, name, stanza["params"], chunked=True)
    native = adapter.native(np.concatenate([item[..., :3]] * (item.shape[2] // 3), axis=-1))
    adapter.seed(3)
    outputs = [np.array(adapter.to_numpy(apply(native))) for _ in SEEDS]
    return all(
        np.array_equal(output[..., :3], output[..., first : first + 3])
        for output in outputs
        for first in range(3, item.shape[2], 3)
    )


def _grey_of_three(pixels: np.ndarray) -> np.ndarray:
    grey = [pixels[..., first : first + 3] @ LUMA for first in range(0, pixels.shape[2], 3)]
    return np.repeat(np.stack(grey, axis=-1), 3, axis=-1)


def _away_from(pixels: np.ndarray, mean: Any, params: dict[str, Any]) -> np.ndarray:
    return np.clip(mean + params["contrast_factor"][0] * (pixels - mean), 0, 1 if pixels.max() <= 1 else 255)


def _dropped(pixels: np.ndarray, params: dict[str, Any]) -> np.ndarray:
    kept = np.ones(pixels.shape[2])
    kept[params["dropped"]] = 0
    return pixels * kept


LUMA = np.array([0.299, 0.587, 0.114])
# What mixes channels, written again from its meaning: reading -> (item, pinned parameters) -> output.
REFERENCES = {
    "Grayscale": {
        "all": lambda pixels, params: np.repeat(pixels.mean(-1, keepdims=True), pixels.shape[2], axis=-1),
        "three": lambda pixels, params: _grey_of_three(pixels),
    },
    "Contrast": {
        "all": lambda pixels, params: _away_from(pixels, pixels.mean(), params),
        "three": lambda pixels, params: _away_from(pixels, _grey_of_three(pixels).mean((0, 1)), params),
    },
    "ChannelShuffle": {"all": lambda pixels, params: pixels[..., params["order"]]},
    "ChannelDropout": {"all": _dropped},
}


def main() -> None:
    stanzas = json.load(sys.stdin)
    adapter = importlib.import_module(f"augmark.libraries.{sys.argv[1]}").adapter
    adapter.set_threads(1)
    item = make_item(int(sys.argv[2]) if len(sys.argv) > 2 else 3)
    described = {"form": adapter.form, "dtype": adapter.dtype, "builders": sorted(adapter.builders)}
    print(json.dumps(described), flush=True)
    for name, stanza in stanzas.items():
        try:
            report = examine(adapter, name, stanza, item)
            if item.shape[2] > 3:
                report |= examine_channels(adapter, name, stanza, item)
            if "chunked" in stanza:
                report["one_draw"] = one_draw(adapter, name, stanza, item)
        except Exception:
            report = {"error": traceback.format_exc(limit=-4)}
        print(json.dumps({"transform": name, **report}), flush=True)


if __name__ == "__main__":
    main()
