"""``augmark status`` beside a run that is at work, after it was killed, and when all is done."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from tests.watching import wait_for
from tests.workflow.test_interruption import WORDS, start, wait_until_measuring

KEYS = WORDS[1:]


def status(project, *words, keys=KEYS):
    done = project.run("augmark", "status", "--json", *words, *keys, check=False)
    assert done.returncode in (0, 1), done.stderr
    (plan,) = json.loads(done.stdout)["plans"]
    return done.returncode, plan


def test_it_follows_a_run_from_its_start_to_its_end(fake_project):
    """Left; running, in another process; killed with -9; and done, with the exit status for each."""
    code, plan = status(fake_project)
    assert (1, 15, 0) == (code, plan["counts"]["left"], plan["counts"]["running"])
    assert not plan["known"]
    assert not (fake_project.results / "records").exists()  # it makes nothing

    run = start(fake_project)
    wait_until_measuring(fake_project)
    running = wait_for(lambda: [c for c in status(fake_project)[1]["cells"] if c["state"] == "running"])
    assert 1 == len(running)
    about = running[0]["about"]
    assert about["host"] == os.uname().nodename
    assert about["started"] <= time.time()
    text = fake_project.run("augmark", "status", *KEYS, check=False).stdout
    assert "the last cell ends" in text

    os.kill(run.pid, signal.SIGKILL)
    run.wait(timeout=60)
    wait_for(lambda: 0 == status(fake_project)[1]["counts"]["running"], seconds=10)
    code, plan = status(fake_project)
    assert 1 == code
    assert len(fake_project.records()) == plan["counts"]["done"]
    assert 15 == plan["counts"]["done"] + plan["counts"]["left"]
    assert "nothing is running" in fake_project.run("augmark", "status", *KEYS, check=False).stdout

    fake_project.run("snakemake", *WORDS)
    code, plan = status(fake_project)
    assert (0, 15, True) == (code, plan["counts"]["done"], plan["done"])
    assert [] == list((fake_project.results / "running").rglob("*.json"))


def test_a_killed_measuring_job_is_cut_off_and_not_running(fake_project):
    """kill -9 of the job alone leaves its notice: its process is gone, and that is seen."""
    run = start(fake_project)
    try:
        wait_until_measuring(fake_project)
        notices = wait_for(
            lambda: [
                json.loads(path.read_text())
                for path in (fake_project.results / "running").rglob("r*.json")
                if path.exists()
            ]
        )
        os.kill(run.pid, signal.SIGKILL)  # so that no next job is started
        os.kill(notices[0]["pid"], signal.SIGKILL)
    finally:
        run.wait(timeout=60)
    wait_for(lambda: 0 == status(fake_project)[1]["counts"]["running"], seconds=5)


def test_a_failed_job_is_told_with_its_remedy_until_it_succeeds(ran_copy):
    """A probe that is damaged: message, log and remedy; then all is done again."""
    keys = ran_copy.words[1:]
    victim = next(path for path in ran_copy.records() if "/fake/" in str(path))
    victim.unlink()
    probe = next(path for path in (ran_copy.results / "probes").rglob("fake/cpu/probe.*.json"))
    whole = probe.read_bytes()
    probe.write_bytes(whole[:100])
    assert 0 != ran_copy.run("snakemake", *ran_copy.words, check=False).returncode
    code, plan = status(ran_copy, keys=keys)
    (failed,) = [cell for cell in plan["cells"] if cell["state"] == "failed"]
    assert 1 == code
    assert "the probe cannot be read" in failed["about"]["message"]
    assert "delete it" in failed["about"]["remedy"]
    assert "the probe cannot be read" in (ran_copy.root / failed["about"]["log"]).read_text()
    probe.write_bytes(whole)
    ran_copy.run("snakemake", *ran_copy.words)
    assert 0 == status(ran_copy, keys=keys)[0]
    assert [] == list((ran_copy.results / "failed").rglob("*.json"))


@pytest.mark.parametrize("kept", [0, 700])
def test_a_damaged_record_is_found_before_tables_are_made_of_it(ran_copy, kept):
    """Cut off, or empty, and new: named with its remedy by the question and by the run; the rest stays."""
    keys, tables = ran_copy.words[1:], ran_copy.results / "tables"
    victim = next(path for path in ran_copy.records() if "/fake/" in str(path))
    whole = victim.read_bytes()
    victim.write_bytes(whole[:kept])
    made = {path: path.read_bytes() for path in tables.iterdir()}
    others = {path: path.read_bytes() for path in ran_copy.records() if path != victim}
    code, plan = status(ran_copy, keys=keys)
    assert (1, 1) == (code, plan["counts"]["damaged"])
    failed = ran_copy.run("snakemake", *ran_copy.words, check=False)
    assert 0 != failed.returncode
    log = (ran_copy.results / "logs" / "collect.log").read_text()
    assert victim.name in log
    assert "delete the file and run the same command again" in log
    assert "Traceback" not in log
    assert made == {path: path.read_bytes() for path in tables.iterdir()}
    victim.unlink()  # the remedy
    ran_copy.run("snakemake", *ran_copy.words)
    assert others == {path: path.read_bytes() for path in ran_copy.records() if path != victim}
    assert 0 == status(ran_copy, keys=keys)[0]


def test_it_needs_neither_pandas_nor_snakemake(ran_copy):
    """So that it answers at once, while a run has the machine."""
    code = (
        "import sys; from augmark.cli import main\n"
        f"main({['status', *ran_copy.words[1:]]!r})\n"
        "print(sorted({'pandas', 'snakemake', 'scipy', 'pyarrow'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ran_copy.root,
        env=ran_copy.environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "[]" == done.stdout.splitlines()[-1]
    assert "all is measured" in done.stdout


def test_what_it_cannot_answer_is_an_error(ran_copy):
    """An unknown key: exit status 2 and the message."""
    done = ran_copy.run("augmark", "status", "--config", "deth=min", check=False)
    assert 2 == done.returncode
    assert "depth" in done.stderr
