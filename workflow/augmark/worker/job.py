"""What the commands ``probe`` and ``measure`` share: the job is read, checked and supervised.

Runs as the parent, in the library's interpreter, without importing the library.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from augmark import cgroup, codehash, host, locks
from augmark.cell import Cell
from augmark.data.itemfile import open_items
from augmark.errors import AugmarkError
from augmark.files import require_free
from augmark.modes import MODES, library_module
from augmark.plan import Plan
from augmark.progress import progress
from augmark.worker import described, needs, seeds, supervise
from augmark.worker.notice import Notice, noticed

ROOT = Path(__file__).resolve().parents[3]
# What decides a number; other files of a checkout may be new or changed without making it dirty.
CODE = ("Snakefile", "config", "envs", "profiles", "scripts", "workflow")
MACHINE_LOCK = Path("/tmp/augmark-machine.lock")
RESULT_BYTES = 4 << 20  # a record of 58 rows with many values takes less than one tenth of it
SILENT_SPARE_SECONDS = 120.0  # a job is heard of this much later than its worker, at most
WAITING_SECONDS = 5.0  # between two words of a job that waits for it


@dataclass(frozen=True)
class Job:
    """One checked job.

    Attributes:
        plan: The plan that it belongs to.
        cell: What it measures; a probe stands for all repeats, as repeat 0.
        definition: The plan's definition of its library, scenario, mode and device.
        out: Where its one result goes.
        items: The index of the prepared items.
        watched: The process that started the workflow.
        session: The stretch of work that it belongs to.
        fresh: Measure every row, also where an earlier record has it.
        notice: What it says of itself meanwhile.
        too_large: Id -> why a row's loader does not fit this machine, of those that are not started.
    """

    plan: Plan
    cell: Cell
    definition: dict[str, Any]
    out: Path
    items: dict[str, Any]
    watched: supervise.Watched
    session: str
    fresh: bool
    notice: Notice
    too_large: dict[str, str] = field(default_factory=dict)

    @property
    def items_dir(self) -> Path:
        return self.plan.items_index(self.cell.scenario, self.cell.mode).parent

    @property
    def memory_limit_bytes(self) -> int:
        memory = host.memory_bytes()
        if memory is None:
            raise AugmarkError(
                "the size of this machine's memory cannot be read", remedy="run on Linux or macOS"
            )
        # What an engine gives a job may be less than the machine has, and the kernel kills beyond it.
        group = (cgroup.cgroup_limits(Path("/")) or {}).get("memory_bytes")
        memory = min(memory, group) if isinstance(group, int) else memory
        return int(memory * self.definition["limits"]["memory_limit_share"])


def parse(kind: str, arguments: list[str]) -> argparse.Namespace:
    """Read the command line of ``probe`` or ``measure``."""
    parser = argparse.ArgumentParser(prog=kind, description=f"{kind} one cell of the plan")
    parser.add_argument("--plan", type=Path, required=True, help="the resolved plan (JSON)")
    parser.add_argument("--cell", required=True, help="scenario/mode/library/device")
    parser.add_argument("--repeat", type=int, default=0)
    parser.add_argument("--session", default="none", help="id of this stretch of work")
    parser.add_argument("--fresh", action="store_true", help="carry no row over from an earlier record")
    parser.add_argument("--watch", type=int, help="end when this process ends")
    parser.add_argument("--out", type=Path, required=True, help="the result (JSON)")
    return parser.parse_args(arguments)


def checked(kind: str, args: argparse.Namespace, notice: Notice) -> Job:
    """The job of a command line, checked before it starts.

    Raises:
        AugmarkError: Code, environment, items or machine are not the planned ones.
    """
    content = json.loads(args.plan.read_text(encoding="utf-8"))
    plan = Plan(content, args.plan.parent.parent)
    cell = Cell(plan.machine, *args.cell.split("/"), args.repeat)
    definition = _definition(plan, cell, kind)
    watched = supervise.Watched(args.watch)
    check_measures_what_is_planned(plan, cell.mode, definition)
    items = read_items(plan, cell)
    check_room(args.out)
    job = Job(plan, cell, definition, args.out, items, watched, args.session, args.fresh, notice)
    if MODES[cell.mode].batched:
        limit = job.memory_limit_bytes
        return replace(job, too_large=needs.check_needs(definition["rows"], items, cell.mode, limit))
    return job


def _definition(plan: Plan, cell: Cell, kind: str) -> dict[str, Any]:
    """The rows of a job: a probe tries all of them, whatever a later repeat measures."""
    whole = plan.definition(cell.scenario, cell.mode, cell.library, cell.device)
    planned = [each for each in plan.cells() if Cell(**{name: each[name] for name in cell.as_dict()}) == cell]
    return plan.cell_definition(planned[0]) if kind == "measure" and planned else whole


def check_measures_what_is_planned(plan: Plan, mode: str, definition: dict[str, Any]) -> None:
    """Interpreter, packages, code and machine are those of the digests, or nothing is measured."""
    lock = ROOT / "envs" / f"{definition['environment']}.txt"
    again = "run the same command again: it plans with what is there now"
    if locks.lock_digest(lock) != definition["lock_digest"]:
        raise AugmarkError("the lock has changed since this job was planned", where=lock.name, remedy=again)
    wrong = locks.verify_installed(lock.read_text(encoding="utf-8"))
    if wrong:
        raise AugmarkError(
            f"{sys.prefix} is not what the lock says: {'; '.join(wrong[:5])}",
            where=lock.name,
            remedy=f"delete {sys.prefix} and run the same command again: the environment is built anew",
        )
    found = (
        codehash.row_code_digest(definition["adapter"], mode),
        codehash.regimes_code_digest(definition["adapter"]),
    )
    if found != (definition["code_digest"], definition["regimes_digest"]):
        raise AugmarkError("the measuring code has changed since this job was planned", remedy=again)
    if host.python_tag() != plan.content["python"]:
        raise AugmarkError(
            f"{sys.prefix} runs {host.python_tag()}, the plan is for {plan.content['python']}",
            remedy=f"delete {sys.prefix} and run the same command again: the environment is built anew",
        )
    described.check_machine(plan)


def check_room(out: Path) -> None:
    """There is room for what the job writes in the end, or nothing is measured in vain.

    Raises:
        AugmarkError: The disk is full, or nearly.
    """
    require_free(out.parent, RESULT_BYTES, f"writing {out.name}")


def read_items(plan: Plan, cell: Cell) -> dict[str, Any]:
    """The index of the prepared items of a cell, after reading them through once.

    Raises:
        AugmarkError: They are not there, not whole, or not the planned ones.
    """
    folder = plan.items_index(cell.scenario, cell.mode).parent
    planned = plan.item_set(cell.scenario, cell.mode)["digest"]
    items = open_items(folder)
    items.verify()
    if items.index.get("items_digest") != planned:
        raise AugmarkError(
            f"holds the items {items.index.get('items_digest')}, {planned} are planned",
            where=str(folder),
            remedy="remove the folder and run the same command again",
        )
    return items.index


@contextlib.contextmanager
def machine_to_itself(label: str, job: Job) -> Iterator[float]:
    """Hold the machine's lock, so that no timed job of any checkout runs beside this one.

    Yields:
        Seconds that were waited for it: nobody's measuring time.
    """
    since = time.monotonic()
    with open(_machine_lock(), closefd=True) as held:
        if not _taken(held.fileno()):
            with progress(label=f"{label}: waiting for the machine", total=None, unit="s") as bar:
                while not _taken(held.fileno()):
                    job.watched.check()
                    job.notice.say(phase="waiting", every=WAITING_SECONDS)
                    time.sleep(1.0)
                    bar.update(1, note=f"another timed job has {MACHINE_LOCK}")
        yield time.monotonic() - since


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _machine_lock() -> int:
    """The lock file, opened; whoever comes first makes it, and every user can lock it (reading suffices)."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        try:
            # Without O_CREAT: in a sticky folder that alone is refused for a file of another user.
            return os.open(MACHINE_LOCK, flags)
        except FileNotFoundError:
            with contextlib.suppress(FileExistsError):
                os.close(os.open(MACHINE_LOCK, flags | os.O_CREAT | os.O_EXCL, 0o644))
            with contextlib.suppress(PermissionError):  # somebody else came first: they see to it
                os.chmod(MACHINE_LOCK, 0o644)  # whatever the umask
            return os.open(MACHINE_LOCK, flags)
    except OSError as error:
        raise AugmarkError(
            f"the machine's lock cannot be opened: {error.strerror}",
            where=str(MACHINE_LOCK),
            remedy="it must be a plain file that everybody can read: have its owner remove it",
        ) from error


def run_rows(job: Job, kind: str, rows: list[dict[str, Any]], settings: dict[str, Any]) -> supervise.Outcome:
    """Supervise the rows of a job in the given order, with a labelled bar."""
    limits, adapter = job.definition["limits"], job.definition["adapter"]
    compiles = any("compile" in row["setting"] for row in rows)  # which may take a minute on its own
    short = kind == "probe" and not compiles
    timeout = limits["probe_row_timeout_seconds" if short else "row_timeout_seconds"]
    told = {
        "kind": kind,
        "mode": job.cell.mode,
        "adapter": adapter,
        "runner": MODES[job.cell.mode].runner,
        "module": library_module(adapter, job.cell.mode),
        "export": MODES[job.cell.mode].export,
        "variables": job.definition["variables"],
        "items_dir": str(job.items_dir.resolve()),
        "resident_bytes": int(job.memory_limit_bytes * limits["resident_share"]),
        **settings,
    }
    label = job.cell.label if kind == "measure" else f"probe {job.cell.label.rpartition(' ')[0]}"
    silent = max(timeout, limits["startup_timeout_seconds"]) + SILENT_SPARE_SECONDS
    job.notice.say(phase="at work", rows=len(rows), silent_seconds=silent)
    with progress(label=label, total=len(rows), unit="row") as bar:

        def said(event: str, row: dict[str, Any]) -> None:
            job.notice.heard(event, row["id"])
            if event != "beat":
                bar.update(1 if event == "result" else 0, note=row["id"])

        outcome = supervise.Outcome()
        # Threads are set before a library is imported: rows of another number need a process of their own.
        for threads in dict.fromkeys(row["threads"] for row in rows):
            supervise.run(
                {**told, "threads": threads},
                [row for row in rows if row["threads"] == threads],
                supervise.Limits(timeout, limits["startup_timeout_seconds"], job.memory_limit_bytes),
                job.watched,
                said,
                outcome,
            )
        return outcome


def row_seed(job: Job, transform: str) -> int:
    """See ``seeds.row_seed``."""
    return seeds.row_seed(job.cell, job.definition["timing"]["seed"], transform)


def in_seeded_order(job: Job, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows in a random order of the repeat's own, so that drift does not favour a transform."""
    order = sorted(rows, key=lambda row: row["id"])
    random.Random(row_seed(job, "order")).shuffle(order)
    return order


def git_state(root: Path = ROOT) -> tuple[str | None, bool | None]:
    """Commit and whether the tree is dirty; unknown where there is no git or no repository."""

    def git(*words: str) -> str | None:
        try:
            done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)
        except OSError:
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    commit, status = git("rev-parse", "HEAD"), git("status", "--porcelain", "--", *CODE)
    return commit, None if status is None else bool(status)


def command(kind: str, work: Any) -> int:
    """Run a job as a command: the exit status, and messages without a traceback for the user's errors."""

    def stop(number: int, _frame: Any) -> None:
        raise KeyboardInterrupt(f"signal {number}")

    # Of both, since whoever started this in the background may have had it ignore the interrupt.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    args = parse(kind, sys.argv[1:])
    try:
        with noticed(kind, args.out, quiet=(supervise.Orphaned,)) as notice:
            work(checked(kind, args, notice))
    except AugmarkError as error:
        print(f"{kind}: {error}", file=sys.stderr)
        return 1
    except supervise.Orphaned as error:
        print(f"{kind}: {error}; nothing is written", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"{kind}: interrupted; nothing is written", file=sys.stderr)
        return 130
    return 0
