"""Runs rows of the fake recipe in a library's own environment: JSON on the command line, JSON lines out."""

import json
import os
import sys
from pathlib import Path

import psutil

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "workflow"))

import augmark.libraries  # noqa: E402

augmark.libraries.__path__.append(str(HERE.parent / "fake"))

from augmark.libraries.fake_recipe import recipe  # noqa: E402

from augmark.data.itemfile import open_items  # noqa: E402
from augmark.worker import loader  # noqa: E402
from augmark.worker.loader_data import Ask  # noqa: E402


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


def run(items, told) -> None:
    """Each row through ``run_row``; after it, what is left of it in this process."""
    for row in told["rows"]:
        before, beats = open_descriptors(), []
        result = loader.run_row(recipe, row, items, told["job"], lambda beats=beats: beats.append(1))
        children = psutil.Process().children(recursive=True)
        # Python's own helper of spawned processes stays as long as they may come.
        left = [child.pid for child in children if "resource_tracker" not in " ".join(child.cmdline())]
        after = {"children": left, "descriptors": open_descriptors() - before, "beats": len(beats)}
        print(json.dumps({**result, **after}), flush=True)


def counted(items, told) -> None:
    """Rows on a machine that takes one watt, with windows of a second; for the last, more epochs raise."""
    import time

    from augmark.worker import energy
    from augmark.worker.energy_sources import Counter, Source

    one_watt = Counter("a clock", "package", 1e-6, lambda: time.perf_counter_ns() // 1000)
    energy.meter = lambda cuda: energy.Meter((Source("rapl", 1.0, (one_watt,)),))
    epoch = loader.Pipeline.epoch

    def only_timed(pipeline, number):
        if number > told["job"]["values"]:
            raise RuntimeError("DataLoader worker exited unexpectedly")
        return epoch(pipeline, number)

    for row in told["rows"]:
        if row is told["rows"][-1]:
            loader.Pipeline.epoch = only_timed
        run(items, {**told, "rows": [row]})


def arrivals(items, told) -> None:
    """Numbers of the items (their colour) in the order in which they arrive, per row and epoch."""
    mean, std = told["job"]["mean"][0], told["job"]["std"][0]
    for row in told["rows"]:
        pipeline = loader.Pipeline(recipe, row, items, told["job"], lambda: None)
        pipeline.start()
        epochs = []
        for epoch in range(3):
            pipeline.epoch(epoch)  # sets the batches
            seen = []
            for batch in pipeline.loader:
                seen += [255 - round((value * std + mean) * 255) for value in batch[:, 0, 0, 0].tolist()]
            epochs.append(seen)
        pipeline.end(kill=False)
        print(json.dumps(epochs), flush=True)


def draws(items, told) -> None:
    """What each worker draws, per row."""
    for row in told["rows"]:
        pipeline = loader.Pipeline(recipe, row, items, told["job"], lambda: None)
        pipeline.start()
        print(json.dumps(pipeline.ask(Ask("draws", 8))), flush=True)
        pipeline.end(kill=False)


def descriptors(items, told) -> None:
    """File descriptors and shared memory while a loader is full, over those without one."""
    import time

    for row in told["rows"]:
        before = open_descriptors()
        pipeline = loader.Pipeline(recipe, row, items, told["job"], lambda: None)
        pipeline.start()
        started = open_descriptors() - before
        pipeline.sampler.batches = [[index] for index in range(pipeline.count)]
        iterator, held = iter(pipeline.loader), []
        for _ in range(told["held"]):
            held.append(next(iterator))
            time.sleep(0.05)
        print(json.dumps({"started": started, "holding": open_descriptors() - before}), flush=True)
        del held, iterator
        pipeline.end(kill=True)


if __name__ == "__main__":
    TOLD = json.loads(sys.argv[1])
    globals()[TOLD["what"]](open_items(TOLD["items_dir"]), TOLD)
