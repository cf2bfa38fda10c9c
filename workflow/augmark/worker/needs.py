"""What a DataLoader row needs of a machine, worked out before anything is started. Imports psutil besides.

A loader that runs out of shared memory or of file descriptors dies in the middle of an epoch with a message
about neither (a bus error; a batch that cannot be received), so both are compared beforehand.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass
from typing import Any

import psutil

from augmark.errors import AugmarkError
from augmark.modes import MODES
from augmark.worker.contract import expected_shape
from augmark.worker.loader_split import sizes

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
    """What there is; None: this system does not say, and nothing is checked.

    Attributes:
        memory_bytes: What the job may use.
        free_bytes: Of memory, what is free now or can be had back from caches.
    """

    memory_bytes: int | None
    shared_memory_bytes: int | None
    file_descriptors: int | None
    free_bytes: int | None = None


def available(memory_limit_bytes: int | None) -> Available:
    """What this machine has, of memory also what is free of it at the moment."""
    free = psutil.virtual_memory().available
    try:
        about = os.statvfs(SHARED_MEMORY)
        shared: int | None = about.f_bavail * about.f_frsize
    except OSError:
        shared = None
    try:
        import resource
    except ImportError:
        return Available(memory_limit_bytes, shared, None, free)
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return Available(memory_limit_bytes, shared, None if limit == resource.RLIM_INFINITY else limit, free)


def sample_shape(row: Row, channels: int) -> tuple[int, int, int]:
    """The largest C, H, W that the row's recipe gives: the transform's output for a crop of 224 x 224."""
    sizes = expected_shape(row["output"]["shape"], CROP_PIXELS, CROP_PIXELS)
    return (channels, *max(sizes, key=lambda size: size[0] * size[1]))


def epoch_items(items_index: Row, mode: str) -> int:
    """How many items an epoch takes: all of them, or those that every decoder reads."""
    if not MODES[mode].decodes:
        return len(items_index["shapes"])
    return sum(about["format"] == "JPEG" for about in items_index.get("files") or ())


def loader_needs(row: Row, items_index: Row, mode: str) -> Needs:
    """What one row needs while its loader is full.

    In flight are ``workers x prefetch_factor`` batches in shared memory and the one in the main process's
    hands, or all batches of an epoch where they are fewer. Beside them each worker holds the samples of the
    batch that it is about to collate.

    Args:
        row: Of the plan, with ``loader``. Whether it is slow, and takes fewer items, is not known yet.
        items_index: The index of the prepared items; in mode ``dataloader-memory`` they all stay in memory.
    """
    loader = row["loader"]
    workers, channels = loader["workers"], items_index["shapes"][0][2]
    channels, height, width = sample_shape(row, channels)
    items, batch_size = sizes(workers, loader["batch_size"], epoch_items(items_index, mode), None)
    batch_count, batch_bytes = -(-items // batch_size), batch_size * channels * height * width * FLOAT_BYTES
    in_flight = min(workers * loader["prefetch_factor"] + 1, batch_count)
    in_memory = in_flight + min(workers, batch_count) if workers else 2  # else its samples and itself
    # When workers are asked something, each answers with a batch of its own.
    open_files = PER_LOADER + PER_WORKER * workers + max(in_flight, workers) if workers else 0
    return Needs(
        memory_bytes=MAIN_BYTES
        + _resident_bytes(items_index, mode)
        + workers * WORKER_BYTES[loader["start_method"]]
        + in_memory * batch_bytes,
        shared_memory_bytes=in_flight * batch_bytes if workers else 0,
        file_descriptors=OPEN_BEFORE + open_files,
    )


def _resident_bytes(items_index: Row, mode: str) -> int:
    return 0 if MODES[mode].decodes else items_index["total_bytes"]


# Of Needs and of Available; the thing, where it is, its unit.
_CHECKS = (
    ("memory_bytes", "memory_bytes", "memory", "this machine allows", " B"),
    ("memory_bytes", "free_bytes", "memory", "free now are", " B"),
    ("shared_memory_bytes", "shared_memory_bytes", "shared memory", f"{SHARED_MEMORY} has free", " B"),
    ("file_descriptors", "file_descriptors", "open files", "a process may have", ""),
)


def check_needs(
    rows: Iterable[Row],
    items_index: Row,
    mode: str,
    memory_limit_bytes: int | None,
    have: Available | None = None,
) -> dict[str, str]:
    """Find the rows whose loaders would run out of something.

    Args:
        rows: Of the definition; those that are not run are passed over.
        have: What there is, where it is not to be looked up.

    Returns:
        Id -> what the row needs, what there is, and what to do, of the rows that do not fit.

    Raises:
        AugmarkError: None of them fits: the same of the row that needs most.
    """
    have = have or available(memory_limit_bytes)
    run = [row for row in rows if row["planned"] == "run" and row["loader"]]
    large = {row["id"]: row for row in run if _short(loader_needs(row, items_index, mode), have)}
    if large and len(large) == len(run):
        worst = max(run, key=lambda row: astuple(loader_needs(row, items_index, mode)))
        what, remedy = _told(worst, items_index, mode, have)
        raise AugmarkError(
            f"no DataLoader row fits this machine; of {worst['id']} {what}", where=mode, remedy=remedy
        )
    told = {name: _told(row, items_index, mode, have) for name, row in large.items()}
    return {name: f"{what}; remedy: {remedy}" for name, (what, remedy) in told.items()}


def _short(need: Needs, have: Available) -> list[tuple[str, str]]:
    """What there is not enough of: fields of Needs and of Available, the lesser of two for the same need."""
    found: dict[str, str] = {}
    for wanted, where, *_ in _CHECKS:
        there, known = getattr(have, where), found.get(wanted)
        if there is not None and there < getattr(need, wanted):
            found[wanted] = where if known is None or there < getattr(have, known) else known
    return list(found.items())


def _told(row: Row, items_index: Row, mode: str, have: Available) -> tuple[str, str]:
    """What one row lacks, and what to do about all of it."""
    need = loader_needs(row, items_index, mode)
    short = _short(need, have)
    lacks = [
        f"{getattr(need, wanted):,}{unit} of {name}, {words} {getattr(have, where):,}{unit}"
        for wanted, where, name, words, unit in _CHECKS
        if (wanted, where) in short
    ]
    smaller = _smaller(row, items_index, mode, have)
    larger = " and ".join(_larger(need, wanted, items_index, mode, have) for wanted, _ in short)
    return (
        f"the loader needs {'; and '.join(lacks)} ({_load(row, items_index, mode)})",
        f"{larger}, or {smaller}" if smaller else larger,
    )


def _load(row: Row, items_index: Row, mode: str) -> str:
    loader = row["loader"]
    shape = "x".join(map(str, sample_shape(row, items_index["shapes"][0][2])))
    _, batch_size = sizes(loader["workers"], loader["batch_size"], epoch_items(items_index, mode), None)
    return (
        f"{loader['workers']} workers, {loader['prefetch_factor']} batches ahead each, "
        f"{batch_size} samples of {shape} float32 a batch"
    )


def _smaller(row: Row, items_index: Row, mode: str, have: Available) -> str | None:
    """Batch size and workers that would fit: smaller batches first, then fewer workers; None: none does.

    What the row's condition sets cannot be set otherwise.
    """
    fixed, loader = row.get("setting") or {}, row["loader"]
    for workers in _halves(loader["workers"], "workers" in fixed):
        for batch_size in _halves(loader["batch_size"], "batch_size" in fixed):
            tried = {**row, "loader": {**loader, "batch_size": batch_size, "workers": workers}}
            if not _short(loader_needs(tried, items_index, mode), have):
                said = {"batch_size": batch_size, "workers": workers}
                return "--config " + " ".join(f"{key}={said[key]}" for key in said if key not in fixed)
    return None


def _halves(number: int, fixed: bool) -> Iterator[int]:
    yield number
    while number > 1 and not fixed:
        number //= 2
        yield number


def _larger(need: Needs, wanted: str, items_index: Row, mode: str, have: Available) -> str:
    """More of what is short; fewer items only where it is the items that take the memory."""
    most = getattr(need, wanted)
    if wanted == "shared_memory_bytes":
        return f"mount {SHARED_MEMORY} with {-(-most // (1 << 30))} GiB free (containers: --shm-size)"
    if wanted == "file_descriptors":
        return f"ulimit -n {most}"
    enough = have.memory_bytes is None or most <= have.memory_bytes
    more = "end what else takes memory" if enough else "a machine with more memory"
    items_bytes = _resident_bytes(items_index, mode)
    least = min(each for each in (have.memory_bytes, have.free_bytes) if each is not None)
    fewer = items_bytes and most - items_bytes < least
    return f"{more}, or fewer items (--config items=...)" if fewer else more
