"""This process and its machine, in figures. Standard library only; unknown is None, never a default.

Measured code imports it: what kind of host it is stands in ``augmark.fingerprint``.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def memory_bytes() -> int | None:
    """Physical memory, or the cgroup's limit where that is smaller."""
    try:
        physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return None
    limit = _read("/sys/fs/cgroup/memory.max")
    return min(physical, int(limit)) if limit and limit.isdigit() else physical


def cpus() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def load() -> list[float] | None:
    """Load averages over 1, 5 and 15 minutes."""
    try:
        return [round(value, 2) for value in os.getloadavg()]
    except OSError:
        return None


def seconds_running() -> float | None:
    """Seconds since this process was started, its interpreter's own start included.

    Not from the process's start as a time of day: Linux knows that to the second only.
    """
    stat = _read("/proc/self/stat")
    if stat is None or not hasattr(time, "CLOCK_BOOTTIME"):
        return None
    # What follows the command's name, which may hold spaces and brackets itself; `man proc`: starttime.
    ticks = int(stat.rpartition(")")[2].split()[19])
    return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")


def python_tag() -> str:
    """Implementation and minor version of the running Python: ``cpython-3.11``."""
    return f"{sys.implementation.name}-{sys.version_info[0]}.{sys.version_info[1]}"
