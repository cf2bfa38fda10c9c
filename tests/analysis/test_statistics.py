"""Medians, comparisons and ties, against figures worked out by hand."""

import math

import pandas as pd
import pytest

from augmark.analysis.compare import compare
from augmark.analysis.coverage import cover
from augmark.analysis.statistics import Rules, process_p95, summarize
from augmark.errors import AugmarkError
from tests.analysis.summaries import RULES, marks_and_winners, summarized, summary_of, summary_of_rows
from tests.analysis.synthetic import (
    STATISTICS,
    make_plan,
    make_record,
    make_records,
    measured,
    unmeasured,
)

T_975_4 = 2.7764451051977987  # tabulated: four degrees of freedom, 97.5 %


def test_p95_needs_twenty_values():
    """Nineteen values have no 95th percentile; of 0..20 it is 19."""
    assert process_p95([1.0] * 19, 20) is None
    assert process_p95(None, 20) is None
    assert process_p95([float(value) for value in range(21)], 20) == pytest.approx(19.0)


def test_throughput_is_computed_from_the_median_of_process_means():
    """Processes with means 2, 4 and 9 s: median 4 s, 0.25 items/s, whatever the number of values inside."""
    line = summary_of({"kornia": [[1.0, 3.0], [4.0], [9.0, 9.0, 9.0]]}).loc["kornia"]
    assert line["seconds_median"] == 4.0
    assert line["throughput"] == 0.25
    assert line["repeats"] == 3
    assert line["interval"] == "student"
    assert (line["throughput_low"], line["throughput_high"]) == (
        1 / line["seconds_high"],
        1 / line["seconds_low"],
    )


def test_below_three_repeats_there_is_a_range_and_no_claim():
    """Two repeats: the bounds are the repeats themselves, no ratio, nothing best."""
    lines = summary_of({"kornia": [1.0, 2.0], "pillow": [10.0, 20.0]})
    assert lines.loc["kornia", ["seconds_low", "seconds_high", "interval"]].to_list() == [1.0, 2.0, "range"]
    assert lines["best"].to_list() == [False, False]
    assert lines["ratio"].isna().all()


def test_cv_of_ten_percent_is_unstable():
    """Means 0.9, 1.0, 1.1: CV is 10 % (standard deviation 0.1); half of that spread is stable."""
    assert "unstable" in summary_of({"kornia": [0.89, 1.0, 1.11]}).loc["kornia", "marks"]
    steady = summary_of({"kornia": [0.95, 1.0, 1.05]}).loc["kornia"]
    assert steady["marks"] == ()
    assert steady["cv"] == pytest.approx(0.05)


def test_paired_ratio_ignores_what_moves_both_libraries():
    """The host doubles its time each repeat: each library is unstable, their ratio of 2 is exact."""
    lines = summary_of({"kornia": [2.0, 4.0, 8.0], "pillow": [1.0, 2.0, 4.0]})
    assert lines.loc["kornia", ["comparison"]].to_list() == ["paired"]
    assert lines.loc["kornia", ["ratio", "ratio_low", "ratio_high"]].to_list() == pytest.approx(
        [2.0, 2.0, 2.0]
    )
    assert lines["best"].to_dict() == {"kornia": False, "pillow": True}


def test_a_difference_within_the_margin_is_a_tie():
    """4 % slower without any spread is within the margin of 5 %; 6 % slower is not."""
    lines = summary_of(
        {"kornia": [1.04, 2.08, 4.16], "pillow": [1.0, 2.0, 4.0], "torchvision": [1.06, 2.12, 4.24]}
    )
    assert lines["best"].to_dict() == {"kornia": True, "pillow": True, "torchvision": False}


def test_a_difference_within_the_noise_is_a_tie():
    """Ratios 1.0, 1.5 and 1.2 to the fastest: the interval reaches below the margin."""
    lines = summary_of({"kornia": [1.0, 1.5, 1.2], "pillow": [1.0, 1.0, 1.0]})
    assert lines["best"].to_list() == [True, True]


def test_other_sessions_are_compared_unpaired_and_marked():
    """The same repeats in another session are no pairs."""
    seconds = {"kornia": [2.0, 2.1, 2.05], "pillow": [1.0, 1.1, 1.05]}
    lines = summary_of(seconds, sessions={"kornia": "s2"})
    assert lines.loc["kornia", "comparison"] == "unpaired"
    assert lines.loc["kornia", "marks"] == ("sessions", "undecided", "dtype")
    assert lines.loc["pillow", "marks"] == ("undecided",)
    assert lines["verdict"].to_list() == ["undecided", "undecided"]
    assert not lines["best"].any()


def test_unpaired_is_welch_on_logarithms():
    """exp(Welch) of the logs, of hand-made sides with equal spread."""
    first = {("a", repeat): math.exp(value) for repeat, value in enumerate([2.0, 3.0, 4.0])}
    second = {("b", repeat): math.exp(value) for repeat, value in enumerate([0.0, 1.0, 2.0])}
    comparison = compare(first, second, RULES)
    reach = T_975_4 * math.sqrt(2 / 3)
    assert (comparison.paired, comparison.count) == (False, 3)
    assert (comparison.low, comparison.high) == pytest.approx((2 - reach, 2 + reach))


def test_nothing_is_best_where_one_library_has_too_few_repeats():
    """Three repeats of one and two of the other: who is fastest is not claimed."""
    lines = summary_of({"torchvision": [1.0, 1.0, 1.0], "pillow": [9.0, 9.0]})
    assert lines["best"].to_list() == [False, False]
    assert lines.loc["pillow", "marks"] == ("partial",)


def test_a_library_alone_is_not_best():
    """Fastest of one is no claim."""
    assert not summary_of({"kornia": [1.0, 1.0, 1.0]}).loc["kornia", "best"]


def test_the_fastest_does_not_win_with_other_work():
    """It keeps its figure, and says in words what it is that it does."""
    lines = summary_of(
        {"kornia": [1.0] * 3, "pillow": [2.0] * 3, "torchvision": [4.0] * 3},
        other={
            ("kornia", "pillow"): ("different", "bilinear"),
            ("kornia", "torchvision"): ("different", "x"),
        },
    )
    assert lines["best"].to_dict() == {"kornia": False, "pillow": True, "torchvision": False}
    assert lines.loc["kornia", "marks"] == ("different",)
    assert lines.loc["kornia", "different"] == "against pillow: bilinear"
    assert lines.loc["torchvision", "ratio"] == pytest.approx(2.0)
    assert lines.loc["kornia", "throughput"] == 1.0


def test_other_threads_are_not_compared():
    """A row with another thread count is neither winner nor loser."""
    flagged = summary_of({"kornia": [1.0] * 3, "pillow": [2.0] * 3}, flags=["threads"])
    assert flagged["best"].to_list() == [False, False]


def test_closeness_does_not_add_up():
    """a ~ b and b ~ c, but a is not c: the pair with the fastest is compared, the third is marked."""
    lines = summary_of(
        {"kornia": [1.0] * 3, "pillow": [2.0] * 3, "torchvision": [4.0] * 3},
        other={("kornia", "torchvision"): ("different", "far"), ("pillow", "torchvision"): ("close", None)},
    )
    assert lines["marks"].map(lambda marks: "different" in marks).to_list() == [False, False, True]
    assert lines.loc["kornia", "best"]
    assert lines.loc["torchvision", "different"] == "against kornia: far"


def test_most_libraries_decide_what_the_work_is():
    """Two agree with the fastest's competitor only: the larger set is compared, not the faster one."""
    apart = {
        (one, other): ("different", "a lens")
        for one in ("kornia", "opencv")
        for other in ("albumentationsx", "pillow", "torchvision")
    }
    seconds = {"kornia": 1.0, "opencv": 1.5, "albumentationsx": 2.0, "pillow": 3.0, "torchvision": 4.0}
    lines = summary_of({name: [value] * 3 for name, value in seconds.items()}, other=apart)
    assert set(lines.index[lines["best"]]) == {"albumentationsx"}
    assert {name for name, marks in lines["marks"].items() if "different" in marks} == {"kornia", "opencv"}


def test_where_no_two_agree_nothing_is_compared():
    """Both are marked, and the reason stands at both."""
    lines = summary_of(
        {"kornia": [1.0] * 3, "pillow": [2.0] * 3}, other={("kornia", "pillow"): ("different", "pads")}
    )
    assert lines["marks"].to_list() == [("different",), ("different",)]
    assert lines["different"].to_list() == ["against pillow: pads", "against kornia: pads"]
    assert lines["ratio"].isna().all()


def test_without_a_sample_nothing_is_compared():
    """A pair that has no class, as after a failed probe: marked, no winner."""
    lines = summary_of({"kornia": [1.0] * 3, "pillow": [2.0] * 3}, other={("kornia", "pillow"): (None, None)})
    assert marks_and_winners(lines) == ({"kornia": ("unsampled",), "pillow": ("unsampled",)}, set())


def test_decoders_are_not_gated():
    """What is decoded is the contract of a decoder: no class is needed."""
    plan = make_plan({"kornia": ["Decode"], "pillow": ["Decode"]}, mode="decode", again="pillow")
    records = [
        make_record(plan, name, repeat, {"Decode": measured(seconds)})
        for name, seconds in (("kornia", 1.0), ("pillow", 2.0))
        for repeat in range(3)
    ]
    lines = summarized(plan, records, {("kornia", "pillow"): (None, None)})
    assert set(lines.index[lines["best"]]) == {"kornia"}


def test_reduced_items_neither_win_nor_lose():
    """The fastest was timed on 8 of 32 items: marked, and the winner is found among the others."""
    lines = summary_of_rows(
        {
            "albumentationsx": measured(1.0, items=8, flags=["reduced-items"]),
            "pillow": measured(2.0),
            "torchvision": measured(4.0),
        }
    )
    assert marks_and_winners(lines) == (
        {"albumentationsx": ("items", "reduced-items"), "pillow": (), "torchvision": ()},
        {"pillow"},
    )
    assert lines.loc["torchvision", "ratio"] == pytest.approx(2.0)
    assert pd.isna(lines.loc["albumentationsx", "ratio"])


def test_fewer_items_without_a_flag_are_not_compared():
    """Another count is enough: whoever has fewer items is left out, also as the fastest or the slowest."""
    for seconds in (1.0, 9.0):
        lines = summary_of_rows(
            {"pillow": measured(seconds, items=8), "torchvision": measured(3.0), "opencv": measured(6.0)}
        )
        assert marks_and_winners(lines) == (
            {"pillow": ("items",), "torchvision": (), "opencv": ()},
            {"torchvision"},
        )


def test_other_items_of_the_same_number_are_not_compared():
    """32 items of another digest: one of the two libraries is marked, and there is no winner."""
    other = {"name": "demo", "digest": "d" * 64, "manifest_digest": "m" * 64, "items_digest": "other00000"}
    lines = summary_of_rows(
        {"pillow": measured(1.0), "torchvision": measured(3.0)},
        torchvision={"dataset": {**other, "items": 32}},
    )
    assert marks_and_winners(lines) == ({"pillow": (), "torchvision": ("items",)}, set())
    assert lines["ratio"].isna().all()


def test_slow_rows_are_compared_with_slow_rows_only():
    """Beside a row in full a slow one stands alone, whatever its items; two slow ones are alike."""
    mixed = summary_of_rows({"pillow": measured(9.0, "slow"), "torchvision": measured(3.0)})
    assert marks_and_winners(mixed) == ({"pillow": ("slow", "items"), "torchvision": ()}, set())
    both = summary_of_rows(
        {"pillow": measured(9.0, "slow", items=8), "torchvision": measured(3.0, "slow", items=8)}
    )
    assert marks_and_winners(both) == ({"pillow": ("slow",), "torchvision": ("slow",)}, {"torchvision"})
    assert both.loc["pillow", "ratio"] == pytest.approx(3.0)


def test_repeats_on_different_items_equal_nothing():
    """One repeat of three on fewer items: the row keeps its median, and is compared with nobody."""
    plan = make_plan({"pillow": ["Flip"], "torchvision": ["Flip"]})
    found = {
        "pillow": [measured(1.0, items=8), measured(1.0), measured(1.0)],
        "torchvision": [measured(3.0)] * 3,
    }
    records = [
        make_record(plan, name, k, {"Flip": row}) for name in found for k, row in enumerate(found[name])
    ]
    lines = summarized(plan, records)
    assert marks_and_winners(lines) == ({"pillow": ("items",), "torchvision": ()}, set())


def test_another_dtype_than_the_fastest_is_compared_and_marked():
    """Whoever is not of the fastest's dtype: Kornia beside Pillow, and the others beside Kornia."""
    slower = summary_of({"kornia": [2.0] * 3, "pillow": [1.0] * 3, "torchvision": [3.0] * 3})
    assert marks_and_winners(slower) == ({"kornia": ("dtype",), "pillow": (), "torchvision": ()}, {"pillow"})
    assert slower.loc["kornia", "ratio"] == pytest.approx(2.0)
    faster = summary_of({"kornia": [1.0] * 3, "pillow": [2.0] * 3, "torchvision": [3.0] * 3})
    assert marks_and_winners(faster) == (
        {"kornia": (), "pillow": ("dtype",), "torchvision": ("dtype",)},
        {"kornia"},
    )


def test_what_cannot_be_pinned_is_not_compared():
    """As Elastic in the plan: that any two do the same cannot be shown."""
    names = ["albumentationsx", "kornia", "torchvision"]
    unpinned = {(a, b): ("unpinnable", "drawn") for a in names for b in names if a < b}
    lines = summary_of({name: [1.0 + k] * 3 for k, name in enumerate(names)}, other=unpinned)
    assert marks_and_winners(lines) == (dict.fromkeys(names, ("unpinned",)), set())
    assert lines["comparison"].isna().all()
    assert lines["throughput"].to_list() == [1.0, 0.5, pytest.approx(1 / 3)]


def test_one_failed_repeat_leaves_no_number():
    """Two repeats measured and one raised: the row has failed, and says how often."""
    plan = make_plan({"kornia": ["Flip"]})
    found = [measured(1.0), measured(1.0), unmeasured("failed", "raised in 1 of 32 calls")]
    records = [make_record(plan, "kornia", repeat, {"Flip": row}) for repeat, row in enumerate(found)]
    line = summarize(cover(plan, make_records(plan, records).frame).rows, RULES).iloc[0]
    assert (line["status"], line["reason"]) == ("failed", "1 of 3 repeats: raised in 1 of 32 calls")
    assert line["repeats"] == 0
    assert line[["seconds_median", "throughput", "cv", "p95_seconds"]].isna().all()


def test_rules_that_are_missing_are_named():
    """A policy without the margin is refused by name."""
    short = {name: value for name, value in STATISTICS.items() if name != "margin"}
    with pytest.raises(AugmarkError, match="statistics/margin is missing"):
        Rules.of_plan({"policy": {"statistics": short}})


def test_a_depth_with_a_stamp_claims_nothing():
    """However many repeats it is given: nothing is best at a depth that says it is no score."""
    policy = {"policy": {"statistics": STATISTICS}}
    assert Rules.of_plan({**policy, "stamp": None}).claims
    assert not Rules.of_plan({**policy, "stamp": "smoke signal, not a score"}).claims
