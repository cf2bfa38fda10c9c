"""The plan of one mode (the transform alone): which cells there are, in which order, what each depends on."""

import copy
import dataclasses
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from augmark.config.load import load
from augmark.plan import make_plan
from tests.core import kit
from tests.core.kit import LIBRARIES, MICRO, ROOT

PLAIN = load(ROOT, MICRO)


def sources(**changed):
    return kit.sources(PLAIN, **changed)


def cell_keys(plan):
    return {
        (c["scenario"], c["mode"], c["library"], c["device"], c["repeat"]): c["path"] for c in plan.cells()
    }


def rows(plan, library):
    definition = plan.definition("image-rgb", "micro", library, "cpu")
    return {row["transform"]: row["digest"] for row in definition["rows"]}


def test_every_library_and_control_has_a_cell_per_repeat():
    """Demo at depth min: four libraries and three controls, two repeats."""
    libraries = {c["library"] for c in make_plan(PLAIN, sources()).cells()}
    assert {*LIBRARIES, *kit.CONTROLS} == libraries
    assert 14 == len(make_plan(PLAIN, sources()).cells())


def test_depth_max_plans_all_58_rows_for_every_library():
    """What a library lacks is a row too, with its reason."""
    plan = make_plan(load(ROOT, {**MICRO, "depth": "max"}), sources())
    for library, offered in [("albumentationsx", 58), ("torchvision", 34), ("kornia", 54), ("pillow", 33)]:
        planned = plan.definition("image-rgb", "micro", library, "cpu")["rows"]
        assert 58 == len(planned)
        assert offered == sum(row["planned"] == "run" for row in planned)
        assert all(row["reason"] for row in planned if row["planned"] != "run")


def test_blocks_are_interleaved_and_their_order_differs_between_repeats():
    """Repeat 0 of every library, then repeat 1; inside a block an order of its own."""
    cells = make_plan(load(ROOT, {**MICRO, "repeats": 6}), sources()).cells()
    assert [repeat for repeat in range(6) for _ in range(7)] == [c["repeat"] for c in cells]
    orders = {tuple(c["library"] for c in cells[start : start + 7]) for start in range(0, 42, 7)}
    assert len(orders) > 1
    assert [c["priority"] for c in cells] == sorted((c["priority"] for c in cells), reverse=True)


def test_a_selection_of_libraries_is_measured_in_the_order_that_it_has_among_all():
    """So that what was measured with others beside it is in the planned order of fewer, too."""
    order = {
        names: [
            cell["library"]
            for cell in make_plan(load(ROOT, {**MICRO, "libraries": names}), sources()).cells()
        ]
        for names in ("all", "pillow,kornia")
    }
    kept = {"pillow", "kornia", "control-copy", "control-slow"}
    few, many = ([name for name in order[names] if name in kept] for names in ("pillow,kornia", "all"))
    assert few == many


def test_the_plan_is_a_function_of_its_input():
    """The same input gives the same plan, to the digest."""
    assert make_plan(PLAIN, sources()).digest == make_plan(load(ROOT, MICRO), sources()).digest


def test_more_repeats_only_add_cells():
    """What was measured for three repeats serves for five."""
    few = cell_keys(make_plan(load(ROOT, {**MICRO, "repeats": 3}), sources()))
    many = cell_keys(make_plan(load(ROOT, {**MICRO, "repeats": 5}), sources()))
    assert few.items() <= many.items()


def test_adding_a_library_only_adds_cells():
    """Nobody's path or digest moves."""
    more = dataclasses.replace(PLAIN, libraries={**PLAIN.libraries, "new": PLAIN.libraries["pillow"]})
    before, after = cell_keys(make_plan(PLAIN, sources())), cell_keys(make_plan(more, sources()))
    assert before.items() < after.items()
    assert {"new"} == {key[2] for key in after.keys() - before.keys()}


def test_a_changed_lock_stales_that_library_alone():
    """A library's upgrade does not move another's numbers."""
    before = make_plan(PLAIN, sources())
    locks = {**sources().locks, "kornia": "another"}
    after = make_plan(PLAIN, sources(locks=locks))
    moved = {key[2] for key, path in cell_keys(after).items() if cell_keys(before)[key] != path}
    assert {"kornia"} == moved
    assert not rows(before, "kornia").items() & {
        (name, digest) for name, digest in rows(after, "kornia").items() if name in runs(after, "kornia")
    }


def runs(plan, library):
    definition = plan.definition("image-rgb", "micro", library, "cpu")
    return {row["transform"] for row in definition["rows"] if row["planned"] == "run"}


def test_a_changed_parameter_stales_one_transforms_rows():
    """Only the rows of that transform move; the cells' paths move with them."""
    transforms = copy.deepcopy(PLAIN.transforms)
    transforms["Rotate"]["params"]["angle_degrees"] = [-10, 10]
    before = make_plan(PLAIN, sources())
    after = make_plan(dataclasses.replace(PLAIN, transforms=transforms), sources())
    for library in LIBRARIES:
        moved = {
            name for name, digest in rows(after, library).items() if rows(before, library)[name] != digest
        }
        assert {"Rotate"} == moved
    assert rows(before, "control-copy") == rows(after, "control-copy")


@pytest.mark.parametrize("section", ["statistics", "limits"])
def test_judging_rules_do_not_stale_measurements(section):
    """How numbers are compared, or when a hang is called one, does not change what was measured."""
    policy = copy.deepcopy(PLAIN.policy)
    for key, value in policy[section].items():
        if key != "resident_share":
            policy[section][key] = value * 2
    after = make_plan(dataclasses.replace(PLAIN, policy=policy), sources())
    assert cell_keys(make_plan(PLAIN, sources())) == cell_keys(after)


@pytest.mark.parametrize(
    "changed",
    [
        {"datasets": {"images": {"name": "demo", "kind": "demo", "source": "demo", "digest": "e" * 64}}},
        {"python": "cpython-3.12"},
        {"audit_code": "another"},
        {"items_code": "another"},
    ],
)
def test_other_items_or_another_python_are_other_rows_for_every_library(changed):
    """All libraries time the same items on the same Python: when these change, every cell does."""
    before, after = cell_keys(make_plan(PLAIN, sources())), cell_keys(make_plan(PLAIN, sources(**changed)))
    assert before.keys() == after.keys()
    assert not set(before.values()) & set(after.values())


@settings(max_examples=20, deadline=None)
@given(st.lists(st.sampled_from(LIBRARIES), min_size=1, unique=True), st.integers(1, 4))
def test_narrowing_only_takes_away(libraries, repeats):
    """A narrower selection has the same cells, fewer of them, and always the controls.

    But for the control that measures a library again: it is of one that is measured.
    """
    wide = cell_keys(make_plan(load(ROOT, {**MICRO, "repeats": 4}), sources()))
    narrow = cell_keys(
        make_plan(load(ROOT, {**MICRO, "libraries": libraries, "repeats": repeats}), sources())
    )
    assert {key: path for key, path in narrow.items() if key[2] != "control-aa"}.items() <= wide.items()
    assert {*libraries, *kit.CONTROLS} == {key[2] for key in narrow}


def test_a_large_plan_is_made_quickly_enough_to_be_asked_often():
    """2,000 cells in well under the 20 s that a dry run may take (a bound, not a speed)."""
    large = load(ROOT, {**MICRO, "depth": "max", "repeats": 334})
    begun = time.process_time()
    assert 2338 == len(make_plan(large, sources()).cells())
    assert time.process_time() - begun < 10
