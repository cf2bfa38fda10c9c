"""The DataLoader modes: what a training job sees of a library, one row at a time.

Inside the timer of one value: from ``iter(loader)`` until the last batch of the epoch has arrived in the main
process (mode ``dataloader-copy``: has arrived on the device, synchronised at the end); outside: building the
recipe, starting the workers, every check, the warm-up epoch, and the end of the workers.

The main process never runs a transform and has one torch thread when it forks: a pool of threads that has
been at work does not survive a fork, and a worker that then asks for it waits for ever.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils.data import DataLoader
from torch.utils.data._utils import signal_handling

from augmark import host
from augmark.data.itemfile import Items
from augmark.worker import energy, loader_data, loader_draws, loader_split
from augmark.worker.loader_data import Ask, ended, positions
from augmark.worker.status import describe, without_folders

# How many workers there are is declared, and rows say where that is too many for the processors.
warnings.filterwarnings("ignore", message="This DataLoader will create")

__all__ = ["positions", "run_row"]
Row = dict[str, Any]
BEAT_SECONDS = 2.0
COPIES = 4  # of one batch, to time the copy alone
# As it was when this process began: what a pipeline without workers runs with unless it is told otherwise.
THREADS_AT_START = torch.get_num_threads()


class Batches:
    """A batch sampler whose batches are set from outside before each epoch."""

    def __init__(self) -> None:
        self.batches: list[list[Any]] = []

    def __iter__(self) -> Iterator[list[Any]]:
        return iter(self.batches)

    def __len__(self) -> int:
        return len(self.batches)


def run_row(recipe: Any, row: Row, items: Items, job: Row, beat: Callable[[], None]) -> Row:
    """Measure one row.

    Args:
        recipe: The library's recipe.
        row: The plan's row, with ``seed``, ``probed`` (``ok`` or ``slow``), ``probe_reason`` and ``loader``.
        items: The prepared items.
        job: ``mode``, ``adapter``, ``items`` (how many), ``values`` (timed epochs), ``crop`` (parameters of
            RandomCrop224), ``mean``, ``std``, ``views``, ``order_seed``, ``slow_measured_items`` (per worker)
            and ``split_items``.
        beat: Called as a sign of life, at least every few seconds while batches arrive.

    Returns:
        What ``rows.measure_row`` returns, and ``loader`` where there are numbers; ``retire`` is true where
        this process must not run another row: its workers had to be killed, or it has run transforms itself.
    """
    pipeline: Pipeline | None = None
    # A process that has run transforms itself has pools that would not survive the fork of a later row.
    end: Row = {"retire": row["loader"]["workers"] == 0}
    try:
        pipeline = Pipeline(recipe, row, items, job, beat)
        end.update(_measured(pipeline))
    except Exception as error:
        end.update(_failed(error, row, pipeline))
    if pipeline is not None:
        end["retire"] = end["retire"] or pipeline.broken
        pipeline.end(kill=end["status"] in ("timeout", "crashed") or pipeline.broken)
    return end


def _measured(pipeline: Pipeline) -> Row:
    """Start, check, warm up, time, split, and count the energy."""
    row, job = pipeline.row, pipeline.job
    startup_seconds = pipeline.start()
    pipeline.stage = "at a worker's first item"
    seen = pipeline.ask(Ask("check"))[0]
    _check_draws(pipeline)
    pipeline.ask(Ask("seed"))  # the draws of the epochs are the same whatever was checked before
    gc.collect()
    pipeline.stage = "in the warm-up epoch"
    first_epoch_seconds = pipeline.epoch(0)
    pools = pipeline.ask(Ask("threads"))  # once every pool that the row uses is there
    slow, values = row["probed"] == "slow", []
    meter = energy.meter(pipeline.device is not None and pipeline.device.type == "cuda")
    window = meter.start()
    for epoch in range(1, 2 if slow else job["values"] + 1):
        pipeline.stage = f"in timed epoch {epoch}"
        values.append(pipeline.epoch(epoch) / pipeline.count)
        window.read_if_due()
    window.read()
    done = len(values) * pipeline.count
    loader = {
        **row["loader"],
        "batch_size": pipeline.batch_size,
        "startup_seconds": startup_seconds,
        "first_epoch_seconds": first_epoch_seconds,
        "epochs": len(values),
        "threads_in_workers": pools,
        "oversubscribed": oversubscribed(pipeline.workers, pools, host.cpus()),
        **_split(pipeline, sum(values) / len(values)),
    }
    return {
        "status": "slow" if slow else "ok",
        "reason": row["probe_reason"] if slow else None,
        "values": values,
        "warmups": [first_epoch_seconds / pipeline.count],
        "loops": 1,
        "items": pipeline.count,
        "timed_seconds": sum(values) * pipeline.count,
        "loader": loader,
        "energy": meter.energy(window, done, _again(pipeline, len(values)), pipeline.beat),
        "flags": pipeline.flags(),
        **seen,
    }


def _again(pipeline: Pipeline, epochs: int) -> Callable[[], int]:
    """What does one more epoch of the same, after those that were timed; it gives its items."""
    numbers = itertools.count(epochs + 1)

    def again() -> int:
        pipeline.broken = True  # until it has gone well: nobody knows what state workers are left in
        pipeline.epoch(next(numbers))
        pipeline.broken = False
        return pipeline.count

    return again


def oversubscribed(workers: int, pools: list[dict[str, int]], cpus: int) -> bool:
    """Whether the workers' threads can want more processors than there are."""
    largest = max((count for each in pools for count in each.values()), default=1)
    return max(1, workers) * largest > cpus


def _split(pipeline: Pipeline, epoch_seconds_per_item: float) -> Row:
    pipeline.stage = "while its parts were timed apart"
    parts, copy = pipeline.ask(Ask("split", pipeline.batch_size), everybody=False)[0], pipeline.copy_seconds()
    lane_count = loader_split.lanes(pipeline.workers, host.cpus())
    split = loader_split.split_of(parts, copy, epoch_seconds_per_item, lane_count)
    return {"split": split, "bound_by": loader_split.bound_by(split, epoch_seconds_per_item, lane_count)}


def _check_draws(pipeline: Pipeline) -> None:
    """No two workers draw the same augmentations, where there are any, nor the same crops."""
    if pipeline.workers < 2:
        return
    pipeline.stage, row = "while its draws were checked", pipeline.row
    few = loader_draws.FEW_OF_SLOW if row["probed"] == "slow" else loader_draws.FEW
    asked = []  # whether of the whole item, whether of the crop
    if row["random"]:
        asked.append((bool(row.get("crops")), False))
    if not row.get("crops"):
        asked.append((True, True))
    for whole, crop in asked:

        def draw(index: int, number: int, whole: bool = whole) -> list[list[str]]:
            return pipeline.ask(Ask("draws", number, index, whole))

        wrong = loader_draws.repeated(draw, pipeline.samples.pictures(whole, larger=crop), few, crop)
        if wrong is not None:
            raise ended("invalid", wrong)


class Pipeline:
    """A DataLoader over one row's recipe.

    Attributes:
        stage: What it is at, in words, for the reason of a row that ends there.
        count: Items of an epoch.
        broken: Whether its workers have to be ended by force, although the row has its numbers.
    """

    def __init__(self, recipe: Any, row: Row, items: Items, job: Row, beat: Callable[[], None]) -> None:
        plan = row["loader"]
        self.row, self.job, self.beat, self.workers = row, job, beat, plan["workers"]
        self.stage, self.broken = "while it was built", False
        self.device = torch.device(plan["copy_to"]) if plan["copy_to"] else None
        per_worker = job["slow_measured_items"] if row["probed"] == "slow" else None
        torch.set_num_threads(1 if self.workers else THREADS_AT_START)
        self.samples = loader_data.Samples(recipe, row, items, job)
        self.count, self.batch_size = loader_split.sizes(
            self.workers, plan["batch_size"], len(self.samples), per_worker
        )
        self.sampler = Batches()
        self.loader: DataLoader | None = None
        self.batch: torch.Tensor | None = None

    def flags(self) -> list[str]:
        """What is otherwise than declared, for the row; of a slow one its status says already."""
        smaller = self.batch_size < self.row["loader"]["batch_size"] and self.row["probed"] != "slow"
        idle = self.count < self.workers
        return [*(["reduced-batch"] if smaller else []), *(["idle-workers"] if idle else [])]

    def start(self) -> float:
        """Start the workers; seconds until each has answered."""
        self.stage, begin, plan = "when its workers were started", time.perf_counter(), self.row["loader"]
        several: Row = {}
        if self.workers:
            several = {
                "num_workers": self.workers,
                "prefetch_factor": plan["prefetch_factor"],
                "persistent_workers": True,
                "timeout": plan["timeout_seconds"],
                "multiprocessing_context": plan["start_method"],
                "worker_init_fn": loader_data.start_worker,
            }
        else:
            self.samples.start(0)
        self.loader = DataLoader(
            self.samples, batch_sampler=self.sampler, collate_fn=loader_data.collate, **several
        )
        answered = self.ask(Ask("ready"))
        if answered != list(range(max(1, self.workers))):
            raise RuntimeError(f"asked each worker once, and {answered} answered")
        return time.perf_counter() - begin

    def ask(self, ask: Ask, everybody: bool = True) -> list[Any]:
        """Ask each worker, in the order of their ids; or the first one only.

        torch hands batch k of an epoch to worker k modulo their number, so one batch each reaches them all.
        """
        assert self.loader is not None
        self.sampler.batches = [[ask]] * (max(1, self.workers) if everybody else 1)
        answers = []
        for batch in self.loader:
            answers.append(loader_data.answer_of(batch))
            self.beat()
        return answers

    def epoch(self, number: int) -> float:
        """Seconds from ``iter(loader)`` until the last batch of an epoch has arrived (on the device)."""
        assert self.loader is not None
        positions = loader_split.order(self.job["order_seed"], number, self.count)
        self.sampler.batches = loader_split.batches(positions, self.batch_size)
        self.batch, arrived, device, clock = None, 0, self.device, time.perf_counter
        begin = clock()
        due = begin + BEAT_SECONDS
        for batch in self.loader:
            if device is not None:
                batch.to(device)
            arrived += len(batch)
            if clock() > due:
                self.beat()
                due = clock() + BEAT_SECONDS
        if device is not None:
            synchronise(device)
        seconds = clock() - begin
        if arrived != self.count:
            raise RuntimeError(f"{arrived} items arrived, {self.count} were asked for")
        self.batch = batch
        self.beat()
        return seconds

    def copy_seconds(self) -> float | None:
        """Seconds per item of copying one batch of the last epoch to the device, alone; None without one."""
        if self.device is None or self.batch is None:
            return None
        synchronise(self.device)
        begin = time.perf_counter()
        for _ in range(COPIES):
            self.batch.to(self.device)
        synchronise(self.device)
        return (time.perf_counter() - begin) / (COPIES * len(self.batch))

    @property
    def _iterator(self) -> Any:
        return None if self.loader is None else self.loader._iterator

    def forget(self) -> None:
        """Have torch's signal handler forget the workers: it would raise, anywhere, at the death of one.

        It raises once at most for one loader, which may be on the way here.
        """
        iterator = self._iterator
        for _ in range(2):
            with contextlib.suppress(RuntimeError):
                if getattr(iterator, "_worker_pids_set", False):
                    signal_handling._remove_worker_pids(id(iterator))
                    iterator._worker_pids_set = False

    def worker_ends(self) -> list[str]:
        """How workers ended that are no longer there; a moment is left to those that are about to go."""
        ends, until = [], time.monotonic() + 0.5
        for number, process in enumerate(getattr(self._iterator, "_workers", [])):
            process.join(max(0.0, until - time.monotonic()))
            if process.exitcode is not None:
                ends.append(f"worker {number} of {self.workers} {_exit_words(process.exitcode)}")
        return ends

    def end(self, kill: bool) -> None:
        """End the workers: those of a loader in trouble by force, since they may wait for ever."""
        self.forget()
        iterator = self._iterator
        if iterator is not None and hasattr(iterator, "_workers"):
            if kill:
                _kill(iterator)
            iterator._shutdown_workers()
            iterator._worker_result_queue.close()
        if self.loader is not None:
            self.loader._iterator = None
        self.loader = self.batch = None
        del iterator
        gc.collect()  # the pipes to the workers are closed by their objects' end


def _kill(iterator: Any) -> None:
    iterator._shutdown = True  # so that torch does not speak to the dead
    for process in iterator._workers:
        with contextlib.suppress(OSError):
            process.kill()
    for process in iterator._workers:
        process.join(5)
    for queue in [*iterator._index_queues, iterator._worker_result_queue]:
        queue.cancel_join_thread()
        queue.close()


def _failed(error: Exception, row: Row, pipeline: Pipeline | None) -> Row:
    """Status and reason of a row that ended early, whatever process it happened in."""
    known, name, plan, text = loader_data.told(error), row["transform"], row["loader"], str(error)
    if known is not None:
        return dict(known)
    if pipeline is None:
        return {"status": "failed", "reason": f"raised while it was built: {describe(error)}"}
    if isinstance(error, MemoryError):
        return {"status": "oom", "reason": describe(error)}
    if text.startswith("DataLoader timed out"):
        seconds = f"{plan['timeout_seconds']:g} s, {pipeline.stage}"
        reason = f"{name}: no batch from {plan['workers']} workers within {seconds}"
        return {"status": "timeout", "reason": reason, "retire": True}
    pipeline.forget()
    ends = pipeline.worker_ends()
    # A worker that dies while its batch is fetched shows as a broken pipe or a file that is not there.
    if ends or text.startswith("DataLoader worker"):
        how = "; ".join(ends) or "a worker was lost"
        return {"status": "crashed", "reason": f"{name}: {how}, {pipeline.stage}", "retire": True}
    lines = [line for line in text.splitlines() if line.strip()]
    # A page of traceback out of a worker: its last line is the error.
    caught = text.startswith("Caught ") and lines
    words = without_folders(lines[-1].strip())[:300] if caught else describe(error)
    return {"status": "failed", "reason": f"{pipeline.stage}: {words}"}


def _exit_words(code: int) -> str:
    if code >= 0:
        return f"ended with exit status {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = "unknown"
    short = ": shared memory ran out?" if name == "SIGBUS" else ""
    return f"ended with signal {-code} ({name}{short})"


def synchronise(device: torch.device) -> None:
    """Wait until the device has done what it was asked to; the CPU always has."""
    if device.type in ("cuda", "mps"):
        getattr(torch, device.type).synchronize()
