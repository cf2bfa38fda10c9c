"""`augmark handoff`: what it writes, and what its script does on the other machine."""

import json
import shutil
import tarfile

import pytest

from augmark.evidence.handoff_content import read_handoff
from tests.evidence import handoffs, packages
from tests.evidence.handoffs import FAR, KEYS


@pytest.fixture
def far(handed, tmp_path, environments):
    """A further clean clone, where nothing was measured yet."""
    return handoffs.clone(handed.desk, tmp_path / "clone", environments)


def test_a_campaign_of_this_host_has_nothing_to_hand_over(desk):
    """The nodes of somebody's cluster are nobody's to run a script on: its profile measures there."""
    done = desk.run("augmark", "handoff", "--config", "campaign=demo", check=False)
    assert done.returncode == 2
    assert "no machine of this campaign is another one than this host" in done.stderr


def test_what_it_says(handed):
    """It follows its schema, has its digest, and names every cell that is missing and what it rests on."""
    said = handed.content
    assert said == read_handoff(handed.script.with_suffix(".json"))
    fakes, controls = ("fake", "fake-too"), ("control-aa", "control-copy", "control-slow")
    assert sorted((name, repeat) for name in (*fakes, *controls) for repeat in (0, 1)) == sorted(
        (cell["library"], cell["repeat"]) for cell in said["cells"]
    )
    assert {("image-rgb", "micro", "cpu")} == {(c["scenario"], c["mode"], c["device"]) for c in said["cells"]}
    assert handoffs.git(handed.desk, "rev-parse", "HEAD") == said["commit"]
    assert said["dirty"] is False
    assert {"transforms": ["Works", "WorksAtRandom"], "repeats": 2} == said["config"]
    assert FAR == said["machine"]["id"]
    assert handoffs.far_stanza().items() <= said["machine"].items()
    assert {"control"} == set(said["locks"])
    assert {"images"} == set(said["datasets"])
    assert ["image-rgb-micro"] == said["afterwards"]["tables"]
    assert {"slurm-node"} == set(said["afterwards"]["not_run"])
    assert 0 < said["expected"]["seconds"]
    assert 100e6 < said["needs"]["disk_bytes"]


def test_it_says_nothing_of_where_things_lie(handed):
    """Neither file names a folder of the desk."""
    for path in (handed.script, handed.script.with_suffix(".json")):
        assert str(handed.desk.root.parent) not in path.read_text(encoding="utf-8")


def test_the_script_measures_exactly_those_cells(handed):
    """On a clean clone, with nothing but the script: those records, no table, and one archive."""
    assert 0 == handed.done.returncode, handed.done.stdout + handed.done.stderr
    found = {path.relative_to(handed.far.results / "records").as_posix() for path in handed.far.records()}
    assert {cell["path"] for cell in handed.content["cells"]} == found
    assert not (handed.far.results / "tables").exists()
    assert not (handed.far.results / "figures").exists()
    assert handed.archive.is_file()
    assert f"augmark import {handed.archive.name}" in handed.done.stdout
    assert "" == handoffs.git(handed.far, "status", "--porcelain")


def test_the_same_records_are_packed_to_the_same_bytes(handed, tmp_path):
    """Whenever, and into whatever folder."""
    handoff = f"results/handoff/{handed.script.stem}.json"
    handed.far.run("augmark", "handoff", "--pack", handoff, "--out", str(tmp_path))
    assert handed.archive.read_bytes() == (tmp_path / handed.archive.name).read_bytes()


def test_run_again_it_measures_nothing(handed, tmp_path):
    """After an interruption the script does what is left; here, nothing."""
    far = packages.copied(handed.far, tmp_path / "far")
    before = handoffs.everything(far.results)
    done = handoffs.run_script(far, handed.script)
    assert 0 == done.returncode, done.stderr
    assert "Nothing to be done" in done.stdout + done.stderr
    assert before == handoffs.everything(far.results)


def test_another_commit_is_refused_there(handed, far):
    """Before anything is built or measured; both commits are named."""
    (far.root / "README.md").write_text("another text\n")
    handoffs.commit(far, "another text")
    done = handoffs.run_script(far, handed.script)
    assert 1 == done.returncode
    assert handoffs.git(far, "rev-parse", "HEAD") in done.stderr
    assert handed.content["commit"] in done.stderr
    assert not (far.results / "records").exists()
    assert not (far.results / "handoff").exists()


@pytest.mark.parametrize(
    ("file", "old", "new", "part"),
    [
        ("config/policy.yaml", "row_timeout_seconds: 6", "row_timeout_seconds: 7", "policy.yaml"),
        ("config/transforms.yaml", "- 200", "- 199", "rows (transforms.yaml"),
        ("config/config.yaml", "refresh: ", "items: 8\nrefresh: ", "config items"),
        ("envs/control.txt", "numpy==2", "numpy==1", "lock control"),
        (
            "workflow/augmark/libraries/fake.py",
            "import",
            "import math\nimport",
            "code image-rgb/micro/fake/cpu",
        ),
    ],
)
def test_the_part_that_differs_is_named(handed, far, file, old, new, part):
    """Config, lock, code: the script stops and says which, and nothing is measured."""
    path = far.root / file
    text = path.read_text(encoding="utf-8")
    if file.endswith("config.yaml"):
        text = text.replace("items: null", "")
        new = new if old in text else "refresh: "
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    done = handoffs.run_script(far, handed.script)
    assert 0 != done.returncode
    assert part in done.stderr, done.stderr
    assert not (far.results / "records").exists()


def test_another_host_is_refused_there(desk, tmp_path, environments):
    """The script stops on a host that is not the machine, and both descriptions are told."""
    desk.edit("machines.yaml", lambda content: content[FAR].update(vcpus=512))
    handoffs.commit(desk, "a larger machine")
    shutil.rmtree(desk.results / "handoff")
    content, script = handoffs.hand_over(desk)
    assert "512" in content["why"]
    done = handoffs.run_script(handoffs.clone(desk, tmp_path / "clone", environments), script)
    assert 2 == done.returncode
    assert "not 512" in done.stderr
    assert "found: " in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--machine", "local"], "machine local is this host"),
        (["--machine", "farhost"], "did you mean far-host"),
        (["--machine", "slurm-node"], "declares no processor"),
        (["--machine", "c4-standard-16"], "measures nothing on c4-standard-16"),
        ([], "name one, and a campaign that has it"),
    ],
)
def test_what_cannot_be_handed_over(desk, words, said):
    """The host itself, what is no machine, what any host would pass for, and what the campaign has not."""
    if not words:
        desk.edit("tables.yaml", lambda content: content["campaigns"]["demo"].update(machines=["local"]))
    done = desk.run("augmark", "handoff", *words, check=False)
    assert 2 == done.returncode
    assert said in done.stderr
    assert not list((desk.results / "handoff").glob(f"*{'slurm' if words else 'none'}*"))


def test_a_claim_needs_a_clean_commit(desk):
    """At a depth that claims something, what a clone cannot have is refused."""
    desk.edit("policy.yaml", lambda content: content["limits"].update(row_timeout_seconds=9))
    done = desk.run("augmark", "handoff", "--machine", FAR, "--config", "depth=max", check=False)
    assert 2 == done.returncode
    assert "the tree is dirty" in done.stderr
    handoffs.commit(desk, "a longer time")
    assert 0 == desk.run("augmark", "handoff", "--machine", FAR, "--config", "depth=max").returncode


def test_data_with_a_path_of_their_own(handed, desk, tmp_path, environments):
    """They go by name and sha256; the far machine is told where they lie, and then has the same plan."""
    tarball = tmp_path / "private place" / "holiday.tar"
    tarball.parent.mkdir()
    with tarfile.open(tarball, "w") as held:
        held.add(handed.script, "picture.jpg")  # it is only hashed here
    shutil.rmtree(desk.results / "handoff")
    content, script = handoffs.hand_over(desk, f"images={tarball}")
    assert "holiday" == content["datasets"]["images"]["name"]
    assert not content["datasets"]["images"]["declared"]
    assert "private place" not in script.read_text(encoding="utf-8")
    far = handoffs.clone(desk, tmp_path / "clone", environments)
    done = handoffs.run_script(far, script)
    assert 2 == done.returncode
    assert "say where they lie: images=" in done.stderr
    elsewhere = tmp_path / "elsewhere" / "holiday.tar"
    elsewhere.parent.mkdir()
    shutil.move(tarball, elsewhere)
    handoff = far.results / "handoff" / f"{script.stem}.json"
    far.run("augmark", "handoff", "--check", str(handoff), "--config", f"images={elsewhere}")


def test_further_cells_go_with_the_probe_of_the_first(desk, handed, tmp_path, environments):
    """What is left of a block is measured from the probes that are here: a pair is of one probe."""
    desk.run("augmark", "import", str(handed.archive))
    gone = next(path for path in desk.records() if "/fake/" in path.as_posix())
    gone.unlink()
    shutil.rmtree(desk.results / "handoff")
    content, script = handoffs.hand_over(desk)
    assert [gone.relative_to(desk.results / "records").as_posix()] == [c["path"] for c in content["cells"]]
    assert 5 == len(content["probes"])
    assert [] == content["samples"]
    far = handoffs.clone(desk, tmp_path / "clone", environments)
    done = handoffs.run_script(far, script)
    assert 0 == done.returncode, done.stdout + done.stderr
    assert 1 == len(far.records())
    archive = far.results / "handoff" / f"{script.stem}.tar.gz"
    said = desk.run("augmark", "import", str(archive)).stdout
    assert "taken in: 1 record, 0 files of probes" in said
    assert 0 == desk.run("augmark", "coverage", "--config", f"machine={FAR}", *KEYS).returncode


def test_an_edited_handoff_is_none(handed, tmp_path):
    """Its digest does not fit it any more."""
    content = {**handed.content, "cells": handed.content["cells"][:1]}
    edited = tmp_path / "edited.json"
    edited.write_text(json.dumps(content))
    done = handed.far.run("augmark", "handoff", "--check", str(edited), check=False)
    assert 2 == done.returncode
    assert "its digest is" in done.stderr
