"""DataLoader modes: what a training job sees. Rows are tried in this process and timed by ``loader``."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from augmark.data.itemfile import Items, open_items
from augmark.modes import MODES
from augmark.worker import contract, loader, status, timing

Row = dict[str, Any]
DRAWS = 8  # seeds over which a random recipe must differ at least once
CROP_PIXELS = 224  # what the paper's recipes cut to: the sides of what a transform behind the crop is given


class Bench:
    """One library's recipes over mapped items or files.

    Args:
        job: As the parent sends it.
    """

    def __init__(self, job: Row) -> None:
        self.job = job
        self._recipe = getattr(importlib.import_module(job["module"]), job["export"])
        # None: as the library leaves them, also in the workers, which inherit what is set here.
        if job["threads"] is not None:
            self._recipe.set_threads(job["threads"])
        self.form = self._recipe.form

    def make_ready(self) -> float | None:
        """Map the items; decoded ones are brought into memory once, for all workers together."""
        self._stored = open_items(self.job["items_dir"])
        return None if MODES[self.job["mode"]].decodes else self._stored.make_resident()

    def measure(self, row: Row, beat: Callable[[], None]) -> Row:
        """Time a row's epochs."""
        return loader.run_row(self._recipe, row, self._stored, self.job, beat)

    def probe(self, row: Row, beat: Callable[[], None]) -> Row:
        """Build a recipe, check what it gives, judge its speed warm."""
        job = self.job
        pipeline = self._recipe.build(row, None if row["crops"] else job["crop"], job["mean"], job["std"])
        positions = loader.positions(self._stored, job)
        if not positions:
            return {"status": "excluded", "reason": f"no JPEG file among the {job['items']} items"}
        sources = [source(self._recipe, self._stored, position, job) for position in positions]
        try:
            shape = self._check(pipeline, row, positions, sources)
            beat()
            warm = timing.warm_seconds_per_item(
                pipeline, sources, job["warmup_seconds"], job["slow_judged_on_items"]
            )
        except contract.Invalid:
            raise
        except Exception as error:
            raise status.count_failures(pipeline, sources, job["failure_calls"], error) from error
        slow = warm > job["slow_floor_seconds_per_item"]
        floor = job["slow_floor_seconds_per_item"]
        return {
            "status": "slow" if slow else "ok",
            "reason": f"{warm:.3g} s per item, floor {floor} s" if slow else None,
            "warm_seconds_per_item": warm,
            "shape": shape,
            "dtype": "float32",
        }

    def _check(
        self, pipeline: Callable[[Any], Any], row: Row, positions: list[int], sources: list[Any]
    ) -> str:
        """Shape, type, values and randomness of what the recipe gives: a tensor (C, H, W)."""
        channels = self._stored.index["channels"]
        for number, given in enumerate(sources):
            self._recipe.seed(number)
            output = pipeline(given)
            check_tensor(output, row, channels)
        self._check_randomness(pipeline, row, positions, sources)
        return "x".join(map(str, output.shape))

    def _check_randomness(
        self, pipeline: Callable[[Any], Any], row: Row, positions: list[int], sources: list[Any]
    ) -> None:
        """Seeds decide; what is random is the transform, and the crop of an item that leaves it room."""
        items = [self._stored[position] for position in positions]
        tried = contract.most_telling(items)
        room = any(max(items[index].shape[:2]) > CROP_PIXELS for index in tried) and not row["crops"]
        differs = False
        for index in tried:
            first = self._drawn(pipeline, sources[index], 0)
            if not np.array_equal(first, self._drawn(pipeline, sources[index], 0)):
                raise contract.Invalid("the same seed gave two different outputs")
            others = (self._drawn(pipeline, sources[index], seed) for seed in range(1, DRAWS))
            differs = differs or any(not np.array_equal(first, other) for other in others)
        if (row["random"] or room) and not differs:
            raise contract.Invalid(f"not random: {DRAWS} seeds gave the same output on {len(tried)} items")
        if differs and not (row["random"] or room):
            raise contract.Invalid("random although it is declared deterministic")

    def _drawn(self, pipeline: Callable[[Any], Any], given: Any, seed: int) -> np.ndarray:
        self._recipe.seed(seed)
        return pipeline(given).numpy().copy()


def source(recipe: Any, stored: Items, position: int, job: Row) -> Any:
    """What a recipe starts from: the decoded item, or its file decoded by the library's own decoder."""
    if MODES[job["mode"]].decodes:
        return recipe.from_file(str(stored.file(position)), job["views"] or None)
    return recipe.from_item(stored[position])


def check_tensor(output: Any, row: Row, channels: int) -> None:
    """Raise Invalid unless a recipe's output is the batch element that its row promises.

    Args:
        output: Should be a contiguous, finite float32 tensor (C, H, W).
    """
    allowed = [
        (channels, *size)
        for size in contract.expected_shape(row["output"]["shape"], CROP_PIXELS, CROP_PIXELS)
    ]
    if tuple(output.shape) not in allowed:
        sizes = " or ".join("x".join(map(str, size)) for size in allowed)
        raise contract.Invalid(f"shape {'x'.join(map(str, output.shape))}, expected {sizes}")
    if str(output.dtype) != "torch.float32":
        raise contract.Invalid(f"dtype {output.dtype}, expected torch.float32")
    if not output.is_contiguous():
        raise contract.Invalid("the tensor is not contiguous")
    if not np.isfinite(output.numpy()).all():
        raise contract.Invalid("output holds NaN or infinity")
