"""kill -9 anywhere, then the same command: what was whole stays, what was cut off is measured again."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.watching import processes, wait_for

WORDS = ["paper_tables", "--config", "transforms=SlowEveryCall,WorksAtRandom", "repeats=3"]


def start(project, words=WORDS, said=subprocess.DEVNULL):
    snakemake = Path(sys.executable).parent / "snakemake"
    return subprocess.Popen(
        [str(snakemake), *words],
        cwd=project.root,
        env=project.environment(),
        stdout=said,
        stderr=said,
        start_new_session=True,
        # A shell that starts a run in the background has it ignore Ctrl-C; a person's terminal does not.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def wait_until_measuring(project, whole=1):
    """Wait until some records are whole and another cell is in the hands of a worker."""
    wait_for(lambda: len(project.records()) >= whole)
    wait_for(lambda: processes(project.root, "scripts/measure.py"))
    wait_for(lambda: processes(project.root, "scripts/worker.py"))


def kill_a_measuring_parent(project):
    """Kill the parent of a worker that is at work; whether there was one (cells end while one looks)."""
    for worker in processes(project.root, "scripts/worker.py"):
        try:
            parent = worker.parent()
            if parent is not None and "scripts/measure.py" in " ".join(parent.cmdline()):
                parent.kill()
                return True
        except psutil.Error:
            continue
    return False


def snapshot(project):
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in project.records()}


@pytest.mark.parametrize("victim", ["workflow", "measure"])
def test_kill_minus_nine_and_the_same_command(fake_project, victim):
    """Nothing goes on running, whole records keep their bytes, and the rest is completed."""
    run = start(fake_project)
    wait_until_measuring(fake_project)
    whole = snapshot(fake_project)
    if victim == "workflow":
        os.kill(run.pid, signal.SIGKILL)
    else:
        wait_for(lambda: kill_a_measuring_parent(fake_project))
    run.wait(timeout=60)
    for script in ("scripts/measure.py", "scripts/worker.py"):
        wait_for(lambda script=script: not processes(fake_project.root, script), seconds=10)
    now = snapshot(fake_project)
    assert whole.items() <= now.items()
    assert len(now) < 15
    fake_project.run("snakemake", *WORDS)
    assert now.items() <= snapshot(fake_project).items()
    started = {path: json.loads(path.read_text())["session"] for path in fake_project.records()}
    (first,) = {started[path] for path in now}  # one start is one session, and the next one another
    (second,) = {session for path, session in started.items() if path not in now}
    assert first != second
    assert 15 == len(fake_project.records())
    assert "Nothing to be done" in fake_project.run("snakemake", *WORDS).stderr


@pytest.mark.parametrize(
    ("number", "everybody"),
    [
        (signal.SIGINT, True),  # Ctrl-C: the terminal sends it to snakemake, its shells and jobs at once
        (signal.SIGINT, False),
        (signal.SIGTERM, False),
    ],
)
def test_an_interrupt_leaves_nothing_running_and_costs_one_cell(fake_project, number, everybody):
    """Within seconds no process of the project is left; whole records stay, and the same command goes on."""
    run = start(fake_project)
    wait_until_measuring(fake_project)
    whole = snapshot(fake_project)
    (os.killpg if everybody else os.kill)(run.pid, number)
    run.wait(timeout=20)
    assert run.returncode != 0
    wait_for(lambda: not processes(fake_project.root), seconds=5)
    now = snapshot(fake_project)
    assert whole.items() <= now.items()
    assert len(now) <= len(whole) + 1  # one may have become whole just before
    assert [] == list(fake_project.results.rglob("*.part"))
    assert [] == list((fake_project.results / "running").rglob("*.json"))
    fake_project.run("snakemake", *WORDS)
    assert now.items() <= snapshot(fake_project).items()
    assert 15 == len(fake_project.records())


def test_a_second_run_in_the_same_folder_is_refused(fake_project):
    """Two runs never write beside each other."""
    run = start(fake_project)
    try:
        wait_until_measuring(fake_project, whole=0)
        second = fake_project.run("snakemake", *WORDS, check=False)
        assert second.returncode != 0
        assert "another run is at work" in second.stdout + second.stderr
    finally:
        os.killpg(run.pid, signal.SIGKILL)
        run.wait(timeout=60)


def test_a_timed_job_waits_for_the_machine(fake_project):
    """While another checkout times, this one waits; its wall time leaves the waiting out."""
    fake_project.run("snakemake", *WORDS, "--until", "probe")
    with open("/tmp/augmark-machine.lock", "a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        run = start(fake_project)
        wait_for(lambda: processes(fake_project.root, "scripts/measure.py"))
        time.sleep(2)
        assert [] == processes(fake_project.root, "scripts/worker.py")
        os.killpg(run.pid, signal.SIGKILL)
    run.wait(timeout=60)
