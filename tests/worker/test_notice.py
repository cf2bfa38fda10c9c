"""The notices of jobs: what they say, when they are written, and whether their job is still at work."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from augmark.errors import AugmarkError
from augmark.worker import notice
from tests.conftest import ROOT

OUT = "records/local-0000/image-rgb/micro/fake/cpu/r1.0123456789.json"


@pytest.fixture
def out(tmp_path):
    return tmp_path / "results" / OUT


def running(out):
    return notice.read(out.parents[6] / "running" / "local-0000/image-rgb/micro/fake/cpu/r1.0123456789.json")


def failed(out):
    return notice.read(out.parents[6] / "failed" / "local-0000/image-rgb/micro/fake/cpu/r1.0123456789.json")


def test_a_notice_is_there_while_the_job_is_and_no_longer(out):
    """Who, where, since when and how far; nothing is left of it after the end."""
    before = time.time()
    with notice.noticed("measure", out) as noticed:
        first = running(out)
        assert ("measure", os.getpid(), "starting", None, 0) == tuple(
            first[name] for name in ("kind", "pid", "phase", "rows", "done")
        )
        assert before <= first["started"] <= time.time()
        noticed.say(phase="at work", rows=58)
        assert ("at work", 58) == (running(out)["phase"], running(out)["rows"])
        assert notice.is_running(running(out), 0.0)
    assert running(out) is None
    assert failed(out) is None
    assert [] == [path for path in out.parents[6].rglob("*") if path.is_file()]


def test_a_failure_is_left_until_the_job_succeeds(out):
    """The first line of the message, with its place, when, and the remedy."""
    with pytest.raises(AugmarkError), notice.noticed("measure", out):
        raise AugmarkError("the disk is full\nand more", where="a/b.json", remedy="free some space")
    told = failed(out)
    assert ("a/b.json: the disk is full", "free some space") == (told["message"], told["remedy"])
    assert told["started"] <= told["failed"] <= time.time()
    assert running(out) is None
    with pytest.raises(ZeroDivisionError), notice.noticed("measure", out):
        raise ZeroDivisionError("division by zero")
    assert "ZeroDivisionError: division by zero" == failed(out)["message"]
    assert "log" in failed(out)["remedy"]
    with notice.noticed("measure", out):
        assert failed(out) is not None
    assert failed(out) is None


@pytest.mark.parametrize("error", [KeyboardInterrupt, LookupError])
def test_an_interrupt_is_nobody_s_failure(out, error):
    """Nor is the end of whoever started it."""
    with pytest.raises(error), notice.noticed("measure", out, quiet=(LookupError,)):
        raise error
    assert running(out) is None
    assert failed(out) is None


def test_rows_are_counted_and_written_every_few_seconds_at_most(out, monkeypatch):
    """Many short rows are few writings; one long row is heard of after a minute, between its values."""
    now = [100.0]
    monkeypatch.setattr(notice.time, "monotonic", lambda: now[0])
    noticed = notice.Notice("measure", out)
    noticed.say(phase="at work", rows=9)
    written = []
    for _ in range(6):
        noticed.heard("row", "Blur")
        now[0] += 0.5
        noticed.heard("result", "Blur")
        written.append(running(out)["done"])
    assert [0, 0, 0, 4, 4, 4] == written
    said = running(out)
    noticed.heard("row", "Rotate")
    for _ in range(58):
        now[0] += 1.0
        noticed.heard("beat", "Rotate")
    assert said == running(out)
    now[0] += 1.0
    noticed.heard("beat", "Rotate")
    assert ("Rotate", 6) == (running(out)["row"], running(out)["done"])


def test_a_disk_that_takes_no_notice_fails_no_job(tmp_path):
    """The folder cannot even be made: the job goes on."""
    (tmp_path / "results").write_text("a file in the place of the folder")
    done = []
    with notice.noticed("measure", tmp_path / "results" / OUT) as noticed:
        noticed.say(phase="at work")
        done.append(1)
    assert [1] == done


def test_of_two_hosts_with_one_job_each_takes_its_own_notice_away(out):
    """What another one wrote meanwhile stays."""
    with notice.noticed("measure", out):
        path = notice.place(out, notice.RUNNING)
        path.write_text(json.dumps({**running(out), "host": "another"}))
    assert "another" == running(out)["host"]


def test_a_process_is_known_by_its_number_and_its_start(out):
    """A killed one is gone, and so is one whose number was given again; a zombie is no process any more."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        about = {**notice.here(), "pid": child.pid, "process_started": notice.process_started(child.pid)}
        assert notice.is_running(about, 1e9)
        assert not notice.is_running({**about, "process_started": "1"}, 0.0)
        child.send_signal(signal.SIGKILL)
        time.sleep(0.2)
        assert not notice.is_running(about, 0.0)  # not waited for yet
    assert not notice.is_running(about, 0.0)


@pytest.mark.parametrize(
    ("changed", "silent", "expected"),
    [
        ({"host": "node7"}, 299.0, True),
        ({"host": "node7"}, 301.0, False),
        ({"boot": "another"}, 0.0, False),  # this host was started anew: nothing of then goes on
        ({"space": "pid:[1]"}, 299.0, True),  # another container of this host: its processes are not seen
        ({"space": "pid:[1]"}, 301.0, False),
    ],
)
def test_elsewhere_only_silence_tells(changed, silent, expected):
    """The process of another host cannot be looked for: it is gone when it has been silent for too long."""
    own = {**notice.here(), "pid": 2**22 + 1, "process_started": "1", "silent_seconds": 300.0}
    assert expected is notice.is_running({**own, **changed}, silent)


def test_an_engine_s_job_is_named(out, monkeypatch):
    """As the engine's own commands name it."""
    monkeypatch.setenv("SLURM_JOB_ID", "4711")
    with notice.noticed("measure", out):
        assert "slurm 4711" == running(out)["engine_job"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": "augmark/notice/0"}'])
def test_what_is_no_notice_is_none(tmp_path, text):
    """Cut off, or of another version: nothing is known."""
    path = tmp_path / "notice.json"
    path.write_text(text)
    assert notice.read(path) is None


def test_the_module_needs_the_standard_library_alone():
    """It runs in every library's environment and on a bare host."""
    code = "import sys; import augmark.worker.notice, augmark.standing; print(*sys.modules)"
    env = {"PYTHONPATH": str(ROOT / "workflow")}
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], env=env, capture_output=True, text=True, check=True
    )
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert {"augmark"} == loaded - set(sys.stdlib_module_names) - {"__main__"} - set(sys.builtin_module_names)
