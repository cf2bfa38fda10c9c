"""Processes of a job: one per number of threads, a new one after one that gave up, and their memory."""

import json
import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import psutil
import pytest

from augmark.worker import supervise
from tests.conftest import copy_project, make_fake
from tests.worker.kit import Jobs

NAMES = "Works,WorksAtRandom"
MIB = 1 << 20

# Behind the fake adapter: the first row asks for a new process, and this one does not even end.
GIVES_UP = """

import atexit as _atexit
import time as _time

from augmark.worker import rows as _rows

_as_shipped = _rows.probe_row


def _gives_up(subject, row, job, beat):
    return {**_as_shipped(subject, row, job, beat), "retire": row["transform"] == "Works"}


_rows.probe_row = _gives_up
_atexit.register(_time.sleep, 600)
"""
# Has memory of its own and maps a file, forks twice (its child once more), and all four touch every page of
# the file; the three that were forked then take as much again for themselves.
FAMILY = """
import mmap, os, sys, time
mib = int(sys.argv[2])
with open(sys.argv[1], "r+b") as stream:
    shared = mmap.mmap(stream.fileno(), 0)
first, own = os.getpid(), bytearray(os.urandom(1 << 20)) * mib
[os.fork() for _ in range(2)]
if os.getpid() != first:
    more = bytearray(os.urandom(1 << 20)) * mib
for place in range(0, len(shared), 4096):
    shared[place]
os.write(1, b"there\\n")
time.sleep(600)
"""


@pytest.fixture
def fakes(tmp_path):
    """The fake libraries; a sweep of threads is added to the depth."""
    project = make_fake(copy_project(tmp_path / "project"))
    sweep = {"axis": "threads", "values": [2], "modes": ["micro"]}
    project.edit("depths/min.yaml", lambda content: content.update(sweeps=[sweep]))
    return Jobs(project, (f"transforms={NAMES}",))


def test_rows_of_other_threads_run_in_a_process_of_their_own(fakes, library_python):
    """NumPy's pool has the row's own number of threads in it, from before it was imported."""
    python = library_python("control")
    fakes.prepare()
    for kind in ("probe", "measure"):
        done = fakes.run(python, kind, "fake")
        assert 0 == done.returncode, done.stderr
    probed = json.loads(fakes.out("probe", "fake").read_text())["rows"]
    plain = NAMES.split(",")
    assert {*plain, *(f"{name}@threads-2" for name in plain)} == probed.keys()
    record = fakes.record("fake")
    rows = {(row["transform"], row["condition"]): row for row in record["rows"]}
    assert {(name, condition) for name in plain for condition in ("plain", "threads-2")} == rows.keys()
    for (_, condition), row in rows.items():
        expected = 2 if condition == "threads-2" else 1
        assert {"blas:libscipy_openblas": expected} == row["threads_read"]
        assert ("ok", []) == (row["status"], row["flags"])
    assert 2 == len(record["processes"])
    for condition in ("plain", "threads-2"):
        assert 1 == len({row["process"] for (_, its), row in rows.items() if its == condition})
    assert {0, 1} == {row["process"] for row in rows.values()}
    assert {"declared": 1, "read": {"blas:libscipy_openblas": 1}} == record["threads"]
    assert sorted(probed) == sorted(record["order"])


def test_after_a_worker_that_gave_up_another_takes_the_rest(fakes, library_python):
    """What it started cannot be ended from inside: it is ended from outside, and no row is lost by it."""
    fakes.prepare()
    path = fakes.project.root / "workflow" / "augmark" / "libraries" / "fake.py"
    path.write_text(path.read_text() + GIVES_UP)
    fakes.replan()
    begun = time.monotonic()
    done = fakes.run(library_python("control"), "probe", "fake")
    assert 0 == done.returncode, done.stderr
    assert time.monotonic() - begun < 300  # the end of those processes is not waited for
    probe = json.loads(fakes.out("probe", "fake").read_text())
    assert {"ok"} == {row["status"] for row in probe["rows"].values()}
    found = {name: row["process"] for name, row in probe["rows"].items()}
    # Of each number of threads `Works` comes first, gives its process up, and another takes what is left.
    assert {"Works": 0, "WorksAtRandom": 1, "Works@threads-2": 2, "WorksAtRandom@threads-2": 3} == found
    assert 4 == len(probe["processes"])
    places = [process.info["cwd"] for process in psutil.process_iter(["cwd"])]
    assert str(fakes.project.root) not in places


@pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux says how much of a process's memory is shared"
)
def test_memory_that_processes_share_is_counted_once(tmp_path):
    """Mapped items, and what forked processes still have from the first; what each takes itself is added."""
    shared = tmp_path / "items.bin"
    shared.write_bytes(bytes(200 * MIB))
    command = [sys.executable, "-c", FAMILY, str(shared), "40"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as parent:
        try:
            for _ in range(4):
                assert "there\n" == parent.stdout.readline()
            members = [psutil.Process(parent.pid), *psutil.Process(parent.pid).children(recursive=True)]
            assert 4 == len(members)
            assert sum(member.memory_info().rss for member in members) > (4 * 200 + 40 + 3 * 80) * MIB
            worker = SimpleNamespace(process=SimpleNamespace(pid=parent.pid))
            counted = supervise._Worker.resident_bytes(worker)
            # 200 MiB of the file and 40 once, and 40 in each of three; a Python itself is some 10 MiB.
            assert (200 + 40 + 3 * 40) * MIB < counted < (200 + 40 + 3 * 40 + 4 * 15) * MIB
        finally:
            os.killpg(parent.pid, signal.SIGKILL)
