"""What a number was made from is in its path; what changes makes new rows, and what does not, none."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from augmark.host import python_tag
from tests.conftest import copy_project


def packages(path):
    return json.loads(path.read_text())["environment"]["packages"]


def rows_of(path):
    return {row["transform"]: row for row in json.loads(path.read_text())["rows"]}


@pytest.fixture
def pillow(project):
    """A copy that measures Pillow alone, on few items."""
    project.words = (
        "paper_tables",
        "--config",
        "modes=micro",
        "libraries=pillow",
        "transforms=HorizontalFlip,Invert",
        "items=8",
    )
    project.run("snakemake", *project.words)
    return project


def pillow_records(project):
    return {path for path in project.records() if "/pillow/" in str(path)}


def test_a_changed_lock_is_measured_with_what_it_names(pillow):
    """A new lock means a new environment and new rows of that library; the old lock brings back its own."""
    before = {path: path.read_bytes() for path in pillow.records()}
    lock = pillow.root / "envs" / "pillow.txt"
    old = {path: path.read_text() for path in pillow.root.glob("envs/pillow.*")}
    asked = pillow.root / "envs" / "pillow.in"
    asked.write_text(asked.read_text().replace("pillow==13.0.0", "pillow==12.0.0"))
    command = [sys.executable, "scripts/lock_envs.py", "pillow"]
    subprocess.run(command, cwd=pillow.root, env=pillow.environment(), check=True, capture_output=True)
    assert "pillow==12.0.0" in lock.read_text()
    asked_before = pillow.run("augmark", "coverage", "--short", "--config", *pillow.words[2:], check=False)
    assert 1 == asked_before.returncode
    said = asked_before.stdout.partition("they will be measured again:")[2]
    change, *rows = [line.strip() for line in said.splitlines() if line.startswith("    ")]
    assert re.fullmatch("lock of pillow [0-9a-f]{10} -> [0-9a-f]{10}", change)
    both = ("pillow", "control-aa")  # the control is Pillow a second time
    assert [f"image-rgb micro {library} cpu r0 r1: HorizontalFlip, Invert" for library in both] == rows
    pillow.run("snakemake", *pillow.words)
    new = set(pillow.records()) - before.keys()
    assert {(library, f"r{repeat}") for library in both for repeat in range(2)} == {
        (path.parts[-3], path.name.split(".")[0]) for path in new
    }
    assert {"12.0.0"} == {packages(path)["pillow"] for path in new}
    assert before.items() <= {path: path.read_bytes() for path in pillow.records()}.items()
    assert "12.0.0" in (pillow.results / "tables" / "image-rgb-micro.md").read_text()
    stale = pillow.run("augmark", "coverage", "--config", *pillow.words[2:]).stdout
    assert "8 stale rows of earlier records, in no table: pillow 4, control-aa 4" in stale
    for path, text in old.items():
        path.write_text(text)
    pillow.run("snakemake", *pillow.words)
    table = (pillow.results / "tables" / "image-rgb-micro.md").read_text()
    assert "12.0.0" not in table
    assert "13.0.0" in table
    assert before.keys() | new == set(pillow.records())


def test_an_added_transform_is_measured_and_the_rest_is_carried(pillow):
    """Rows that still match go over with their session; only the new one is timed."""
    before = {path.name.split(".")[0]: rows_of(path) for path in pillow_records(pillow)}
    known = set(pillow.records())
    words = [word.replace("Invert", "Invert,VerticalFlip") for word in pillow.words]
    pillow.run("snakemake", *words)
    new = pillow_records(pillow) - known
    assert 2 == len(new)
    for path in new:
        after, earlier = rows_of(path), before[path.name.split(".")[0]]
        assert {"HorizontalFlip": True, "Invert": True, "VerticalFlip": False} == {
            name: row["carried"] for name, row in after.items()
        }
        for name in earlier:
            assert earlier[name]["values"] == after[name]["values"]
            assert earlier[name]["session"] == after[name]["session"]
        assert ["VerticalFlip"] == json.loads(path.read_text())["order"]


def test_touch_docs_and_comments_measure_nothing(pillow):
    """Times of files and words beside the code do not matter."""
    before = {path: path.read_bytes() for path in pillow.records()}
    for folder in ("config", "workflow", "scripts", "envs", "docs"):
        for path in (pillow.root / folder).rglob("*"):
            if path.is_file():
                os.utime(path)
    for name in ("workflow/augmark/worker/timing.py", "workflow/augmark/libraries/pillow.py"):
        path = pillow.root / name
        path.write_text("# Says nothing.\n" + path.read_text())
    rules = pillow.root / "workflow" / "rules" / "measure.smk"
    rules.write_text(rules.read_text() + "\n# Says nothing either.\n")
    pillow.run("snakemake", *pillow.words)
    assert before == {path: path.read_bytes() for path in pillow.records()}


def test_a_changed_adapter_stales_its_library(pillow):
    """Another way of doing it is another row, also where it is measured again; the other controls stay."""
    before = set(pillow.records())
    path = pillow.root / "workflow" / "augmark" / "libraries" / "pillow.py"
    path.write_text(path.read_text() + "\n\nUNUSED = 1\n")
    pillow.run("snakemake", *pillow.words)
    assert {"pillow", "control-aa"} == {path.parts[-3] for path in set(pillow.records()) - before}


def test_one_deleted_cell_is_measured_alone(pillow):
    """The rest stays to the byte."""
    victim = sorted(pillow_records(pillow))[0]
    others = {path: path.read_bytes() for path in pillow.records() if path != victim}
    victim.unlink()
    pillow.run("snakemake", *pillow.words)
    assert others | {victim: victim.read_bytes()} == {path: path.read_bytes() for path in pillow.records()}


def test_a_fresh_clone_with_the_records_measures_nothing(pillow, tmp_path, environments):
    """Given records, a clone makes its tables without a library: not even an environment is built."""
    clone = copy_project(tmp_path / "clone")
    for path in pillow.records():
        place = clone.results / path.relative_to(pillow.results)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(path.read_bytes())
    clone.run("snakemake", *pillow.words)
    assert not (clone.results / "envs").exists()
    assert not (clone.results / "items").exists()
    table = "tables/image-rgb-micro.md"
    assert (pillow.results / table).read_text() == (clone.results / table).read_text()


def test_an_environment_that_is_not_its_lock_is_refused(pillow):
    """A package that was changed by hand stops the measurement; the message names it."""
    probe = next((pillow.results / "probes").glob("*/*/*/pillow/*/*.json"))
    digest = json.loads(next(iter(pillow_records(pillow))).read_text())["environment"]["lock_digest"]
    site = next(
        (pillow.results / "envs" / f"pillow.{digest}.{python_tag()}").glob("lib/python*/site-packages")
    )
    metadata = next(site.glob("tqdm-*.dist-info"))
    aside = metadata.with_name("tqdm-0.0.1.dist-info")
    content = (metadata / "METADATA").read_text()
    metadata.rename(aside)
    (aside / "METADATA").unlink()
    (aside / "METADATA").write_text(content.replace("\nVersion: ", "\nVersion: 0.0.1\nX: ", 1))
    try:
        for path in (*pillow_records(pillow), probe):
            path.unlink()
        done = pillow.run("snakemake", *pillow.words, check=False)
        assert done.returncode != 0
        said = done.stdout + done.stderr
        assert "is not what the lock says" in said
        assert "tqdm" in said
        assert set() == pillow_records(pillow)
    finally:
        (aside / "METADATA").write_text(content)
        aside.rename(metadata)


def test_a_dry_run_of_another_plan_during_a_run_hides_nothing(pillow):
    """Afterwards both plans get their own tables, and then there is nothing to be done."""
    other = tuple(word.replace("Invert", "Invert,VerticalFlip") for word in pillow.words)
    run = subprocess.Popen(
        [str(Path(sys.executable).parent / "snakemake"), *other],
        cwd=pillow.root,
        env=pillow.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    known = set(pillow.records())
    while run.poll() is None and not set(pillow.records()) - known:
        time.sleep(0.05)
    assert run.poll() is None
    pillow.run("snakemake", "-n", *pillow.words)
    assert 0 == run.wait(timeout=300)
    table = pillow.results / "tables" / "image-rgb-micro.md"
    assert "VerticalFlip" in table.read_text()
    pillow.run("snakemake", *pillow.words)
    assert "VerticalFlip" not in table.read_text()
    assert "Nothing to be done" in pillow.run("snakemake", *pillow.words).stderr


def test_a_forced_measurement_measures_every_row(pillow):
    """--forcerun carries nothing over from another plan's record, and keeps what was there."""
    more = tuple(word.replace("Invert", "Invert,VerticalFlip") for word in pillow.words)
    pillow.run("snakemake", *more)
    before = {path: path.read_bytes() for path in pillow_records(pillow)}
    planned = pillow.run("augmark", "plan", "--files", "--config", *pillow.words[2:]).stdout
    pillow.run("snakemake", *pillow.words, "--forcerun", "measure")
    again = {path for path in before if path.read_bytes() != before[path]}
    assert {path for path in before if path.name in planned} == again
    for path in again:
        assert {False} == {row["carried"] for row in rows_of(path).values()}
        kept = {place.read_bytes() for place in (path.parent / "history").iterdir()}
        assert before[path] in kept
