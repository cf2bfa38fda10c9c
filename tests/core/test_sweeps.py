"""Sweeps: one axis at a time, every value a condition of its own, and the plain rows as they were."""

import dataclasses

import pytest

from augmark import sweeps
from augmark.config.load import load
from tests.core.kit import LIBRARIES, ROOT, digests, moved, plan_of, rows_of, sources

PRO = load(ROOT, {"depth": "pro"})
MEMORY, DECODE = "dataloader-memory", "dataloader-decode"


def conditions(plan, place):
    """The conditions of Rotate in ``scenario/mode/library``, the plain one first."""
    return [row["condition"] for row in rows_of(plan, place).values() if row["transform"] == "Rotate"]


@pytest.mark.parametrize(
    ("cpus", "powers"),
    [
        (1, [1]),
        (2, [1, 2]),
        (3, [1, 2, 3]),
        (6, [1, 2, 4, 6]),
        (16, [1, 2, 4, 8, 16]),
        (17, [1, 2, 4, 8, 16, 17]),
    ],
)
def test_values_up_to_the_processors(cpus, powers):
    """Doubled, and the number of processors itself, once; from 0 for workers."""
    assert powers == sweeps.values_of("up-to-cpus", cpus)
    assert [0, *powers] == sweeps.values_of("up-to-cpus-from-0", cpus)
    assert [16, 64] == sweeps.values_of([16, 64], cpus)


@pytest.mark.parametrize(
    ("cpus", "threads", "workers"),
    [
        (1, [], [0, 1]),
        (2, [2], [0, 1, 2]),
        (6, [2, 4, 6], [0, 1, 2, 4, 6]),
        (16, [2, 4, 8, 16], [0, 1, 2, 4, 16]),  # eight workers are the scenario's: the plain rows
    ],
)
def test_conditions_on_machines_of_several_sizes(cpus, threads, workers):
    """Worked out by hand from config/depths/pro.yaml; the plain value is no condition."""
    plan = plan_of(PRO, cpus=cpus)
    swept = [f"threads-{count}" for count in threads]
    coded = {
        "albumentationsx": ["dtype-float32"],
        "torchvision": ["batched-8", "batched-32", "compiled", "dtype-float32"],
        "kornia": ["batched-8", "batched-32", "compiled"],
        "pillow": [],
    }
    for library in LIBRARIES:
        assert ["plain", *coded[library], *swept] == conditions(plan, f"image-rgb/micro/{library}")
        loaders = [f"workers-{count}" for count in workers]
        batches = ["batch-size-16", "batch-size-64"]  # 256 is plain
        expected = ["plain", *loaders, *batches, "policy-pipeline-default"]
        assert expected == conditions(plan, f"image-rgb/{MEMORY}/{library}")
        expected = ["plain", *loaders, "policy-pipeline-default"]
        assert expected == conditions(plan, f"image-rgb/{DECODE}/{library}")
        assert ["plain"] == [
            row["condition"] for row in rows_of(plan, f"image-rgb/decode/{library}").values()
        ]


def test_the_plain_value_follows_what_is_asked_for():
    """With two workers asked for, two are plain and eight were never asked for."""
    plan = plan_of({"depth": "pro", "workers": 2, "batch_size": 64, "threads": 2}, cpus=2)
    found = conditions(plan, f"image-rgb/{MEMORY}/kornia")
    expected = ["workers-0", "workers-1", "batch-size-16", "batch-size-256", "policy-pipeline-default"]
    assert ["plain", *expected] == found
    assert "threads-1" in conditions(plan, "image-rgb/micro/kornia")
    assert "threads-2" not in conditions(plan, "image-rgb/micro/kornia")


def test_controls_are_never_swept():
    """What the harness costs is asked once."""
    plan = plan_of(PRO, cpus=16)
    for control, name in (("control-copy", "Copy"), ("control-slow", "Delay")):
        assert [name] == list(rows_of(plan, f"image-rgb/micro/{control}"))


def test_only_rows_that_run_are_swept():
    """What a library lacks, it lacks once."""
    rows = rows_of(plan_of(PRO), "image-rgb/micro/pillow").values()
    lacking = [row["id"] for row in rows if row["planned"] == "unsupported"]
    assert ["ColorJitter", "ChannelShuffle", "GaussianNoise", "Erasing"] == lacking


def test_a_row_says_what_is_otherwise():
    """The setting holds the axis alone, the row's id names the condition, threads and loader follow."""
    plan = plan_of(PRO)
    micro = rows_of(plan, "image-rgb/micro/kornia")
    assert ({}, 1) == (micro["Rotate"]["setting"], micro["Rotate"]["threads"])
    assert ({"threads": 2}, 2) == tuple(micro["Rotate@threads-2"][key] for key in ("setting", "threads"))
    assert ({"compile": True}, 1) == tuple(micro["Rotate@compiled"][key] for key in ("setting", "threads"))
    loaders = rows_of(plan, f"image-rgb/{MEMORY}/kornia")
    plain = loaders["Rotate"]["loader"]
    assert (256, 8, "pipeline-single-worker") == tuple(
        plain[key] for key in ("batch_size", "workers", "policy")
    )
    assert {**plain, "workers": 0} == loaders["Rotate@workers-0"]["loader"]
    assert {**plain, "batch_size": 16} == loaders["Rotate@batch-size-16"]["loader"]
    left = loaders["Rotate@policy-pipeline-default"]
    assert ({**plain, "policy": "pipeline-default"}, None) == (left["loader"], left["threads"])
    assert 1 == loaders["Rotate"]["threads"]


def test_conditions_have_digests_of_their_own():
    """No two rows of a library that are timed are the same row."""
    plan = plan_of(PRO, cpus=16)
    for place in ("micro", MEMORY, DECODE):
        rows = [
            row for row in rows_of(plan, f"image-rgb/{place}/torchvision").values() if row["planned"] == "run"
        ]
        assert len(rows) == len({row["digest"] for row in rows})


def test_sweeps_do_not_move_the_plain_rows():
    """What was measured without them, or on a machine's other sweep, serves."""
    without = {key: value for key, value in PRO.depth.items() if key != "sweeps"}
    plain = digests(plan_of(dataclasses.replace(PRO, depth=without)))
    assert all("@" not in name for _, name in plain)
    for cpus in (2, 16):
        swept = digests(plan_of(PRO, cpus=cpus))
        assert plain.items() < swept.items()


def test_a_condition_s_digest_is_its_own_alone():
    """One more value of an axis adds rows and changes none."""
    assert set() == moved(plan_of(PRO, cpus=2), plan_of(PRO, cpus=16))


def test_the_code_of_other_ways_stales_the_rows_that_take_them():
    """Batches, compilation and types; threads are the same code."""
    code = sources(PRO).row_code
    now = moved(plan_of(PRO), plan_of(PRO, row_code={**code, "kornia/regimes": "another"}))
    rotate = {name for place, name in now if name.startswith("Rotate@")}
    assert {"Rotate@batched-8", "Rotate@batched-32", "Rotate@compiled"} == rotate
    assert {"image-rgb/micro/kornia/cpu"} == {place for place, _ in now}
