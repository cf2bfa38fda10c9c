"""How a plan stands, told from records, probes and notices that are put there by hand."""

import json
import os
import re
from dataclasses import replace
from types import SimpleNamespace

import pytest

from augmark import standing
from augmark.worker import notice
from tests.core.kit import MICRO, plan_of

NOW = 1_800_000_000.0
KEYS = {**MICRO, "repeats": 3, "libraries": ["kornia", "pillow"], "transforms": ["Blur", "Rotate"]}


@pytest.fixture
def plan(tmp_path):
    """Three repeats of two libraries and their controls, in one place."""
    return replace(plan_of(KEYS), output=tmp_path)


def cell_of(plan, library, repeat):
    return next(c for c in plan.cells() if (library, repeat) == (c["library"], c["repeat"]))


def path_of(plan, cell):
    return plan.output / "records" / cell["path"]


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


def measured(plan, library, repeat, wall, carried=False):
    """Put a record of a cell there."""
    cell = cell_of(plan, library, repeat)
    names = ("machine", "scenario", "mode", "library", "device", "repeat")
    rows = [{"carried": carried}, {"carried": False}]
    record = {"cell": {name: cell[name] for name in names}, "digest": cell["digest"], "wall_seconds": wall}
    put(path_of(plan, cell), {**record, "rows": rows, "seal": "s"})


def told(folder, path, **changed):
    """Put the notice of a job there, as a process of this host that is at work."""
    about = {
        **{"schema": notice.SCHEMA, "kind": "measure", **notice.here(), "pid": os.getpid()},
        **{"process_started": notice.process_started(os.getpid()), "engine_job": None, "started": NOW - 30},
        **{"phase": "at work", "rows": 2, "done": 1, "row": "Blur", "silent_seconds": 300.0},
    }
    place = notice.place(path, folder)
    put(place, {**about, **changed})
    os.utime(place, (NOW, NOW))


def found(plan, hosts=1):
    return standing.standing(plan, hosts, NOW)


def state(plan, library, repeat):
    cell = cell_of(plan, library, repeat)
    return next(each for each in found(plan).cells if each.cell == cell)


def test_nothing_is_there(plan):
    """Everything is left, and takes at least so long; nothing runs."""
    now = found(plan)
    cells = len(plan.cells())
    assert {"left": cells} == {name: count for name, count in now.counts().items() if count}
    assert not now.done
    assert not now.left()[1]
    text = standing.render(now)
    assert re.search(rf"total +{cells} +0 +0 +0 +0 +0 +{cells} +>= \d+ (s|min)", text)
    assert "nothing is running: the same snakemake command goes on" in text


def test_all_is_done(plan):
    """No time is left, and the last line says so."""
    for cell in plan.cells():
        measured(plan, cell["library"], cell["repeat"], 8.0)
    now = found(plan)
    assert now.done
    assert (0.0, True) == now.left()
    assert standing.render(now).endswith("all is measured")
    assert None is json.loads(standing.as_json([now]))["plans"][0]["ends"]


def test_the_time_left_is_that_of_cells_of_the_same_library(plan):
    """The mean of what was measured in full; of another library it is not taken."""
    measured(plan, "kornia", 0, 10.0)
    measured(plan, "kornia", 1, 14.0)
    measured(plan, "pillow", 0, 3.0, carried=True)
    assert (12.0, True) == (state(plan, "kornia", 2).seconds, state(plan, "kornia", 2).known)
    assert not state(plan, "pillow", 1).known


def test_without_a_record_the_probe_tells(plan):
    """Start of the process, warm-up and values of each row: worked out by hand."""
    cell = cell_of(plan, "pillow", 0)
    timing = plan.cell_definition(cell)["timing"]
    rows = {name: {"status": "ok", "warm_seconds_per_item": 1.0} for name in ("Blur", "Rotate")}
    put(plan.probe_path("image-rgb", "micro", "pillow", "cpu"), {"rows": rows})
    items = plan.item_set("image-rgb", "micro")["items"]
    each = timing["values"] * items * 1.0 + timing["warmup_seconds"]
    assert (6.0 + 2 * each, True) == (state(plan, "pillow", 0).seconds, state(plan, "pillow", 0).known)


def test_what_a_running_cell_has_done_is_taken_off(plan):
    """Of 100 seconds 30 have gone by; where more have than it should take, the rest is unknown."""
    measured(plan, "kornia", 0, 100.0)
    path = path_of(plan, cell_of(plan, "kornia", 1))
    told("running", path)
    now = state(plan, "kornia", 1)
    assert ("running", 70.0, True) == (now.state, now.seconds, now.known)
    told("running", path, started=NOW - 200)
    assert (0.0, False) == (state(plan, "kornia", 1).seconds, state(plan, "kornia", 1).known)
    told("running", path, phase="waiting", rows=None)
    assert 100.0 == state(plan, "kornia", 1).seconds
    told("running", path, started=NOW + 3600)  # the clock was set back meanwhile
    assert 100.0 == state(plan, "kornia", 1).seconds


def test_a_running_cell_says_since_when_how_far_where_and_by_which_process(plan):
    """With the engine's job, and how long nothing was heard of it."""
    told("running", path_of(plan, cell_of(plan, "kornia", 1)))
    line = next(line for line in standing.render(found(plan)).splitlines() if line.startswith("running "))
    where = f"process {os.getpid()} on {notice.here()['host']}"
    since = standing.clock(NOW - 30, NOW)
    assert f"running   micro image-rgb kornia r1: row 2 of 2, since {since}, {where}" == line
    path = path_of(plan, cell_of(plan, "pillow", 1))
    told("running", path, host="node7", pid=5, engine_job="slurm 17")
    os.utime(notice.place(path, "running"), (NOW - 240, NOW - 240))
    text = standing.render(found(plan))
    assert "process 5 on node7 (slurm 17), heard of 4 min ago" in text
    assert "the last cell ends not before" in text


def test_a_run_between_two_jobs_is_at_work(plan):
    """It says which process it is; of one that is gone, nothing is running."""
    put(plan.output / "plan" / "run.lock", notice.of_run())
    assert found(plan).run
    assert "the last cell ends" in standing.render(found(plan))
    gone = {**json.loads(notice.of_run()), "process_started": "1"}
    put(plan.output / "plan" / "run.lock", gone)
    assert "nothing is running" in standing.render(found(plan))


def test_a_killed_job_is_not_running(plan):
    """Its notice is there, its process is not: the cell is left, and the cut is told."""
    told("running", path_of(plan, cell_of(plan, "kornia", 1)), process_started="1")
    assert "left" == state(plan, "kornia", 1).state
    words = f"cut off   micro image-rgb kornia r1: process {os.getpid()} on {notice.here()['host']} is gone"
    assert f"{words} after 1 of 2 rows; it is left" in standing.render(found(plan))


FAILURE = {"failed": NOW - 60, "message": "the disk is full", "remedy": "free some space"}


def test_a_failed_cell_has_its_message_its_log_and_its_remedy(plan):
    """Until it is at work again, or its record is there."""
    cell = cell_of(plan, "kornia", 1)
    told("failed", path_of(plan, cell), **FAILURE)
    assert "failed" == state(plan, "kornia", 1).state
    log = (plan.output / "logs" / "measure" / cell["path"]).with_suffix(".log")
    told_lines = standing.render(found(plan))
    at = standing.clock(NOW - 60, NOW)
    assert f"failed    micro image-rgb kornia r1, {at}: the disk is full\n" in told_lines
    assert f"log: {log}\n" in told_lines
    assert "remedy: free some space\n" in told_lines
    told("running", path_of(plan, cell))
    assert "running" == state(plan, "kornia", 1).state
    measured(plan, "kornia", 1, 8.0)
    notice.place(path_of(plan, cell), "running").unlink()
    assert "done" == state(plan, "kornia", 1).state


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "the record cannot be read"),
        ('{"schema": "augmark/rec', "the record cannot be read"),
        ("\0" * 4096, "the record cannot be read"),
        ("[]", "not a whole record"),
        ('{"schema": "augmark/record/4"}', "not a whole record"),
        ('{"cell": {}, "digest": "0123456789", "rows": [], "seal": ""}', "it is the record of"),
    ],
)
def test_a_damaged_record_is_named(plan, content, words):
    """Truncated, empty, full of zeros, another's: its path, what is wrong and the remedy; no traceback."""
    for cell in plan.cells():
        measured(plan, cell["library"], cell["repeat"], 8.0)
    path = path_of(plan, cell_of(plan, "kornia", 1))
    path.write_text(content)
    now = found(plan)
    assert not now.done
    assert ("damaged", 8.0) == (state(plan, "kornia", 1).state, state(plan, "kornia", 1).seconds)
    text = standing.render(now)
    assert f"damaged   {path}: {words}" in text
    assert "remedy: delete the file" in text


def test_a_record_of_an_earlier_plan_is_stale(plan):
    """The cell is left, and something of it was measured once."""
    cell = cell_of(plan, "kornia", 1)
    put(path_of(plan, cell).with_name("r1.0000000000.json"), "{}")
    assert "stale" == state(plan, "kornia", 1).state
    assert "left" == state(plan, "kornia", 2).state


def test_probes_are_told_too(plan):
    """One at work and one that failed; a failure is over when the probe is there."""
    told("running", plan.probe_path("image-rgb", "micro", "kornia", "cpu"), kind="probe")
    path = plan.probe_path("image-rgb", "micro", "pillow", "cpu")
    told("failed", path, **{**FAILURE, "message": "no items"})
    text = standing.render(found(plan))
    assert "running   probe micro image-rgb kornia: row 2 of 2" in text
    assert re.search(r"failed    probe micro image-rgb pillow, .*: no items", text)
    digest = path.name.split(".")[1]
    assert f"logs/probe/{plan.machine}/image-rgb/micro/pillow/cpu/{digest}.log" in text
    put(path, {"rows": {}})
    assert "no items" not in standing.render(found(plan))


def test_jobs_of_another_plan_in_the_folder_are_counted(plan):
    """Other keys, or another machine: they are at work, and none of these cells."""
    told("running", plan.output / "records/local-9999/image-rgb/micro/kornia/cpu/r0.0123456789.json")
    now = found(plan)
    assert (1, 0) == (now.others, now.counts()["running"])
    assert "1 more at work in" in standing.render(now)


def test_places_are_told_one_by_one_and_hosts_share_them(tmp_path):
    """Two sessions of 3 x 10 and 3 x 4 seconds: 42 on one host, 30 on two at once."""
    keys = {**KEYS, "modes": ["micro", "decode"], "libraries": ["pillow"]}
    plan = replace(plan_of(keys), output=tmp_path)
    walls = {"micro": 10.0, "decode": 4.0}
    only = [cell for cell in plan.cells() if cell["library"] == "pillow"]
    kept = {**plan.content, "cells": only}
    plan = replace(plan, content=kept)
    cells = [standing.CellStanding(cell, standing.LEFT, seconds=walls[cell["mode"]]) for cell in plan.cells()]
    one = standing.Standing(plan, cells, [], 1, 0, False, NOW)
    assert 30.0 == one.left(("image-rgb", "micro", "cpu"))[0]
    assert 12.0 == one.left(("image-rgb", "decode", "cpu"))[0]
    assert 42.0 == one.left()[0]
    assert 30.0 == replace(one, hosts=2).left()[0]
    assert "on 2 hosts at once" in standing.render(replace(one, hosts=2))


@pytest.mark.parametrize(
    ("profile", "hosts"),
    [
        (None, 1),
        ({"engine": False, "limits": {"vcpus": 128}, "jobs": None}, 1),
        ({"engine": True, "limits": {"vcpus": 128, "c4_vcpus": 96, "hyperdisk_gb": 500}, "jobs": None}, 5),
        ({"engine": True, "limits": {"vcpus": 128, "c4_vcpus": 96, "hyperdisk_gb": 500}, "jobs": 2}, 2),
    ],
)
def test_quotas_of_an_engine_say_how_many_hosts(plan, profile, hosts):
    """Disks of 100 GB against 500 GB are five; here there is one host."""
    asks = {"id": "c4-standard-16", "host": {"c4_vcpus": 16, "vcpus": 16, "hyperdisk_gb": 100}}
    plan = replace(plan, content={**plan.content, "machine_stanza": asks})
    assert hosts == standing.hosts_at_once(plan, profile and SimpleNamespace(**profile))


def test_json_says_the_same(plan):
    """Counts, cells with their state and what is known of them, and the end in seconds since the epoch."""
    measured(plan, "kornia", 0, 100.0)
    told("running", path_of(plan, cell_of(plan, "kornia", 1)))
    (said,) = json.loads(standing.as_json([found(plan)]))["plans"]
    assert (1, 1) == (said["counts"]["done"], said["counts"]["running"])
    assert said["counts"] == said["places"][0]["counts"]
    assert NOW + said["seconds_left"] == said["ends"]
    running = next(cell for cell in said["cells"] if cell["state"] == "running")
    assert (os.getpid(), 70.0) == (running["about"]["pid"], running["seconds_left"])
    assert cell_of(plan, "kornia", 1)["path"] == running["path"]
