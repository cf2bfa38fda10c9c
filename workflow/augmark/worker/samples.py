"""What ``probe`` keeps of a row, so that the work of libraries can be compared: outputs and draws.

Runs in a library's environment: standard library and numpy only. ``analysis.equivalence`` reads it.

In the folder of a probe:

``inputs-<digest>.npz``
    ``item<k>``: the items themselves, uint8 H x W x C, once for all rows that were given them.
``<transform>.npz``
    ``item<k>``: the output for item k with the randomness pinned, uint8 H x W x C. Where it cannot be pinned
    there is ``drawn-item<k>`` instead, what seed 0 gives for one item: to be looked at, not compared.
    ``draws``: float64, one line per seed with the two figures that ``names`` says, in levels 0..255, of the
    unpinned transform on that item (none where nothing is random, or where it is too slow). ``inputs``: the
    digest of its inputs.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from augmark.libraries.base import Adapter
from augmark.worker.building import build

INPUTS = "inputs-"
DRAWN = "drawn-"
DRAWS = 256  # seeds: then distributions that are a quarter apart (Kolmogorov-Smirnov) are told apart
LEAST_DRAWS = 16  # below it no distance is beyond chance at the level that `analysis.draws` asks for
DRAW_SECONDS = 1.0  # for all draws of a row; a slower transform is drawn fewer times, but for the least
SLOWEST_DRAW_SECONDS = 0.75  # beyond it the least number alone takes twelve seconds: no draws
# Of the draws of a row whose outputs have the shape of their inputs, and of one whose outputs have not.
CHANGE = ("mean difference", "mean absolute difference")
CONTENT = ("mean", "standard deviation")


def keep(
    adapter: Adapter,
    row: Mapping[str, Any],
    natives: Sequence[Any],
    items: Sequence[np.ndarray],
    job: Mapping[str, Any],
) -> str | None:
    """Write the samples of one row into ``job["samples_dir"]``.

    Args:
        adapter: The library.
        row: Plan row (``transform params pinned random output``); ``pinned`` None: it cannot be pinned.
        natives, items: The same items, in the native form and as uint8 H x W x C.
        job: With ``samples_dir`` (None: nothing is kept) and ``sample_items``.

    Returns:
        The name of the file, or None where none is asked for.

    Raises:
        Exception: Whatever the library raises when it is built with its randomness pinned, or called.
    """
    if job.get("samples_dir") is None:
        return None
    arrays: dict[str, np.ndarray] = {}
    if row["pinned"] is not None:
        apply = build(adapter, row, {**row["params"], **row["pinned"]})
        for index, native in enumerate(natives[: job["sample_items"]]):
            adapter.seed(index)
            arrays[f"item{index}"] = levels(adapter.to_numpy(apply(native)))
    if row["random"] and len(natives):
        apply = build(adapter, row, row["params"])
        same_shape = row["output"]["shape"] == "same"
        index = telling(items[: job["sample_items"]])
        found = draws(adapter, apply, natives[index], items[index] if same_shape else None)
        if row["pinned"] is None:
            adapter.seed(0)
            arrays[f"{DRAWN}item{index}"] = levels(adapter.to_numpy(apply(natives[index])))
        if found is not None:
            arrays["draws"] = found
            arrays["names"] = np.array(CHANGE if same_shape else CONTENT)
    folder = Path(job["samples_dir"])
    arrays["inputs"] = np.array(_write_inputs(folder, items[: job["sample_items"]]))
    name = f"{row['transform']}.npz"
    np.savez_compressed(folder / name, **arrays)
    return name


def telling(items: Sequence[np.ndarray]) -> int:
    """The item with the most contrast: on a dark or flat one most transforms do next to nothing."""
    return int(np.argmax([item.std() for item in items]))


def levels(output: Any) -> np.ndarray:
    """An output as uint8; floats are of the range 0..1, scaled and rounded."""
    output = np.asarray(output)
    if output.dtype.kind == "f":
        output = np.clip(np.rint(output * 255.0), 0, 255)
    # A copy: the output may lie in memory that the library uses again.
    return np.array(output, dtype=np.uint8)


def draws(
    adapter: Adapter, apply: Callable[[Any], Any], native: Any, item: np.ndarray | None
) -> np.ndarray | None:
    """Two figures of each of up to ``DRAWS`` outputs, in levels.

    Args:
        item: What outputs are held against; None where they have another shape: then it is their own mean
            and standard deviation, since no pixel of theirs belongs to one of the input.

    Returns:
        Seeds x 2, or None where the transform is too slow to be drawn ``LEAST_DRAWS`` times.
    """
    adapter.seed(0)
    apply(native)  # the first call may be a cold one
    adapter.seed(0)
    start = time.perf_counter()
    adapter.to_numpy(apply(native))
    took = time.perf_counter() - start
    if took > SLOWEST_DRAW_SECONDS:
        return None
    count = DRAWS
    while count > LEAST_DRAWS and count * took > DRAW_SECONDS:
        count //= 2
    return np.array([_figures(adapter, apply, native, item, seed) for seed in range(count)])


def _figures(
    adapter: Adapter, apply: Callable[[Any], Any], native: Any, item: np.ndarray | None, seed: int
) -> tuple[float, float]:
    adapter.seed(seed)
    output = levels(adapter.to_numpy(apply(native)))
    if item is None:
        return float(output.mean()), float(output.std())
    difference = output.astype(np.int16) - item
    return float(difference.mean()), float(np.abs(difference).mean())


def inputs_digest(items: Sequence[np.ndarray]) -> str:
    """The short digest of the items that a row was given: of their shapes and pixels, in their order."""
    content = hashlib.sha256()
    for item in items:
        content.update(repr(item.shape).encode())
        content.update(np.ascontiguousarray(item))
    return content.hexdigest()[:10]


def _write_inputs(folder: Path, items: Sequence[np.ndarray]) -> str:
    """Write the items unless they are there; their digest."""
    digest = inputs_digest(items)
    path = folder / f"{INPUTS}{digest}.npz"
    if not path.exists():
        part = folder / "inputs.part.npz"
        np.savez_compressed(part, **{f"item{index}": item for index, item in enumerate(items)})
        os.replace(part, path)
    return digest
