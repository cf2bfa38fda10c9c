"""The plan of a plan file: its conditions are cells of their own, interleaved, each with its own digest."""

import itertools

import pytest
import yaml

from augmark.config.load import load
from tests.config.tree import Tree
from tests.core.kit import MICRO, ROOT, digests, plan_of, rows_of

AGAIN = ["control-aa", *(f"control-aa-{group}" for group in ("kornia", "pillow", "torchvision"))]
CONTROLS = {"control-copy", "control-slow", *AGAIN}
LOADER = {
    "title": "Workers",
    "question": "Do four workers help?",
    "scenario": "image-rgb",
    "mode": "dataloader-memory",
    "device": "cpu",
    "transforms": ["Rotate"],
    "repeats": 3,
    "groups": {
        "workers": {
            "two-workers": {"role": "baseline", "library": "pillow", "workers": 2, "batch_size": 8},
            "four-workers": {"role": "candidate", "library": "pillow", "workers": 4, "batch_size": 8},
        }
    },
}


@pytest.fixture(scope="module")
def threads():
    return plan_of({"plan": "threads-1-2"})


def test_each_condition_has_its_cells(threads):
    """Eight conditions and the controls, five repeats each; the controls' rows are few."""
    counted = {}
    for cell in threads.cells():
        counted[cell["library"]] = counted.get(cell["library"], 0) + 1
    conditions = {
        f"{library}-{n}"
        for library in ("albumentationsx", "kornia", "pillow", "torchvision")
        for n in ("1-thread", "2-threads")
    }
    assert dict.fromkeys(conditions | CONTROLS, 5) == counted
    assert threads.content["repeats"] == {"first": 5, "schedule": [5], "fixed": True, "decided": []}


def test_the_conditions_of_a_repeat_stand_together_in_another_order_each(threads):
    """Whoever comes first in one repeat does not in every one."""
    blocks = [
        [cell["library"] for cell in cells]
        for _, cells in itertools.groupby(threads.cells(), lambda cell: cell["repeat"])
    ]
    assert [14] * 5 == [len(set(block)) for block in blocks]
    assert len({block[0] for block in blocks}) > 1


def test_a_setting_is_in_rows_and_their_digests(threads):
    """One and two threads are two things, and a campaign's rows a third."""
    one, two = (
        rows_of(threads, f"image-rgb/micro/kornia-{words}")["Rotate"] for words in ("1-thread", "2-threads")
    )
    assert ((1, {"threads": 1}), (2, {"threads": 2})) == tuple(
        (row["threads"], row["setting"]) for row in (one, two)
    )
    campaign = rows_of(plan_of({**MICRO, "depth": "max"}), "image-rgb/micro/kornia")["Rotate"]
    assert 3 == len({one["digest"], two["digest"], campaign["digest"]})


def test_a_release_is_measured_from_its_lock():
    """The environment of a condition is that of its definition, and its lock is in every digest."""
    plan = plan_of({"plan": "albumentationsx-releases"})
    found = {
        name: plan.definition("image-rgb", "micro", name, "cpu")["environment"]
        for name in ("release-2-5-0", "release-2-5-1", "control-aa")
    }
    old = "albumentationsx-2-5-0"
    assert {"release-2-5-0": old, "release-2-5-1": "albumentationsx", "control-aa": old} == found
    assert plan.environment_marker(old) != plan.environment_marker("albumentationsx")


def test_products_stand_apart_and_records_do_not(threads):
    """A campaign's tables stay as they are; what was measured is found by whoever plans it."""
    assert threads.output / "plans" / "threads-1-2" == threads.products
    assert all(path.parts[1] == "records" for path in threads.record_paths())
    assert "threads-1-2" == threads.content["question"]["name"]


def test_a_variable_is_in_the_digest_of_its_condition_alone(tmp_path):
    """What a process finds in its environment may change its numbers."""
    tree = Tree(tmp_path)
    before = plan_of(load(tree.root, {"plan": "threads-1-2"}))
    with tree.edit("plans/threads-1-2") as value:
        value["groups"]["kornia"]["kornia-2-threads"]["variables"] = {"OMP_PROC_BIND": "close"}
    after = plan_of(load(tree.root, {"plan": "threads-1-2"}))
    earlier, later = digests(before), digests(after)
    assert {"image-rgb/micro/kornia-2-threads/cpu"} == {
        key[0] for key in earlier if earlier[key] != later[key]
    }


def test_a_control_is_of_the_baseline_that_it_measures_again(tmp_path):
    """Another plan file with the same library as baseline has its own control: its baseline is new, too."""
    tree = Tree(tmp_path)
    with tree.edit("plans/threads-1-2") as value:
        other = {**value, "groups": {"pillow": value["groups"]["pillow"]}}
        renamed = {name.replace("pillow", "other"): its for name, its in value["groups"]["pillow"].items()}
    tree.write("config/plans/pillow-only.yaml", yaml.safe_dump(other))
    tree.write("config/plans/renamed.yaml", yaml.safe_dump({**other, "groups": {"pillow": renamed}}))
    plans = {name: plan_of(load(tree.root, {"plan": name})) for name in ("pillow-only", "renamed")}
    found = {
        name: {
            cell["library"]: cell["path"]
            for cell in plan.cells()
            if cell["library"] not in {"control-copy", "control-slow"} and cell["repeat"] == 0
        }
        for name, plan in plans.items()
    }
    assert {"pillow-1-thread", "pillow-2-threads", "control-aa"} == set(found["pillow-only"])
    assert {"other-1-thread", "other-2-threads", "control-aa"} == set(found["renamed"])
    assert set() == {*found["pillow-only"].values()} & {*found["renamed"].values()}
    rows = [rows_of(plan, "image-rgb/micro/control-aa") for plan in plans.values()]
    assert rows[0].keys() == rows[1].keys()
    assert all(rows[0][name]["digest"] != rows[1][name]["digest"] for name in rows[0])
    assert "other-1-thread" == plans["renamed"].content["libraries"]["control-aa"]["again"]


def test_workers_are_of_the_recipe_and_not_of_the_transform_alone(tmp_path):
    """What is the same work is told by the transform alone, which has no workers."""
    tree = Tree(tmp_path)
    tree.write("config/plans/workers.yaml", yaml.safe_dump(LOADER))
    plan = plan_of(load(tree.root, {"plan": "workers"}))
    loaders = {
        name: rows_of(plan, f"image-rgb/dataloader-memory/{name}")["Rotate"]["loader"]
        for name in ("two-workers", "four-workers")
    }
    assert {"two-workers": (2, 8), "four-workers": (4, 8)} == {
        name: (loader["workers"], loader["batch_size"]) for name, loader in loaders.items()
    }
    alone = rows_of(plan, "image-rgb/micro/four-workers")["Rotate"]
    assert ({}, 1) == (alone["setting"], alone["threads"])


def test_wording_measures_nothing(tmp_path):
    """Title, question and margin are in no row's digest."""
    tree = Tree(tmp_path)
    before = plan_of(load(tree.root, {"plan": "threads-1-2"}))
    with tree.edit("plans/threads-1-2") as value:
        value.update(title="Threads", margin=0.1, fail_on=[])
    assert digests(before) == digests(plan_of(load(tree.root, {"plan": "threads-1-2"})))
    assert load(ROOT, {"plan": "threads-1-2"}).question["digest"] == before.content["question"]["digest"]
