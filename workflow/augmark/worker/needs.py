"""What a DataLoader row needs of a machine, worked out before anything is started. Standard library only.

A loader that runs out of shared memory or of file descriptors dies in the middle of an epoch with a message
about neither (a bus error; a batch that cannot be received), so both are compared beforehand.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from augmark.errors import AugmarkError
from augmark.modes import MODES
from augmark.worker.contract import expected_shape

Row = Mapping[str, Any]
CROP_PIXELS = 224
FLOAT_BYTES = 4
SHARED_MEMORY = "/dev/shm"

# Resident memory with torchvision, AlbumentationsX and Kornia (torch 2.14): main process 532 to 677 MiB; of
# its own a forked worker 13 to 35 MiB, a spawned one 300 to 376 MiB. Transforms' own buffers come on top.
MAIN_BYTES = 768 << 20
WORKER_BYTES = {"fork": 128 << 20, "forkserver": 512 << 20, "spawn": 512 << 20}

# Counted in /proc/self/fd of the main process, torch 2.14, fork: 2 for the results' queue, 4 per worker (its
# queue's two ends, its process, its lifeline), and 1 per batch that has arrived. What is open before
# (standard streams, the pipe of events, the mapped items) is below 32.
OPEN_BEFORE, PER_LOADER, PER_WORKER = 32, 2, 4


@dataclass(frozen=True)
class Needs:
    """What one row needs; bytes, and descriptors open at the same time in the main process."""

    memory_bytes: int
    shared_memory_bytes: int
    file_descriptors: int


@dataclass(frozen=True)
class Available:
    """What there is; None: this system does not say, and nothing is checked."""

    memory_bytes: int | None
    shared_memory_bytes: int | None
    file_descriptors: int | None


def available(memory_limit_bytes: int | None) -> Available:
    """What this machine has free."""
    try:
        about = os.statvfs(SHARED_MEMORY)
        shared: int | None = about.f_bavail * about.f_frsize
    except OSError:
        shared = None
    try:
        import resource
    except ImportError:
        return Available(memory_limit_bytes, shared, None)
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return Available(memory_limit_bytes, shared, None if limit == resource.RLIM_INFINITY else limit)


def sample_shape(row: Row, channels: int) -> tuple[int, int, int]:
    """The largest C, H, W that the row's recipe gives: the transform's output for a crop of 224 x 224."""
    sizes = expected_shape(row["output"]["shape"], CROP_PIXELS, CROP_PIXELS)
    return (channels, *max(sizes, key=lambda size: size[0] * size[1]))


def loader_needs(row: Row, items_index: Row, mode: str) -> Needs:
    """What one row needs while its loader is full.

    In flight are ``workers x prefetch_factor`` batches in shared memory and the one in the main process's
    hands. Beside them each worker holds the samples of the batch that it is about to collate.

    Args:
        row: Of the plan, with ``loader``.
        items_index: The index of the prepared items; in mode ``dataloader-memory`` they all stay in memory.
    """
    loader = row["loader"]
    workers, channels = loader["workers"], items_index["shapes"][0][2]
    channels, height, width = sample_shape(row, channels)
    batch_bytes = loader["batch_size"] * channels * height * width * FLOAT_BYTES
    in_flight = workers * loader["prefetch_factor"] + 1
    items_bytes = 0 if MODES[mode].decodes else items_index["total_bytes"]
    worker_bytes = WORKER_BYTES[loader["start_method"]] + batch_bytes
    in_memory = in_flight if workers else 2  # without workers its samples and itself
    return Needs(
        memory_bytes=MAIN_BYTES + items_bytes + workers * worker_bytes + in_memory * batch_bytes,
        shared_memory_bytes=in_flight * batch_bytes if workers else 0,
        file_descriptors=OPEN_BEFORE + (PER_LOADER + PER_WORKER * workers + in_flight if workers else 0),
    )


_WORDS = {
    "memory_bytes": ("memory", "this machine allows", " B"),
    "shared_memory_bytes": ("shared memory", f"{SHARED_MEMORY} has free", " B"),
    "file_descriptors": ("open files", "a process may have", ""),
}


def check_needs(
    rows: Iterable[Row],
    items_index: Row,
    mode: str,
    memory_limit_bytes: int | None,
    have: Available | None = None,
) -> None:
    """Refuse a job whose loaders would run out of something.

    Args:
        rows: Of the definition; those that are not run are passed over.
        have: What there is, where it is not to be looked up.

    Raises:
        AugmarkError: It names what is short, the row that needs most of it, and what to do.
    """
    have = have or available(memory_limit_bytes)
    run = [row for row in rows if row["planned"] == "run" and row["loader"]]
    needs = [(row, loader_needs(row, items_index, mode)) for row in run]
    for what, (name, where, unit) in _WORDS.items():
        there = getattr(have, what)
        if not needs or there is None:
            continue
        worst, most = max(((row, getattr(need, what)) for row, need in needs), key=lambda pair: pair[1])
        if most > there:
            raise AugmarkError(
                f"the DataLoader of {worst['id']} needs {most:,}{unit} of {name}, {where} {there:,}{unit} "
                f"({_load(worst, items_index)})",
                where=mode,
                remedy=_remedy(what, most, _that_fits(worst, items_index, mode, what, there)),
            )


def _load(row: Row, items_index: Row) -> str:
    loader = row["loader"]
    shape = "x".join(map(str, sample_shape(row, items_index["shapes"][0][2])))
    return (
        f"{loader['workers']} workers, {loader['prefetch_factor']} batches ahead each, "
        f"{loader['batch_size']} samples of {shape} float32 a batch"
    )


def _that_fits(row: Row, items_index: Row, mode: str, what: str, there: int) -> tuple[int, int] | None:
    """Batch size and workers that would fit: smaller batches first, then fewer workers; None: none does."""
    batch_size, workers = row["loader"]["batch_size"], row["loader"]["workers"]
    while True:
        loader = {**row["loader"], "batch_size": batch_size, "workers": workers}
        if getattr(loader_needs({**row, "loader": loader}, items_index, mode), what) <= there:
            return batch_size, workers
        if batch_size > 1 and what != "file_descriptors":
            batch_size //= 2
        elif workers > 1:
            batch_size, workers = row["loader"]["batch_size"], workers // 2
        else:
            return None


def _remedy(what: str, most: int, fits: tuple[int, int] | None) -> str:
    smaller = "" if fits is None else f"--config batch_size={fits[0]} workers={fits[1]}"
    larger = {
        "memory_bytes": "a machine with more memory, or fewer items (--config items=...)",
        "shared_memory_bytes": f"mount {SHARED_MEMORY} with {-(-most // (1 << 30))} GiB or more "
        "(containers: --shm-size)",
        "file_descriptors": f"ulimit -n {most}",
    }[what]
    return f"{larger}, or {smaller}" if smaller else larger
