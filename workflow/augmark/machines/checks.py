"""What a host must have for a run, each a function from figures to a verdict.

Nothing is read here: ``augmark.machines.host_facts`` reads, and tests hand in what they like.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from augmark.cgroup import NO_LIMIT
from augmark.files import SPARE_BYTES, human_bytes
from augmark.locking import OLDEST_PYTHON

OK, WARN, FAIL = "ok", "warn", "fail"
# Of one processor's time, taken by others: beside that a timer on another core is already disturbed.
BUSY_PROCESSORS = 0.25
BUSY_LOAD = 0.5  # over a minute: what was busy a moment ago, and comes back
SWAPPED_BYTES = 64 << 20  # less than that are pages which nobody has touched since the start
CLOCK_SLACK_SECONDS = 5.0  # file systems of a network keep another host's time
# The oldest driver for a version of CUDA: docs.nvidia.com/deploy/cuda-compatibility.
OLDEST_DRIVERS = {11: 450, 12: 525, 13: 580}


@dataclass(frozen=True)
class Check:
    """One line of what the doctor says.

    Attributes:
        name: What was looked at.
        status: ``ok``, ``warn`` (it runs, and figures may suffer or something is still to be made) or
            ``fail`` (it cannot run, or what it gives would not count).
        found: What there is, in words; what cannot be read is said to be unknown.
        remedy: What to do about it; empty where nothing has to be done.
    """

    name: str
    status: str
    found: str
    remedy: str = ""

    def as_dict(self) -> dict[str, str]:
        return asdict(self)


def python(implementation: str, version: tuple[int, ...]) -> Check:
    """The interpreter that runs now: libraries are measured with the same minor version."""
    oldest = tuple(map(int, OLDEST_PYTHON.split(".")))
    found = f"{implementation} {'.'.join(map(str, version))}; the locks are for {OLDEST_PYTHON} and newer"
    if implementation == "cpython" and version >= oldest:
        return Check("python", OK, found)
    return Check("python", FAIL, found, f"make setup PYTHON=python{OLDEST_PYTHON}")


def disk(
    name: str, folder: str, wanted: Sequence[tuple[str, int | None]], free_bytes: int, moves: str
) -> Check:
    """Room for what will be written.

    Args:
        wanted: What, and how many bytes it will take (None: not known).
        moves: What puts the folder elsewhere.
    """
    known = sum(size for _, size in wanted if size)
    parts = [f"{what}: {human_bytes(size) if size is not None else 'unknown'}" for what, size in wanted]
    asked = f"about {human_bytes(known)} to come ({'; '.join(parts)})" if parts else "nothing to come"
    found = f"{folder}: {human_bytes(free_bytes)} free, {asked}"
    if free_bytes < known + SPARE_BYTES:
        short = human_bytes(known + SPARE_BYTES - free_bytes)
        return Check(name, FAIL, found, f"free {short}, or {moves}")
    if any(size is None for _, size in wanted):
        return Check(name, WARN, found, "declare `size` in datasets.yaml, so that it can be told beforehand")
    return Check(name, OK, found)


def writable(name: str, folder: str, problem: str | None, moves: str) -> Check:
    """A folder in which a file could be written a moment ago; ``problem``: why not."""
    if problem is None:
        return Check(name, OK, f"{folder} can be written")
    return Check(name, FAIL, f"{folder}: {problem}", f"make it writable, or {moves}")


def enough(
    name: str, needs: Mapping[str, int], there: int | None, remedy: str, shown: Any = human_bytes
) -> Check:
    """A resource against what rows need of it.

    Args:
        needs: Row (or job) -> how much it needs.
        there: How much there is; None: not known, or no limit.
        shown: How a figure is written.
    """
    if not needs:
        return Check(name, OK, "not needed")
    worst = max(needs, key=lambda row: needs[row])
    asked = f"{worst} needs {shown(needs[worst])}"
    if there is None:
        return Check(name, OK, f"no limit, or not known on this system; {asked}")
    large = [row for row in needs if needs[row] > there]
    found = f"{shown(there)}; {asked}"
    if not large:
        return Check(name, OK, found)
    if len(large) == len(needs):
        return Check(name, FAIL, f"{found}: nothing that needs it fits", remedy)
    found += f": {len(large)} of {len(needs)} do not fit, and end as `oom`, or on fewer items"
    return Check(name, WARN, found, remedy)


def cores(cpus: int, limits: Mapping[str, Any] | None) -> Check:
    """Processors against the time that a control group gives them."""
    count = f"{cpus} processor{'' if cpus == 1 else 's'}"
    quota = (limits or {}).get("cpus")
    if quota is None:
        return Check("cores", OK, f"{count}; no control group that says anything of time")
    if quota == NO_LIMIT:
        return Check("cores", OK, f"{count}, and no quota of time")
    found = f"{count}, and a quota of {quota:g} processors' worth of time"
    if quota >= cpus:
        return Check("cores", OK, found)
    remedy = "give the container or job as much time as it has processors (docker --cpus, systemd CPUQuota)"
    if quota < 1:
        return Check("cores", FAIL, f"{found}: even one thread is stopped over and over", remedy)
    return Check("cores", WARN, f"{found}: whoever uses all of them is stopped over and over", remedy)


def governor(facts: Mapping[str, Any]) -> Check:
    """How the processors' frequency is chosen.

    Unknown is no warning where nobody here could choose: on a virtual machine the host does, and macOS has no
    governors. On hardware of one's own it is: somebody could look, and has not.
    """
    found = facts["governor"]
    if found is None:
        if facts["system"] == "Darwin":
            return Check("governor", OK, "unknown: macOS has none to choose")
        if facts["virtual"]:
            return Check("governor", OK, "unknown: a virtual machine, whose host chooses the frequency")
        remedy = "look with `cpupower frequency-info`, and load the frequency driver where there is none"
        return Check("governor", WARN, "unknown: the kernel has no frequency driver here", remedy)
    if found == "performance":
        return Check("governor", OK, found)
    return Check("governor", WARN, found, "as root: cpupower frequency-set -g performance")


def turbo(facts: Mapping[str, Any]) -> Check:
    """Whether processors go beyond their nominal frequency, for as long as they are cool enough."""
    if facts["turbo"] is None:
        return Check("turbo", OK, "unknown: the kernel does not say")
    if not facts["turbo"]:
        return Check("turbo", OK, "off")
    switch = "intel_pstate/no_turbo" if facts["frequency_driver"] == "intel_pstate" else "cpufreq/boost"
    value = 1 if switch.endswith("no_turbo") else 0
    remedy = f"as root: echo {value} > /sys/devices/system/cpu/{switch}"
    return Check("turbo", WARN, "on: figures depend on how warm the processor is", remedy)


def load(minute: float | None, busy: Sequence[tuple[str, float]]) -> Check:
    """Whether something else is at work.

    Args:
        minute: Load average over the last minute.
        busy: Names of processes, and the processors' worth of time that each takes now.
    """
    taken = sum(share for _, share in busy)
    names = ", ".join(f"{name} {share:.1f}" for name, share in busy[:3] if share >= 0.05)
    found = f"{taken:.1f} processors busy now{f' ({names})' if names else ''}, load " + (
        "unknown" if minute is None else f"{minute:.2f} over a minute"
    )
    if taken >= BUSY_PROCESSORS:
        return Check("load", WARN, found, "end what else is running, or measure when it has ended")
    if minute is not None and minute >= BUSY_LOAD:
        return Check("load", WARN, found, "wait a minute and look again; what comes back by itself, stop")
    return Check("load", OK, found)


def swap(memory: Mapping[str, int] | None) -> Check:
    """Whether memory has gone to a disk: a row that waits for it measures the disk.

    Args:
        memory: Of ``/proc/meminfo``, in bytes; None where it cannot be read.
    """
    if memory is None or "SwapTotal" not in memory:
        return Check("swap", OK, "unknown: this system does not say")
    used = memory["SwapTotal"] - memory.get("SwapFree", 0)
    if not memory["SwapTotal"]:
        return Check("swap", OK, "none")
    found = f"{human_bytes(used)} of {human_bytes(memory['SwapTotal'])} used"
    if used < SWAPPED_BYTES:
        return Check("swap", OK, found)
    return Check("swap", WARN, found, "end what else takes memory, then as root: swapoff -a && swapon -a")


def machine_lock(path: str, held: bool, holder: str | None) -> Check:
    """Whether a timed job of some checkout has the machine to itself now."""
    if not held:
        return Check("machine lock", OK, "free")
    found = f"{path} is held{f' by {holder}' if holder else ''}: another run is measuring"
    return Check("machine lock", WARN, found, "wait for it; this run would wait too, job by job")


def gpu(needed_by: str | None, gpus: Sequence[str], driver: str | None, cuda: int | None) -> Check:
    """GPU and driver.

    Args:
        needed_by: What needs one; None: nothing here does.
        cuda: Major version of CUDA that the locks bring, None where they bring none.
    """
    there = f"{', '.join(gpus)}, driver {driver or 'unknown'}" if gpus else "no NVIDIA GPU"
    if needed_by is None:
        return Check("gpu", OK, f"not needed; {there}")
    found = f"{there}; needed by {needed_by}"
    if not gpus:
        remedy = "run it on a machine with one (`nvidia-smi` must list it), or choose devices=cpu"
        return Check("gpu", FAIL, found, remedy)
    oldest = OLDEST_DRIVERS.get(cuda or 0)
    if oldest is None or driver is None:
        return Check("gpu", WARN, f"{found}; which driver is needed is not known", "look at `nvidia-smi`")
    if int(driver.partition(".")[0]) < oldest:
        remedy = f"install driver {oldest} or newer: the locks bring CUDA {cuda}"
        return Check("gpu", FAIL, found, remedy)
    return Check("gpu", OK, f"{found}; CUDA {cuda} of the locks needs driver {oldest}")


def clock(now: float, newest: tuple[str, float] | None) -> Check:
    """The clock against the files that are there: one of tomorrow means that the clock was set back.

    Args:
        now: Seconds since the epoch.
        newest: The newest file, and when it was written.
    """
    if newest is None:
        return Check("clock", OK, "no file to hold it against")
    ahead = newest[1] - now
    if ahead <= CLOCK_SLACK_SECONDS:
        return Check("clock", OK, "no file is newer than now")
    remedy = (
        "set the clock right (timedatectl set-ntp true). If it is right now, what was written "
        "before has times of the future: `touch` it"
    )
    return Check(
        "clock", WARN, f"{newest[0]} was written {ahead:,.0f} s from now: the clock was set back", remedy
    )


def tree(dirty: bool | None, depth: str, stamp: str | None) -> Check:
    """Whether what will be measured can be named by a commit, which a depth that claims something needs."""
    if dirty is False:
        return Check("tree", OK, "clean: every record will name its commit")
    found = "has changes that are not committed" if dirty else "git does not know this tree"
    remedy = "commit first" if dirty else "work in a clone that git made, not in an unpacked archive"
    if stamp is None:
        return Check("tree", FAIL, f"{found}: what depth {depth} measures so cannot be packed", remedy)
    return Check("tree", WARN, f"{found}; depth {depth} is a {stamp}, and needs none", remedy)
