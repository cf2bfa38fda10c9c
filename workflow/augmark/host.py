"""What machine this is. Standard library only; unknown is None, never a default."""

from __future__ import annotations

import os
import platform
import sys
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

from augmark.cell import short_digest


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def _sysctl(name: str) -> str | None:
    if platform.system() != "Darwin":
        return None
    import subprocess

    done = subprocess.run(["sysctl", "-n", name], capture_output=True, text=True, check=False)
    return done.stdout.strip() or None


def cpu_model() -> str | None:
    """The processor as the kernel names it."""
    for line in (_read("/proc/cpuinfo") or "").splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Model", "Hardware") and value.strip():
            return value.strip()
    return _sysctl("machdep.cpu.brand_string")


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


@lru_cache(maxsize=1)
def fingerprint() -> dict[str, Any]:
    """The facts that make two hosts the same kind of host (no host name, no user name)."""
    return {
        "cpu_model": cpu_model(),
        "cpus": cpus(),
        "memory_bytes": memory_bytes(),
        "architecture": platform.machine() or None,
        "system": platform.system() or None,
        "kernel": platform.release() or None,
        "libc": " ".join(part for part in platform.libc_ver() if part) or None,
        "governor": _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
    }


def local_machine() -> str:
    """``local-`` and four hexadecimal digits of what does not change when the host is updated."""
    facts = fingerprint()
    stable = {key: facts[key] for key in ("cpu_model", "cpus", "architecture", "system")}
    return f"local-{short_digest(stable)[:4]}"
