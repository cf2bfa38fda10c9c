"""The doctor's verdicts, each from figures that are handed in."""

import pytest

from augmark.machines import checks
from augmark.machines.checks import FAIL, OK, WARN

GIB = 1 << 30
HARDWARE = {"governor": None, "turbo": None, "frequency_driver": None, "virtual": False, "system": "Linux"}


@pytest.mark.parametrize(
    ("implementation", "version", "status"),
    [
        ("cpython", (3, 11, 0), OK),
        ("cpython", (3, 14, 1), OK),
        ("cpython", (3, 10, 14), FAIL),
        ("pypy", (3, 11, 9), FAIL),
    ],
)
def test_python(implementation, version, status):
    """The locks are for CPython 3.11 and newer."""
    check = checks.python(implementation, version)
    assert (check.status, bool(check.remedy)) == (status, status == FAIL)


@pytest.mark.parametrize(
    ("wanted", "free", "status", "words"),
    [
        ([], 67_108_864, OK, "67.1 MB free, nothing to come"),
        ([], 67_108_863, FAIL, "nothing to come"),  # 64 MiB are never taken
        (
            [("items", 900), ("records", 100)],
            67_109_864,
            OK,
            "about 1.0 kB to come (items: 900 B; records: 100 B)",
        ),
        ([("items", 900), ("records", 100)], 67_109_863, FAIL, "about 1.0 kB to come"),
        ([("dataset x", None)], 10**12, WARN, "(dataset x: unknown)"),
    ],
)
def test_disk(wanted, free, status, words):
    """What is known to come must fit, with the reserve that every step keeps."""
    check = checks.disk("disk", "results", wanted, free, "go elsewhere")
    assert (check.status, words in check.found) == (status, True), check
    assert (check.remedy.startswith("free 1 B, or go elsewhere")) == (status == FAIL)


@pytest.mark.parametrize(
    ("needs", "there", "status", "words"),
    [
        ({}, 0, OK, "not needed"),
        ({"a": 7, "b": 5}, 7, OK, "7; a needs 7"),
        ({"a": 7, "b": 5}, 6, WARN, "6; a needs 7: 1 of 2 do not fit, and end as `oom`, or on fewer items"),
        ({"a": 7, "b": 5}, 4, FAIL, "4; a needs 7: nothing that needs it fits"),
        ({"a": 7}, None, OK, "no limit, or not known on this system; a needs 7"),
    ],
)
def test_a_resource_against_what_rows_need(needs, there, status, words):
    """All fit, some do, none does, and what nobody limits."""
    check = checks.enough("memory", needs, there, "more", str)
    assert (check.status, check.found) == (status, words)
    assert check.remedy == ("" if status == OK else "more")


@pytest.mark.parametrize(
    ("limits", "status", "words"),
    [
        (None, OK, "4 processors; no control group that says anything of time"),
        ({"cpus": None}, OK, "4 processors; no control group that says anything of time"),
        ({"cpus": "none"}, OK, "4 processors, and no quota of time"),
        ({"cpus": 4.0}, OK, "a quota of 4 processors' worth of time"),
        (
            {"cpus": 1.5},
            WARN,
            "a quota of 1.5 processors' worth of time: whoever uses all of them is stopped",
        ),
        ({"cpus": 0.5}, FAIL, "a quota of 0.5 processors' worth of time: even one thread is stopped"),
    ],
)
def test_cores_against_the_quota_of_their_time(limits, status, words):
    """A container may see four processors and get the time of one and a half."""
    check = checks.cores(4, limits)
    assert (check.status, words in check.found, bool(check.remedy)) == (status, True, status != OK)


@pytest.mark.parametrize(
    ("known", "status", "words"),
    [
        ({"governor": "performance"}, OK, "performance"),
        ({"governor": "powersave"}, WARN, "powersave"),
        ({"governor": "performance, powersave"}, WARN, "performance, powersave"),
        ({"virtual": True}, OK, "unknown: a virtual machine, whose host chooses the frequency"),
        ({"system": "Darwin"}, OK, "unknown: macOS has none to choose"),
        ({}, WARN, "unknown: the kernel has no frequency driver here"),
        ({"virtual": None}, WARN, "unknown: the kernel has no frequency driver here"),
    ],
)
def test_governor(known, status, words):
    """Unknown is said, and a warning where somebody could look."""
    check = checks.governor({**HARDWARE, **known})
    assert (check.status, check.found, bool(check.remedy)) == (status, words, status != OK)


@pytest.mark.parametrize(
    ("known", "status", "remedy"),
    [
        ({}, OK, ""),
        ({"turbo": False}, OK, ""),
        ({"turbo": True}, WARN, "as root: echo 0 > /sys/devices/system/cpu/cpufreq/boost"),
        (
            {"turbo": True, "frequency_driver": "intel_pstate"},
            WARN,
            "as root: echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo",
        ),
    ],
)
def test_turbo(known, status, remedy):
    """Each driver has its own switch, and one of them is the other way round."""
    check = checks.turbo({**HARDWARE, **known})
    assert (check.status, check.remedy) == (status, remedy)


@pytest.mark.parametrize(
    ("minute", "busy", "status", "words"),
    [
        (0.1, [], OK, "0.0 processors busy now, load 0.10 over a minute"),
        (None, [("init", 0.01)], OK, "0.0 processors busy now, load unknown"),
        (
            0.1,
            [("make", 0.9), ("sh", 0.06), ("init", 0.01)],
            WARN,
            "1.0 processors busy now (make 0.9, sh 0.1)",
        ),
        (0.5, [], WARN, "load 0.50 over a minute"),
    ],
)
def test_load(minute, busy, status, words):
    """What is busy now is named; what was a moment ago shows in the load."""
    check = checks.load(minute, busy)
    assert (check.status, words in check.found) == (status, True), check


@pytest.mark.parametrize(
    ("memory", "status", "words"),
    [
        (None, OK, "unknown: this system does not say"),
        ({"SwapTotal": 0, "SwapFree": 0}, OK, "none"),
        ({"SwapTotal": 8 * GIB, "SwapFree": 8 * GIB}, OK, "0 B of 8.6 GB used"),
        ({"SwapTotal": 8 * GIB, "SwapFree": 7 * GIB}, WARN, "1.1 GB of 8.6 GB used"),
    ],
)
def test_swap(memory, status, words):
    """Swap that is there and not used does no harm."""
    check = checks.swap(memory)
    assert (check.status, check.found) == (status, words)


@pytest.mark.parametrize(
    ("needed_by", "gpus", "driver", "cuda", "status", "words"),
    [
        (None, [], None, None, OK, "not needed; no NVIDIA GPU"),
        ("9 cells", [], None, 13, FAIL, "no NVIDIA GPU; needed by 9 cells"),
        ("9 cells", ["NVIDIA L4"], "580.65.06", 13, OK, "CUDA 13 of the locks needs driver 580"),
        ("9 cells", ["NVIDIA L4"], "570.86", 13, FAIL, "NVIDIA L4, driver 570.86; needed by 9 cells"),
        ("9 cells", ["NVIDIA L4"], "570.86", 12, OK, "CUDA 12 of the locks needs driver 525"),
        ("9 cells", ["NVIDIA L4"], None, 13, WARN, "which driver is needed is not known"),
        ("9 cells", ["NVIDIA L4"], "580.65.06", None, WARN, "which driver is needed is not known"),
    ],
)
def test_gpu(needed_by, gpus, driver, cuda, status, words):
    """Of the driver, the oldest that NVIDIA names for a version of CUDA."""
    check = checks.gpu(needed_by, gpus, driver, cuda)
    assert (check.status, words in check.found, bool(check.remedy)) == (status, True, status != OK)


@pytest.mark.parametrize(
    ("newest", "status", "words"),
    [
        (None, OK, "no file to hold it against"),
        (("results/a", 995.0), OK, "no file is newer than now"),
        (("results/a", 1005.0), OK, "no file is newer than now"),
        (("results/a", 87400.0), WARN, "results/a was written 86,400 s from now: the clock was set back"),
    ],
)
def test_clock(newest, status, words):
    """Some seconds are those of a file server's own clock."""
    check = checks.clock(1000.0, newest)
    assert (check.status, check.found) == (status, words)


@pytest.mark.parametrize(
    ("dirty", "stamp", "status"),
    [
        (False, None, OK),
        (True, None, FAIL),
        (None, None, FAIL),
        (True, "smoke signal, not a score", WARN),
        (None, "smoke signal, not a score", WARN),
    ],
)
def test_tree(dirty, stamp, status):
    """A depth that claims something needs a commit that can be named."""
    assert checks.tree(dirty, "max", stamp).status == status


def test_lock_and_folders():
    """What holds the machine is named; a folder that cannot be written says why, and where to go."""
    assert checks.machine_lock("/l", False, None).status == OK
    held = checks.machine_lock("/l", True, "process 7 (python)")
    assert (held.status, held.found) == (WARN, "/l is held by process 7 (python): another run is measuring")
    assert checks.machine_lock("/l", True, None).found == "/l is held: another run is measuring"
    assert checks.writable("temp", "/t", None, "").status == OK
    refused = checks.writable("temp", "/t", "Read-only file system", "set TMPDIR")
    assert (refused.status, refused.found) == (FAIL, "/t: Read-only file system")
    assert refused.remedy == "make it writable, or set TMPDIR"
