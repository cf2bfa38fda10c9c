"""What a plan file's verdicts rest on: the floor of each group, and what a verdict was wanting."""

import json
import math

import pytest

from augmark.analysis.question import report
from augmark.analysis.question_report import render_json, render_markdown, write_report
from augmark.analysis.question_said import say
from augmark.analysis.tables import analyse
from tests.analysis import synthetic
from tests.analysis.questions import (
    GROUPS,
    SAME,
    SLOWER,
    WIDE,
    answered,
    asked,
    only,
    planned,
    records_of,
    three,
)
from tests.analysis.synthetic import make_classes


@pytest.mark.parametrize(
    ("more", "why", "wants"),
    [
        ({"again": None}, "noise floor is not known: nothing measures before", "a noise floor"),
        ({"repeats": 2}, "too few repeats: 2 of 3 for an interval", "repeats"),
        ({"stamp": "smoke signal, not a score"}, "it claims nothing", "a depth that claims something"),
        ({"change": {"after": {"session": "another"}}}, "`--config refresh=blocks` measures", "one session"),
    ],
)
def test_without_the_means_nothing_is_decided(more, why, wants):
    """No floor, too few repeats, other sessions, or a depth that claims nothing: undecided, and why."""
    answer = answered({"Rotate": SLOWER}, **more)
    line = only(answer)
    assert "undecided" == line["verdict"]
    assert why in line["why"]
    assert f"no row of a candidate was judged: 1 for want of {wants}" == answer.unjudged


def test_what_is_undecided_for_another_reason_is_judged():
    """An interval that lies across the margin is an answer, and so is one row that is decided of two."""
    assert answered({"Rotate": WIDE}).unjudged is None
    failed = ("failed", "no")
    assert answered({"Rotate": SAME, "Blur": failed}).unjudged is None
    assert "no row of a candidate was judged: 1 blocked" == answered({"Rotate": failed}).unjudged


@pytest.mark.parametrize("shared", [0, 2])
def test_a_control_of_another_session_gives_no_floor(shared):
    """A control that was there beside a baseline that is new: which is missing, and what measures it."""
    plan = planned({"before": ["Rotate"], "after": ["Rotate"]})
    rows = {"before": {"Rotate": [0.0] * 3}, "after": {"Rotate": SLOWER}}
    records = []
    for record in synthetic.measured_again(plan, records_of(plan, rows)):
        if record["cell"]["library"] == synthetic.AGAIN and record["cell"]["repeat"] >= shared:
            earlier = [{**row, "session": "earlier"} for row in record["rows"]]
            record = synthetic.sealed({**record, "rows": earlier})
        records.append(record)
    answer = report(analyse(synthetic.make_records(plan, records), plan, make_classes(plan)))
    told = f"control-aa shares the session of before in {shared} of 3 repeats: `--config refresh=blocks`"
    assert told in only(answer)["why"]
    assert "no row of a candidate was judged: 1 for want of one session" == answer.unjudged


def two_groups(noise):
    """Two groups with a baseline each; ``noise``: control -> what it took of its baseline's time."""
    groups = {"one": GROUPS["only"], "two": {f"{name}-two": its for name, its in GROUPS["only"].items()}}
    names = [*GROUPS["only"], *groups["two"], "control-aa-two"]
    plan = planned({name: ["Rotate"] for name in names}, asked(groups))
    plan["libraries"]["control-aa-two"].update(kind="control", again="before-two")
    level = [0.0] * 3
    logs = {"before": level, "after": SLOWER, "before-two": level, "after-two": SLOWER}
    logs["control-aa-two"] = [math.log(noise["control-aa-two"])] * 3
    records = records_of(plan, {name: {"Rotate": each} for name, each in logs.items()})
    records = synthetic.measured_again(plan, records, factor=noise["control-aa"])
    return analyse(synthetic.make_records(plan, records), plan, make_classes(plan))


@pytest.mark.parametrize("noisy", ["control-aa", "control-aa-two"])
def test_each_group_is_judged_by_its_own_floor(noisy):
    """A baseline that varies by thirty per cent says nothing of another library's."""
    analysis = two_groups({"control-aa": 1.0, "control-aa-two": 1.0, noisy: 1.3})
    answer = report(analysis)
    noisy_group = "one" if noisy == "control-aa" else "two"
    assert {noisy_group: "undecided", ({"one", "two"} - {noisy_group}).pop(): "slower"} == dict(
        zip(answer.lines["group"], answer.lines["verdict"], strict=True)
    )
    told = json.loads(render_json(analysis, answer))["floors"]
    assert {"one": "control-aa", "two": "control-aa-two"} == {g: its["control"] for g, its in told.items()}
    assert {"one": "before", "two": "before-two"} == {g: its["library"] for g, its in told.items()}
    assert 0.3 == pytest.approx(told[noisy_group]["ratio"])
    page = render_markdown(analysis, answer)
    assert f"Noise floor of {noisy_group}: 30.0%, from " in page


def test_what_cannot_be_decided_is_among_no_comparisons():
    """A group without a floor has intervals, and its p-values make no others' look smaller."""
    analysis = two_groups({"control-aa": 1.0, "control-aa-two": 1.0})
    assert {"one": False, "two": False} == dict(report(analysis).lines.set_index("group")["q_value"].isna())
    analysis.plan["libraries"]["control-aa-two"]["again"] = None
    lines = report(analysis).lines.set_index("group")
    assert {"one": "slower", "two": "undecided"} == dict(lines["verdict"])
    assert ("floor", True) == (lines.loc["two", "wants"], 0 < lines.loc["two", "p_value"] < 1)
    assert {"one": False, "two": True} == dict(lines["q_value"].isna())


@pytest.mark.parametrize(
    ("on", "stamp", "status"),
    [(["slower"], None, 0), (["same"], None, 1), ([], "smoke signal", 1), (["slower"], "smoke signal", 1)],
)
def test_the_exit_status_stands_in_the_report(tmp_path, capsys, on, stamp, status):
    """A verdict that fails gives 1, and so does a report that answers nothing, whatever it fails on."""
    analysis = three(fail_on=on)
    analysis.plan["stamp"] = stamp
    write_report(analysis, [tmp_path / "report.json"])
    assert status == say([tmp_path / "report.md", tmp_path / "report.json"])
    told = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["exit"]
    assert status == told["status"]
    assert told["why"] in capsys.readouterr().out
    said = (
        "Nothing is answered: no row of a candidate was judged: 1 for want of a depth that claims something."
    )
    assert (
        (stamp is not None) == (said in told["why"]) == (said in render_markdown(analysis, report(analysis)))
    )
