"""A block that was not measured in one go: compared unpaired, with a mark, or measured again whole."""

import csv
import json
import re

from augmark.cell import short_digest
from augmark.record import replace_json
from tests.workflow.planned import plan_of

BLOCK = ("fake", "fake-too", "control-copy", "control-slow", "control-aa")
REFRESH = "refresh=blocks"


def sessions(project):
    """Repeat -> the sessions of the numbers in its records."""
    found = {}
    for path in project.records():
        record = json.loads(path.read_text())
        found.setdefault(record["cell"]["repeat"], set()).update(row["session"] for row in record["rows"])
    return found


def contents(project):
    return {path: path.read_bytes() for path in project.records()}


def cell_of(path):
    return path.parts[-3], int(path.name[1 : path.name.index(".")])


def record_of(project, library, repeat):
    return next(path for path in project.records() if (library, repeat) == cell_of(path))


def comparisons(project):
    """(comparison, whether it is marked as of other sessions) of the rows that a fastest was held against."""
    with open(project.results / "tables" / "image-rgb-micro.csv", newline="") as stream:
        lines = [line for line in csv.DictReader(stream) if line["comparison"]]
    assert 2 == len(lines)  # two transforms, of two libraries
    return {(line["comparison"], "sessions" in line["marks"].split("; ")) for line in lines}


def measured_by_dry_run(project, *words):
    said = project.run("snakemake", "-n", *words)
    return sum(map(int, re.findall(r"^ *measure\s+(\d+) *$", said.stdout + said.stderr, re.M)))


def test_a_torn_block_is_compared_unpaired_or_measured_again_whole(ran_copy):
    """A lost cell measured in a second start: two sessions, and a mark; with refresh=blocks one again."""
    before = contents(ran_copy)
    (first,) = set.union(*sessions(ran_copy).values())
    assert {("paired", False)} == comparisons(ran_copy)
    victim = record_of(ran_copy, "fake-too", 1)
    victim.unlink()
    assert 1 == measured_by_dry_run(ran_copy, *ran_copy.words)
    ran_copy.run("snakemake", *ran_copy.words)
    torn = contents(ran_copy)
    assert {victim} == {path for path in before if torn[path] != before[path]}
    (second,) = {row["session"] for row in json.loads(torn[victim])["rows"]}
    assert first != second == json.loads(torn[victim])["session"]
    assert {0: {first}, 1: {first, second}, 2: {first}} == sessions(ran_copy)
    assert {("unpaired", True)} == comparisons(ran_copy)
    table = (ran_copy.results / "tables" / "image-rgb-micro.md").read_text()
    assert "not measured in the sessions of the fastest: the interval does not know" in table

    words = (*ran_copy.words, REFRESH)
    assert len(BLOCK) == measured_by_dry_run(ran_copy, *words)
    assert torn == contents(ran_copy)
    ran_copy.run("snakemake", *words)
    after = contents(ran_copy)
    assert torn.keys() == after.keys()
    again = {path for path in torn if torn[path] != after[path]}
    assert {(library, 1) for library in BLOCK} == {cell_of(path) for path in again}
    (third,) = sessions(ran_copy)[1]
    assert third not in (first, second)
    assert {0: {first}, 1: {third}, 2: {first}} == sessions(ran_copy)
    assert {("paired", False)} == comparisons(ran_copy)
    kept = {path.read_bytes() for path in (ran_copy.results / "records").rglob("history/*.json")}
    assert {torn[path] for path in again} == kept
    assert "Nothing to be done" in ran_copy.run("snakemake", *words).stderr


def test_a_block_that_was_carried_over_whole_is_not_torn(ran_copy):
    """Records of fewer transforms are written in another session; their numbers are of one all the same."""
    words = tuple(word.replace("Works,WorksAtRandom", "Works") for word in ran_copy.words)
    known = set(ran_copy.records())
    ran_copy.run("snakemake", *words)
    new = [json.loads(path.read_text()) for path in set(ran_copy.records()) - known]
    assert 9 == len(new)  # those of control-copy and control-slow are as they were
    assert [[]] * 9 == [record["order"] for record in new]
    assert 0 == measured_by_dry_run(ran_copy, *words, REFRESH)


def test_repeats_of_some_rows_are_torn_and_refreshed_alike(ran_copy):
    """What topup gave more repeats has blocks too: its cells, with those rows alone, are measured again."""
    words = tuple(word for word in ran_copy.words if not word.startswith("repeats="))
    ran_copy.edit("policy.yaml", lambda content: content["repeats"].update(then=[3, 4]))
    plan, files = plan_of(ran_copy, *words[2:], topup=True)
    here = {"scenario": "image-rgb", "mode": "micro", "device": "cpu", "transform": "Works", "why": "a test"}
    for stage, (path, repeats, where) in enumerate(zip(files, (3, 4), ("all", [here]), strict=True), 1):
        decided = {"schema": "augmark/topup/1", "stage": stage, "repeats": repeats, "where": where}
        facts = {name: plan[name] for name in ("machine", "campaign", "depth")}
        rests_on = {"records_digest": short_digest(None), "cells_digest": short_digest(None), "until": None}
        rule = {"considered": 2, "rule": plan["policy"]["repeats"]}
        replace_json(ran_copy.root / path, {**decided, **facts, **rule, **rests_on})
    known = set(ran_copy.records())
    ran_copy.run("snakemake", *words)
    new = set(ran_copy.records()) - known
    having = ("fake", "fake-too", "control-aa")
    assert {(library, 3) for library in having} == {cell_of(path) for path in new}
    assert [["Works"]] * 3 == [json.loads(path.read_text())["order"] for path in new]
    assert 1 == len(sessions(ran_copy)[3])

    before = contents(ran_copy)
    record_of(ran_copy, "control-aa", 3).unlink()
    refreshed = (*words, REFRESH)
    assert 3 == measured_by_dry_run(ran_copy, *refreshed)
    ran_copy.run("snakemake", *refreshed)
    after = contents(ran_copy)
    assert new == {path for path in before if after[path] != before[path]}
    assert {path: ["Works"] for path in new} == {path: json.loads(after[path])["order"] for path in new}
    assert 1 == len(sessions(ran_copy)[3])
    assert 0 == measured_by_dry_run(ran_copy, *refreshed)
