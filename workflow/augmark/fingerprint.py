"""What kind of host this is. Standard library only; unknown is None, never a default.

No host name, no user name, no serial number, no path. Files are read below a root, so that a copy of another
host's ``/proc`` and ``/sys`` says what that host is. Where a limit may be set and is not, it is ``"none"``.
"""

from __future__ import annotations

import platform
import re
import subprocess
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from augmark import host
from augmark.cell import short_digest
from augmark.cgroup import cgroup_limits, list_length

ROOT = Path("/")
CPUS = "sys/devices/system/cpu"
# Instruction sets for which the libraries have code paths of their own (OpenCV, ATen, NumPy, libjpeg-turbo).
SIMD = (
    *("sse4_1", "sse4_2", "avx", "f16c", "fma", "avx2", "avx_vnni"),
    *("avx512f", "avx512bw", "avx512vl", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile"),
    *("neon", "asimd", "asimdhp", "asimddp", "i8mm", "bf16", "sve", "sve2"),
)
TOOL_SECONDS = 20  # nvidia-smi takes some seconds where the driver is not kept loaded
# Field of nvidia-smi -> ours. An unknown one fails the whole query, so these are ones that every driver has.
GPU_FIELDS = {
    "name": "name",
    "memory.total": "memory_mib",
    "power.limit": "power_limit_watts",
    "clocks.max.sm": "clock_limit_mhz",
}


@lru_cache(maxsize=1)
def fingerprint() -> dict[str, Any]:
    """The facts that make two hosts the same kind of host; see ``facts``."""
    return facts()


def local_machine() -> str:
    """``local-`` and four hexadecimal digits of what does not change when the host is updated."""
    stable = {**identity(), "system": platform.system() or None}
    del stable["memory_bytes"]
    return f"local-{short_digest(stable)[:4]}"


def identity() -> dict[str, Any]:
    """The few facts that a machine of ``machines.yaml`` is told by: quickly read, and no tool is asked."""
    return {
        "cpu_model": cpu_model(),
        "cpus": host.cpus(),
        "memory_bytes": host.memory_bytes(),
        "architecture": platform.machine() or None,
    }


def cpu_model(root: Path = ROOT) -> str | None:
    """The processor as the kernel names it."""
    for line in (_read(root / "proc/cpuinfo") or "").splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Model", "Hardware") and value.strip():
            return value.strip()
    if platform.system() != "Darwin":
        return None
    return _sysctl("machdep.cpu.brand_string").get("machdep.cpu.brand_string")


def facts(root: Path = ROOT, system: str | None = None) -> dict[str, Any]:
    """Every fact, each under its name whether it is known or not.

    Args:
        root: The folder below which ``/proc`` and ``/sys`` are read.
        system: As ``platform.system()`` says it, which is the default.
    """
    system = system or platform.system()
    found: dict[str, Any] = {
        "cpu_model": None,
        "cpu_id": None,
        "microcode": None,
        "simd": None,
        "cpu_flags": None,
        "cpus": host.cpus(),
        "topology": dict.fromkeys(("sockets", "cores", "threads_per_core", "numa_nodes")),
        "caches": None,
        "governor": None,
        "frequency_driver": None,
        "energy_preference": None,
        "turbo": None,
        "memory_bytes": host.memory_bytes(),
        "huge_pages": None,
        "cgroup": None,
        "architecture": platform.machine() or None,
        "system": system or None,
        "kernel": platform.release() or None,
        "libc": " ".join(part for part in platform.libc_ver() if part) or None,
        "virtual": None,
        "hypervisor": None,
        "hardware": None,
        "gpus": None,
        "gpu_driver": None,
    }
    found.update(_darwin() if system == "Darwin" else _linux(root))
    return found


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:
        return None


def _linux(root: Path) -> dict[str, Any]:
    processor = dict(_first_processor(root))
    flags = (processor.get("flags") or processor.get("Features") or "").split()
    return {
        "cpu_model": cpu_model(root),
        "cpu_id": _cpu_id(processor),
        "microcode": processor.get("microcode"),
        "simd": " ".join(name for name in SIMD if name in flags) if flags else None,
        "cpu_flags": short_digest(sorted(set(flags))) if flags else None,
        "topology": _topology(root),
        "caches": dict(sorted(_caches(root))) or None,
        "governor": _of_every_cpu(root, "cpufreq/scaling_governor"),
        "frequency_driver": _of_every_cpu(root, "cpufreq/scaling_driver"),
        "energy_preference": _of_every_cpu(root, "cpufreq/energy_performance_preference"),
        "turbo": _turbo(root),
        "huge_pages": _chosen(_read(root / "sys/kernel/mm/transparent_hugepage/enabled")),
        "cgroup": cgroup_limits(root),
        "kernel": _read(root / "proc/sys/kernel/osrelease") or platform.release() or None,
        # Only x86 has a flag that says so; without it, it runs on the hardware itself.
        "virtual": "hypervisor" in flags if "flags" in processor else None,
        "hypervisor": _read(root / "sys/hypervisor/type"),
        "hardware": _hardware(root),
        **_gpus(root),
    }


def _first_processor(root: Path) -> Iterator[tuple[str, str]]:
    """What ``/proc/cpuinfo`` says of the first processor."""
    for line in (_read(root / "proc/cpuinfo") or "").partition("\n\n")[0].splitlines():
        key, _, value = line.partition(":")
        yield key.strip(), value.strip()


def _cpu_id(processor: dict[str, str]) -> str | None:
    """Family, model and stepping: clouds hide the model's name (``AMD EPYC``), and ARM has none."""
    x86 = {"vendor_id": "", "cpu family": "family ", "model": "model ", "stepping": "stepping "}
    parts = ("implementer", "part", "variant", "revision")
    arm = {f"CPU {part}": f"{part} " for part in parts}
    words = x86 if "vendor_id" in processor else arm
    return " ".join(f"{word}{processor[key]}" for key, word in words.items() if processor.get(key)) or None


def _cpu_folders(root: Path) -> list[Path]:
    return sorted((root / CPUS).glob("cpu[0-9]*"))


def _topology(root: Path) -> dict[str, int | None]:
    """Sockets, cores of the machine, threads of a core, memory nodes; of what this kernel sees."""
    folders = [cpu / "topology" for cpu in _cpu_folders(root)]
    packages = {text for folder in folders if (text := _read(folder / "physical_package_id")) is not None}
    siblings = {text for folder in folders if (text := _read(folder / "thread_siblings_list")) is not None}
    nodes = list((root / "sys/devices/system/node").glob("node[0-9]*"))
    return {
        "sockets": len(packages) or None,
        "cores": len(siblings) or None,
        "threads_per_core": max(map(list_length, siblings), default=None),
        "numa_nodes": len(nodes) or None,
    }


def _caches(root: Path) -> Iterator[tuple[str, int]]:
    """Bytes of each cache that the first processor sees: its own and those it shares."""
    letters = {"Data": "d", "Instruction": "i", "Unified": ""}
    for folder in (root / CPUS / "cpu0/cache").glob("index[0-9]*"):
        level, kind, size = (_read(folder / name) for name in ("level", "type", "size"))
        match = re.fullmatch(r"(\d+)([KMG]?)", size or "")
        if level and kind in letters and match:
            yield (
                f"l{level}{letters[kind]}_bytes",
                int(match[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[match[2]],
            )


def _of_every_cpu(root: Path, name: str) -> str | None:
    """What the processors' files say; where they do not say the same, all of it."""
    return ", ".join(sorted({text for cpu in _cpu_folders(root) if (text := _read(cpu / name))})) or None


def _turbo(root: Path) -> bool | None:
    """Whether the processor may go beyond its nominal frequency."""
    off = _read(root / CPUS / "intel_pstate/no_turbo")
    if off is not None:
        return off == "0"
    on = _read(root / CPUS / "cpufreq/boost")
    return None if on is None else on == "1"


def _chosen(text: str | None) -> str | None:
    """The kernel brackets the choice that holds: ``always [madvise] never``."""
    match = re.search(r"\[(\S+)\]", text or "")
    return match[1] if match else None


def _hardware(root: Path) -> str | None:
    """Maker and product, as the firmware says them; a cloud names itself (``Google Compute Engine``)."""
    named = (_read(root / "sys/class/dmi/id" / name) for name in ("sys_vendor", "product_name"))
    return " ".join(text for text in named if text) or None


def _tool(*words: str) -> str:
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=TOOL_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def _gpus(root: Path) -> dict[str, Any]:
    """Accelerators and their driver: of nvidia-smi, or what the driver itself says."""
    query = f"--query-gpu=driver_version,{','.join(GPU_FIELDS)}"
    lines = [
        line.split(", ") for line in _tool("nvidia-smi", query, "--format=csv,noheader,nounits").splitlines()
    ]
    if lines and all(len(line) == len(GPU_FIELDS) + 1 for line in lines):
        gpus = [dict(zip(GPU_FIELDS.values(), map(_gpu_value, line[1:]), strict=True)) for line in lines]
        return {"gpus": gpus, "gpu_driver": lines[0][0]}
    nvidia = root / "proc/driver/nvidia"
    models = re.findall(r"^Model:\s*(.+?)\s*$", "\n".join(_informations(nvidia)), flags=re.MULTILINE)
    version = re.search(r"\s(\d+\.\d+(?:\.\d+)?)\s", _read(nvidia / "version") or "")
    unknown = dict.fromkeys(GPU_FIELDS.values())
    return {
        "gpus": [{**unknown, "name": model} for model in models] or None,
        "gpu_driver": version[1] if version else None,
    }


def _informations(nvidia: Path) -> Iterable[str]:
    return filter(None, (_read(path) for path in sorted(nvidia.glob("gpus/*/information"))))


def _gpu_value(text: str) -> str | float | None:
    """``[N/A]`` and ``[Not Supported]`` are unknown."""
    if text.startswith("["):
        return None
    return float(text) if re.fullmatch(r"\d+(\.\d+)?", text) else text


def _sysctl(*names: str) -> dict[str, str]:
    """Name -> value of those of the names that this macOS has."""
    # With an unknown name among them sysctl prints the others and fails.
    try:
        done = subprocess.run(
            ["sysctl", *names], capture_output=True, text=True, check=False, timeout=TOOL_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    pairs = (line.partition(": ") for line in done.stdout.splitlines())
    return {name: value.strip() for name, _, value in pairs if value.strip()}


def _darwin() -> dict[str, Any]:
    """The same facts on macOS: it has no governor to choose and no cgroups."""
    caches = {
        "l1d": "hw.l1dcachesize",
        "l1i": "hw.l1icachesize",
        "l2": "hw.l2cachesize",
        "l3": "hw.l3cachesize",
    }
    features = {
        "avx2": "hw.optional.avx2_0",
        "avx512f": "hw.optional.avx512f",
        "neon": "hw.optional.neon",
        "asimdhp": "hw.optional.arm.FEAT_FP16",
        "asimddp": "hw.optional.arm.FEAT_DotProd",
        "i8mm": "hw.optional.arm.FEAT_I8MM",
        "bf16": "hw.optional.arm.FEAT_BF16",
    }
    plain = ("machdep.cpu.brand_string", "machdep.cpu.microcode_version", "hw.model", "kern.hv_vmm_present")
    counts = ("hw.packages", "hw.physicalcpu", "hw.logicalcpu")
    known = _sysctl(*plain, *counts, *caches.values(), *features.values())
    sockets, cores, threads = (int(known[name]) if name in known else None for name in counts)
    simd = " ".join(word for word in SIMD if known.get(features.get(word, "")) == "1")
    virtual = known.get("kern.hv_vmm_present")
    return {
        "cpu_model": known.get("machdep.cpu.brand_string"),
        "microcode": known.get("machdep.cpu.microcode_version"),
        "simd": simd or None,
        "topology": {
            "sockets": sockets,
            "cores": cores,
            "threads_per_core": threads // cores if threads and cores else None,
            "numa_nodes": None,
        },
        "caches": {f"{level}_bytes": int(known[name]) for level, name in caches.items() if name in known}
        or None,
        "virtual": None if virtual is None else virtual == "1",
        "hardware": known.get("hw.model"),
    }
