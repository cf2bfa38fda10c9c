"""Which rows get more repeats: the schedule, and the rule of its last step, on summaries made by hand."""

import json
from dataclasses import replace

import pandas as pd
import pytest

from augmark.errors import AugmarkError
from augmark.planning import decided_stages
from augmark.topup import before, decide, in_words, next_stage, records_digest, refusal, schedule_lines
from tests.core.kit import MICRO, plan_of

PLACE = {"scenario": "image-rgb", "mode": "micro", "device": "cpu"}
EVERYWHERE = {"stage": 1, "repeats": 3, "where": "all"}
RULE = {"then": [3, 5], "more_where": {"unstable": True, "undecided": True}}


def content(*, first=1, decided=(), stamp=None, fixed=False, question=None, then=(3, 5), more_where=None):
    schedule = [first] if fixed else [first, *(number for number in then if number > first)]
    return {
        "machine": "local-0000",
        "campaign": "demo",
        "depth": "max",
        "stamp": stamp,
        "question": question,
        "repeats": {"first": first, "schedule": schedule, "fixed": fixed, "decided": list(decided)},
        "cells": [],
        "policy": {"repeats": {"then": list(then), "more_where": more_where or RULE["more_where"]}},
        "libraries": {
            "pillow": {"kind": "library"},
            "kornia": {"kind": "library"},
            "control-aa": {"kind": "control", "again": "kornia"},
            "control-copy": {"kind": "control"},
        },
    }


def line(transform, library, verdict, *, cv=0.01, ratio=1.5, comparison="paired", condition="plain"):
    marks = ("unstable",) if cv >= 0.1 else ()
    place = {**PLACE, "transform": transform, "library": library, "condition": condition}
    return {**place, "verdict": verdict, "marks": marks, "cv": cv, "comparison": comparison, "ratio": ratio}


def row(transform, library, *, repeat=0, seconds=0.5, status="ok", recorded=True):
    return {
        "record_path": f"local-0000/image-rgb/micro/{library}/cpu/r{repeat}.0123456789.json",
        "transform": transform,
        "condition": "plain",
        "row_digest": f"{transform}{library}",
        "status": status,
        "session": "s1" if recorded else None,
        "cell_started": f"2026-11-30T10:0{repeat}:00.000000+00:00" if recorded else None,
        "values": [seconds, seconds] if status == "ok" else None,
        "recorded": recorded,
    }


SUMMARY = [
    line("Rotate", "pillow", "slower"),
    line("Rotate", "kornia", "fastest", comparison=None, ratio=None),
    line("Flip", "pillow", "undecided", ratio=1.02),
    line("Flip", "kornia", "fastest", comparison=None, ratio=None),
    line("Blur", "pillow", "slower", cv=0.25),
    line("Blur", "kornia", "fastest", comparison=None, ratio=None),
    line("Pad", "pillow", "tie", ratio=1.01),
    line("Pad", "kornia", "fastest", comparison=None, ratio=None),
    line("Copy", "control-copy", None, cv=0.5, comparison=None, ratio=None),
    line("Rotate", "control-aa", None, cv=0.5, comparison=None, ratio=None),
]
ROWS = [row(name, library) for name in ("Rotate", "Flip", "Blur", "Pad") for library in ("pillow", "kornia")]


def decided(plan, summary=SUMMARY, rows=ROWS):
    return decide(plan, pd.DataFrame(summary), pd.DataFrame(rows))


def test_a_stage_before_the_last_is_everywhere():
    """From one repeat to three, whatever the figures say."""
    stage = decided(content())
    assert (1, 3, "all") == (stage["stage"], stage["repeats"], stage["where"])
    assert "topup 1: 3 repeats of everything" == in_words(stage)


def test_the_last_stage_is_where_the_rule_asks():
    """One undecided, one unstable; what is slower, tied or a control asks for nothing."""
    stage = decided(content(decided=[EVERYWHERE]))
    assert (2, 5) == (stage["stage"], stage["repeats"])
    assert [
        {**PLACE, "transform": "Flip", "why": "undecided against the fastest: pillow"},
        {**PLACE, "transform": "Blur", "why": "unstable: pillow (CV 25%)"},
    ] == stage["where"]
    assert RULE == stage["rule"]
    assert "topup 2: 5 repeats of 2 of 4 transforms, by the rule" == in_words(stage)


def test_a_depth_that_starts_with_three_has_the_rule_next():
    """There is one stage left, and it is the last."""
    stage = decided(content(first=3))
    assert (1, 5) == (stage["stage"], stage["repeats"])
    assert ["Flip", "Blur"] == [field["transform"] for field in stage["where"]]


@pytest.mark.parametrize(("asks", "named"), [("unstable", ["Blur"]), ("undecided", ["Flip"])])
def test_the_rule_is_the_policys(asks, named):
    """What the policy does not ask for gets no more repeats."""
    more_where = {**dict.fromkeys(RULE["more_where"], False), asks: True}
    stage = decided(content(first=3, more_where=more_where))
    assert named == [field["transform"] for field in stage["where"]]


def test_no_row_needs_more():
    """An empty list is a decision too."""
    stage = decided(content(first=3), [each for each in SUMMARY if each["transform"] in ("Rotate", "Pad")])
    assert [] == stage["where"]
    assert "topup 1: 5 repeats where the rule asks for more: no row needs more" == in_words(stage)


def test_a_comparison_without_an_interval_is_undecided():
    """Two repeats make a ratio and no interval: nothing is decided by them."""
    few = [
        line("Flip", "kornia", None, comparison=None, ratio=None),
        line("Flip", "pillow", None, ratio=None),
    ]
    stage = decided(content(first=2, then=[4]), few)
    assert ["undecided against the fastest: pillow"] == [field["why"] for field in stage["where"]]


def test_a_depth_with_a_stamp_has_nothing_to_decide():
    """It claims nothing, so only spread asks for more."""
    few = [line("Flip", "pillow", None, ratio=None), *SUMMARY]
    stage = decided(content(first=2, then=[4], stamp="smoke signal"), few)
    assert ["Blur"] == [field["transform"] for field in stage["where"]]


def test_a_condition_is_of_its_transforms_field():
    """A swept row that is unstable takes its transform further, and is named."""
    swept = [line("Pad", "kornia", None, cv=0.12, comparison=None, ratio=None, condition="threads-2")]
    stage = decided(content(first=3), [*SUMMARY[:2], *SUMMARY[6:8], *swept])
    assert ["unstable: kornia threads-2 (CV 12%)"] == [field["why"] for field in stage["where"]]


# --- what a decision rests on ------------------------------------------------------------------------


def test_a_row_without_a_record_stops_the_decision():
    """A stage is decided from all of the one before."""
    missing = row("Pad", "kornia", repeat=1, status="not-run", recorded=False)
    with pytest.raises(AugmarkError, match="1 planned rows have no record") as caught:
        decided(content(), rows=[*ROWS, missing])
    assert missing["record_path"] == caught.value.where


def test_what_the_configuration_leaves_out_needs_no_record():
    """An unsupported row is decided without one."""
    stage = decided(content(), rows=[*ROWS, row("Blur", "pillow", status="unsupported", recorded=False)])
    assert "all" == stage["where"]


def test_the_digest_is_of_the_figures():
    """The same rows in another order have the same one; another figure has another."""
    rows = pd.DataFrame(ROWS)
    assert records_digest(rows) == records_digest(rows.iloc[::-1]) == decided(content())["records_digest"]
    other = pd.DataFrame([row("Rotate", "pillow", seconds=0.6), *ROWS[1:]])
    assert records_digest(rows) != records_digest(other)


def test_a_decision_says_what_it_rests_on():
    """When the last of its records was begun; and which cells there were, in any order."""
    plan = {**content(), "cells": [{"path": "b", "repeat": 0}, {"path": "a", "repeat": 1}]}
    rows = [
        *ROWS,
        row("Pad", "kornia", repeat=2),
        row("Blur", "pillow", status="unsupported", recorded=False),
    ]
    stage = decided(plan, rows=rows)
    assert "2026-11-30T10:02:00.000000+00:00" == stage["until"]
    turned = {**plan, "cells": plan["cells"][::-1]}
    assert stage == decided(turned, rows=rows)
    assert stage["cells_digest"] != decided({**plan, "cells": plan["cells"][1:]}, rows=rows)["cells_digest"]


def test_the_plan_before_a_stage_has_the_repeats_of_then():
    """The first stage was decided from one repeat, the second from three, whatever came after."""
    cells = [{"path": str(repeat), "repeat": repeat} for repeat in range(5)]
    plan = {**content(decided=[EVERYWHERE, {"stage": 2}]), "cells": cells}
    for stage, repeats in ((1, 1), (2, 3)):
        then = before(plan, stage)
        assert cells[:repeats] == then["cells"]
        assert stage == next_stage(then)["stage"]


# --- where there is nothing to decide ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (content(first=3, fixed=True), "repeats=3 is given"),
        (content(decided=[EVERYWHERE, EVERYWHERE]), "the schedule is 1, 3, 5, and all of it is decided"),
        (content(first=5), "there is no further stage: the schedule is 5"),
        (content(first=7, fixed=True, question={"name": "two-releases"}), "plan two-releases says how many"),
    ],
)
def test_where_no_stage_is_left_topup_is_refused(plan, said):
    """With the reason, where it comes from and what to do."""
    with pytest.raises(AugmarkError) as caught:
        next_stage(plan)
    assert said in str(caught.value)
    assert "remedy: " in str(caught.value)
    assert str(caught.value) == str(refusal(plan))
    assert refusal(content()) is None


def test_the_schedule_in_words():
    """The numbers, what is decided, and whether there is a step left."""
    plan = content(decided=[EVERYWHERE])
    further = "repeats  schedule 1, 3, 5; `snakemake topup` goes a step further"
    assert [further, "topup 1: 3 repeats of everything"] == schedule_lines(plan, [EVERYWHERE])
    last = {"stage": 2, "repeats": 5, "where": []}
    said = schedule_lines(plan, [EVERYWHERE, last])
    assert ["repeats  schedule 1, 3, 5", "no row needs more"] == [said[0], said[2].split(": ")[-1]]
    assert ["repeats  3"] == schedule_lines(content(first=3, fixed=True), [])


# --- the place of a decision -------------------------------------------------------------------------


def test_a_decision_on_a_part_is_not_the_campaigns():
    """What the command line narrows has stages of its own; where results lie makes no difference."""
    whole, part = plan_of({}).topup_file(1), plan_of({"transforms": "Rotate"}).topup_file(1)
    assert "local-0000.demo.min.topup-1.json" == whole.name
    assert whole.name != part.name != plan_of({"transforms": "Rotate", **MICRO}).topup_file(1).name
    assert part.name == plan_of({"transforms": "Rotate", "output": "elsewhere"}).topup_file(1).name
    assert "local-0000.demo.max.topup-2.json" == plan_of({"depth": "max"}).topup_file(2).name


# --- a stage that is read ----------------------------------------------------------------------------


@pytest.fixture
def plan(tmp_path):
    """The shipped plan of RGB images at a depth whose schedule is 3, 5; then at one with 2, 3, 5."""

    def made(**keys):
        return replace(plan_of({**MICRO, **keys}), output=tmp_path)

    return made


def stage_of(plan, number, **changed):
    """A stage as `topup` writes it."""
    repeats, last = plan.content["repeats"]["schedule"], len(plan.content["repeats"]["schedule"]) - 1
    rotate = {
        "scenario": "image-rgb",
        "mode": "micro",
        "device": "cpu",
        "transform": "Rotate",
        "why": "unstable",
    }
    stage = {
        "schema": "augmark/topup/1",
        **{name: plan.content[name] for name in ("machine", "campaign", "depth")},
        "stage": number,
        "repeats": repeats[number] if number <= last else 9,
        "where": "all" if number < last else [rotate],
        "considered": 58,
        "rule": plan.content["policy"]["repeats"],
        "records_digest": "0123456789",
        "cells_digest": "0123456789",
        "until": "2026-11-30T10:00:00.000000+00:00",
        **changed,
    }
    plan.topup_file(number).parent.mkdir(exist_ok=True)
    plan.topup_file(number).write_text(json.dumps(stage), encoding="utf-8")
    return stage


def test_stages_that_the_policy_could_give_are_obeyed(plan):
    """In their order, as far as they go; none where there is no file."""
    made = plan()
    assert [] == decided_stages(made)
    stages = [stage_of(made, 1), stage_of(made, 2)]
    assert stages == decided_stages(made)
    made.topup_file(1).unlink()
    assert [] == decided_stages(made)


FIELD = {"scenario": "image-rgb", "mode": "micro", "device": "cpu", "transform": "Rotate", "why": "unstable"}
REPEATS = {"repeats": 9}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (REPEATS, "repeats is 9, the plan asks for 5"),
        ({"stage": 2}, "stage is 2, the plan asks for 1"),
        ({"schema": "augmark/topup/0"}, "schema is 'augmark/topup/0'"),
        ({"machine": "local-1111"}, "machine is 'local-1111', the plan asks for 'local-0000'"),
        ({"campaign": "paper"}, "campaign is 'paper'"),
        ({"depth": "min"}, "depth is 'min'"),
        ({"rule": {}}, "rule is {}, the plan asks for {'then': [3, 5]"),
        ({"where": "all"}, "where is 'all', and the last stage names its transforms in a list"),
        ({"where": [{**FIELD, "library": "pillow"}]}, "where/0 is not an object of scenario, mode, device"),
        ({"where": [{k: v for k, v in FIELD.items() if k != "scenario"}]}, "where/0 is not an object of"),
        ({"where": ["Rotate"]}, "where/0 is not an object of"),
        ({"where": [{**FIELD, "transform": 3}]}, "where/0 has a field that is no text"),
        ({"where": [FIELD, FIELD]}, "where/1: image-rgb micro cpu Rotate stands twice"),
        ({"by": "hand"}, "field by is unknown"),
    ],
)
def test_a_stage_by_hand_is_refused(plan, changed, said):
    """With the file, the field, what it is and what the plan asks for, and the remedy."""
    made = plan(depth="max")
    stage_of(made, 1, **changed)
    with pytest.raises(AugmarkError) as caught:
        decided_stages(made)
    assert said in caught.value.what
    assert str(made.topup_file(1)) == caught.value.where
    assert "snakemake topup" in caught.value.remedy


def test_only_the_last_stage_is_by_the_rule(plan):
    """One before it is everywhere, and one after it is none."""
    made = plan()
    stage_of(made, 1, where=[FIELD])
    with pytest.raises(AugmarkError, match="where is not 'all', and only the last stage is by the rule"):
        decided_stages(made)
    for number in (1, 2, 3):
        stage_of(made, number)
    with pytest.raises(AugmarkError, match="the schedule 2, 3, 5 has no stage 3"):
        decided_stages(made)


@pytest.mark.parametrize("text", ["", "[]", "{", "{}"])
def test_a_stage_that_cannot_be_read_is_refused(plan, text):
    """Not JSON, no object, or without a field."""
    made = plan()
    stage_of(made, 1)
    made.topup_file(1).write_text(text, encoding="utf-8")
    with pytest.raises(
        AugmarkError, match=r"it is no JSON object|field campaign is missing|field cells_digest"
    ):
        decided_stages(made)


def test_a_number_that_is_given_obeys_no_stage(plan):
    """Whatever lies there."""
    made = plan(repeats=3)
    stage_of(made, 1, **REPEATS, stage=7)
    assert [] == decided_stages(made)
