"""Two runs at a time: in one folder the second is refused, and in two clones no two timed parts overlap."""

import itertools
import json
from datetime import datetime

import pytest

from tests.conftest import copy_project, make_fake
from tests.workflow.test_interruption import snapshot, start, wait_until_measuring

WORDS = ("paper_tables", "--config", "transforms=Works,WorksAtRandom", "repeats=2")
CELLS = 10  # two fakes and three controls, twice


def begin(project):
    """A run in the background; what it says goes to a file beside the project."""
    with open(project.root.with_suffix(".log"), "w") as said:
        return start(project, WORDS, said)


def ended_well(run, project):
    assert 0 == run.wait(timeout=300), project.root.with_suffix(".log").read_text()[-4000:]
    assert CELLS == len(project.records())
    for path in project.records():
        assert {"ok"} == {row["status"] for row in json.loads(path.read_text())["rows"]}
    assert 0 == project.run("augmark", "coverage", *WORDS[1:], check=False).returncode


@pytest.fixture
def clones(tmp_path, environments):
    """Two copies of the project that share nothing but environments."""
    found = []
    for name in ("one", "two"):
        copy = make_fake(copy_project(tmp_path / name))
        copy.results.mkdir()
        (copy.results / "envs").symlink_to(environments)
        found.append(copy)
    return found


def test_in_one_folder_the_second_run_is_refused_and_the_first_goes_on(fake_project):
    """The message names the folder and what to do; nothing of the first run is touched, and it ends well."""
    run = begin(fake_project)
    try:
        wait_until_measuring(fake_project)
        whole = snapshot(fake_project)
        second = fake_project.run("snakemake", *WORDS, check=False)
        assert run.poll() is None, "the first run had ended before the second was refused"
        assert 0 != second.returncode
        assert "another run is at work in results" in second.stdout + second.stderr
        assert "--config output=..." in second.stdout + second.stderr
        assert whole.items() <= snapshot(fake_project).items()
        ended_well(run, fake_project)
    finally:
        run.kill()
    sessions = {json.loads(path.read_text())["session"] for path in fake_project.records()}
    assert 1 == len(sessions)


def test_in_two_clones_the_timed_parts_never_overlap(clones):
    """Both wait for the machine in turn, and both end with every row measured."""
    runs = [begin(clone) for clone in clones]
    try:
        for run, clone in zip(runs, clones, strict=True):
            ended_well(run, clone)
    finally:
        for run in runs:
            run.kill()
    spans = sorted(span for number, clone in enumerate(clones) for span in timed(clone, number))
    for (_, ended, *one), (started, _, *other) in itertools.pairwise(spans):
        assert ended <= started, (one, other)
    order = [number for *_, number in spans]
    assert order not in (sorted(order), sorted(order, reverse=True)), "they were not at work at one time"


def timed(clone, number):
    """When each row was measured: start, end, and the clone."""
    for path in clone.records():
        for row in json.loads(path.read_text())["rows"]:
            yield datetime.fromisoformat(row["started"]), datetime.fromisoformat(row["ended"]), number
