"""What kind of host: read from copies of other hosts' /proc and /sys, and from this one's own."""

import getpass
import hashlib
import json
import platform
import re
import socket
from pathlib import Path

import pytest

from augmark import fingerprint, host
from augmark.cgroup import cgroup_limits, list_length
from augmark.record import SCHEMA, SCHEMA_FILES
from tests.conftest import ROOT

# As kernels write them; cut to what is read, and a neighbour of it.
XEON = """processor\t: 0
vendor_id\t: GenuineIntel
cpu family\t: 6
model\t\t: 207
model name\t: INTEL(R) XEON(R) PLATINUM 8581C CPU @ 2.10GHz
stepping\t: 2
microcode\t: 0xffffffff
cache size\t: 266240 KB
flags\t\t: fpu sse4_1 sse4_2 avx f16c hypervisor fma avx2 avx512f avx512bw erms
bogomips\t: 4200.00

processor\t: 1
vendor_id\t: GenuineIntel
model name\t: another, which is not read
flags\t\t: fpu
"""
LAPTOP = XEON.replace(" hypervisor", "").replace("INTEL(R) XEON(R) PLATINUM 8581C CPU @ 2.10GHz", "Core i7")
ARM = """processor\t: 0
BogoMIPS\t: 2000.00
Features\t: fp asimd evtstrm asimdhp asimddp sve
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x0
CPU part\t: 0xd4f
CPU revision\t: 1
"""
CPU = "sys/devices/system/cpu"


def tree(root, files):
    """Write files below ``root``: path -> text, a line feed at its end as the kernel has it."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n", encoding="utf-8")
    return root


def cpus(threads, *, per_core=2, **files):
    """Folders of so many processors of one socket; ``files``: of each, with ``__`` for a slash."""
    found = {}
    for cpu in range(threads):
        first = cpu - cpu % per_core
        found[f"{CPU}/cpu{cpu}/topology/physical_package_id"] = "0"
        found[f"{CPU}/cpu{cpu}/topology/thread_siblings_list"] = f"{first}-{first + per_core - 1}"
        for name, text in files.items():
            found[f"{CPU}/cpu{cpu}/{name.replace('__', '/')}"] = text
    return found


def cache(index, level, kind, size):
    folder = f"{CPU}/cpu0/cache/index{index}"
    return {f"{folder}/level": level, f"{folder}/type": kind, f"{folder}/size": size}


@pytest.fixture
def no_tools(monkeypatch, tmp_path):
    """A PATH on which nothing is; a test may put tools there."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def tool(folder, name, text, status=0):
    """A command that prints a text, whatever it is asked."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n/bin/cat <<'END'\n{text}\nEND\nexit {status}\n", encoding="utf-8")
    path.chmod(0o755)


def test_a_cloud_machine(tmp_path, no_tools):
    """Every fact that its files tell."""
    root = tree(
        tmp_path,
        {
            "proc/cpuinfo": XEON,
            "proc/sys/kernel/osrelease": "6.8.0-1010-gcp",
            "proc/self/cgroup": "0::/user.slice",
            "sys/fs/cgroup/cgroup.controllers": "cpu memory",
            "sys/devices/system/node/node0/cpulist": "0-3",
            "sys/devices/system/node/node1/cpulist": "4-7",
            "sys/class/dmi/id/sys_vendor": "Google",
            "sys/class/dmi/id/product_name": "Google Compute Engine",
            "sys/class/dmi/id/product_uuid": "0f0e0d0c-secret",
            "sys/class/dmi/id/product_serial": "GoogleCloud-SECRET",
            "sys/hypervisor/type": "xen",
            "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never",
            **cpus(8),
            **cache(0, 1, "Data", "48K"),
            **cache(1, 1, "Instruction", "32K"),
            **cache(2, 2, "Unified", "2048K"),
            **cache(3, 3, "Unified", "260M"),
        },
    )
    found = fingerprint.facts(root, "Linux")
    own = {name: found.pop(name) for name in ("cpus", "memory_bytes", "architecture", "libc")}
    assert (host.cpus(), host.memory_bytes(), platform.machine()) == tuple(own.values())[:3]
    assert {
        "cpu_model": "INTEL(R) XEON(R) PLATINUM 8581C CPU @ 2.10GHz",
        "cpu_id": "GenuineIntel family 6 model 207 stepping 2",
        "microcode": "0xffffffff",
        "simd": "sse4_1 sse4_2 avx f16c fma avx2 avx512f avx512bw",
        "cpu_flags": hashlib.sha256(
            b'["avx","avx2","avx512bw","avx512f","erms","f16c","fma","fpu","hypervisor","sse4_1","sse4_2"]'
        ).hexdigest()[:10],
        "topology": {"sockets": 1, "cores": 4, "threads_per_core": 2, "numa_nodes": 2},
        "caches": {
            "l1d_bytes": 49152,
            "l1i_bytes": 32768,
            "l2_bytes": 2097152,
            "l3_bytes": 272629760,
        },
        "governor": None,
        "frequency_driver": None,
        "energy_preference": None,
        "turbo": None,
        "huge_pages": "always",
        "cgroup": {"version": 2, "cpus": "none", "memory_bytes": "none", "cpuset_cpus": None},
        "system": "Linux",
        "kernel": "6.8.0-1010-gcp",
        "virtual": True,
        "hypervisor": "xen",
        "hardware": "Google Google Compute Engine",
        "gpus": None,
        "gpu_driver": None,
    } == found
    assert "secret" not in json.dumps(found).lower()


@pytest.mark.parametrize(
    ("files", "turbo"),
    [
        ({f"{CPU}/intel_pstate/no_turbo": "0", f"{CPU}/cpufreq/boost": "0"}, True),
        ({f"{CPU}/intel_pstate/no_turbo": "1"}, False),
        ({f"{CPU}/cpufreq/boost": "1"}, True),
        ({f"{CPU}/cpufreq/boost": "0"}, False),
        ({}, None),
    ],
)
def test_turbo(tmp_path, no_tools, files, turbo):
    """Intel's own switch says when it is off, the general one when it is on; without either it is unknown."""
    assert turbo is fingerprint.facts(tree(tmp_path, files), "Linux")["turbo"]


def test_a_laptop_s_frequencies(tmp_path, no_tools):
    """Governors are of each processor: where they are not the same, both are said."""
    files = cpus(
        4,
        per_core=1,
        cpufreq__scaling_governor="powersave",
        cpufreq__scaling_driver="intel_pstate",
        cpufreq__energy_performance_preference="balance_power",
    )
    root = tree(tmp_path, {"proc/cpuinfo": LAPTOP, **files})
    found = fingerprint.facts(root, "Linux")
    names = ("governor", "frequency_driver", "energy_preference", "virtual")
    assert ("powersave", "intel_pstate", "balance_power", False) == tuple(found[name] for name in names)
    assert (4, 1) == (found["topology"]["cores"], found["topology"]["threads_per_core"])
    tree(root, {f"{CPU}/cpu3/cpufreq/scaling_governor": "performance"})
    assert "performance, powersave" == fingerprint.facts(root, "Linux")["governor"]


def test_an_arm_machine(tmp_path, no_tools):
    """Its kernel names no model, but the maker and the part; and it does not say whether it is virtual."""
    found = fingerprint.facts(tree(tmp_path, {"proc/cpuinfo": ARM}), "Linux")
    assert (
        None,
        "implementer 0x41 part 0xd4f variant 0x0 revision 1",
        "asimd asimdhp asimddp sve",
        None,
    ) == (*(found[name] for name in ("cpu_model", "cpu_id", "simd", "virtual")),)


def test_unknown_is_none(tmp_path, no_tools):
    """With neither /proc nor /sys every fact that they tell is there, and None."""
    found = fingerprint.facts(tmp_path / "empty", "Linux")
    assert {"sockets": None, "cores": None, "threads_per_core": None, "numa_nodes": None} == found["topology"]
    not_theirs = {"cpus", "memory_bytes", "architecture", "system", "kernel", "libc", "topology"}
    assert {None} == {value for name, value in found.items() if name not in not_theirs}


@pytest.mark.parametrize(
    ("files", "limits"),
    [
        (  # version 2: the lowest of the groups around it holds
            {
                "proc/self/cgroup": "0::/kubepods/pod/job",
                "sys/fs/cgroup/cgroup.controllers": "cpu memory cpuset",
                "sys/fs/cgroup/kubepods/memory.max": "4294967296",
                "sys/fs/cgroup/kubepods/pod/memory.max": "max",
                "sys/fs/cgroup/kubepods/pod/cpu.max": "150000 100000",
                "sys/fs/cgroup/kubepods/pod/job/cpu.max": "max 100000",
                "sys/fs/cgroup/kubepods/pod/job/memory.max": "8589934592",
                "sys/fs/cgroup/kubepods/pod/job/cpuset.cpus.effective": "2-3,8",
            },
            (2, 1.5, 4294967296, 3),
        ),
        (  # a container of its own name space sees its group as the root
            {
                "proc/self/cgroup": "0::/",
                "sys/fs/cgroup/cgroup.controllers": "cpu memory",
                "sys/fs/cgroup/cpu.max": "200000 100000",
                "sys/fs/cgroup/memory.max": "1073741824",
            },
            (2, 2.0, 1073741824, None),
        ),
        (  # version 1, as Docker mounts it: the path is the host's and is not there
            {
                "proc/self/cgroup": "4:memory:/docker/0123abcd\n3:cpuset:/docker/0123abcd\n"
                "2:cpu,cpuacct:/docker/0123abcd\n1:name=systemd:/docker/0123abcd\n0::/",
                "sys/fs/cgroup/memory/memory.limit_in_bytes": "2147483648",
                "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "50000",
                "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000",
                "sys/fs/cgroup/cpuset/cpuset.cpus": "0-15",
            },
            (1, 0.5, 2147483648, 16),
        ),
        (  # version 1 without limits
            {
                "proc/self/cgroup": "4:memory:/job\n2:cpu:/\n",
                "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712",
                "sys/fs/cgroup/memory/job/memory.limit_in_bytes": "9223372036854771712",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
            },
            (1, "none", "none", None),
        ),
        ({"proc/self/cgroup": "0::/job"}, (2, None, None, None)),  # not mounted: nothing is known
    ],
)
def test_limits_of_control_groups(tmp_path, files, limits):
    """Time, memory and processors, of both versions."""
    version, processors, memory, cpuset = limits
    assert {
        "version": version,
        "cpus": processors,
        "memory_bytes": memory,
        "cpuset_cpus": cpuset,
    } == cgroup_limits(tree(tmp_path, files))


def test_lists_of_the_kernel():
    """Ranges and single numbers."""
    assert [1, 4, 5] == [list_length(text) for text in ("7", "0-3", "0-3,8")]


SMI = "550.90.07, NVIDIA L4, 23034, 72.00, 2040\n550.90.07, NVIDIA L4, 23034, [N/A], 2040"


def test_gpus_by_their_tool(tmp_path, no_tools):
    """Each GPU with what tells its kind; what a GPU does not tell is unknown."""
    tool(no_tools, "nvidia-smi", SMI)
    found = fingerprint.facts(tmp_path / "empty", "Linux")
    card = {"name": "NVIDIA L4", "memory_mib": 23034.0, "power_limit_watts": 72.0, "clock_limit_mhz": 2040.0}
    assert ([card, {**card, "power_limit_watts": None}], "550.90.07") == (found["gpus"], found["gpu_driver"])


@pytest.mark.parametrize("said", [("Failed to initialize NVML: Driver/library version mismatch", 18), None])
def test_gpus_by_their_driver(tmp_path, no_tools, said):
    """Without the tool, or where it fails: the model, without the serial number that stands beside it."""
    if said is not None:
        tool(no_tools, "nvidia-smi", *said)
    files = {
        "proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31"
        "\nGCC version:  gcc version 12.2.0 (Debian 12.2.0-14)",
        "proc/driver/nvidia/gpus/0000:00:03.0/information": "Model: \t\t NVIDIA L4\nIRQ:   \t\t 24\n"
        "GPU UUID: \t GPU-8d3a-secret\nBus Type: \t PCIe",
    }
    found = fingerprint.facts(tree(tmp_path, files), "Linux")
    card = {"name": "NVIDIA L4", "memory_mib": None, "power_limit_watts": None, "clock_limit_mhz": None}
    assert ([card], "550.90.07") == (found["gpus"], found["gpu_driver"])


def test_a_mac(tmp_path, no_tools):
    """Of sysctl; it names unknown keys as an error and prints the others all the same."""
    said = """machdep.cpu.brand_string: Apple M4
hw.model: Mac16,12
kern.hv_vmm_present: 0
hw.packages: 1
hw.physicalcpu: 10
hw.logicalcpu: 10
hw.l1dcachesize: 65536
hw.l1icachesize: 131072
hw.l2cachesize: 4194304
hw.optional.neon: 1
hw.optional.arm.FEAT_FP16: 1
hw.optional.arm.FEAT_BF16: 1
hw.optional.arm.FEAT_I8MM: 0"""
    tool(no_tools, "sysctl", said, status=1)
    found = fingerprint.facts(tmp_path, "Darwin")
    assert {
        "cpu_model": "Apple M4",
        "simd": "neon asimdhp bf16",
        "topology": {"sockets": 1, "cores": 10, "threads_per_core": 1, "numa_nodes": None},
        "caches": {"l1d_bytes": 65536, "l1i_bytes": 131072, "l2_bytes": 4194304},
        "virtual": False,
        "hardware": "Mac16,12",
        "governor": None,
        "cgroup": None,
        "microcode": None,
    }.items() <= found.items()
    assert fingerprint.facts(tmp_path / "empty", "Linux").keys() == found.keys()


def test_this_host_tells_no_names():
    """Neither its own, nor the user's, nor a path."""
    text = json.dumps(fingerprint.facts())
    for name in (socket.gethostname(), getpass.getuser()):
        assert not re.search(rf"\b{re.escape(name)}\b", text), name
    assert str(Path.home()) not in text


def test_the_id_of_this_host():
    """Four digits of four facts, so that it stays what it is when more of them are known."""
    names = {"architecture": platform.machine(), "system": platform.system()}
    stable = {"cpu_model": fingerprint.cpu_model(), "cpus": host.cpus(), **names}
    text = json.dumps(stable, sort_keys=True, separators=(",", ":"))
    assert f"local-{hashlib.sha256(text.encode()).hexdigest()[:4]}" == fingerprint.local_machine()


def test_the_record_s_schema_knows_every_fact(tmp_path):
    """By the same names."""
    schema = json.loads((ROOT / "workflow/schemas" / SCHEMA_FILES[SCHEMA]).read_text(encoding="utf-8"))
    facts = fingerprint.facts(tmp_path, "Linux")
    assert (
        set(schema["$defs"]["host"]["required"]) == set(schema["$defs"]["host"]["properties"]) == set(facts)
    )
