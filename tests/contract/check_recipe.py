"""Runs inside a library's own environment: what each pipeline of a recipe really gives.

Usage: ``<library python> -I check_recipe.py <adapter> <file.jpg>``, with JSON on standard input: ``mean``,
``std``, ``views`` (null for RGB), ``crop`` (parameters of RandomCrop224) and ``rows`` (transform -> stanza
with ``params`` and ``pinned`` as a recipe gets them). Prints one JSON line about loading and seeding, then
one per transform. It reports and judges nothing: the expectations are in ``test_recipes.py``.
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
import torch
from torch.utils.data import DataLoader, Dataset, default_collate

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workflow"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from check_adapter import distinct, make_item

from augmark.data.views import stack

SEEDS = range(4)
TOP, LEFT, SIDE = 5, 30, 224  # where the crop is pinned to


class Check:
    """A recipe, the adapter beside it, and what they are given."""

    def __init__(self, adapter: str, asked: dict[str, Any]) -> None:
        self.recipe = importlib.import_module(f"augmark.libraries.{adapter}_recipe").recipe
        self.adapter = importlib.import_module(f"augmark.libraries.{adapter}").adapter
        self.asked = asked
        rgb = make_item()
        self.item = stack(rgb, asked["views"]) if asked["views"] else rgb
        self.item.setflags(write=False)  # as those of a file that is mapped for reading

    def build(self, name: str, params: dict[str, Any], pinned_crop: bool = False) -> Any:
        """A row's pipeline, every warning an error, as the worker builds it."""
        stanza = self.asked["rows"][name]
        crop = {**self.asked["crop"], **({"position_pixels": [TOP, LEFT]} if pinned_crop else {})}
        row = {"transform": name, "params": params, "chunked": stanza.get("chunked")}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            crop_or_none = None if stanza.get("crops") else crop
            return self.recipe.build(row, crop_or_none, self.asked["mean"], self.asked["std"])

    def call(self, pipeline: Any, seed: int | None = None) -> np.ndarray:
        if seed is not None:
            self.recipe.seed(seed)
        return pipeline(self.recipe.from_item(self.item)).numpy().copy()


def examine(check: Check, name: str) -> dict[str, Any]:
    """What one pipeline gives, as plain values."""
    stanza, before = check.asked["rows"][name], check.item.copy()
    check.recipe.seed(3)
    pipeline = check.build(name, stanza["params"])
    first = pipeline(check.recipe.from_item(check.item))
    over_seeds = [check.call(pipeline, seed) for seed in SEEDS]
    check.recipe.seed(3)
    rebuilt = check.call(check.build(name, stanza["params"]))
    report = {
        "shapes": sorted({output.shape for output in over_seeds}),
        "dtype": str(first.dtype),
        "contiguous": first.is_contiguous(),
        "owned": first.untyped_storage().nbytes() == first.numel() * 4,
        "collated": list(default_collate([first, first]).shape),
        "finite": all(bool(np.isfinite(output).all()) for output in over_seeds),
        "lowest": [float(min(output[c].min() for output in over_seeds)) for c in range(len(first))],
        "highest": [float(max(output[c].max() for output in over_seeds)) for c in range(len(first))],
        "repeats_after_seed": all(
            np.array_equal(output, check.call(pipeline, seed))
            for seed, output in zip(SEEDS, over_seeds, strict=True)
        ),
        "repeats_when_rebuilt": bool(np.array_equal(rebuilt, first.numpy())),
        "distinct_over_seeds": distinct(over_seeds),
        "distinct_in_a_row": distinct([check.call(pipeline) for _ in SEEDS]),
    }
    if "pinned" in stanza:
        report["beside_micro"] = beside_micro(check, name, {**stanza["params"], **stanza["pinned"]})
    report["input_unchanged"] = bool(np.array_equal(before, check.item))
    return report


def beside_micro(check: Check, name: str, params: dict[str, Any]) -> float:
    """Largest difference from the output of mode micro, cropped and normalised by NumPy."""
    stanza = check.asked["rows"][name]
    found = check.call(check.build(name, params, pinned_crop=True), 3)
    cropped = check.item[TOP : TOP + SIDE, LEFT : LEFT + SIDE]
    native = check.adapter.native(check.item if stanza.get("crops") else cropped)
    build = check.adapter.build_chunked if stanza.get("chunked") else check.adapter.build
    check.adapter.seed(3)
    levels = check.adapter.to_numpy(build(name, params)(native))
    unit = 255 if levels.dtype == np.uint8 else 1
    expected = (levels.astype(np.float64) / unit - check.asked["mean"]) / check.asked["std"]
    return float(np.abs(found - expected.transpose(2, 0, 1)).max())


class OneItem(Dataset[torch.Tensor]):
    """One item again and again; each worker builds its pipeline before it is seeded, as after a fork."""

    def __init__(self, check: Check, pipeline: Any) -> None:
        self.check, self.pipeline = check, pipeline

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> torch.Tensor:
        return self.pipeline(self.check.recipe.from_item(self.check.item))


def worker_draws(check: Check, name: str, first_seed: int) -> list[np.ndarray]:
    """Four outputs of two forked workers, in batches of one: worker 0, worker 1, worker 0, worker 1."""
    loader = DataLoader(
        OneItem(check, check.build(name, check.asked["rows"][name]["params"])),
        batch_size=1,
        num_workers=2,
        worker_init_fn=lambda worker: check.recipe.seed(first_seed + worker),
        multiprocessing_context="fork",
        timeout=60,
    )
    return [batch[0].numpy().copy() for batch in loader]


def examine_workers(check: Check, name: str) -> dict[str, Any]:
    """How the draws of two forked workers go together."""
    check.recipe.seed(0)
    draws, again = worker_draws(check, name, 10), worker_draws(check, name, 10)
    others = worker_draws(check, name, 20)
    return {
        "distinct_of_four": distinct(draws),
        "repeats": all(np.array_equal(one, other) for one, other in zip(draws, again, strict=True)),
        "distinct_of_eight": distinct([*draws, *others]),
    }


def examine_files(check: Check, name: str, path: str) -> dict[str, Any]:
    """Whether a file and its decoded pixels come out the same."""
    decoder = importlib.import_module(f"augmark.libraries.{sys.argv[1]}_decoder").decoder
    views = check.asked["views"]
    pixels = np.array(decoder.to_numpy(decoder.read(path)))
    item = stack(pixels, views) if views else pixels
    item.setflags(write=False)
    pipeline = check.build(name, check.asked["rows"][name]["params"])
    outputs = []
    for given in (check.recipe.from_item(item), check.recipe.from_file(path, views)):
        check.recipe.seed(7)
        outputs.append(pipeline(given).numpy().copy())
    return {"same_as_decoded": bool(np.array_equal(*outputs)), "shape": list(outputs[1].shape)}


def main() -> None:
    asked = json.load(sys.stdin)
    check = Check(sys.argv[1], asked)
    check.recipe.set_threads(1)
    about: dict[str, Any] = {"form": check.recipe.form, "dtype": check.recipe.dtype}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check.recipe.from_item(check.item)  # an array that cannot be written is nothing to warn of
    for name in asked["workers"]:
        about[name] = {**examine_workers(check, name), **examine_files(check, name, sys.argv[2])}
    print(json.dumps(about), flush=True)
    for name in asked["rows"]:
        try:
            report = examine(check, name)
        except Exception:
            report = {"error": traceback.format_exc(limit=-4)}
        print(json.dumps({"transform": name, **report}), flush=True)


if __name__ == "__main__":
    main()
