"""What the doctor looks at on a host. Everything that reads it is here; unknown is None, never a default.

Files of the kernel are read below a root, so that a copy of another host's ``/proc`` says what that host has.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from augmark import host

SAMPLE_SECONDS = 0.5  # of what other processes take; the clock of the kernel ticks every 0.01 s
TOOL_SECONDS = 20  # for a command of an engine: a controller that is down takes its time to say so


def memory(root: Path) -> dict[str, int] | None:
    """``/proc/meminfo`` in bytes."""
    try:
        text = (root / "proc/meminfo").read_text(encoding="utf-8")
    except OSError:
        return None
    return {name: int(size) << 10 for name, size in re.findall(r"^(\w+):\s+(\d+) kB$", text, re.MULTILINE)}


def minute_load(root: Path) -> float | None:
    """Load average over the last minute."""
    try:
        return float((root / "proc/loadavg").read_text(encoding="utf-8").split()[0])
    except (OSError, ValueError, IndexError):
        known = host.load()
        return known[0] if known else None


def busy(seconds: float = SAMPLE_SECONDS) -> list[tuple[str, float]]:
    """What other processes take now: name and processors' worth of time, most first."""
    import psutil

    def times() -> dict[int, tuple[str, float]]:
        found = {}
        for process in psutil.process_iter(["name", "cpu_times"]):
            spent = process.info["cpu_times"]
            if process.pid != os.getpid() and spent is not None:
                found[process.pid] = (process.info["name"] or "?", spent.user + spent.system)
        return found

    import time

    before, since = times(), time.monotonic()
    time.sleep(seconds)
    after, elapsed = times(), time.monotonic() - since
    shares = [
        (name, (spent - before[pid][1]) / elapsed) for pid, (name, spent) in after.items() if pid in before
    ]
    return sorted((each for each in shares if each[1] > 0), key=lambda each: -each[1])


def disk_of(folder: Path) -> tuple[int, int]:
    """The disk that holds a folder, or will: its number, and the bytes that are free on it for this user."""
    there = _existing(folder)
    return there.stat().st_dev, shutil.disk_usage(there).free


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that is there."""
    folder = folder.absolute()
    return next(each for each in (folder, *folder.parents) if each.exists())


def write_problem(folder: Path) -> str | None:
    """Why no file can be written in a folder, or in the one that it will be made in; None: one can."""
    try:
        with tempfile.TemporaryFile(dir=_existing(folder)) as stream:
            stream.write(b"\0" * 4096)
            stream.flush()
    except OSError as error:
        return error.strerror or str(error)
    return None


def lock_held(path: Path) -> bool:
    """Whether some process holds a lock file, which is left as it is."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        # Shared, and given back at once: two doctors do not take each other for a run.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def lock_holder(root: Path, path: Path) -> str | None:
    """Who holds a lock file: ``process 4711 (python)``; None where the kernel does not say."""
    try:
        number = path.stat().st_ino
        lines = (root / "proc/locks").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    for line in lines:
        fields = line.split()
        if len(fields) > 5 and fields[1] == "FLOCK" and fields[5].endswith(f":{number}"):
            try:
                name = (root / "proc" / fields[4] / "comm").read_text(encoding="utf-8").strip()
            except OSError:
                return f"process {fields[4]}"
            return f"process {fields[4]} ({name})"
    return None


def newest_file(folders: Iterable[Path]) -> tuple[str, float] | None:
    """The newest file below some folders, and when it was written."""
    newest: tuple[str, float] | None = None
    for folder in folders:
        for place, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(place, name)
                try:
                    written = os.stat(path, follow_symlinks=False).st_mtime
                except OSError:
                    continue  # gone meanwhile
                if newest is None or written > newest[1]:
                    newest = (path, written)
    return newest


def answer(*command: str) -> tuple[bool, str]:
    """Whether a command answers, and what it says: its output, or its last words where it fails."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=False, timeout=TOOL_SECONDS
        )
    except FileNotFoundError:
        return False, f"{command[0]} is not on the PATH"
    except (OSError, subprocess.TimeoutExpired) as error:
        return False, str(error)
    if done.returncode == 0:
        return True, done.stdout
    said = (done.stderr or done.stdout).strip().splitlines()
    return False, said[-1] if said else f"{command[0]} ended with {done.returncode}"
