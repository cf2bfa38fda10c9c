"""What tells energy on a machine: counters that only rise, and on a Mac a program that samples power.

Standard library only. Units: joules, seconds, watts.

* ``rapl``: powercap of Linux, for Intel's and AMD's processors alike (``intel-rapl:N`` whose ``name`` is
  ``package-...``, and their ``dram``). ``core`` and ``uncore`` are parts of the package, and ``psys`` holds
  it: none of them is added. ``intel-rapl-mmio`` shows the same package a second time.
* ``nvml``: what the board of a GPU has taken since its driver was loaded, out of the driver's own library.
* ``powermetrics``: Apple's estimates of power, which its manual says are inaccurate: coarse.
"""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

POWERCAP = "sys/class/powercap"
# No package on sale takes half of it; with a range of 65 kJ a reading a minute is enough.
PACKAGE_WATTS_AT_MOST = 1000.0
DRAM_WATTS_AT_MOST = 500.0
READABLE = f"sudo chmod a+r /{POWERCAP}/intel-rapl:*/energy_uj (until the next start)"
NVML_LIBRARY = "libnvidia-ml.so.1"
NVML_NOT_SUPPORTED = 3


class Unreadable(Exception):
    """There is no figure; the message says why, and what to do where something can be done."""


@dataclass(frozen=True)
class Counter:
    """One counter of energy.

    Attributes:
        name: As messages name it.
        part: What it is of: ``package``, ``dram``, ``gpu``.
        joules_per_unit: Of what ``read`` gives.
        read: The counter now; raises OSError or Unreadable.
        wraps_at: What it counts up to before it starts again at zero; None for one of 64 bits in use.
        watts_at_most: More than what it counts can take: how soon it could be round once.
    """

    name: str
    part: str
    joules_per_unit: float
    read: Callable[[], int]
    wraps_at: int | None = None
    watts_at_most: float = PACKAGE_WATTS_AT_MOST

    def step_joules(self, seconds: float, before: int, after: int) -> float:
        """Joules between two readings.

        Raises:
            Unreadable: The counter could have been round more than once, or went back and has no range.
        """
        if self.wraps_at is not None and seconds * self.watts_at_most >= self.wraps_at * self.joules_per_unit:
            raise Unreadable(
                f"{self.name} was read {seconds:.0f} s apart and may have been round more than once: it "
                f"starts again after {self.wraps_at * self.joules_per_unit:.0f} J"
            )
        if after < before and self.wraps_at is None:
            raise Unreadable(f"{self.name} went back from {before} to {after}")
        units = after - before if after >= before else after - before + int(self.wraps_at or 0)
        if units < 0:
            raise Unreadable(f"{self.name} went back from {before} to {after}, beyond its range")
        return units * self.joules_per_unit


@dataclass(frozen=True)
class Source:
    """Counters that are read together.

    Attributes:
        name: ``rapl`` or ``nvml``.
        window_seconds: Work of less time is repeated until it lasts as long.
    """

    name: str
    window_seconds: float
    counters: tuple[Counter, ...]

    @property
    def parts(self) -> set[str]:
        return {counter.part for counter in self.counters}


# The counters rise once a millisecond (Intel's manual, volume 3B): half a percent at each end of 0.2 s.
RAPL_WINDOW_SECONDS = 0.2
# Boards bring theirs up to date every 20 to 100 ms: at most 5 percent at each end of 2 s.
NVML_WINDOW_SECONDS = 2.0
# Samples of 0.5 s; the first is not used, since work may have begun within it.
POWERMETRICS_WINDOW_SECONDS = 5.0
POWERMETRICS_SAMPLE_MS = 500


def rapl(root: Path = Path("/")) -> Source:
    """The packages' counters, and those of their memory where there are any.

    Args:
        root: What stands for ``/``.

    Raises:
        Unreadable: There are none, or they may not be read.
    """
    zones = sorted((root / POWERCAP).glob("intel-rapl:*"))
    counters = tuple(counter for zone in zones if (counter := _zone(zone)) is not None)
    if not any(counter.part == "package" for counter in counters):
        raise Unreadable(
            f"no counter of a package in /{POWERCAP} (a virtual machine or a container has none; on a host "
            "of your own: modprobe intel_rapl_msr)"
        )
    return Source("rapl", RAPL_WINDOW_SECONDS, counters)


def _zone(zone: Path) -> Counter | None:
    """One zone of powercap; None where it is part of another, or no longer there."""
    file = zone / "energy_uj"
    try:
        name = (zone / "name").read_text(encoding="ascii").strip()
        part = "package" if name.startswith("package-") else name
        if part not in ("package", "dram"):
            return None
        wraps_at = _number(zone / "max_energy_range_uj")
        _number(file)
    except PermissionError as error:
        raise Unreadable(
            f"{zone.name}/energy_uj may be read by root alone (so is Linux since PLATYPUS, CVE-2020-8694): "
            f"{READABLE}"
        ) from error
    except (OSError, ValueError) as error:
        raise Unreadable(f"{zone.name} of powercap cannot be read: {_words(error)}") from error
    watts = PACKAGE_WATTS_AT_MOST if part == "package" else DRAM_WATTS_AT_MOST
    return Counter(f"{zone.name} ({name})", part, 1e-6, partial(_number, file), wraps_at, watts)


def _number(file: Path) -> int:
    # Opened for each reading: an open file would be every DataLoader worker's, too.
    return int(file.read_text(encoding="ascii"))


def _words(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or type(error).__name__


def nvml(load: Callable[[str], Any] = ctypes.CDLL, modules: Mapping[str, Any] = sys.modules) -> Source:
    """The counter of the GPU that this process uses.

    Args:
        load: Gives the driver's library by its name.
        modules: Where torch is, once it is imported: it knows which GPU it uses.

    Raises:
        Unreadable: There is no driver, the GPU does not count, or which GPU it is cannot be told.
    """
    try:
        library = load(NVML_LIBRARY)
    except OSError as error:
        raise Unreadable(f"no {NVML_LIBRARY}: NVIDIA's driver is not there") from error
    _check(library, "nvmlInit_v2", library.nvmlInit_v2())
    handle = _handle(library, _uuid_in_use(modules))

    def read() -> int:
        total = ctypes.c_ulonglong(0)
        code = library.nvmlDeviceGetTotalEnergyConsumption(handle, ctypes.byref(total))
        _check(library, "nvmlDeviceGetTotalEnergyConsumption", code)
        return int(total.value)

    read()
    return Source("nvml", NVML_WINDOW_SECONDS, (Counter("NVML's total energy", "gpu", 1e-3, read),))


def _uuid_in_use(modules: Mapping[str, Any]) -> str | None:
    """Of the GPU that torch runs on: NVML numbers boards otherwise than CUDA does."""
    torch = modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return None
    uuid = str(torch.cuda.get_device_properties(torch.cuda.current_device()).uuid)
    return uuid if uuid.startswith("GPU-") else f"GPU-{uuid}"


def _handle(library: Any, uuid: str | None) -> ctypes.c_void_p:
    handle = ctypes.c_void_p()
    if uuid is not None:
        code = library.nvmlDeviceGetHandleByUUID(uuid.encode(), ctypes.byref(handle))
        _check(library, "nvmlDeviceGetHandleByUUID", code)
        return handle
    count = ctypes.c_uint(0)
    _check(library, "nvmlDeviceGetCount_v2", library.nvmlDeviceGetCount_v2(ctypes.byref(count)))
    if count.value != 1:
        raise Unreadable(f"which of {count.value} GPUs is in use cannot be told")
    code = library.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(0), ctypes.byref(handle))
    _check(library, "nvmlDeviceGetHandleByIndex_v2", code)
    return handle


def _check(library: Any, name: str, code: int) -> None:
    if code == NVML_NOT_SUPPORTED:
        raise Unreadable(f"{name}: this GPU does not count its energy (older than Volta, or a part of one)")
    if code != 0:
        library.nvmlErrorString.restype = ctypes.c_char_p
        text = library.nvmlErrorString(code) or b"unknown"
        raise Unreadable(f"{name} failed: {text.decode('ascii', 'replace')} ({code})")


# The first and the last sample are left out; with less than this the mean is of another piece of work.
SAMPLED_SHARE = 0.5


class Powermetrics:
    """Power as ``powermetrics`` samples it, over work that is done for that alone.

    It takes a processor now and then itself, so that it never runs beside timed values.

    Args:
        command: The program; its path where a test has one of its own.

    Raises:
        Unreadable: It needs root.
    """

    name = "powermetrics"
    window_seconds = POWERMETRICS_WINDOW_SECONDS

    def __init__(self, command: str = "powermetrics", user: int | None = None) -> None:
        if (os.geteuid() if user is None else user) != 0:
            raise Unreadable("powermetrics needs root: run the measurement with sudo to have its estimates")
        self.command = command

    def watts_during(self, work: Callable[[], None]) -> dict[str, float]:
        """Mean watts by part, of the samples that were taken while ``work`` ran.

        Raises:
            Unreadable: It cannot be run, or said nothing that is understood.
        """
        words = ["--samplers", "cpu_power", "-i", str(POWERMETRICS_SAMPLE_MS), "-b", "1"]
        # To a file: a pipe that nobody reads meanwhile fills up, and the program stops sampling.
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as told:
            try:
                process = subprocess.Popen(
                    [self.command, *words], stdout=told, stderr=subprocess.DEVNULL, text=True
                )
            except OSError as error:
                raise Unreadable(f"powermetrics cannot be run: {_words(error)}") from error
            since = time.monotonic()
            try:
                work()
            finally:
                seconds = time.monotonic() - since
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(timeout=5)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
            told.seek(0)
            said = told.read()
        sampled = sum(elapsed for elapsed, _ in list(_samples(said))[1:])
        if sampled < SAMPLED_SHARE * seconds:
            raise Unreadable(f"powermetrics sampled {sampled:.1f} s of {seconds:.1f} s of work")
        return mean_watts(said)


_SAMPLE = re.compile(r"^\*\*\* Sampled system activity .*\(([\d.]+)ms elapsed\)", re.MULTILINE)
_POWER = re.compile(r"^(CPU|GPU|ANE) Power: +([\d.]+) *(m?W)", re.MULTILINE)
_INTEL = re.compile(r"^Intel energy model derived package power .*?: +([\d.]+)W", re.MULTILINE)


def mean_watts(said: str) -> dict[str, float]:
    """Mean watts by part (``cpu gpu ane``; ``package`` on an Intel Mac) of what powermetrics printed.

    The first sample is left out, since work may have begun within it, and so is the last, which may be half
    there.

    Raises:
        Unreadable: No whole sample tells a power.
    """
    sums: dict[str, float] = {}
    seconds = 0.0
    for elapsed, text in list(_samples(said))[1:]:
        seconds += elapsed
        for part, watts in _told(text):
            sums[part] = sums.get(part, 0.0) + watts * elapsed
    if not sums or seconds <= 0:
        raise Unreadable("powermetrics told no power")
    return {part: joules / seconds for part, joules in sums.items()}


def _samples(said: str) -> Iterator[tuple[float, str]]:
    """Seconds and text of every sample that another one follows."""
    heads = list(_SAMPLE.finditer(said))
    for head, following in pairwise(heads):
        yield float(head[1]) / 1e3, said[head.end() : following.start()]


def _told(text: str) -> Iterator[tuple[str, float]]:
    if intel := _INTEL.search(text):
        yield "package", float(intel[1])
        return
    for part, figure, unit in _POWER.findall(text):
        yield part.lower(), float(figure) * (1e-3 if unit == "mW" else 1.0)
