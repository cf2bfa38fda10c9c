"""Limits that a control group puts on this process (Linux). Standard library only; unknown is None.

Of both versions of control groups, and of groups around this one: the lowest limit holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

NO_LIMIT = "none"
# What version 1 says where there is no limit: the largest multiple of a page in 63 bits.
UNLIMITED_BYTES = 1 << 60
CGROUPS = "sys/fs/cgroup"

Limit = float | int | str | None


def cgroup_limits(root: Path) -> dict[str, Any] | None:
    """Processors' time, memory and the set of processors; None where there are no control groups.

    Returns:
        ``version`` (1 or 2, of the group that limits memory), ``cpus`` (processors' worth of time),
        ``memory_bytes`` and ``cpuset_cpus`` (how many processors); a limit that is not set is ``"none"``.
    """
    try:
        lines = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    groups = {name: path for line in lines for name, path in _named(line)}
    if not groups:
        return None
    time = list(_folders(root, groups, "cpu"))
    memory = list(_folders(root, groups, "memory"))
    sets = list(_folders(root, groups, "cpuset"))
    files = ("cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus")
    lists = [text for folder in sets for name in files if (text := _text(folder / name))]
    return {
        "version": 1 if "memory" in groups else 2,
        "cpus": _lowest(time, _cpus),
        "memory_bytes": _lowest(memory, _memory_bytes),
        "cpuset_cpus": list_length(lists[0]) if lists else None,
    }


def memory_kills(root: Path) -> int | None:
    """How many processes of this process's group the kernel has killed for want of memory."""
    lines = (_text(root / "proc/self/cgroup") or "").splitlines()
    groups = {name: path for line in lines for name, path in _named(line)}
    for folder in _folders(root, groups, "memory"):
        told = _text(folder / "memory.events") or _text(folder / "memory.oom_control")
        for line in (told or "").splitlines():
            name, _, count = line.partition(" ")
            if name == "oom_kill":
                return int(count)
    return None


def list_length(text: str) -> int:
    """How many numbers the kernel's list names: ``0-3,8`` are five."""
    ends = [part.partition("-") for part in text.split(",") if part]
    return sum(int(last or first) - int(first) + 1 for first, _, last in ends)


def _named(line: str) -> Iterator[tuple[str, str]]:
    """Controller -> group, of a line of ``/proc/self/cgroup``; version 2 has one for all, under no name."""
    _, _, rest = line.partition(":")
    controllers, _, path = rest.partition(":")
    for name in controllers.split(","):
        yield name, path


def _folders(root: Path, groups: dict[str, str], controller: str) -> Iterator[Path]:
    """The folders of a group and of those around it, its own first.

    Inside a container the group's path may be the host's, of which only the upper end is there.
    """
    base = root / CGROUPS
    if controller in groups:
        tops = [path for path in base.glob("*") if controller in path.name.split(",")]
    else:
        tops = [path for path in (base, base / "unified") if (path / "cgroup.controllers").is_file()]
    path = groups.get(controller, groups.get("", "/"))
    for top in tops[:1]:
        here = top / path.strip("/")
        while True:
            if here.is_dir():
                yield here
            if here == top:
                return
            here = here.parent


def _lowest(folders: Iterable[Path], read: Callable[[Path], Limit]) -> Limit:
    folders = list(folders)
    limits = [limit for folder in folders if (limit := read(folder)) is not None]
    numbers = [limit for limit in limits if not isinstance(limit, str)]
    return min(numbers) if numbers else NO_LIMIT if folders else None


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8").strip() or None
    except OSError:
        return None


def _cpus(folder: Path) -> Limit:
    quota, _, period = (_text(folder / "cpu.max") or "").partition(" ")
    if not quota:
        quota, period = (_text(folder / f"cpu.cfs_{name}_us") or "" for name in ("quota", "period"))
    if not quota or not period.isdigit():
        return None
    return round(int(quota) / int(period), 3) if quota.isdigit() else NO_LIMIT


def _memory_bytes(folder: Path) -> Limit:
    text = _text(folder / "memory.max") or _text(folder / "memory.limit_in_bytes")
    if text is None:
        return None
    return int(text) if text.isdigit() and int(text) < UNLIMITED_BYTES else NO_LIMIT
