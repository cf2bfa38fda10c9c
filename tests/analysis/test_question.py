"""A plan file's answer: verdicts on rows made by hand, whose intervals were worked out on paper."""

import csv
import io
import json
import math
from pathlib import Path

import pytest

from augmark.analysis.question import report
from augmark.analysis.question_report import render_csv, render_json, render_markdown, write_report
from augmark.analysis.question_said import spoken
from augmark.analysis.tables import analyse
from augmark.errors import AugmarkError
from tests.analysis import synthetic
from tests.analysis.questions import (
    CLOSE,
    FASTER,
    GROUPS,
    SAME,
    SLOWER,
    WIDE,
    answered,
    asked,
    mended,
    only,
    planned,
    records_of,
    three,
)
from tests.analysis.synthetic import (
    HOST,
    VARIABLES,
    make_classes,
)

# --- verdicts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("logs", "verdict", "fails"),
    [(SLOWER, "slower", 1), (FASTER, "faster", 0), (SAME, "same", 0), (WIDE, "undecided", 0)],
)
def test_the_verdict_follows_from_the_interval_and_the_margin(logs, verdict, fails):
    """Beyond it on one side, beyond it on the other, within it, or none of these; slower alone fails."""
    answer = answered({"Rotate": logs})
    assert (verdict, fails) == (only(answer)["verdict"], len(answer.failing))


def test_the_ratio_is_throughput_over_the_baselines():
    """exp(-0.2), with exp of minus the bounds, over three pairs of one session; p worked out on paper."""
    line = only(answered({"Rotate": SLOWER}))
    assert (0.818731, 0.779048, 0.860435) == pytest.approx(
        (line["ratio"], line["ratio_low"], line["ratio_high"]), abs=2e-6
    )
    assert ("paired", 3, 1) == (line["comparison"], line["repeats"], line["sessions"])
    t = (0.2 - math.log(1.05)) / (0.02 / math.sqrt(3))
    assert 1 - t / math.sqrt(t * t + 2) == pytest.approx(line["p_value"])  # Student's tails at two degrees
    assert (1000.0, 1000.0 * math.exp(-0.2)) == pytest.approx(
        (line["baseline_throughput"], line["throughput"])
    )


def test_the_questions_margin_is_the_one_that_counts():
    """What is slower beyond five per cent is the same within thirty."""
    wide = {**synthetic.STATISTICS, "margin": 0.3}
    plan = planned({"before": ["Rotate"], "after": ["Rotate"]})
    plan["policy"]["statistics"] = wide
    records = records_of(plan, {"before": {"Rotate": [0.0] * 3}, "after": {"Rotate": SLOWER}})
    made = synthetic.make_records(plan, synthetic.measured_again(plan, records))
    assert "same" == only(report(analyse(made, plan, make_classes(plan))))["verdict"]


def test_nothing_is_claimed_below_the_noise_floor():
    """Where a library differs from itself by thirty per cent, twenty are no difference, and no sameness."""
    line = only(answered({"Rotate": SLOWER}, noise=1.3))
    assert ("undecided", 0.3) == (line["verdict"], pytest.approx(line["floor"]))
    assert "the margin is 5.0%, the noise floor 30.0%, so that nothing is the same here" in line["why"]
    assert line["wants"] is None  # it was judged


def test_the_floor_is_taken_off_what_is_the_same():
    """log(1.05) - log(1.04) is 0.0096, and the interval reaches 0.0124: within the margin, and undecided."""
    line = only(answered({"Rotate": SAME}, noise=1.04))
    assert "undecided" == line["verdict"]
    assert "less the other: the margin is 5.0%, the noise floor 4.0%" in line["why"]
    assert "so that nothing" not in line["why"]


def test_one_close_call_among_many_may_be_chance():
    """p = 0.030 alone is a discovery at a rate of 0.05; among ten (q = 0.30) it is none."""
    assert "slower" == only(answered({"Rotate": CLOSE}))["verdict"]
    names = ["Rotate", *(f"Blur{number}" for number in range(9))]
    lines = answered({name: CLOSE if name == "Rotate" else SAME for name in names}).lines.set_index(
        "transform"
    )
    assert "undecided" == lines.loc["Rotate", "verdict"]
    assert 0.30 == pytest.approx(lines.loc["Rotate", "q_value"], abs=0.005)
    assert "among 10 comparisons" in lines.loc["Rotate", "why"]


# --- blocked -----------------------------------------------------------------------------------------


def flagged(flag):
    return {"mend": mended("after", flags=[flag])}


def other_host(**facts):
    return {"change": {"after": {"host": {**HOST, **facts}}}}


def environment(**variables):
    packages = {"kornia": "1.2.3", "numpy": "2.4.6"}
    about = {"lock_digest": "lock000000", "python": "3.11.7", "packages": packages, "build": None}
    return {"environment": {**about, "variables": {**VARIABLES, **variables}}}


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (
            {"classes": {("before", "after"): ("different", "off by 9 levels")}},
            "not the same work (different): off",
        ),
        ({"classes": {("before", "after"): (None, None)}}, "nothing shows that it is the same work"),
        (
            other_host(governor="powersave"),
            "undeclared difference of host.governor: performance and powersave",
        ),
        (
            {"change": {"after": environment(OMP_PROC_BIND="close")}},
            "variables.OMP_PROC_BIND: not set and close",
        ),
        (flagged("threads"), "another number of threads than declared"),
        (flagged("reduced-batch"), "smaller batches than declared"),
        ({"mend": mended("after", items=16)}, "timed on other items: 32 and 16 of them"),
        ({"mend": mended("after", draws="per-batch")}, "one draw for a whole batch"),
        (
            {"mend": mended("after", status="slow", reason="0.06 s")},
            "after is slow (0.06 s) and timed in part",
        ),
    ],
)
def test_what_is_not_to_be_compared_is_blocked_and_says_why(more, why):
    """Other work, undeclared conditions, or a row that is not what its condition says."""
    answer = answered({"Rotate": SLOWER}, **more)
    line = only(answer)
    assert "blocked" == line["verdict"]
    assert why in line["why"]
    assert line["ratio"] is None
    assert 1 == len(answer.failing)


def test_a_row_that_failed_is_blocked():
    """The status and reason of the side that has no number are the why."""
    line = only(answered({"Rotate": ("failed", "3 of 50 calls: ValueError: no")}))
    assert ("blocked", "after is failed: 3 of 50 calls: ValueError: no") == (line["verdict"], line["why"])


def with_variables(**variables):
    groups = {"only": {**GROUPS["only"], "after": {**GROUPS["only"]["after"], "variables": variables}}}
    return {"question": asked(groups)}


def test_what_is_declared_to_differ_may_differ():
    """A variable of the plan file is no undeclared difference."""
    change = {"after": environment(OMP_PROC_BIND="close")}
    line = only(answered({"Rotate": SLOWER}, change=change, **with_variables(OMP_PROC_BIND="close")))
    assert "slower" == line["verdict"]


def test_another_lock_may_hold_another_numpy():
    """A release that asks for another numpy is measured with it: that is what is compared."""
    change = {"after": environment()}
    change["after"]["environment"]["packages"]["numpy"] = "2.5.0"
    assert "slower" == only(answered({"Rotate": SLOWER}, change=change))["verdict"]


def test_a_variable_that_the_shell_sets_for_both_is_found():
    """Then the two conditions do not differ in what the plan file says they do."""
    change = {name: environment(OMP_PROC_BIND="close") for name in ("before", "after")}
    line = only(answered({"Rotate": SAME}, change=change, **with_variables(OMP_PROC_BIND="close")))
    assert ("blocked", "OMP_PROC_BIND is close in both: the shell sets it too") == (
        line["verdict"],
        line["why"],
    )


def test_threads_that_are_declared_may_differ():
    """The setting and the variables of the pools go with the declared number; nothing else does."""
    groups = {
        "only": {name: {**its, "threads": n} for n, (name, its) in enumerate(GROUPS["only"].items(), 1)}
    }
    plan = planned({"before": ["Rotate"], "after": ["Rotate"]}, asked(groups))
    for name, threads in (("before", 1), ("after", 2), ("control-aa", 1)):
        for row in plan["definitions"][f"image-rgb/micro/{name}/cpu"]["rows"]:
            row.update(threads=threads, setting={"threads": threads})
    change = {"after": environment(OMP_NUM_THREADS="2")}
    rows = {"before": {"Rotate": [0.0] * 3}, "after": {"Rotate": SLOWER}}
    records = synthetic.measured_again(plan, records_of(plan, rows, change))
    line = only(report(analyse(synthetic.make_records(plan, records), plan, make_classes(plan))))
    assert ("slower", None) == (line["verdict"], line["why"])


# --- rows, roles, groups -----------------------------------------------------------------------------


def test_a_row_that_neither_has_is_in_no_count():
    """What the library lacks under both conditions is no failure, and is said."""
    lacks = synthetic.plan_row("Rain", "unsupported", "no weather")
    plan = planned({"before": ["Rotate", lacks], "after": ["Rotate", lacks]})
    rows = {"before": {"Rotate": [0.0] * 3}, "after": {"Rotate": SAME}}
    records = synthetic.measured_again(plan, records_of(plan, rows))
    answer = report(analyse(synthetic.make_records(plan, records), plan, make_classes(plan)))
    assert (["Rotate"], 1, 0) == (list(answer.lines["transform"]), answer.neither, len(answer.failing))


def test_a_row_that_one_side_has_is_blocked():
    """A release that lost a transform does not pass because there is nothing to time."""
    lacks = synthetic.plan_row("Rain", "unsupported", "no weather")
    plan = planned({"before": ["Rotate", "Rain"], "after": ["Rotate", lacks]})
    rows = {"before": {"Rotate": [0.0] * 3, "Rain": [0.0] * 3}, "after": {"Rotate": SAME}}
    records = synthetic.measured_again(plan, records_of(plan, rows))
    answer = report(analyse(synthetic.make_records(plan, records), plan, make_classes(plan)))
    found = answer.lines.set_index("transform")
    assert {"Rotate": "same", "Rain": "blocked"} == dict(found["verdict"])
    assert "after is unsupported: no weather" == found.loc["Rain", "why"]


def test_a_condition_is_shown_and_decides_nothing():
    """Its verdict stands beside the candidate's, and the exit status is not about it."""
    answer = report(three())
    assert {"after": "same", "aside": "slower"} == dict(
        zip(answer.lines["condition"], answer.lines["verdict"], strict=True)
    )
    assert answer.failing.empty


@pytest.mark.parametrize(("on", "fails"), [(["same"], 1), ([], 0), (["faster", "undecided"], 0)])
def test_what_fails_is_the_plan_files_choice(on, fails):
    """A question may fail on any verdict, or on none."""
    assert fails == len(report(three(fail_on=on)).failing)


def test_records_of_another_version_of_the_plan_file_are_told():
    """Whoever changed margin or repeats after measuring is seen to have."""
    answer = answered({"Rotate": SAME}, change={"after": {"question": asked(title="Old, new")}})
    assert {asked()["digest"]: 3, asked(title="Old, new")["digest"]: 3} == answer.versions


def test_a_campaign_asks_nothing():
    """Its tables say what there is to say."""
    plan = {**planned({"before": ["Rotate"], "after": ["Rotate"]}), "question": None}
    rows = {name: {"Rotate": SAME} for name in ("before", "after")}
    records = synthetic.make_records(plan, records_of(plan, rows))
    with pytest.raises(AugmarkError, match="asks no question"):
        report(analyse(records, plan, make_classes(plan)))


# --- files -------------------------------------------------------------------------------------------


def test_the_files_say_the_same(tmp_path):
    """JSON, CSV and Markdown of one answer; written twice they are the same bytes."""
    analysis = three()
    analysis.plan["overrides"] = {"plan": "old-new", "repeats": 3}
    answer = report(analysis)
    told = json.loads(render_json(analysis, answer))
    assert {"repeats": 3} == told["overrides"]
    assert answer.question["digest"] == told["question"]["digest"]
    after, aside = told["pairings"]
    assert ("after", "candidate", 1) == (after["condition"], after["role"], after["counts"]["same"])
    assert ["environment: old and kornia"] == after["differs"]
    assert ["environment: old and kornia", "compile: not set and True"] == aside["differs"]
    lines = list(csv.DictReader(io.StringIO(render_csv(answer))))
    assert [("after", "same"), ("aside", "slower")] == [
        (line["condition"], line["verdict"]) for line in lines
    ]
    page = render_markdown(analysis, answer)
    assert "| only | after | candidate | before | 1 | 0 | 0 | 1 | 0 | 0 |" in page
    assert "0 of 1 rows of candidates fail (it fails on: blocked and slower)." in page
    assert "Overridden on the command line: repeats=3." in page
    assert f"digest {answer.question['digest']}" in page
    paths = [tmp_path / f"{n}.{ending}" for n in (1, 2) for ending in ("md", "json", "csv")]
    write_report(analysis, paths)
    assert [path.read_bytes() for path in paths[:3]] == [path.read_bytes() for path in paths[3:]]


def test_energy_is_in_the_report_where_the_plan_file_asks_for_it():
    """Joules of each condition, or the reason why there are none; nothing is decided by them."""
    quiet = three()
    assert json.loads(render_json(quiet, report(quiet)))["energy"] is None
    assert "Energy" not in render_markdown(quiet, report(quiet))
    asking = three()
    asking.plan["question"]["energy"] = True
    answer = report(asking)
    page = render_markdown(asking, answer)
    assert "## Energy: joules per item\n" in page
    assert "Energy was not measured: no counter of a package." in page
    assert "No verdict rests on energy." in page
    told = json.loads(render_json(asking, answer))["energy"]
    assert "no counter of a package" == told["unavailable"]
    assert {"before", "after", "aside"} <= {row["library"] for row in told["rows"]}
    assert {None} == {row["joules_per_item"] for row in told["rows"]}


def test_the_terminal_is_told_every_verdict():
    """One line per row, the counts with their denominator, and what fails."""
    analysis = three()
    said = spoken(json.loads(render_json(analysis, report(analysis))), Path("report.md"))
    assert "  Rotate  slower     0.819 [0.779, 0.860]" in said.splitlines()
    assert "  of 1 rows: faster 0, slower 1, same 0, undecided 0, blocked 0" in said
    assert "0 of 1 rows of candidates fail" in said


def test_a_stamped_depth_says_so_in_the_report():
    """A reader is told before any number that nothing is claimed."""
    plan = planned(
        {"before": ["Rotate"], "after": ["Rotate"]}, depth="min", stamp="smoke signal, not a score"
    )
    rows = {"before": {"Rotate": [0.0] * 3}, "after": {"Rotate": SLOWER}}
    made = synthetic.make_records(plan, synthetic.measured_again(plan, records_of(plan, rows)))
    analysis = analyse(made, plan, make_classes(plan))
    assert "**smoke signal, not a score: no verdict is given.**" in render_markdown(
        analysis, report(analysis)
    )
