"""A notice of a job that is at work, for whoever asks meanwhile; and one of a job that failed.

``<output>/running/<machine>/.../r<repeat>.<digest>.json`` is there while a cell is measured (and
``probe.<digest>.json`` while a library is probed), ``<output>/failed/...`` from a failure until the same job
succeeds. The parent writes them, between rows and every few seconds at most; one that cannot be written fails
no job. Standard library only.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from augmark.errors import AugmarkError

SCHEMA = "augmark/notice/1"
RUNNING, FAILED = "running", "failed"
RUN_LOCK = "run.lock"  # below ``<output>/plan``: held by a run that is at work, and says which process it is
SECONDS_BETWEEN = 2.0
# A row that takes long is heard of after each value; that is no reason to write while the next one is timed.
SECONDS_BETWEEN_IN_A_ROW = 60.0
# Of another host nothing is known but what it writes: longer without a word than this, and it is gone.
SILENT_SECONDS = 600.0
ENGINE_JOB = ("SLURM_JOB_ID", "slurm")  # the variable that an engine names its job in, and what it is called


def place(out: Path, folder: str) -> Path:
    """Where the notice of a job lies: under the path of what it makes (a record, a probe)."""
    return out.parents[6] / folder / Path(*out.parts[-6:])


class Notice:
    """What one job says of itself while it is at work.

    Args:
        kind: ``probe`` or ``measure``.
        out: The path of what it makes.
    """

    def __init__(self, kind: str, out: Path) -> None:
        self._running, self._failed = place(out, RUNNING), place(out, FAILED)
        variable, engine = ENGINE_JOB
        job = os.environ.get(variable)
        self._about: dict[str, Any] = {
            "schema": SCHEMA,
            "kind": kind,
            **here(),
            "pid": os.getpid(),
            "process_started": process_started(os.getpid()),
            "engine_job": f"{engine} {job}" if job else None,
            "started": time.time(),
            "phase": "starting",
            "rows": None,
            "done": 0,
            "row": None,
            "silent_seconds": SILENT_SECONDS,
        }
        self._said = 0.0

    def say(self, *, every: float = 0.0, **changed: Any) -> None:
        """Write what has changed, unless the last words are younger than ``every`` seconds."""
        self._about.update(changed)
        if time.monotonic() - self._said >= every or not self._said:
            self._said = time.monotonic()
            _write(self._running, self._about)

    def heard(self, event: str, row: str) -> None:
        """Take an event of the worker: a row begins (``row``), goes on (``beat``) or is done (``result``)."""
        if event == "result":
            self.say(every=SECONDS_BETWEEN, done=self._about["done"] + 1, row=row)
        elif event == "row":
            self._about["row"] = row
        else:
            self.say(every=SECONDS_BETWEEN_IN_A_ROW)

    def failed(self, error: BaseException) -> None:
        """Leave word of why the job failed, until it succeeds."""
        what, remedy = f"{type(error).__name__}: {error}", "see its log, and run the same command again"
        if isinstance(error, AugmarkError):
            what, remedy = f"{error.where}: {error.what}".removeprefix(": "), error.remedy or remedy
        names = ("schema", "kind", "host", "engine_job", "started")
        about = {name: self._about[name] for name in names}
        message = what.strip().partition("\n")[0]
        _write(self._failed, {**about, "failed": time.time(), "message": message, "remedy": remedy})

    def succeeded(self) -> None:
        """An earlier failure is none any more."""
        _remove(self._failed)

    def end(self) -> None:
        """Nothing is at work any more; of two hosts with the same job each takes its own notice away."""
        there = read(self._running)
        names = (*here(), "pid", "process_started")
        if there is not None and all(there[name] == self._about[name] for name in names):
            _remove(self._running)


@contextlib.contextmanager
def noticed(kind: str, out: Path, quiet: tuple[type[BaseException], ...] = ()) -> Iterator[Notice]:
    """Notice a job from its start to its end.

    Args:
        kind: ``probe`` or ``measure``.
        out: The path of what it makes.
        quiet: Ends that are nobody's failure.
    """
    notice = Notice(kind, out)
    notice.say()
    try:
        yield notice
    except quiet:
        raise
    except Exception as error:
        notice.failed(error)
        raise
    else:
        notice.succeeded()
    finally:
        notice.end()


def read(path: Path) -> dict[str, Any] | None:
    """A notice, or None where there is none that can be read (it may go while one looks)."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) and content.get("schema") == SCHEMA else None


def is_running(notice: dict[str, Any], silent_for: float) -> bool:
    """Whether the job of a notice is still at work.

    On this host its process is looked for, with the time when it was started: a number is given again. Of
    another host it is known only how long it has been silent.

    Args:
        silent_for: Seconds since it was written.
    """
    mine = here()
    if all(notice[name] == mine[name] for name in mine):
        started = process_started(notice["pid"])
        return started is not None and started == notice["process_started"]
    if notice["host"] == mine["host"] and notice["boot"] != mine["boot"]:
        return False  # this host was started anew
    return silent_for <= notice["silent_seconds"]


def of_run() -> str:
    """What a run says of itself; between two jobs there is no other sign of it."""
    me = os.getpid()
    about = {"schema": SCHEMA, **here(), "pid": me, "process_started": process_started(me)}
    return json.dumps({**about, "silent_seconds": 0.0})  # it never says it again


def here() -> dict[str, Any]:
    """Which processes are seen from here: host, its start, and the space of process numbers."""
    return {"host": platform.node(), "boot": _boot(), "space": _link("/proc/self/ns/pid")}


def process_started(pid: int) -> str | None:
    """When a process was started, in whatever unit; None where there is none (or only its remains)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None if Path("/proc/self").exists() else _asked(pid)
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else fields[19]  # `man proc`: state, and starttime


def _asked(pid: int) -> str | None:
    words = ["ps", "-o", "lstart=", "-p", str(pid)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() or None


def _boot() -> str | None:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return None


def _link(path: str) -> str | None:
    try:
        return os.readlink(path)
    except OSError:
        return None


def _write(path: Path, content: dict[str, Any]) -> None:
    """Write beside its place and rename, without waiting for the disk: a lost notice is no loss."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps(content), encoding="utf-8")
        os.replace(part, path)
    except OSError:
        _remove(part)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)
