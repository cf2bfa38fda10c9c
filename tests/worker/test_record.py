"""What a record says of its own times, held against a clock outside and against the rows."""

import math
import subprocess
import time
from datetime import datetime

import pytest

from augmark import host
from tests.conftest import ROOT, copy_project, make_fake
from tests.worker.kit import Jobs

NAMES = "Works,WorksAtRandom,SlowFirstCall,SlowEveryCall"


@pytest.fixture(scope="module")
def measured(tmp_path_factory, library_python):
    """A probe and two repeats of the fake library, with what was seen from outside."""
    project = copy_project(tmp_path_factory.mktemp("measured") / "project")
    make_fake(project)
    jobs, python = Jobs(project, (f"transforms={NAMES}",)).prepare(), library_python("control")
    assert 0 == jobs.run(python, "probe", "fake").returncode
    records = []
    for repeat in (0, 1):
        began, clock = time.time(), time.perf_counter()
        done = jobs.run(python, "measure", "fake", repeat=repeat)
        seen = {"began": began, "seconds": time.perf_counter() - clock, "log": done.stderr}
        assert 0 == done.returncode, done.stderr
        records.append((jobs.record("fake", repeat), seen))
    return records


def moment(text):
    return datetime.fromisoformat(text).timestamp()


def test_wall_seconds_are_those_of_a_clock_outside(measured):
    """From the start of the interpreter to the record; what it waited for the machine is left out."""
    for record, seen in measured:
        assert record["wall_seconds"] <= seen["seconds"] + 0.05
        if "waiting for the machine" not in seen["log"]:
            # Starting and ending a Python, and writing the record, on a machine that others use too.
            assert record["wall_seconds"] >= seen["seconds"] - 1.5


def test_the_job_starts_when_it_was_started(measured):
    """Not at a second's boundary before it: the wall time is counted from there."""
    for record, seen in measured:
        assert -0.05 <= moment(record["started"]) - seen["began"] <= 1.0
        assert moment(record["ended"]) <= seen["began"] + seen["seconds"] + 0.05


def test_rows_stand_in_time_as_the_order_says(measured):
    """One after the other, inside the job, in another order in each repeat."""
    for record, _ in measured:
        rows = {row["transform"]: row for row in record["rows"]}
        assert sorted(rows) == sorted(record["order"])
        moments = [moment(rows[name][edge]) for name in record["order"] for edge in ("started", "ended")]
        assert sorted(moments) == moments
        assert moment(record["started"]) <= moments[0]
        assert moments[-1] <= moment(record["ended"])
        for row in rows.values():
            lasted = moment(row["ended"]) - moment(row["started"])
            assert pytest.approx(lasted, abs=0.05) == row["wall_seconds"]
            assert row["timed_seconds"] <= row["wall_seconds"]
    assert measured[0][0]["order"] != measured[1][0]["order"]


def test_timed_seconds_are_the_sum_of_what_was_timed(measured):
    """Values times loops times items, over the rows that were timed here."""
    for record, _ in measured:
        summed = 0.0
        for row in record["rows"]:
            timed = math.fsum(row["values"]) * row["loops"] * row["items"]
            assert pytest.approx(timed) == row["timed_seconds"]
            summed += timed
        assert pytest.approx(summed) == record["timed_seconds"]
        assert 0 < record["timed_seconds"] < record["wall_seconds"]


def test_carried_rows_are_not_timed_again(tmp_path, library_python):
    """They keep their seconds; the job's sum has none of them."""
    project = copy_project(tmp_path / "project")
    make_fake(project)
    python = library_python("control")
    first = Jobs(project, ("transforms=Works",)).prepare()
    assert 0 == first.run(python, "probe", "fake").returncode
    assert 0 == first.run(python, "measure", "fake").returncode
    earlier = {row["transform"]: row for row in first.record("fake")["rows"]}
    both = Jobs(project, ("transforms=Works,WorksAtRandom",))
    both.replan()
    assert 0 == both.run(python, "probe", "fake").returncode
    assert 0 == both.run(python, "measure", "fake").returncode
    record = both.record("fake")
    rows = {row["transform"]: row for row in record["rows"]}
    assert ["WorksAtRandom"] == record["order"]
    assert {"Works": True, "WorksAtRandom": False} == {name: row["carried"] for name, row in rows.items()}
    assert earlier["Works"]["values"] == rows["Works"]["values"]
    assert pytest.approx(rows["WorksAtRandom"]["timed_seconds"]) == record["timed_seconds"]


def test_a_record_that_came_meanwhile_stays_and_nothing_is_timed(tmp_path, library_python):
    """As after a killed command whose submitted job went on; one that is damaged is refused by its name."""
    project = copy_project(tmp_path / "project")
    make_fake(project)
    jobs, python = Jobs(project, ("transforms=Works",)).prepare(), library_python("control")
    assert 0 == jobs.run(python, "probe", "fake").returncode
    assert 0 == jobs.run(python, "measure", "fake").returncode
    out = jobs.out("measure", "fake")
    kept = out.read_bytes()
    done = jobs.run(python, "measure", "fake")
    assert (0, kept) == (done.returncode, out.read_bytes())
    assert "a record is there already and stays" in done.stdout
    assert "row" not in done.stdout + done.stderr

    out.chmod(0o644)
    out.write_bytes(kept[: len(kept) // 2])
    done = jobs.run(python, "measure", "fake")
    assert 0 != done.returncode
    assert str(out.name) in done.stderr
    assert kept[: len(kept) // 2] == out.read_bytes()


def test_items_that_do_not_fit_are_left_out_and_said_so(tmp_path, library_python):
    """With next to no share of memory one item is timed, and the row is flagged up to the record."""
    project = copy_project(tmp_path / "project")
    make_fake(project)
    project.edit("policy.yaml", lambda content: content["limits"].update(resident_share=1e-9))
    jobs, python = Jobs(project, ("transforms=Works",)).prepare(), library_python("control")
    for kind in ("probe", "measure"):
        done = jobs.run(python, kind, "fake")
        assert 0 == done.returncode, done.stderr
    record = jobs.record("fake")
    (row,) = record["rows"]
    assert ("ok", 1) == (row["status"], row["items"])
    assert "reduced-items" in row["flags"]
    assert 16 == record["dataset"]["items"]
    assert pytest.approx(sum(row["values"]) * row["loops"]) == row["timed_seconds"]


def test_seconds_running_are_counted_from_the_process_s_start(library_python):
    """Also where the interpreter took its time to start."""
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'workflow')!r}); import time; from augmark import host\n"
        "time.sleep(0.3); print(host.seconds_running())"
    )
    if host.seconds_running() is None:
        pytest.skip("this system does not say when a process was started but by its time of day")
    clock = time.perf_counter()
    command = [library_python("control"), "-I", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert 0.3 <= float(done.stdout) <= time.perf_counter() - clock + 0.02
