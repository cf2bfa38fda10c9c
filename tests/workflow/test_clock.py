"""A clock that is set back: nothing is measured or made again because of it, and nobody is accused of it."""

import json
import os
import re
import time

import pytest

from augmark import clock
from augmark.evidence.order import order_problems

HOUR_NS = 3600 * 10**9
MINUTE_NS = 60 * 10**9


def set_back(project, by_ns=HOUR_NS):
    """What a clock set back leaves behind: every file is newer than the present, by as much."""
    for path in project.results.rglob("*"):
        if path.is_file() and "envs" not in path.relative_to(project.results).parts:
            at = path.stat().st_mtime_ns + by_ns
            os.utime(path, ns=(at, at))


def contents(project):
    return {path: path.read_bytes() for path in project.records()}


def measured_by(done):
    return sum(map(int, re.findall(r"^ *measure\s+(\d+) *$", done.stdout + done.stderr, re.M)))


def test_a_finished_run_is_finished_by_any_clock(ran_copy):
    """Everything lies an hour ahead: there is nothing to be done, now and the next time."""
    set_back(ran_copy)
    before = contents(ran_copy)
    done = ran_copy.run("snakemake", *ran_copy.words)
    assert "Nothing to be done" in done.stderr
    assert "the clock was set back: the times of" in done.stderr
    again = ran_copy.run("snakemake", *ran_copy.words)
    assert "Nothing to be done" in again.stderr
    assert "the clock was set back" not in again.stderr
    assert before == contents(ran_copy)


def test_a_missing_cell_is_measured_and_no_other(ran_copy):
    """Its inputs lay an hour ahead, and its record is of now: that is no failure and no reason to go on."""
    set_back(ran_copy)
    before = contents(ran_copy)
    victim = next(path for path in before if "/fake/" in str(path))
    victim.unlink()
    done = ran_copy.run("snakemake", *ran_copy.words)
    assert 1 == measured_by(done)
    after = contents(ran_copy)
    assert {victim} == {path for path in before if before[path] != after[path]}
    assert "Nothing to be done" in ran_copy.run("snakemake", *ran_copy.words).stderr


def test_tables_that_lie_ahead_are_made_again_where_they_must_be(ran_copy):
    """After a run that was cut off: a table an hour ahead is not taken for the newest."""
    set_back(ran_copy)
    next((ran_copy.results / "plan").glob("*.made.json")).unlink()
    table = ran_copy.results / "tables" / "summary.csv"
    table.write_text("of another plan\n")
    at = time.time_ns() + HOUR_NS
    os.utime(table, ns=(at, at))
    ran_copy.run("snakemake", *ran_copy.words)
    assert "of another plan" not in table.read_text()


def test_times_ahead_come_before_now_in_their_order(tmp_path):
    """Equal ones stay equal, what is past stays as it is, and contents are not touched."""
    now = 1_800_000_000 * 10**9
    given = {
        "records/past.json": now - 10 * MINUTE_NS,
        "plan/a-little-ahead.json": now + MINUTE_NS // 2,
        "records/first.json": now + 50 * MINUTE_NS,
        "tables/second.csv": now + 60 * MINUTE_NS,
        "tables/twin.csv": now + 60 * MINUTE_NS,
        "envs/control/env.json": now + 70 * MINUTE_NS,
        "envs/control/lib/module.py": now + 70 * MINUTE_NS,
        "logs/a.log": now + 70 * MINUTE_NS,
    }
    for name, at in given.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
        os.utime(tmp_path / name, ns=(at, at))
    changed = clock.settle(tmp_path, now)
    times = {name: (tmp_path / name).stat().st_mtime_ns for name in given}
    left = {"records/past.json", "envs/control/lib/module.py", "logs/a.log"}
    assert given.keys() - left == {str(path.relative_to(tmp_path)) for path in changed}
    assert {name: given[name] for name in left} == {name: times[name] for name in left}
    order = ["records/past.json", "plan/a-little-ahead.json", "records/first.json", "tables/second.csv"]
    order.append("envs/control/env.json")
    assert sorted(order, key=lambda name: times[name]) == order
    assert len(order) == len({times[name] for name in order})
    assert times["tables/second.csv"] == times["tables/twin.csv"]
    assert times["envs/control/env.json"] < now
    assert {name: name for name in given} == {name: (tmp_path / name).read_text() for name in given}
    assert [] == clock.settle(tmp_path, now)


def test_hosts_whose_clocks_differ_by_a_little_change_nothing(tmp_path):
    """Half a minute ahead is no clock that was set."""
    (tmp_path / "a.json").write_text("{}")
    now = (tmp_path / "a.json").stat().st_mtime_ns - MINUTE_NS // 2
    assert [] == clock.settle(tmp_path, now)


STEPS = """

_time = time.time


def steps_back(params):
    def apply(item):
        time.time = lambda: _time() - 3600
        return 255 - item
    return apply


builds["Works"] = steps_back
"""


@pytest.fixture
def stepped(fake_project):
    """A run of one library whose clock goes back by an hour while its first row is timed."""
    fake = fake_project.root / "workflow" / "augmark" / "libraries" / "fake.py"
    fake.write_text(fake.read_text() + STEPS)
    words = ("records", "--config", "transforms=Works,WorksAtRandom", "libraries=[fake]", "repeats=1")
    fake_project.run("snakemake", *words)
    return fake_project


def test_a_step_while_a_row_is_timed_changes_no_number(stepped):
    """Seconds are of the clock that nobody sets; the check of the order says that the clock was set."""
    record = json.loads(next(path for path in stepped.records() if "/fake/" in str(path)).read_text())
    assert ["ok", "ok"] == [row["status"] for row in record["rows"]]
    for row in record["rows"]:
        assert 0 < row["wall_seconds"] < 600
        assert all(0 < value < 60 for value in row["values"])
    found = [finding.what for finding in order_problems([record], {"cells": []})]
    assert found
    assert all("clock" in what for what in found), found
