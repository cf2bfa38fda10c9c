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

from augmark.cgroup import memory_kills
from augmark.errors import AugmarkError
from augmark.worker import threads

Row = dict[str, Any]
WORKER = Path(__file__).resolve().parents[3] / "scripts" / "worker.py"
POLL_SECONDS = 0.1
SYSTEM = Path("/")
KERNEL_KILLED = "for want of memory the kernel killed"
NAMED = ("id", "transform", "condition")  # what a result takes over from its planned row


class Orphaned(Exception):
    """Whoever started this job is gone."""


@dataclass(frozen=True)
class Limits:
    """Hard limits of one job. Seconds without a sign of life, and bytes."""

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
        try:
            self._fd = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else None
        except ProcessLookupError as error:
            raise Orphaned(f"process {pid} is gone") from error
        except OSError:
            self._fd = None  # an old kernel, or a sandbox that forbids it: then it is looked for

    def check(self) -> None:
        """Raise Orphaned when it is gone."""
        if self._fd is not None:
            if select.select([self._fd], [], [], 0)[0]:
                raise Orphaned(f"process {self.pid} is gone")
        elif self.pid is not None and not psutil.pid_exists(self.pid):
            raise Orphaned(f"process {self.pid} is gone")


class _Worker:
    """One worker process and the pipe that its events come through."""

    def __init__(self, job: dict[str, Any]) -> None:
        read_fd, write_fd = os.pipe()
        self.read_fd, self._buffer = read_fd, b""
        self.process = subprocess.Popen(
            [sys.executable, "-I", str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=sys.stderr,
            pass_fds=(write_fd,),
            env=threads.environment(os.environ, job["threads"], job.get("variables")),
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
        """Resident memory of the worker and of all that it started; what they share is counted once."""
        own, shared = 0, 0
        try:
            mine = psutil.Process(self.process.pid)
            first, shared = _own_and_shared(mine)
            own = first
            for process in mine.children(recursive=True):
                its, common = _own_and_shared(process)
                # A forked process still holds the pages of the first as its own, some 350 MB with torch.
                own, shared = own + max(0, its - first), max(shared, common)
        except psutil.Error:
            pass  # it ended while we looked
        return own + shared

    def kill(self) -> None:
        """End it and everything that it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def exit_code(self) -> int | None:
        """How it ended, once it has closed its end of the pipe; None where it goes on all the same."""
        try:
            return self.process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            return None

    def close(self) -> None:
        os.close(self.read_fd)


def _own_and_shared(process: psutil.Process) -> tuple[int, int]:
    """Resident bytes of a process: its own, and those in mapped files and shared memory (Linux; else 0)."""
    memory = process.memory_info()
    shared = getattr(memory, "shared", 0)
    return memory.rss - shared, shared


def run(
    job: dict[str, Any],
    rows: list[Row],
    limits: Limits,
    watched: Watched,
    said: Callable[[str, Row], None],
    outcome: Outcome,
) -> None:
    """Have all rows done by as many workers as it takes.

    Args:
        job: What every worker is told, without rows.
        rows: In the order in which they are to be done.
        said: Called with ``"row"`` when a row begins, ``"beat"`` after each of its values and ``"result"``
            when it has a status.
        outcome: What comes back is added to it.

    Raises:
        AugmarkError: A worker ended before its first row: no row is to blame.
        Orphaned: Whoever started this job is gone.
    """
    left = list(rows)
    while left:
        worker = _Worker({**job, "rows": left})
        try:
            _Follower(worker, left, limits, watched, said, outcome).follow()
        finally:
            worker.kill()
            worker.close()


class _Follower:
    """Follows one worker to its end, taking rows off ``left`` as they get a status."""

    def __init__(
        self,
        worker: _Worker,
        left: list[Row],
        limits: Limits,
        watched: Watched,
        said: Callable[[str, Row], None],
        outcome: Outcome,
    ) -> None:
        self.worker, self.left, self.limits, self.watched = worker, left, limits, watched
        self.said, self.outcome = said, outcome
        self.about: dict[str, Any] = {
            "process": len(outcome.processes),
            "import_seconds": None,
            "resident": None,
            "metadata": {},
            "peak_resident_bytes": 0,
        }
        outcome.processes.append(self.about)
        self.begun = time.monotonic()
        self.deadline = self.begun + limits.startup_timeout_seconds
        # When the row in hand began: by the time of day, and by the clock that nobody sets.
        self.in_flight: tuple[float, float] | None = None
        self.retired = False
        self.kills = memory_kills(SYSTEM)

    def follow(self) -> None:
        """Until the worker has ended, or a limit ends it.

        Raises:
            AugmarkError: It ended, or passed a limit, while no row was in hand.
        """
        while True:
            self.watched.check()
            events = self.worker.events(POLL_SECONDS)
            resident = self.worker.resident_bytes()
            self.about["peak_resident_bytes"] = max(self.about["peak_resident_bytes"], resident)
            if events is None:
                self._has_ended(self.worker.exit_code())
                return
            for event in events:
                self._heard(event)
            if self.retired:
                return  # it may hang in its end, for the sake of which it gave up: it is not waited for
            if resident > self.limits.memory_limit_bytes:
                limit = f"resident memory {resident:,} B, limit {self.limits.memory_limit_bytes:,} B"
                self._stop("oom", limit)
                return
            if time.monotonic() > self.deadline:
                starting = self.in_flight is None
                limits = self.limits
                seconds = limits.startup_timeout_seconds if starting else limits.row_timeout_seconds
                self._stop("timeout", f"no sign of life within {seconds:.0f} s")
                return

    def _heard(self, event: dict[str, Any]) -> None:
        kind = event["event"]
        if kind == "imported":
            self.about["import_seconds"] = time.monotonic() - self.begun
        elif kind == "ready":
            self.about.update(resident=event["resident"], metadata=event["metadata"])
        elif kind == "built":
            self.about["build"] = event["build"]
        elif kind == "row":
            self.in_flight = time.time(), time.monotonic()
            self.said("row", self.left[0])
        elif kind == "beat":
            self.said("beat", self.left[0])
        elif kind == "result":
            self._finish(self._killed_inside(event["row"]))
        elif kind == "retired":
            self.retired = True
        # Whatever was heard is a sign of life (a beat comes after each value): the limit starts anew.
        limits = self.limits
        idle = self.in_flight is None
        seconds = limits.startup_timeout_seconds if idle else limits.row_timeout_seconds
        self.deadline = time.monotonic() + seconds

    def _killed_inside(self, result: Row) -> Row:
        """A row that lost a process of its own (of a loader) to the kernel ran out of memory."""
        if result["status"] in ("crashed", "failed") and self.kills != memory_kills(SYSTEM):
            reason = f"{result['reason']}; {KERNEL_KILLED} one of its processes"
            result = {**result, "status": "oom", "reason": reason}
        self.kills = memory_kills(SYSTEM)
        return result

    def _finish(self, result: Row) -> None:
        self.in_flight = None
        row = self.left[0]
        result.update(process=self.about["process"], **{name: row[name] for name in NAMED})
        self.outcome.rows.append(result)
        self.said("result", result)
        self.left.pop(0)

    def _stop(self, status: str, reason: str) -> None:
        self.worker.kill()
        if self.left:  # else all rows have a status, and it died of telling how its libraries were built
            self._end_row(status, reason)

    def _has_ended(self, code: int | None) -> None:
        if not self.left:
            return
        # The kernel kills for memory before our limit is seen when it is short of it as a whole, or when a
        # control group's limit is below ours; where it does not count what it kills, much memory tells it.
        peak = self.about["peak_resident_bytes"]
        counted = code == -signal.SIGKILL and self.kills != memory_kills(SYSTEM)
        short = counted or (code == -signal.SIGKILL and peak > self.limits.memory_limit_bytes / 2)
        by = f": {KERNEL_KILLED} it," if counted else ""
        at = f"{by} at {peak:,} B of resident memory" if short else ""
        self._end_row("oom" if short else "crashed", f"the process {_exit_words(code)}{at}")

    def _end_row(self, status: str, reason: str) -> None:
        if self.in_flight is None:
            raise AugmarkError(
                f"no transform was running in the worker, and {reason}",
                remedy="its own messages stand above in this log; no row is to blame, so nothing is recorded",
            )
        started, clock = self.in_flight
        row = {
            "status": status,
            "reason": reason,
            "started": started,
            "ended": time.time(),
            "wall_seconds": time.monotonic() - clock,
        }
        self._finish(row)


def _exit_words(code: int | None) -> str:
    if code is None:
        return "closed its pipe to the parent"
    if code >= 0:
        return f"ended with exit status {code}"
    try:
        return f"ended with signal {-code} ({signal.Signals(-code).name})"
    except ValueError:
        return f"ended with signal {-code}"
