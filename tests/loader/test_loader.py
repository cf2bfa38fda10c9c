"""DataLoader rows in torchvision's environment: healthy ones, and every way in which workers fail."""

import math
import os
import re
import signal
import subprocess
import time

import psutil
import pytest

from augmark import host
from augmark.worker.loader_split import PARTS, order
from augmark.worker.threads import QUIET
from tests.loader.conftest import ITEMS, JOB, LOADER, row


@pytest.fixture(scope="module")
def several(drive):
    """Rows of one process, one after the other, by name."""
    rows = {
        "random": row("Shifts", random=True),
        "deterministic": row("Inverts"),
        "coin": row("FlipsACoin", random=True),
        "slow": row("TakesItsTime", slow=True),
        "raises": row("RaisesOneInFive"),
        "ragged": row("ReturnsRaggedShapes"),
        "float64": row("ReturnsFloat64"),
        "too small": row("ReturnsTooFewRows"),
        "warns": row("WarnsWhenBuilt"),
        "same draws": row("SeededBeforeTheFork", random=True),
        "not random": row("Inverts", random=True),
        "crops alike": row("CropsAlike"),
        "crops alike, draws apart": row("CropsAlikeAndFlipsACoin", random=True),
        "seen on a picture only": row("Mirrors", random=True),
        "after all that": row("Shifts", random=True),
    }
    return dict(zip(rows, drive(*rows.values()), strict=True))


@pytest.mark.parametrize(
    "name", ["random", "deterministic", "coin", "seen on a picture only", "after all that"]
)
def test_a_healthy_row_has_its_numbers(several, name):
    """A value per timed epoch, the warm-up and the start apart, the split, and one thread per worker."""
    result = several[name]
    assert "ok" == result["status"], result["reason"]
    assert JOB["values"] == len(result["values"]) == result["loader"]["epochs"]
    assert (ITEMS, 1) == (result["items"], result["loops"])
    assert ("3x224x224", "float32") == (result["shape"], result["dtype"])
    assert math.isclose(sum(result["values"]) * ITEMS, result["timed_seconds"])
    assert math.isclose(result["warmups"][0] * ITEMS, result["loader"]["first_epoch_seconds"])
    assert LOADER.items() <= result["loader"].items()
    assert 0 < result["loader"]["startup_seconds"]
    split = result["loader"]["split"]
    assert {f"{part}_seconds_per_item" for part in PARTS} == split.keys()
    assert all(split[f"{part}_seconds_per_item"] > 0 for part in ("decode", "augment", "collate"))
    assert split["copy_seconds_per_item"] is None
    assert result["loader"]["bound_by"] in PARTS
    assert 2 == len(result["loader"]["threads_in_workers"])
    assert {1} == {count for pools in result["loader"]["threads_in_workers"] for count in pools.values()}
    assert (host.cpus() < 2) == result["loader"]["oversubscribed"]
    assert result["beats"] >= JOB["values"] + 1


def test_nothing_is_left_of_a_row(several):
    """No process and no file descriptor, whatever its status; the process may take another row."""
    assert not any(result["children"] for result in several.values())
    assert 0 == sum(result["descriptors"] for result in several.values())
    assert not any(result["retire"] for result in several.values())


def test_a_slow_row_takes_few_items_in_all_workers(several):
    """Four items for each of two workers, in two batches each; one timed epoch; the probe's reason."""
    slow = several["slow"]
    assert ("slow", "0.06 s per item, floor 0.05 s") == (slow["status"], slow["reason"])
    assert (8, 1, 2) == (slow["items"], len(slow["values"]), slow["loader"]["batch_size"])
    assert "augment" == slow["loader"]["bound_by"]  # 20 ms of sleep against some microseconds


@pytest.mark.parametrize(
    ("name", "status", "reason"),
    [
        ("raises", "failed", r"raised in 1\d of 5\d calls: ValueError: the fifth call"),
        (
            "ragged",
            "failed",
            # torch's words: whether the first of the batch is the largest
            r"in the collation: RuntimeError: (stack expects each tensor|Trying to resize storage)",
        ),
        ("float64", "invalid", r"dtype torch\.float64, expected torch\.float32"),
        ("too small", "invalid", r"shape 3x223x224, expected 3x224x224"),
        ("warns", "failed", r"raised while it was built: UserWarning: argument 'sigma' is not known"),
        ("same draws", "invalid", r"workers 0 and 1 drew the same: the augmentations do not follow"),
        (
            "not random",
            "invalid",
            r"not random: the augmentations gave one output in \d+ draws of each worker, on 3 items",
        ),
        ("crops alike", "invalid", r"workers 0 and 1 drew the same: the crop does not follow their seeds"),
        (
            "crops alike, draws apart",
            "invalid",
            r"workers 0 and 1 drew the same: the crop does not follow their seeds",
        ),
    ],
)
def test_a_failure_is_a_status_and_a_reason(several, name, status, reason):
    """The library's own error, one line of it; no numbers."""
    result = several[name]
    assert status == result["status"]
    assert re.match(reason, result["reason"]), result["reason"]
    assert "\n" not in result["reason"]
    assert "values" not in result
    assert "loader" not in result


@pytest.mark.parametrize(
    ("transform", "status", "reason"),
    [
        (
            "LockHeldAtTheFork",
            "timeout",
            "LockHeldAtTheFork: no batch from 2 workers within 3 s, at a worker's first item",
        ),
        (
            "DiesInOneWorker",
            "crashed",
            "DiesInOneWorker: worker 1 of 2 ended with signal 6 (SIGABRT), in the warm-up epoch",
        ),
        (
            "ExitsInOneWorker",
            "crashed",
            "ExitsInOneWorker: worker 1 of 2 ended with exit status 3, in the warm-up epoch",
        ),
    ],
)
def test_workers_in_trouble_end_a_row_and_its_process(drive, transform, status, reason):
    """The row is named, its workers are gone, and the process is not trusted with another row."""
    (result,) = drive(row(transform, timeout_seconds=3))
    assert (status, reason, True) == (result["status"], result["reason"], result["retire"])
    assert [] == result["children"]
    assert 0 == result["descriptors"]


def test_batches_smaller_than_declared_are_told(drive):
    """24 items in two workers: of 16 declared a batch keeps 24 / (2 x 2) = 6."""
    smaller, declared = drive(row("Inverts", batch_size=16), row("Inverts", batch_size=6))
    assert (6, ["reduced-batch"]) == (smaller["loader"]["batch_size"], smaller["flags"])
    assert (6, []) == (declared["loader"]["batch_size"], declared["flags"])


def test_workers_without_work_are_told(drive):
    """Three items for four workers."""
    (idle,) = drive(row("Inverts", workers=4, batch_size=1), items=3)
    assert ("ok", 3, ["idle-workers"]) == (idle["status"], idle["items"], idle["flags"])
    (slow,) = drive(row("TakesItsTime", slow=True))
    assert [] == slow["flags"]  # that it takes less is what slow says


def test_busy_threads_are_seen_inside_the_workers(drive):
    """Two workers of eight threads want more than most machines have; the row has its number all the same."""
    (result,) = drive(row("EightThreads"))
    assert "ok" == result["status"], result["reason"]
    assert [8, 8] == [pools["torch"] for pools in result["loader"]["threads_in_workers"]]
    assert (host.cpus() < 16) == result["loader"]["oversubscribed"]


def test_the_order_is_the_same_whatever_the_recipe(drive):
    """Items arrive in the seeded order of the epoch, another one in each."""
    first, second = drive(row("Inverts"), row("TakesItsTime"), what="arrivals")
    assert first == second
    assert [order(JOB["order_seed"], epoch, ITEMS) for epoch in range(3)] == first
    assert first[0] != first[1]


def test_workers_draw_apart_and_the_same_again(drive):
    """Two workers differ; another start with the same seed draws the same; another seed does not."""
    one, again, other = drive(
        row("Shifts"), row("Shifts"), {**row("Shifts"), "seed": 8}, what="draws", policy="pipeline-default"
    )
    assert one[0] != one[1]
    assert one == again
    assert not {tuple(draws) for draws in one} & {tuple(draws) for draws in other}


def test_files_are_decoded_in_the_workers_and_copied_after(drive):
    """Mode dataloader-copy: the split has a part for the copy."""
    (result,) = drive(row("Shifts", random=True, copy_to="cpu"), mode="dataloader-copy")
    assert "ok" == result["status"], result["reason"]
    assert 0 < result["loader"]["split"]["copy_seconds_per_item"]


def test_without_workers_the_process_does_it_itself(drive):
    """And then no loader may fork from it."""
    (result,) = drive(row("Shifts", random=True, workers=0))
    assert ("ok", True, 1) == (
        result["status"],
        result["retire"],
        len(result["loader"]["threads_in_workers"]),
    )


def test_spawned_workers_build_the_recipe_again(drive):
    """The start method that pickles."""
    (result,) = drive(row("Shifts", random=True, start_method="spawn"), mode="dataloader-decode")
    assert "ok" == result["status"], result["reason"]
    assert [] == result["children"]


def test_file_descriptors_are_those_of_the_check(drive):
    """Two for the results, four per worker, one per batch held: what needs.py counts with."""
    one, two = drive(row("Inverts", workers=1), row("Inverts", workers=2), what="descriptors", held=5)
    assert (6, 10) == (one["started"], two["started"])
    assert one["started"] + 5 <= one["holding"] <= one["started"] + 5 + 2
    assert two["started"] + 5 <= two["holding"] <= two["started"] + 5 + 4


def test_no_worker_outlives_the_process_that_owns_it(drive):
    """Killed in the middle of an epoch, the owner takes its workers with it."""
    owner = subprocess.Popen(
        drive.command(row("TakesItsTime"), values=10_000), env=QUIET, stdout=subprocess.PIPE
    )
    try:
        workers, until = [], time.monotonic() + 60
        while len(workers) < 2:
            assert time.monotonic() < until
            workers = psutil.Process(owner.pid).children(recursive=True)
            time.sleep(0.05)
        time.sleep(1.0)
        assert all(worker.is_running() for worker in workers)
        os.kill(owner.pid, signal.SIGKILL)
        _, left = psutil.wait_procs(workers, timeout=5)
        assert [] == left
    finally:
        owner.kill()
        owner.communicate()


def test_energy_is_of_whole_epochs(drive):
    """Epochs too short to be read are repeated after the timed ones, over all their items; values stay."""
    first, slow, broken = drive(
        row("Inverts"), row("TakesItsTime", slow=True), row("Inverts"), what="counted"
    )
    for result in (first, slow):
        energy, count = result["energy"], result["items"]
        assert ("rapl", 0) == (energy["source"], energy["items"] % count)
        assert energy["items"] > count * len(result["values"])
        assert 1.0 <= energy["window_seconds"]
        assert energy["parts"]["package"] == pytest.approx(energy["window_seconds"], rel=0.01)
        assert (False, []) == (result["retire"], result["children"])
    assert ("ok", JOB["values"]) == (broken["status"], len(broken["values"]))
    assert {"unavailable": "raised when its work was repeated for it: RuntimeError"} == broken["energy"]
    assert (True, []) == (broken["retire"], broken["children"])
