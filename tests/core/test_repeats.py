"""How many repeats a plan has: the first, those of ``topup``, and the control that gives the noise floor."""

import pytest

from augmark.config.load import load
from augmark.plan import make_plan, plan_digest, public
from tests.core.kit import LIBRARIES, MICRO, ROOT, plan_of, sources

FIELD = {"scenario": "image-rgb", "mode": "micro", "device": "cpu", "transform": "Rotate", "why": "unstable"}
EVERYWHERE = {"stage": 1, "repeats": 3, "where": "all"}
BY_RULE = {"stage": 2, "repeats": 5, "where": [FIELD]}


def planned(decided=(), **keys):
    chosen = load(ROOT, {**MICRO, **keys})
    return make_plan(chosen, sources(chosen), decided)


def counted(plan):
    """Repeat -> how many cells it has."""
    numbers = [cell["repeat"] for cell in plan.cells()]
    return {number: numbers.count(number) for number in sorted(set(numbers))}


@pytest.mark.parametrize(
    ("keys", "schedule"),
    [({}, [2, 3, 5]), ({"depth": "max"}, [3, 5]), ({"repeats": 3}, [3]), ({"repeats": 9}, [9])],
)
def test_the_schedule_starts_with_the_depth_s_and_goes_on_as_the_policy_says(keys, schedule):
    """A number that somebody gave is that number."""
    repeats = planned(**keys).content["repeats"]
    assert (schedule, "repeats" in keys) == (repeats["schedule"], repeats["fixed"])


def test_the_paper_starts_with_one():
    """Its campaign says so, whatever its depth would start with."""
    chosen = load(ROOT, {"campaign": "paper"})
    plan = make_plan(chosen, sources(chosen, machine="c4-standard-16", machine_kind="c4-standard-16"))
    assert [1, 3, 5] == plan.content["repeats"]["schedule"]
    assert {0} == {cell["repeat"] for cell in plan.cells()}


def test_a_stage_everywhere_adds_whole_blocks():
    """Four libraries and three controls: a third block of seven, and what was planned stays."""
    before, after = planned(), planned([EVERYWHERE])
    assert {0: 7, 1: 7} == counted(before)
    assert {0: 7, 1: 7, 2: 7} == counted(after)
    assert {cell["path"] for cell in before.cells()} <= {cell["path"] for cell in after.cells()}
    assert [EVERYWHERE] == after.content["repeats"]["decided"]


def test_a_stage_by_rule_adds_its_transforms_alone():
    """Repeats three and four have one row, in the libraries that do it and in one control."""
    plan = planned([EVERYWHERE, BY_RULE])
    for cell in plan.cells():
        rows = [row["transform"] for row in plan.cell_definition(cell)["rows"]]
        if cell["repeat"] < 3:
            assert len(rows) > 1 or cell["library"].startswith("control-")
            assert "transforms" not in cell
        else:
            assert ["Rotate"] == rows
    late = {cell["library"] for cell in plan.cells() if cell["repeat"] >= 3}
    assert {*LIBRARIES, "control-aa"} == late
    assert {3, 4} == {cell["repeat"] for cell in plan.cells() if cell["repeat"] >= 3}


def test_a_cell_of_some_rows_is_another_cell():
    """Its digest is that of its rows, and the rows keep theirs: they are carried, not measured again."""
    plan = planned([EVERYWHERE, BY_RULE])
    whole, some = (
        next(c for c in plan.cells() if c["library"] == "pillow" and c["repeat"] == repeat)
        for repeat in (0, 3)
    )
    assert whole["digest"] != some["digest"]
    digests = {row["transform"]: row["digest"] for row in plan.cell_definition(whole)["rows"]}
    assert digests["Rotate"] == plan.cell_definition(some)["rows"][0]["digest"]


def test_nothing_more_where_the_rule_asks_for_nothing():
    """An empty stage leaves the plan's cells as they are."""
    assert counted(planned([EVERYWHERE])) == counted(planned([EVERYWHERE, {**BY_RULE, "where": []}]))


# --- the control -------------------------------------------------------------------------------------


def test_what_is_measured_again_is_a_library_that_is_measured():
    """torchvision comes first in the list; where Pillow alone is measured, it is Pillow."""
    assert "torchvision" == plan_of(MICRO).content["libraries"]["control-aa"]["again"]
    assert "pillow" == plan_of({**MICRO, "libraries": "pillow"}).content["libraries"]["control-aa"]["again"]


def test_it_runs_some_of_the_rows_that_its_library_runs():
    """At depth max eight of torchvision's 34, in their order; named transforms are all that there is."""
    plan = plan_of({**MICRO, "depth": "max"})
    again = [row["transform"] for row in plan.definition("image-rgb", "micro", "control-aa", "cpu")["rows"]]
    rows = plan.definition("image-rgb", "micro", "torchvision", "cpu")["rows"]
    runs = [row["transform"] for row in rows if row["planned"] == "run"]
    assert (8, 34) == (len(again), len(runs))
    assert again == [name for name in runs if name in again]
    named = plan_of({**MICRO, "transforms": "Pad,Rain"})
    pads = [row["transform"] for row in named.definition("image-rgb", "micro", "control-aa", "cpu")["rows"]]
    assert ["Pad"] == pads


def test_its_rows_are_its_own():
    """The same work in the same environment, under another digest: neither is mistaken for the other."""
    plan = plan_of(MICRO)
    first, again = (
        plan.definition("image-rgb", "micro", name, "cpu") for name in ("torchvision", "control-aa")
    )
    assert first["lock_digest"] == again["lock_digest"]
    assert {row["digest"] for row in first["rows"]}.isdisjoint(row["digest"] for row in again["rows"])


# --- what is public ----------------------------------------------------------------------------------


def test_where_somebody_s_files_lie_is_no_part_of_a_plan():
    """Another output folder, another path to the data: the same digest, and no path in what is public."""
    mine = {
        "images": {"name": "my-photos", "kind": "folder", "source": "/home/me/photos", "digest": "e" * 64}
    }
    yours = {"images": {**mine["images"], "source": "/data/photos"}}
    chosen = load(ROOT, MICRO)
    first = make_plan(chosen, sources(chosen, datasets=mine))
    config = {**chosen.config, "output": "/elsewhere", "images": "/data/photos"}
    second = make_plan(
        chosen.__class__(**{**vars(chosen), "config": config}), sources(chosen, datasets=yours)
    )
    assert first.digest == second.digest == plan_digest(public(second.content))
    assert "/" not in str(public(second.content)["config"])
    assert "source" not in public(second.content)["datasets"]["images"]
