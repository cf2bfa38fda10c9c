"""The small parent: starts the worker, watches it, and turns a death into a row's status.

No library is imported here. Per row there is a hard time limit, for the worker a limit on resident
memory. When a worker dies the row in flight gets its status and a new worker takes the rest. Both end
when whoever started them is gone: the parent watches that process, the worker has the parent's death
signal.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from augmark.errors import AugmarkError
from augmark.worker import threads

Row = dict[str, Any]
WORKER = Path(__file__).resolve().parents[3] / "scripts" / "worker.py"
POLL_SECONDS = 0.1


class Orphaned(Exception):
    """Whoever started this job is gone."""


@dataclass(frozen=True)
class Limits:
    """Hard limits of one job. Seconds and bytes."""

    row_timeout_seconds: float
    startup_timeout_seconds: float
    memory_limit_bytes: int


@dataclass
class Outcome:
    """What came back: a result per row, and what each worker process said of itself."""

    rows: list[Row] = field(default_factory=list)
    processes: list[dict[str, Any]] = field(default_factory=list)


class Watched:
    """Whether the process that started us is still there.

    Args:
        pid: Its process id, or None: nobody to watch.
    """

    def __init__(self, pid: int | None) -> None:
        self.pid = pid
        self._fd: int | None = None
        if pid is None:
            return
        if hasattr(os, "pidfd_open"):
            try:
                self._fd = os.pidfd_open(pid)
            except ProcessLookupError as error:
                raise Orphaned(f"process {pid} is gone") from error

    def check(self) -> None:
        """Raise Orphaned when it is gone."""
        if self._fd is not None:
            if select.select([self._fd], [], [], 0)[0]:
                raise Orphaned(f"process {self.pid} is gone")
        elif self.pid is not None and not psutil.pid_exists(self.pid):
            raise Orphaned(f"process {self.pid} is gone")


class _Worker:
    """One worker process and the pipe that its events come through."""

    def __init__(self, job: dict[str, Any], thread_count: int) -> None:
        read_fd, write_fd = os.pipe()
        self.read_fd, self._buffer = read_fd, b""
        self.process = subprocess.Popen(
            [sys.executable, "-I", str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=sys.stderr,
            pass_fds=(write_fd,),
            env={**os.environ, **threads.environment(thread_count)},
            start_new_session=True,
        )
        os.close(write_fd)
        text = json.dumps({**job, "events_fd": write_fd, "parent": os.getpid()})
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(text.encode())
            self.process.stdin.close()
        except BrokenPipeError:
            pass  # it died at once; that is seen, and told, where its end is handled

    def events(self, seconds: float) -> list[dict[str, Any]] | None:
        """What came within ``seconds``; None once the worker has closed its end."""
        if not select.select([self.read_fd], [], [], seconds)[0]:
            return []
        chunk = os.read(self.read_fd, 1 << 16)
        if not chunk:
            return None
        *lines, self._buffer = (self._buffer + chunk).split(b"\n")
        return [json.loads(line) for line in lines if line]

    def resident_bytes(self) -> int:
        """Resident memory of the worker and of all that it started."""
        total = 0
        try:
            mine = psutil.Process(self.process.pid)
            for process in [mine, *mine.children(recursive=True)]:
                total += process.memory_info().rss
        except psutil.Error:
            pass  # it ended while we looked
        return total

    def kill(self) -> None:
        """End it and everything that it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def exit_code(self) -> int:
        """How it ended, once it has closed its end of the pipe; it may have closed it and go on."""
        try:
            return self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.kill()
            return self.process.returncode

    def close(self) -> None:
        os.close(self.read_fd)


def run(
    job: dict[str, Any],
    rows: list[Row],
    limits: Limits,
    watched: Watched,
    said: Callable[[str, Row], None],
) -> Outcome:
    """Have all rows done by as many workers as it takes.

    Args:
        job: What every worker is told, without rows.
        rows: In the order in which they are to be done.
        said: Called with ``"row"`` when a row begins and ``"result"`` when it has a status.

    Raises:
        AugmarkError: A worker ended before its first row: no row is to blame.
        Orphaned: Whoever started this job is gone.
    """
    outcome, left = Outcome(), list(rows)
    while left:
        worker = _Worker({**job, "rows": left}, job["threads"])
        try:
            _follow(worker, left, limits, watched, said, outcome)
        finally:
            worker.kill()
            worker.close()
    return outcome


def _follow(
    worker: _Worker,
    left: list[Row],
    limits: Limits,
    watched: Watched,
    said: Callable[[str, Row], None],
    outcome: Outcome,
) -> None:
    """Follow one worker to its end, taking rows off ``left`` as they get a status."""
    number, in_flight, deadline = (
        len(outcome.processes),
        None,
        time.monotonic() + limits.startup_timeout_seconds,
    )
    outcome.processes.append({"process": number, "import_seconds": None, "peak_resident_bytes": 0})
    about, begun = outcome.processes[-1], time.monotonic()

    def finish(result: Row) -> None:
        result.update(process=number, transform=left[0]["transform"])
        outcome.rows.append(result)
        said("result", result)
        left.pop(0)

    while True:
        watched.check()
        events = worker.events(POLL_SECONDS)
        resident = worker.resident_bytes()
        about["peak_resident_bytes"] = max(about["peak_resident_bytes"], resident)
        if events is None:
            break
        for event in events:
            if event["event"] == "imported":
                about["import_seconds"] = time.monotonic() - begun
            elif event["event"] == "ready":
                about.update(resident=event["resident"], metadata=event["metadata"])
            elif event["event"] == "row":
                in_flight, deadline = time.time(), time.monotonic() + limits.row_timeout_seconds
                said("row", left[0])
            elif event["event"] == "result":
                in_flight = None
                deadline = time.monotonic() + limits.startup_timeout_seconds
                finish(event["row"])
        if in_flight is not None and resident > limits.memory_limit_bytes:
            worker.kill()
            finish(
                _ended(
                    "oom", in_flight, f"resident memory {resident:,} B, limit {limits.memory_limit_bytes:,} B"
                )
            )
            return
        if time.monotonic() > deadline:
            worker.kill()
            if in_flight is None:
                raise AugmarkError(
                    f"the worker was not ready within {limits.startup_timeout_seconds:.0f} s",
                    remedy="see its messages above; policy.yaml has the limit",
                )
            finish(_ended("timeout", in_flight, f"no result within {limits.row_timeout_seconds:.0f} s"))
            return
    code = worker.exit_code()
    if left:
        if in_flight is None:
            raise AugmarkError(
                f"the worker ended with {_exit_words(code)} while no transform was running",
                remedy="its own messages stand above in this log; no row is to blame, so nothing is recorded",
            )
        # The kernel kills for memory before our limit is seen when it is short of it as a whole.
        short = code == -signal.SIGKILL and about["peak_resident_bytes"] > limits.memory_limit_bytes / 2
        reason = f"the process ended with {_exit_words(code)}"
        if short:
            reason += f" at {about['peak_resident_bytes']:,} B of resident memory"
        finish(_ended("oom" if short else "crashed", in_flight, reason))


def _ended(status: str, started: float, reason: str) -> Row:
    now = time.time()
    return {
        "status": status,
        "reason": reason,
        "started": started,
        "ended": now,
        "wall_seconds": now - started,
    }


def _exit_words(code: int) -> str:
    if code >= 0:
        return f"exit status {code}"
    try:
        return f"signal {-code} ({signal.Signals(-code).name})"
    except ValueError:
        return f"signal {-code}"
