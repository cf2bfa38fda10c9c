"""What is read of counters: copied trees of powercap, a driver's library built here, a program that prints.

There is no GPU, no Mac and no readable powercap where these were written: the library is one in C of the same
functions, the program prints what powermetrics prints.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from augmark.worker.energy_sources import (
    Counter,
    Powermetrics,
    Unreadable,
    mean_watts,
    nvml,
    rapl,
)

RANGE_UJ = 262143328850  # of a Xeon: 2^32 - 1 units of 61 uJ
POWERCAP = "sys/class/powercap"


def zone(root, name, called, energy_uj=1000, range_uj=RANGE_UJ):
    folder = root / POWERCAP / name
    folder.mkdir(parents=True)
    (folder / "name").write_text(f"{called}\n")
    (folder / "max_energy_range_uj").write_text(f"{range_uj}\n")
    (folder / "energy_uj").write_text(f"{energy_uj}\n")
    return folder / "energy_uj"


# --- powercap ----------------------------------------------------------------------------------------


def test_packages_and_their_memory_are_counted_once(tmp_path):
    """Two sockets of a server: cores are in the package, psys holds it, mmio shows it a second time."""
    zone(tmp_path, "intel-rapl:0", "package-0", 5_000_000)
    zone(tmp_path, "intel-rapl:0:0", "core")
    zone(tmp_path, "intel-rapl:0:1", "dram", 7_000_000, 65712999613)
    zone(tmp_path, "intel-rapl:1", "package-1", 6_000_000)
    zone(tmp_path, "intel-rapl:2", "psys")
    zone(tmp_path, "intel-rapl-mmio:0", "package-0")
    (tmp_path / POWERCAP / "intel-rapl").mkdir()
    counters = rapl(tmp_path).counters
    assert [
        ("intel-rapl:0 (package-0)", "package", 5_000_000, RANGE_UJ),
        ("intel-rapl:0:1 (dram)", "dram", 7_000_000, 65712999613),
        ("intel-rapl:1 (package-1)", "package", 6_000_000, RANGE_UJ),
    ] == [(each.name, each.part, each.read(), each.wraps_at) for each in counters]


def test_an_amd_processor_counts_under_the_same_name(tmp_path):
    """Linux shows a Ryzen as intel-rapl:0, of a package and its cores, with a range of 65 kJ."""
    file = zone(tmp_path, "intel-rapl:0", "package-0", 65_532_610_000, 65_532_610_987)
    zone(tmp_path, "intel-rapl:0:0", "core", 1, 65_532_610_987)
    (counter,) = rapl(tmp_path).counters
    before = counter.read()
    file.write_text("2000013\n")
    # 987 uJ to the end of the range, and 2,000,013 after it.
    assert pytest.approx(2.001) == counter.step_joules(1.0, before, counter.read())


def test_a_machine_without_counters_says_so(tmp_path):
    """As in a virtual machine or a container."""
    with pytest.raises(Unreadable, match="no counter of a package in /sys/class/powercap"):
        rapl(tmp_path)
    zone(tmp_path, "intel-rapl:0", "psys")
    with pytest.raises(Unreadable, match="no counter of a package"):
        rapl(tmp_path)


def test_a_counter_of_root_says_how_to_read_it():
    """Since PLATYPUS the file is root's: the reason has the command, and no figure is made up."""
    root = Path(tempfile.mkdtemp())
    try:
        zone(root, "intel-rapl:0", "package-0").chmod(0o400)
        for folder in (root, *(each for each in root.rglob("*") if each.is_dir())):
            folder.chmod(0o755)
        user = os.geteuid()
        if user == 0:
            os.seteuid(65534)
        else:
            (root / POWERCAP / "intel-rapl:0" / "energy_uj").chmod(0)
        try:
            with pytest.raises(Unreadable, match=r"root alone .*sudo chmod a\+r /sys/class/powercap"):
                rapl(root)
        finally:
            os.seteuid(user)
    finally:
        shutil.rmtree(root)


def test_a_counter_that_holds_no_number_is_named(tmp_path):
    """Whatever a driver writes there."""
    zone(tmp_path, "intel-rapl:0", "package-0").write_text("n/a\n")
    with pytest.raises(Unreadable, match="intel-rapl:0 of powercap cannot be read"):
        rapl(tmp_path)


# --- going round -------------------------------------------------------------------------------------


def counter(**more):
    return Counter("intel-rapl:0 (package-0)", "package", 1e-6, lambda: 0, **{"wraps_at": RANGE_UJ, **more})


def test_a_counter_that_was_round_once_is_put_right():
    """From 262,143,328,000 to its end are 850 uJ, and 500 more follow."""
    assert pytest.approx(0.00135) == counter().step_joules(1.0, 262143328000, 500)


def test_a_counter_that_may_have_been_round_twice_is_unreadable():
    """262 kJ are gone after 262 s at 1 kW: whether it was round once or twice cannot be seen."""
    assert pytest.approx(1e-3) == counter().step_joules(262.0, 0, 1000)
    with pytest.raises(
        Unreadable, match="may have been round more than once: it starts again after 262143 J"
    ):
        counter().step_joules(263.0, 0, 1000)


@pytest.mark.parametrize(("wraps_at", "before"), [(None, 600), (100, 600)])
def test_a_counter_that_went_back_is_unreadable(wraps_at, before):
    """The driver was loaded again, or the range is wrong."""
    with pytest.raises(Unreadable, match="went back from 600 to 400"):
        counter(wraps_at=wraps_at, watts_at_most=0.0).step_joules(1.0, before, 400)


# --- NVML --------------------------------------------------------------------------------------------

DRIVER = """
#include <stdlib.h>
#include <string.h>
static unsigned long long total = 123456789ULL;
static int first, second;
int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned int *count) { *count = atoi(getenv("FAKE_GPUS")); return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **device) {
  *device = index ? &second : &first; return index < 2 ? 0 : 2; }
int nvmlDeviceGetHandleByUUID(const char *uuid, void **device) {
  if (strcmp(uuid, "GPU-0000-second")) return 6;
  *device = &second; return 0; }
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *energy) {
  if (device == &first && getenv("FAKE_OLD")) return 3;
  total += device == &first ? 1500 : 250; *energy = total; return 0; }
const char *nvmlErrorString(int code) { return code == 6 ? "Not Found" : "Unknown Error"; }
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    """Loads a library of NVML's functions, whose first board takes 1.5 J from reading to reading."""
    import ctypes

    compiler = shutil.which("cc") or shutil.which("g++")
    if compiler is None:
        pytest.skip("there is no C compiler here to build a stand-in of NVML with")
    folder = tmp_path_factory.mktemp("driver")
    (folder / "nvml.c").write_text(DRIVER)
    built = folder / "libnvidia-ml.so.1"
    subprocess.run([compiler, "-x", "c", "-shared", "-fPIC", str(folder / "nvml.c"), "-o", built], check=True)
    return lambda name: ctypes.CDLL(str(folder / name))


def torch_on(uuid):
    cuda = SimpleNamespace(
        is_initialized=lambda: uuid is not None,
        current_device=lambda: 0,
        get_device_properties=lambda index: SimpleNamespace(uuid=uuid),
    )
    return {"torch": SimpleNamespace(cuda=cuda)}


def spent(source):
    (counter,) = source.counters
    before = counter.read()
    return counter.part, counter.step_joules(1.0, before, counter.read())


def test_the_only_gpu_is_the_one_in_use(driver, monkeypatch):
    """Its counter is in millijoules: 1500 of them are 1.5 J."""
    monkeypatch.setenv("FAKE_GPUS", "1")
    assert ("gpu", pytest.approx(1.5)) == spent(nvml(driver, {}))


@pytest.mark.parametrize("uuid", ["0000-second", "GPU-0000-second"])
def test_of_several_gpus_torch_says_which(driver, monkeypatch, uuid):
    """By its UUID, which torch tells without the prefix: numbers are not the same in CUDA and NVML."""
    monkeypatch.setenv("FAKE_GPUS", "2")
    assert ("gpu", pytest.approx(0.25)) == spent(nvml(driver, torch_on(uuid)))


def test_which_of_several_gpus_is_never_guessed(driver, monkeypatch):
    """Without torch, or before it has used one."""
    monkeypatch.setenv("FAKE_GPUS", "2")
    for modules in ({}, torch_on(None)):
        with pytest.raises(Unreadable, match="which of 2 GPUs is in use cannot be told"):
            nvml(driver, modules)


def test_a_gpu_that_does_not_count_says_so(driver, monkeypatch):
    """Older than Volta, or one part of a board."""
    monkeypatch.setenv("FAKE_GPUS", "1")
    monkeypatch.setenv("FAKE_OLD", "1")
    with pytest.raises(Unreadable, match="does not count its energy"):
        nvml(driver, {})


def test_what_the_driver_refuses_is_said_in_its_words(driver):
    """An unknown board."""
    with pytest.raises(Unreadable, match=r"nvmlDeviceGetHandleByUUID failed: Not Found \(6\)"):
        nvml(driver, torch_on("other"))


def test_without_a_driver_there_is_no_gpu_counter():
    """The real loader, a name that no system has: nothing to read is a reason."""
    import ctypes

    with pytest.raises(Unreadable, match="NVIDIA's driver is not there"):
        nvml(lambda name: ctypes.CDLL(f"{name}.of-nobody"), {})


# --- powermetrics ------------------------------------------------------------------------------------


def sample(milliseconds, cpu, gpu, ane):
    return (
        f"*** Sampled system activity (Mon Nov 30 10:00:00 2026 +0000) ({milliseconds}ms elapsed) ***\n\n\n"
        "**** Processor usage ****\n\nE-Cluster HW active frequency: 1049 MHz\n\n"
        f"CPU Power: {cpu} mW\nGPU Power: {gpu} mW\nANE Power: {ane} mW\n"
        f"Combined Power (CPU + GPU + ANE): {cpu + gpu + ane} mW\n\n"
    )


HEAD = "Machine model: Mac16,1\nOS version: 24A335\n\n"


def test_power_is_the_mean_of_whole_samples_by_their_length():
    """500 ms at 1 W and 1500 ms at 3 W are 2.5 W; the first and the last sample are left out."""
    said = HEAD + sample(500.0, 90000, 0, 0) + sample(500.0, 1000, 20, 0) + sample(1500.0, 3000, 60, 0)
    assert {"cpu": 2.5, "gpu": pytest.approx(0.05), "ane": 0.0} == mean_watts(said + sample(499, 70000, 0, 0))


def test_an_intel_mac_tells_its_package():
    """In watts, and in other words."""
    one = (
        "*** Sampled system activity (Mon Nov 30 10:00:00 2026 +0000) (1000.00ms elapsed) ***\n"
        "Intel energy model derived package power (CPUs+GT+SA): 3.25W\n"
    )
    assert {"package": 3.25} == mean_watts(one * 3)


def test_what_is_not_understood_is_no_figure():
    """Nothing, one sample, or samples without a power."""
    for said in (
        "",
        HEAD + sample(500.0, 1, 2, 3),
        "*** Sampled system activity (x) (5.0ms elapsed) ***\n" * 4,
    ):
        with pytest.raises(Unreadable, match="told no power"):
            mean_watts(said)


def test_the_program_runs_beside_the_work_and_ends_with_it(tmp_path):
    """A program that prints a sample every tenth of a second until it is told to end."""
    loop = f"while True:\n    print({sample(100.0, 4000, 0, 0)!r}, flush=True)\n    time.sleep(0.1)\n"
    ended = []

    def work():
        time.sleep(2.0)
        ended.append(True)

    assert {"cpu": 4.0, "gpu": 0.0, "ane": 0.0} == talkative(tmp_path, loop).watts_during(work)
    assert [True] == ended


def talkative(tmp_path, body):
    """A program that prints as the loop says until it is told to end."""
    command = tmp_path / "powermetrics"
    command.write_text(f"#!{sys.executable}\nimport time\n{body}")
    command.chmod(0o755)
    return Powermetrics(str(command), user=0)


def test_a_long_report_is_read_to_its_end(tmp_path):
    """More than a pipe holds: 1 W for three samples, then 9 W; the mean is not that of the beginning."""
    low, high = sample(100.0, 1000, 0, 0), sample(100.0, 9000, 0, 0)
    body = (
        f"for n in range(10000):\n    print({low!r} if n < 3 else {high!r}, '.' * 16000, flush=True)\n"
        "    time.sleep(0.1)\n"
    )
    assert talkative(tmp_path, body).watts_during(lambda: time.sleep(3.0))["cpu"] > 6.0


def test_a_report_that_stops_is_no_figure(tmp_path):
    """Samples of the first moments only say nothing of the work that followed."""
    body = f"for n in range(4):\n    print({sample(100.0, 1000, 0, 0)!r}, flush=True)\ntime.sleep(60)\n"
    with pytest.raises(Unreadable, match=r"sampled 0\.2 s of 3\.\d s of work"):
        talkative(tmp_path, body).watts_during(lambda: time.sleep(3.0))


def test_powermetrics_needs_root_and_a_mac(tmp_path):
    """Both are reasons."""
    with pytest.raises(Unreadable, match="needs root"):
        Powermetrics(user=501)
    with pytest.raises(Unreadable, match="cannot be run: No such file"):
        Powermetrics(str(tmp_path / "powermetrics"), user=0).watts_during(lambda: None)
