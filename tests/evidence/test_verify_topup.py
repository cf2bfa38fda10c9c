"""`augmark verify` on stages of topup: decided again from the records that they rest on."""

import json
from pathlib import Path

import pytest

from augmark import topup
from augmark.analysis.tables import analyse
from augmark.evidence.verify_topup import topup_problems
from augmark.plan import Plan
from tests.analysis.synthetic import make_classes, make_plan, make_record, make_records, measured, sealed

PLACE = {"scenario": "image-rgb", "mode": "micro", "device": "cpu"}
FLIP = {**PLACE, "transform": "Flip"}
POLICY = {"then": [3, 5], "more_where": {"unstable": True, "undecided": True}}
# Seconds per item of each repeat: Flip of kornia goes up and down, everything else is as steady as can be.
SECONDS = {("kornia", "Flip"): (1.0, 2.0, 3.0)}


@pytest.fixture
def content():
    """Three repeats of two libraries at a depth that claims nothing: only spread asks for more."""
    made = make_plan({"kornia": ["Flip", "Blur"], "pillow": ["Flip", "Blur"]}, stamp="smoke signal")
    made["repeats"] = {"first": 3, "schedule": [3, 5], "fixed": False, "decided": []}
    made["policy"] = {**made["policy"], "repeats": POLICY}
    return made


@pytest.fixture
def records(content, tmp_path):
    """Path -> record, as they lie on disk."""
    found = {}
    for cell in content["cells"]:
        library, repeat = cell["library"], cell["repeat"]
        rows = {
            name: measured(SECONDS.get((library, name), (1.0, 1.0, 1.0))[repeat]) for name in ("Flip", "Blur")
        }
        path = tmp_path / "records" / cell["path"]
        found[path] = make_record(content, library, repeat, rows)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(found[path]), encoding="utf-8")
    return found


@pytest.fixture
def stage(content, records):
    """The stage as the rule decides it."""
    analysis = analyse(make_records(content, records.values()), content, make_classes(content))
    return topup.decide(content, analysis.summary, analysis.rows)


@pytest.fixture
def looked_at(content, records, tmp_path):
    """(findings in words, notes) of a plan with this stage."""

    def look(stage, *, cells=None, good=None):
        held = {**content, "repeats": {**content["repeats"], "decided": [stage]}}
        plan = Plan({**held, "config": {"output": "results"}, "cells": cells or content["cells"]}, tmp_path)
        good = records if good is None else good
        found, notes = topup_problems(plan, good, make_classes(content), tmp_path, "results/")
        assert {"topup"} >= {finding.rule for finding in found}
        assert all(finding.file.startswith("results/plan/local-3f9a.demo.max.topup-1") for finding in found)
        return [finding.what for finding in found], notes

    return look


def test_a_stage_that_the_records_give_holds(stage, looked_at):
    """The one that is unstable, and nothing else: 1, 2 and 3 spread by half of their mean."""
    assert [{**FLIP, "why": "unstable: kornia (CV 50%)"}] == stage["where"]
    assert ([], []) == looked_at(stage)


def test_another_choice_of_rows_is_named(stage, looked_at):
    """One that the rule does not ask for, one that is left out, and another reason."""
    blur = {**PLACE, "transform": "Blur", "why": "because"}
    assert [
        "where has image-rgb micro cpu Blur, by the records the rule does not ask for it",
        "where has no image-rgb micro cpu Flip, by the records the rule asks for it: "
        "unstable: kornia (CV 50%)",
    ] == looked_at({**stage, "where": [blur]})[0]
    (what,) = looked_at({**stage, "where": [{**FLIP, "why": "because"}]})[0]
    assert "where, image-rgb micro cpu Flip: why is 'because', the records give 'unstable: " in what


@pytest.mark.parametrize(("name", "value"), [("records_digest", "0123456789"), ("considered", 7)])
def test_what_else_a_stage_says_is_recomputed(stage, looked_at, name, value):
    """The digest of the figures, and how many transforms there were to choose from."""
    assert ([f"{name} is {value!r}, the records give {stage[name]!r}"], []) == looked_at(
        {**stage, name: value}
    )


def test_a_changed_figure_changes_what_is_decided(stage, records, looked_at):
    """A forged record that agrees with itself: the digest is another."""
    path, record = next(iter(records.items()))
    record["rows"][1]["values"] = [1.5]
    records[path] = sealed(record)
    path.write_text(json.dumps(records[path]), encoding="utf-8")
    assert any("records_digest is" in what for what in looked_at(stage)[0])


def test_later_repeats_say_nothing_of_an_earlier_stage(content, stage, looked_at):
    """What the stage brought has no part in it."""
    more = [{**cell, "repeat": cell["repeat"] + 3, "path": "later"} for cell in content["cells"]]
    assert ([], []) == looked_at(stage, cells=[*content["cells"], *more])


def test_records_that_are_not_those_of_then_are_noted(content, stage, records, looked_at):
    """Damaged or missing; measured again since; of other cells. The stage stays, and nothing is found."""
    first = next(iter(records))
    some = {path: record for path, record in records.items() if path != first}
    found, (note,) = looked_at(stage, good=some)
    assert [] == found
    assert note.endswith("cannot be decided again: 1 of its 6 records are missing or damaged")
    again = {**records, first: {**records[first], "started": "2026-12-24T10:00:00.000000+00:00"}}
    found, (note,) = looked_at({**stage, "records_digest": "0123456789"}, good=again)
    assert [] == found
    assert "1 of its 6 records were measured after it was decided" in note
    found, (note,) = looked_at({**stage, "cells_digest": "0123456789"})
    assert [] == found
    assert "the plan has other cells now" in note


def test_a_plan_without_a_stage_has_nothing_to_find(content, tmp_path):
    """No file is asked for."""
    assert ([], []) == topup_problems(Plan(content, Path("none")), {}, make_classes(content), tmp_path, "")
