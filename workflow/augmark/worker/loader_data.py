"""What runs inside the workers of a DataLoader: the samples, and answers to what the main process asks.

A question travels as an index in a batch of its own, and its answer as the sample: that way it is known to
come from inside the worker. Standard library, numpy, threadpoolctl and torch.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import multiprocessing
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.data import Dataset, default_collate, get_worker_info

from augmark.data.itemfile import Items, open_items
from augmark.modes import MODES
from augmark.worker import contract, loader_draws, loader_split, threads
from augmark.worker.status import describe

MARK = "augmark-worker:"
POLICIES = ("pipeline-default", "pipeline-single-worker")
COUNTED_CALLS, COUNTED_SECONDS = 50, 1.0  # of a transform that raised: to say how many of how many calls do
SPLIT_SECONDS = 1.0  # whole batches are split until so much time has passed, and at least the policy's items


class InWorker(Exception):
    """What ended a row inside a worker: its message is ``MARK`` and JSON with ``status`` and ``reason``.

    torch sends only an exception's type and the text of its traceback to the main process: text it is.
    """


def ended(status: str, reason: str) -> InWorker:
    """An error that tells the main process how the row ended."""
    return InWorker(MARK + json.dumps({"status": status, "reason": reason}))


def told(error: BaseException) -> dict[str, str] | None:
    """Status and reason of an error that came out of a worker, or None: it was not one of ``ended``."""
    _, mark, text = str(error).rpartition(MARK)
    return json.JSONDecoder().raw_decode(text)[0] if mark else None


@dataclass(frozen=True)
class Ask:
    """An index that stands for a question.

    Attributes:
        what: ``ready``, ``check``, ``draws``, ``seed``, ``threads`` or ``split``.
        number: Of draws, or of the items of a batch.
        index: Of the item to draw on.
        whole: Draw on all of it, else on its centre of the crop's size.
    """

    what: str
    number: int = 0
    index: int = 0
    whole: bool = False


def build(recipe: Any, row: dict[str, Any], job: dict[str, Any]) -> Callable[[Any], torch.Tensor]:
    """The row's pipeline; a warning while it is built is an error, as in mode micro."""
    crop = None if row.get("crops") else job["crop"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return recipe.build(row, crop, job["mean"], job["std"])


def positions(items: Items, job: dict[str, Any]) -> list[int]:
    """The items of a run: the first ones; where files are decoded, the first that every decoder reads."""
    if not MODES[job["mode"]].decodes:
        return list(range(min(job["items"], len(items))))
    files = items.index.get("files") or ()
    return [number for number, about in enumerate(files) if about["format"] == "JPEG"][: job["items"]]


class Samples(Dataset):
    """Index of a chosen item -> sample, float32 (C, H, W), normalised; ``Ask`` -> answer, JSON as uint8.

    Args:
        recipe: The library's.
        row: The plan's row with ``seed`` and ``loader``.
        items: The prepared items.
        job: See ``loader.run_row``.
    """

    def __init__(self, recipe: Any, row: dict[str, Any], items: Items, job: dict[str, Any]) -> None:
        self.row, self.job, self.worker, self.calls = row, job, 0, 0
        self.positions = positions(items, job)
        if not self.positions:
            raise ended("failed", f"there is no JPEG file among the {job['items']} items")
        decodes = MODES[job["mode"]].decodes
        self.paths = [str(items.file(position)) for position in self.positions] if decodes else []
        self._take(recipe, items)

    def __len__(self) -> int:
        return len(self.positions)

    def _take(self, recipe: Any, items: Items) -> None:
        self.recipe, self.items = recipe, items
        self.apply = build(recipe, self.row, self.job)

    def __getstate__(self) -> dict[str, Any]:
        """Of a start method that pickles: what was built stays behind and is built again over there."""
        own = ("recipe", "items", "apply")
        return {
            **{key: value for key, value in vars(self).items() if key not in own},
            "at": self.items.folder,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        folder = state.pop("at")
        vars(self).update(state)
        module = importlib.import_module(f"augmark.libraries.{self.job['adapter']}_recipe")
        self._take(module.recipe, open_items(folder))

    def __getitem__(self, index: int | Ask) -> torch.Tensor:
        if isinstance(index, Ask):
            return _as_tensor(self._answer(index))
        self.calls += 1
        try:
            return self.apply(self.decode(index))
        except Exception as error:
            raise self._failure(error, index) from None

    def _answer(self, ask: Ask) -> Any:
        try:
            return getattr(self, f"_{ask.what}")(ask)
        except InWorker:
            raise
        except Exception as error:
            raise ended("failed", f"raised while it was checked: {describe(error)}") from None

    def decode(self, index: int) -> Any:
        """What the pipeline takes: the decoded item itself, or its file read with the library's decoder."""
        if self.paths:
            return self.recipe.from_file(self.paths[index], self.job["views"] or None)
        return self.recipe.from_item(self.items[self.positions[index]])

    def _failure(self, error: Exception, index: int) -> InWorker:
        """Say how many of how many calls raise: of those so far, and of some more on the same item."""
        if isinstance(error, MemoryError):
            return ended("oom", describe(error))
        failed, calls, until = 1, self.calls, time.perf_counter() + COUNTED_SECONDS
        while calls < self.calls + COUNTED_CALLS and time.perf_counter() < until:
            calls += 1
            try:
                self.apply(self.decode(index))
            except Exception:
                failed += 1
        return ended("failed", f"raised in {failed} of {calls} calls: {describe(error)}")

    def start(self, worker: int) -> None:
        """Thread policy and seed of one worker, before its first sample."""
        self.worker = worker
        policy = self.row["loader"]["policy"]
        if policy not in POLICIES:
            raise ValueError(f"thread policy {policy!r} is not one of {', '.join(POLICIES)}")
        if policy == "pipeline-single-worker":
            one_thread(self.recipe)
        self._seed()

    def _seed(self, _ask: Ask | None = None) -> None:
        self.recipe.seed(loader_split.worker_seed(self.row["seed"], self.worker))

    def _ready(self, _ask: Ask) -> int:
        return self.worker

    def _threads(self, _ask: Ask) -> dict[str, int]:
        return threads.read_back()

    def _check(self, _ask: Ask) -> dict[str, str]:
        """Shape and dtype of a sample, which keeps the contract of a recipe."""
        from augmark.worker.pipeline import check_tensor

        sample = self[0]
        try:
            check_tensor(sample, self.row, self.items[self.positions[0]].shape[2])
        except contract.Invalid as error:
            raise ended("invalid", str(error)) from None
        return {"shape": "x".join(map(str, sample.shape)), "dtype": str(sample.dtype).rpartition(".")[2]}

    def pictures(self, whole: bool, larger: bool = False) -> list[loader_draws.Picture]:
        """The items to draw on, see ``loader_draws.pictures``."""
        few = (self.items[position] for position in self.positions[: loader_draws.TRIED])
        return loader_draws.pictures(few, whole, larger)

    def _draws(self, ask: Ask) -> list[str]:
        """Hashes of outputs of one same item, in the order of this worker's draws."""
        item = loader_draws.part(self.items[self.positions[ask.index]], ask.whole)
        hashes: list[str] = []
        try:
            for _ in range(ask.number):
                self.calls += 1
                output = self.apply(self.recipe.from_item(item))
                hashes.append(hashlib.sha256(output.contiguous().numpy()).hexdigest()[:16])
        except Exception as error:
            raise self._failure(error, ask.index) from None
        return hashes

    def _split(self, ask: Ask) -> dict[str, float]:
        """Seconds per item of decoding, augmenting and collating, measured one after the other.

        Inside the timers: ``decode`` of each item, then ``apply`` on it, then ``default_collate`` of the
        samples (which in a worker writes them to shared memory, as in an epoch).
        """
        clock, taken = time.perf_counter, {"decode": 0.0, "augment": 0.0, "collate": 0.0}
        done, until, count = 0, clock() + SPLIT_SECONDS, len(self)
        least = self.job["slow_measured_items" if self.row["probed"] == "slow" else "split_items"]
        while done < least or clock() < until:
            samples: list[torch.Tensor] = []
            while len(samples) < ask.number:
                begin = clock()
                decoded = self.decode((done + len(samples)) % count)
                between = clock()
                samples.append(self.apply(decoded))
                end = clock()
                taken["decode"] += between - begin
                taken["augment"] += end - between
                if end > until and done + len(samples) >= least:
                    break
            begin = clock()
            default_collate(samples)
            taken["collate"] += clock() - begin
            done += len(samples)
        return {name: seconds / done for name, seconds in taken.items()}


def one_thread(recipe: Any) -> None:
    """Give every pool of this worker one thread (OpenCV's keeps all of them in a worker otherwise)."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(limits=1)
    torch.set_num_threads(1)
    recipe.set_threads(1)
    cv2: Any = sys.modules.get("cv2")
    if cv2 is not None:
        cv2.setNumThreads(0)  # 0 is OpenCV's word for "no pool"


def collate(samples: list[torch.Tensor]) -> torch.Tensor:
    """Default collation; what it raises reaches the main process as the row's end."""
    try:
        return default_collate(samples)
    except Exception as error:
        # torch's words for a full /dev/shm: "unable to ... shared memory", "No space left on device".
        full = any(words in str(error) for words in ("shared memory", "No space left"))
        raise ended(
            "oom" if full or isinstance(error, MemoryError) else "failed",
            f"in the collation: {describe(error)}",
        ) from None


def start_worker(worker: int) -> None:
    """``worker_init_fn`` of every loader: end with the main process, then thread policy and seed."""
    from augmark.worker.child import die_with

    parent, info = multiprocessing.parent_process(), get_worker_info()
    # A fork server stands in between: then torch's own watch of the parent has to do.
    if parent is not None and info.dataset.row["loader"]["start_method"] != "forkserver":
        die_with(parent.pid)
    try:
        info.dataset.start(worker)
    except Exception as error:
        raise ended("failed", f"raised while a worker was set up: {describe(error)}") from None


def _as_tensor(answer: Any) -> torch.Tensor:
    return torch.frombuffer(bytearray(json.dumps(answer).encode()), dtype=torch.uint8)


def answer_of(batch: torch.Tensor) -> Any:
    """What was answered in a batch of one."""
    return json.loads(batch[0].numpy().tobytes())
