"""The energy of a row: windows of its own work, read outside of timers, or the reason why there is none."""

import time

import numpy as np
import pytest

from augmark.worker import energy, micro, rows
from augmark.worker.energy import Meter, Window
from augmark.worker.energy_sources import Counter, Source, Unreadable, rapl
from tests.worker.test_energy_sources import POWERCAP, zone
from tests.worker.tiny import JOB, Tiny, row

NO_BEAT = energy.between(Window(()), lambda: None)


class Work:
    """Items that take 2 J of a package and 0.5 J of its memory each, counted in files of powercap."""

    def __init__(self, root, seconds=0.0):
        self.files = {
            2_000_000: zone(root, "intel-rapl:0", "package-0", 262_143_000_000),
            500_000: zone(root, "intel-rapl:0:0", "dram", 10),
        }
        self.root, self.seconds, self.items, self.counts = root, seconds, 0, True

    def meter(self, **more):
        return Meter((rapl(self.root),), **more)

    def one(self):
        time.sleep(self.seconds)
        self.items += 1
        for each, file in self.files.items():
            if self.counts:
                file.write_text(f"{(int(file.read_text()) + each) % 262_143_328_850}\n")

    def again(self):
        """Three items at a time, as a pass over three has them."""
        for _ in range(3):
            self.one()
        return 3


def test_a_window_that_is_long_enough_is_the_timed_one(tmp_path):
    """Four items at 2.5 J, the package's counter going round on the way; nothing is run a second time."""
    work = Work(tmp_path, seconds=0.06)
    meter = work.meter()
    window = meter.start()
    for _ in range(4):
        work.one()
    window.read()
    found = meter.energy(window, 4, work.again, NO_BEAT)
    assert 4 == work.items
    assert ("rapl", False, 4, {}) == tuple(found[name] for name in ("source", "coarse", "items", "missing"))
    assert {"package": pytest.approx(8.0), "dram": pytest.approx(2.0)} == found["parts"]
    assert (pytest.approx(10.0), pytest.approx(2.5)) == (found["joules"], found["joules_per_item"])
    assert found["window_seconds"] >= 0.24


def test_a_short_window_is_measured_anew_over_the_same_work(tmp_path):
    """What took no time is repeated until the counters can be read: per item it is the same."""
    work, beats = Work(tmp_path, seconds=0.01), []
    meter = work.meter()
    window = meter.start()
    work.one()
    window.read()
    found = meter.energy(window, 1, work.again, lambda: beats.append(1))
    assert 1 + found["items"] == work.items
    assert 0 == found["items"] % 3
    assert found["window_seconds"] >= 0.2
    assert pytest.approx(2.5) == found["joules_per_item"]
    assert [] == beats  # only every few seconds


def test_without_a_counter_nothing_is_run(tmp_path):
    """A machine that cannot tell is not kept busy for it."""
    meter = Meter(missing={"package": "no counter of a package"})
    window = meter.start()
    window.read()
    found = meter.energy(window, 4, lambda: pytest.fail("work was repeated"), NO_BEAT)
    assert {"unavailable": "no counter of a package"} == found


def test_a_counter_that_stands_still_is_unavailable_and_not_zero(tmp_path):
    """As in some virtual machines, where it reads zero for ever."""
    work = Work(tmp_path)
    work.counts = False
    for file in work.files.values():
        file.write_text("0\n")
    meter = work.meter()
    found = meter.energy(meter.start(), 0, work.again, NO_BEAT)
    assert ["unavailable"] == list(found)
    assert "intel-rapl:0 (package-0) stood still at 0 over 0.2" in found["unavailable"]


def test_memory_that_does_not_count_is_missing_by_name(tmp_path):
    """The package's joules stand, and it is said what is not in them."""
    work = Work(tmp_path)
    del work.files[500_000]
    meter = work.meter()
    found = meter.energy(meter.start(), 0, work.again, NO_BEAT)
    assert ["package"] == list(found["parts"])
    assert pytest.approx(2.0) == found["joules_per_item"]
    assert ["dram"] == list(found["missing"])
    assert "stood still at 10" in found["missing"]["dram"]


def test_one_package_of_two_is_no_figure(tmp_path):
    """A part is the sum of its counters: half of it is not less energy."""
    work = Work(tmp_path)
    zone(tmp_path, "intel-rapl:1", "package-1", 77)
    meter = work.meter()
    found = meter.energy(meter.start(), 0, work.again, NO_BEAT)
    assert "intel-rapl:1 (package-1) stood still at 77" in found["unavailable"]


def test_a_counter_that_goes_away_is_a_reason(tmp_path):
    """Its module was unloaded, or its rights taken back."""
    work = Work(tmp_path)
    meter = work.meter()
    window = meter.start()
    (tmp_path / POWERCAP / "intel-rapl:0" / "energy_uj").unlink()
    found = meter.energy(window, 0, lambda: time.sleep(0.01) or 1, NO_BEAT)
    assert "a counter could not be read" in found["unavailable"]


def test_work_that_raises_when_it_is_repeated_costs_the_energy_alone(tmp_path):
    """The row has its values by then."""

    def again():
        raise ValueError("this call")

    meter = Work(tmp_path).meter()
    found = meter.energy(meter.start(), 0, again, NO_BEAT)
    assert {"unavailable": "raised when its work was repeated for it: ValueError"} == found


def test_a_long_stretch_is_read_in_between(monkeypatch):
    """Of 150 s in two steps of 75 s each can have been round once only; of 150 s in one nobody knows."""
    now, values = [0.0], iter([0, 100, 50, 0, 50])
    monkeypatch.setattr(energy, "perf_counter", lambda: now[0])
    counter = Counter("c", "package", 1e-6, lambda: next(values), 100_000_000_000, 1000.0)
    window = Window((counter,))
    window.read()
    for moment in (5.0, 75.0, 150.0):
        now[0] = moment
        window.read_if_due()
    assert [0.0, 75.0, 150.0] == [moment for moment, _ in window.readings]
    assert pytest.approx(100_000 - 50e-6 + 100e-6) == window.joules()[0]["package"]
    whole = Window((counter,))
    now[0] = 0.0
    whole.read()
    now[0] = 150.0
    whole.read()
    assert "more than once" in whole.joules()[1]["package"]


# --- of which row what ---------------------------------------------------------------------------------


def board(reads):
    return Source("nvml", 0.0, (Counter("NVML's total energy", "gpu", 1e-3, lambda: next(reads)),))


def test_a_gpu_stands_beside_the_processor(tmp_path):
    """Package, memory and board are in one sum, and told apart."""
    work = Work(tmp_path)
    meter = Meter((rapl(tmp_path), board(iter(range(0, 9000, 3000)))))
    found = meter.energy(meter.start(), 0, work.again, NO_BEAT)
    assert "rapl+nvml" == found["source"]
    assert {"package", "dram", "gpu"} == set(found["parts"])
    assert pytest.approx(3.0) == found["parts"]["gpu"]
    assert pytest.approx(2.5 * found["items"] + 3.0) == found["joules"]


def test_a_gpu_alone_says_that_the_processor_is_not_in_it():
    """A cloud machine has a board that counts, and a processor that does not."""
    meter = Meter((board(iter((0, 4000))),), missing={"package": "no counter of a package"})
    window = meter.start()
    window.read()
    found = meter.energy(window, 8, lambda: pytest.fail("work was repeated"), NO_BEAT)
    assert ("nvml", 0.5) == (found["source"], found["joules_per_item"])
    assert {"package": "no counter of a package"} == found["missing"]


def test_a_row_on_a_gpu_has_no_figure_without_the_gpu_s(tmp_path):
    """The processor's joules alone would leave out what does the work."""
    work = Work(tmp_path)
    meter = Meter((rapl(tmp_path),), missing={"gpu": "no libnvidia-ml.so"})
    assert {"unavailable": "no libnvidia-ml.so"} == meter.energy(meter.start(), 0, work.again, NO_BEAT)


def test_a_mac_is_coarse():
    """Its power is sampled over work of its own, never beside timed values."""
    order = []

    class Sampler:
        name, window_seconds = "powermetrics", 0.05

        def watts_during(self, work):
            order.append("started")
            work()
            return {"cpu": 8.0, "gpu": 2.0, "ane": 0.0}

    meter = Meter(sampler=Sampler())
    window = meter.start()
    order.append("timed")
    window.read()
    found = meter.energy(window, 4, lambda: time.sleep(0.01) or 5, NO_BEAT)
    assert ["timed", "started"] == order
    assert ("powermetrics", True) == (found["source"], found["coarse"])
    assert {"cpu", "gpu"} == set(found["parts"])
    assert pytest.approx(10 * found["window_seconds"]) == found["joules"]
    assert found["window_seconds"] >= 0.05


def test_counters_are_looked_for_once_in_a_process(monkeypatch):
    """And those of a GPU for rows that use one only."""
    asked = []

    def find(name):
        def found():
            asked.append(name)
            raise Unreadable(f"no {name}")

        return found

    monkeypatch.setattr(energy.sys, "platform", "linux")
    monkeypatch.setattr(energy, "rapl", find("rapl"))
    monkeypatch.setattr(energy, "nvml", find("nvml"))
    energy.meter.cache_clear()
    try:
        for cuda in (False, True, False, True):
            energy.meter(cuda)
        assert ["rapl", "rapl", "nvml"] == asked
        assert {"package": "no rapl", "gpu": "no nvml"} == energy.meter(True).missing
    finally:
        energy.meter.cache_clear()


# --- in a row ------------------------------------------------------------------------------------------


@pytest.fixture
def counted(tmp_path, monkeypatch):
    """A machine whose package takes 2.5 J for each call of a transform."""
    work = Work(tmp_path)
    meter = Meter((Source("rapl", 0.05, rapl(tmp_path).counters),))
    monkeypatch.setattr(energy, "meter", lambda cuda: meter)
    return work


def measured(work, told, natives, group=1):
    adapter = Tiny()
    build = adapter.build

    def built(*words):
        apply = build(*words)

        def counting(item):
            work.one()
            return apply(item)

        return counting

    adapter.build = built
    return adapter, rows.measure_row(micro.Subject(adapter, natives, natives, group), told, JOB, lambda: None)


def test_a_row_has_the_energy_of_its_work_without_the_warm_up(counted):
    """Two warm-up calls and the timed ones took energy too: per item it is that of one call."""
    natives = [np.full((6, 4, 3), 10 * number, np.uint8) for number in range(1, 5)]
    adapter, result = measured(counted, row("Invert"), natives)
    assert pytest.approx(2.5) == result["energy"]["joules_per_item"]
    timed = result["loops"] * len(result["values"]) * 4
    assert timed + 2 <= len(adapter.calls)
    if result["energy"]["items"] != timed:  # too short to be read: repeated, after the values
        assert 2 + timed + result["energy"]["items"] == len(adapter.calls)


def test_a_batch_is_as_many_items(counted):
    """A call that takes a batch of two is two items."""
    natives = [np.full((6, 4, 3), 10 * number, np.uint8) for number in range(1, 5)]
    _, result = measured(counted, row("Invert"), natives, group=2)
    assert pytest.approx(1.25) == result["energy"]["joules_per_item"]


def test_a_slow_row_has_its_energy_too(counted):
    """Over the few items that it is measured on."""
    natives = [np.full((6, 4, 3), 10 * number, np.uint8) for number in range(1, 5)]
    told = row("Sleepy", probed="slow", probe_reason="0.06 s per item, floor 0.05 s")
    _, result = measured(counted, told, natives)
    assert ("slow", 2) == (result["status"], result["energy"]["items"])
    assert pytest.approx(2.5) == result["energy"]["joules_per_item"]
