"""The measured process: imports one library, takes the rows of one job, tells its parent each result.

Started as ``python -I scripts/worker.py``; the job comes as JSON on standard input, events go as JSON
lines to the file descriptor in the job. Standard library, numpy, pyperf, threadpoolctl and the library. The
thread variables are in its environment before any of them is imported.
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

from augmark.worker import status, threads

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
    # By name: the code of one mode is no part of what another's rows depend on.
    bench = importlib.import_module(job["runner"]).Bench(job)
    events.send("imported")
    resident = bench.make_ready()
    events.send("ready", resident=resident, metadata=_pyperf_metadata())
    for row in job["rows"]:
        events.send("row", transform=row["id"])
        started, clock = time.time(), time.perf_counter()
        work = bench.probe if job["kind"] == "probe" else bench.measure
        result = status.guarded(lambda row=row, work=work: work(row, lambda: events.send("beat")))
        result.update(
            id=row["id"],
            started=started,
            ended=time.time(),
            wall_seconds=time.perf_counter() - clock,
            threads_read=threads.read_back(),
        )
        result.setdefault("form", bench.form)
        events.send("result", row=result)
        if result.get("retire"):  # what it started cannot be ended from inside: a new process takes the rest
            events.send("retired")
            return
    if job["kind"] == "measure":
        # By name, too: nothing that is read when all is timed can change a row.
        facts = importlib.import_module("augmark.worker.library_facts").library_facts
        events.send("built", build=facts())
    events.send("done")


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
