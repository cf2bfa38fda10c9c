"""The measured process: imports one library, takes the rows of one job, tells its parent each result.

Started as ``python -I scripts/worker.py``; the job comes as JSON on standard input, events go as JSON
lines to the file descriptor in the job. Standard library, numpy, pyperf, threadpoolctl and the library.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import signal
import sys
import threading
import time
from typing import Any

# The order matters: the thread variables are in the environment before numpy or a library is imported.
import numpy as np

from augmark.data.itemfile import Items, open_items
from augmark.libraries.base import Adapter
from augmark.worker import rows, threads

PR_SET_PDEATHSIG = 1


def die_with(parent: int) -> None:
    """End when the parent ends, however it ends (Linux: by signal; elsewhere: by looking)."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    else:
        threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    if os.getppid() != parent:
        os._exit(1)


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


class Events:
    """JSON lines to the parent."""

    def __init__(self, descriptor: int) -> None:
        self._stream = os.fdopen(descriptor, "w", buffering=1, encoding="utf-8")

    def send(self, event: str, **fields: Any) -> None:
        self._stream.write(json.dumps({"event": event, **fields}) + "\n")


def main() -> None:
    """Run the job on standard input."""
    job = json.load(sys.stdin)
    die_with(job["parent"])
    events = Events(job["events_fd"])
    adapter = importlib.import_module(f"augmark.libraries.{job['adapter']}").adapter
    adapter.set_threads(job["threads"])
    events.send("imported")
    stored = open_items(job["items_dir"])
    resident = stored.make_resident()
    items = items_that_fit(stored, job["items"], adapter, job["resident_bytes"])
    natives = [adapter.native(item) for item in items]
    events.send("ready", resident=resident, metadata=_pyperf_metadata())
    for row in job["rows"]:
        events.send("row", transform=row["transform"])
        started, clock = time.time(), time.perf_counter()
        if job["kind"] == "probe":
            result = rows.guarded(lambda row=row: rows.probe_row(adapter, row, natives, items, job))
        else:
            beat = lambda: events.send("beat")  # noqa: E731
            result = rows.guarded(
                lambda row=row, beat=beat: rows.measure_row(adapter, row, natives, job, beat)
            )
        result.update(
            transform=row["transform"],
            started=started,
            ended=time.time(),
            wall_seconds=time.perf_counter() - clock,
            form=adapter.form,
            threads_read=threads.read_back(),
        )
        events.send("result", row=result)
    events.send("done")


def items_that_fit(stored: Items, wanted: int, adapter: Adapter, limit_bytes: int) -> list[np.ndarray]:
    """The first items that fit, in native form, into the declared share of memory; at least one.

    A set that does not fit is reduced before the timer starts: swapping would be timed otherwise.
    """
    factor = np.dtype(adapter.dtype).itemsize
    items: list[np.ndarray] = []
    taken = 0
    for index in range(wanted):
        item = stored[index]
        taken += item.nbytes * factor
        if items and taken > limit_bytes:
            break
        items.append(item)
    return items


def _pyperf_metadata() -> dict[str, Any]:
    import pyperf

    run = pyperf.Run([1.0], collect_metadata=True)
    # Names and paths say who measured and where: no fact about the machine.
    private = {"hostname", "command", "name", "python_executable", "python_config_args"}
    return {
        key: value if isinstance(value, int | float) else str(value)
        for key, value in run.get_metadata().items()
        if key not in private
    }
