"""The parent and its worker: no orphan, no guess, and nothing measured that was not planned."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.watching import processes, wait_for

SLEEPER = [sys.executable, "-c", "import time; time.sleep(600)"]
SECONDS_TO_END = 5.0


@pytest.fixture(scope="module")
def python(library_python):
    return library_python("control")


@pytest.fixture
def planned(fake):
    """The fake library as it is shipped, planned anew: each test may break it."""
    kept = {path: path.read_bytes() for path in broken(fake)}
    yield fake
    shutil.rmtree(fake.project.results / "probes", ignore_errors=True)
    for path, content in kept.items():
        path.write_bytes(content)


def broken(jobs):
    """The files that a test may break."""
    root = jobs.project.root
    return [
        root / "workflow" / "augmark" / "libraries" / "fake.py",
        root / "envs" / "control.txt",
        jobs.plan_path,
        *(path for path in jobs.project.results.glob("items/**/*") if path.is_file()),
    ]


def rebuild(jobs, code):
    """Put code behind the fake adapter's, and plan with it."""
    path = jobs.project.root / "workflow" / "augmark" / "libraries" / "fake.py"
    path.write_text(path.read_text() + code)
    jobs.replan()


def is_gone(process):
    """Ended, or a zombie that only waits for whoever started it."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@contextlib.contextmanager
def started(jobs, python, shape, watched):
    """A probe that never ends by itself, started in a shell, whose worker is in its row."""
    log = jobs.project.root / "started.log"
    command = " ".join(f"'{word}'" for word in jobs.command(python, "probe", "fake", "--watch", str(watched)))
    line = {"alone": "exec {}", "and more": "{}; true", "pipe": "{} | cat", "subshell": "( {} ); true"}[shape]
    with open(log, "w") as stream:
        shell = subprocess.Popen(
            ["bash", "-c", line.format(command)], cwd=jobs.project.root, stdout=stream, stderr=stream
        )
    family = [psutil.Process(shell.pid)]
    try:
        # Another timed job of this machine may have to end first.
        worker = wait_for(lambda: processes(jobs.project.root, "scripts/worker.py"), seconds=600)[0]
        parent = worker.parent()
        family += [parent, worker]
        wait_for(lambda: any("items.bin" in place.path for place in worker.memory_maps()), seconds=60)
        time.sleep(0.5)
        yield shell, parent, worker
    finally:
        for process in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        shell.wait()


@pytest.mark.parametrize("shape", ["alone", "and more", "pipe", "subshell"])
def test_when_the_watched_process_is_killed_nothing_goes_on(planned, python, shape):
    """kill -9 of whoever started it, whatever lies between: parent and worker end by themselves."""
    with (
        subprocess.Popen(SLEEPER) as watched,
        started(planned, python, shape, watched.pid) as (shell, parent, worker),
    ):
        watched.kill()
        wait_for(lambda: is_gone(parent) and is_gone(worker), seconds=SECONDS_TO_END)
        shell.wait(timeout=SECONDS_TO_END)
        log = (planned.project.root / "started.log").read_text()
        assert f"probe: process {watched.pid} is gone; nothing is written" in log
        assert not planned.out("probe", "fake").exists()


@pytest.mark.parametrize("shape", ["alone", "pipe"])
def test_when_the_parent_is_killed_its_worker_goes(planned, python, shape):
    """kill -9 of the parent alone."""
    with started(planned, python, shape, os.getpid()) as (shell, parent, worker):
        parent.kill()
        wait_for(lambda: is_gone(worker), seconds=SECONDS_TO_END)
        shell.wait(timeout=SECONDS_TO_END)


def test_when_the_worker_is_killed_its_row_is_crashed(planned, python):
    """kill -9 of the worker alone costs the row in hand; the job succeeds and writes what it has."""
    with started(planned, python, "alone", os.getpid()) as (shell, _, worker):
        worker.kill()
        assert 0 == shell.wait(timeout=60)
        row = json.loads(planned.out("probe", "fake").read_text())["rows"]["SleepsForEver"]
        assert ("crashed", "the process ended with signal 9 (SIGKILL)") == (row["status"], row["reason"])
        planned.out("probe", "fake").unlink()


@contextlib.contextmanager
def memory_group(limit_bytes):
    """A control group of our own with so much memory; skipped where none can be made."""
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    own = {
        name: path for _, names, path in (line.split(":", 2) for line in lines) for name in names.split(",")
    }
    version_1 = "memory" in own
    base = Path("/sys/fs/cgroup/memory" if version_1 else "/sys/fs/cgroup")
    group = base / own.get("memory", own.get("", "/")).strip("/") / f"augmark-test-{os.getpid()}"
    try:
        group.mkdir()
        limit = group / ("memory.limit_in_bytes" if version_1 else "memory.max")
        limit.write_text(str(limit_bytes))
    except OSError as error:
        with contextlib.suppress(OSError):
            group.rmdir()
        pytest.skip(f"no control group with a limit on memory can be made here: {error}")
    try:
        yield group, limit
    finally:
        wait_for(lambda: not (group / "cgroup.procs").read_text(), seconds=10)
        group.rmdir()


def test_a_worker_that_the_kernel_kills_for_memory_is_oom(planned, python):
    """A control group's limit that holds before ours: the row says so, and the job goes on."""
    policy = planned.project.root / "config" / "policy.yaml"
    whole = policy.read_bytes()
    planned.project.edit("policy.yaml", lambda content: content["limits"].update(memory_limit_share=0.9))
    with memory_group(2 << 30) as (group, limit):
        rebuild(
            planned,
            "\n\ndef grabs(params):\n"
            "    def apply(item):\n"
            # Lowered only now, so that our own limit is far above it.
            f"        with open({str(limit)!r}, 'w') as stream:\n"
            "            stream.write(str(300 << 20))\n"
            "        return np.ones(1 << 30, np.uint8)[: item.size].reshape(item.shape)\n"
            "    return apply\n\n\n"
            "builds['SleepsForEver'] = grabs\n",
        )
        enter = ("sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh")
        done = planned.run(python, "probe", "fake", before=enter)
    policy.write_bytes(whole)
    assert 0 == done.returncode, done.stderr
    row = json.loads(planned.out("probe", "fake").read_text())["rows"]["SleepsForEver"]
    killed = "the process ended with signal 9 (SIGKILL): for want of memory the kernel killed it, at "
    assert "oom" == row["status"]
    assert row["reason"].startswith(killed), row["reason"]


def test_a_clock_set_back_while_a_row_hangs_leaves_its_seconds_positive(planned, python):
    """What a row took that is ended from outside is of the clock that nobody sets."""
    rebuild(planned, "\n\nbuilds['SleepsForEver'] = builds['Aborts']\n")
    supervise = planned.project.root / "workflow" / "augmark" / "worker" / "supervise.py"
    whole = supervise.read_text()
    # The parent's time of day goes back by an hour between any two looks at it.
    step = "\nimport itertools\n_real, _steps = time.time, itertools.count()\n"
    supervise.write_text(whole + step + "time.time = lambda: _real() - 3600 * next(_steps)\n")
    try:
        done = planned.run(python, "probe", "fake")
    finally:
        supervise.write_text(whole)
    assert 0 == done.returncode, done.stderr
    row = json.loads(planned.out("probe", "fake").read_text())["rows"]["SleepsForEver"]
    assert "crashed" == row["status"]
    assert row["ended"] < row["started"]
    assert 0 < row["wall_seconds"] < 60


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_when_the_parent_is_asked_to_end_it_ends_its_worker(planned, python, number):
    """Ctrl-C and a polite end: exit status 130, a line in the log, nothing written."""
    with started(planned, python, "alone", os.getpid()) as (shell, parent, worker):
        parent.send_signal(number)
        assert 130 == shell.wait(timeout=SECONDS_TO_END)
        assert is_gone(worker)
        log = (planned.project.root / "started.log").read_text()
        assert "probe: interrupted; nothing is written" in log
        assert "Traceback" not in log
        assert not planned.out("probe", "fake").exists()


def test_a_watched_process_that_is_gone_already_stops_the_job(planned, python):
    """A job that starts too late does not start."""
    gone = subprocess.Popen(["true"])
    gone.wait()
    done = planned.run(python, "probe", "fake", "--watch", str(gone.pid))
    assert 1 == done.returncode
    assert f"probe: process {gone.pid} is gone; nothing is written" in done.stderr


def test_a_worker_that_closes_its_pipe_and_goes_on_is_ended(planned, python):
    """It can tell nothing any more: its row has crashed, and the process is gone."""
    rebuild(
        planned,
        "\n\ndef closes(params):\n"
        "    def apply(item):\n"
        "        os.closerange(3, 4096)\n"
        "        while True:\n"
        "            time.sleep(60)\n"
        "    return apply\n\n\nbuilds['SleepsForEver'] = closes\n",
    )
    done = planned.run(python, "probe", "fake")
    assert 0 == done.returncode, done.stderr
    row = json.loads(planned.out("probe", "fake").read_text())["rows"]["SleepsForEver"]
    assert "crashed" == row["status"]
    assert "the process closed its pipe to the parent" == row["reason"]
    assert [] == processes(planned.project.root, "scripts/worker.py")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("os._exit(7)", "exit status 7"),
        ("os.abort()", "signal 6 (SIGABRT)"),
        ("raise ValueError('not this threads')", "exit status 1"),
    ],
)
def test_a_worker_that_dies_before_its_first_row_fails_the_job(planned, python, code, words):
    """No row is to blame: exit status 1, the reason, the worker's own words, and nothing recorded."""
    rebuild(planned, f"\n\ndef dies(threads):\n    {code}\n\n\nadapter.set_threads = dies\n")
    done = planned.run(python, "probe", "fake")
    assert 1 == done.returncode
    assert f"probe: no transform was running in the worker, and the process ended with {words}" in done.stderr
    assert ("ValueError: not this threads" in done.stderr) == ("ValueError" in code)
    assert not planned.out("probe", "fake").exists()
    assert [] == list(planned.out("probe", "fake").parent.glob(".samples.*"))


def one_byte_less(path):
    path.write_bytes(path.read_bytes()[:-1])


def cut_in_half(path):
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def other_pixels(path):
    path.write_bytes(bytes([path.read_bytes()[0] ^ 1]) + path.read_bytes()[1:])


def other_items(path):
    path.write_text(json.dumps({**json.loads(path.read_text()), "items_digest": "0" * 10}))


@pytest.mark.parametrize(
    ("name", "harm", "words"),
    [
        ("items.bin", one_byte_less, r"items\.bin has \d+ bytes, the index says \d+"),
        ("items.bin", other_pixels, r"items\.bin has the sha256 \w+, not \w+"),
        ("items.bin", Path.unlink, r"items\.bin is not there, the index says \d+"),
        ("index.json", Path.unlink, r"index\.json is not there: the items were not prepared"),
        ("index.json", other_items, r"holds the items 0000000000, \w{10} are planned"),
        ("index.json", cut_in_half, r"index\.json is not JSON: "),
    ],
)
def test_items_that_are_not_whole_are_refused(planned, python, name, harm, words):
    """The message has the place, what is wrong, and the remedy."""
    path = planned.plan.items_index("image-rgb", "micro").with_name(name)
    harm(path)
    done = planned.run(python, "probe", "fake")
    assert 1 == done.returncode
    assert re.search(words, done.stderr), done.stderr
    assert "remove the folder and run the same command again" in done.stderr
    assert "Traceback" not in done.stderr
    assert not planned.out("probe", "fake").exists()


def another_lock(jobs):
    path = jobs.project.root / "envs" / "control.txt"
    path.write_text(re.sub(r"sha256:[0-9a-f]{64}", f"sha256:{'0' * 64}", path.read_text(), count=1))


def other_code(jobs):
    path = jobs.project.root / "workflow" / "augmark" / "libraries" / "fake.py"
    path.write_text(path.read_text() + "\n\nUNUSED = 1\n")


def another_machine(jobs):
    content = json.loads(jobs.plan_path.read_text())
    jobs.plan_path.write_text(json.dumps({**content, "machine": "local-0000"}))


@pytest.mark.parametrize("kind", ["probe", "measure"])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (another_lock, "the lock has changed since this job was planned"),
        (other_code, "the measuring code has changed since this job was planned"),
        (another_machine, "the plan is for local-0000"),
    ],
)
def test_what_is_not_as_planned_is_not_measured(planned, python, kind, change, words):
    """Lock, code and machine are those of the digests, or the job stops and says what to do."""
    change(planned)
    done = planned.run(python, kind, "fake")
    assert 1 == done.returncode
    assert words in done.stderr
    assert "remedy: " in done.stderr
    assert "Traceback" not in done.stderr
    assert not planned.out(kind, "fake").exists()


def test_another_interpreter_is_not_measured(planned):
    """The workflow's own environment is not the one that the lock names."""
    done = planned.run(Path(sys.executable), "probe", "fake")
    assert 1 == done.returncode
    assert "is not what the lock says" in done.stderr
    assert "control.txt" in done.stderr


def test_a_measurement_without_its_probe_says_so(planned, python):
    """What is missing has its place and its remedy."""
    done = planned.run(python, "measure", "fake")
    assert 1 == done.returncode
    assert "measure: " in done.stderr
    assert "the probe cannot be read" in done.stderr
    assert "Traceback" not in done.stderr
