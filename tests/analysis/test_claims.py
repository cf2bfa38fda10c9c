"""Claims against records made by hand: what holds, what is refused and why, what is not judged."""

import csv
import io
import math

import pytest
from scipy import stats

from augmark.analysis.claims import judge, refused
from augmark.analysis.claims_files import COLUMNS, printed, render, render_csv, write_claims
from augmark.errors import AugmarkError
from tests.analysis.held import CLAIM, COUNT, FAST, TWICE, analysed, flips, verdict, verdicts
from tests.analysis.synthetic import (
    HOST,
    SESSION,
    unmeasured,
)

T_975_2 = 4.302652729911275  # tabulated: Student's quantile at 97.5 %, two degrees of freedom


# --- faster ------------------------------------------------------------------------------------------


def test_a_claim_holds_where_the_whole_interval_is_at_or_above_it():
    """Ratio and interval are those of the paired logarithms, by the tabulated quantile."""
    found = verdict(flips())
    logs = [math.log(ratio) for ratio in (2, 0.0023 / 0.0011, 2)]
    mean = sum(logs) / 3
    reach = T_975_2 * math.sqrt(sum((log - mean) ** 2 for log in logs) / 2 / 3)
    assert "holds" == found.verdict
    assert math.exp(mean) == pytest.approx(found.ratio)
    assert [math.exp(mean - reach), math.exp(mean + reach)] == pytest.approx([found.low, found.high])
    assert (3, 1, "paired", 0.05) == (found.repeats, found.sessions, found.comparison, found.margin)
    assert 0.001 == pytest.approx(found.floor)
    assert found.reason is None
    assert [] == refused([found])


def test_a_claim_that_is_not_carried_is_refused_with_the_interval():
    """Two and a half times is claimed, twice was found."""
    found = verdict(flips(), at_least=2.5)
    assert "refused" == found.verdict
    assert "found 2.03 [1.90, 2.16]: wholly below 2.50" == found.reason
    assert [found] == refused([found])


def test_an_interval_that_reaches_below_the_claim_does_not_carry_it():
    """2.03 is more than 2; that it is so beyond doubt was not shown."""
    assert "found 2.03 [1.90, 2.16]: not wholly at or above 2.00" == verdict(flips(), at_least=2).reason


def test_a_claim_the_wrong_way_round_is_refused():
    """Pillow is claimed to be faster; the ratio is turned with the claim."""
    found = verdict(flips(), library="pillow", than="albumentationsx")
    assert "found 0.493 [0.462, 0.525]: wholly below 1.20" == found.reason
    assert 1 == found.p_value  # a difference the other way is no discovery that makes room for others


def test_nothing_is_claimed_below_the_noise_floor():
    """1.25 is above the 1.2 that is claimed; two measurements of one thing differ by 1.3."""
    analysis = flips([0.001] * 3, [0.00125] * 3, factor=1.3)
    assert "holds" == verdict(flips([0.001] * 3, [0.00125] * 3)).verdict
    assert "found 1.25 [1.25, 1.25]: not wholly beyond the noise floor, 1.30" == verdict(analysis).reason


def test_nothing_is_claimed_within_the_margin():
    """A ratio of 1.03, however exact, is nothing that anybody would notice."""
    analysis = flips([0.001] * 3, [0.00103] * 3)
    reason = "found 1.03 [1.03, 1.03]: not wholly beyond the margin, 1.05"
    assert reason == verdict(analysis, at_least=1.01).reason


def test_without_a_noise_floor_nothing_is_claimed():
    """The ratio is shown all the same."""
    found = verdict(flips(again=None))
    assert ("refused", pytest.approx(2.03, abs=0.005)) == (found.verdict, found.ratio)
    assert "no noise floor" in found.reason


def test_too_few_repeats_carry_no_claim():
    """Two repeats have a ratio and no interval."""
    found = verdict(flips(FAST[:2], TWICE[:2]))
    assert ("refused", None, 2) == (found.verdict, found.low, found.repeats)
    assert "too few repeats: 2, and a claim needs 3" == found.reason


def test_other_work_carries_no_claim():
    """The reason is that of equivalence.csv."""
    pair = {("albumentationsx", "pillow"): ("different", "another centre")}
    found = verdict(flips(classes=pair))
    assert ("refused", None) == (found.verdict, found.ratio)
    assert "another centre" in found.reason


def test_work_that_was_not_held_against_one_another_carries_no_claim():
    """Not known to be the same is not the same."""
    found = verdict(flips(classes={("albumentationsx", "pillow"): (None, None)}))
    assert "whether its work is theirs is not known" in found.reason


def test_rows_that_were_measured_otherwise_carry_no_claim():
    """The field that differs is named, with both values."""
    found = verdict(flips(changes={"pillow": lambda _: {"host": {**HOST, "governor": "powersave"}}}))
    assert "refused" == found.verdict
    assert "host.governor: performance and powersave" in found.reason


@pytest.mark.parametrize("changed", [{}, {"kind": "no-slower", "at_least": None}])
def test_other_sessions_carry_no_claim(changed):
    """Welch's interval is shown, and the way to one that counts."""
    found = verdict(flips(changes={"pillow": lambda _: {"session": "another"}}), **changed)
    assert ("refused", "unpaired", 2, None) == (
        found.verdict,
        found.comparison,
        found.sessions,
        found.p_value,
    )
    assert found.reason.startswith("found 2.03 [")
    assert found.reason.endswith(
        "]: measured in different sessions: refresh=blocks measures them side by side"
    )


@pytest.mark.parametrize(
    ("told", "reason"),
    [(unmeasured("failed", "raised ValueError"), "pillow is failed: "), (None, "pillow is not-run: ")],
)
def test_a_row_without_a_number_carries_no_claim(told, reason):
    """Failed or not there: the claim is refused, not forgotten."""
    found = verdict(flips(other=[told] * 3))
    assert "refused" == found.verdict
    assert found.reason.startswith(reason)


def test_each_transform_of_a_claim_is_judged():
    """One of two is not carried: that one is refused by its name."""
    seconds = {"albumentationsx": {"Flip": FAST, "Pad": FAST}, "pillow": {"Flip": TWICE, "Pad": FAST}}
    found = verdicts(analysed(seconds), transforms=["Flip", "Pad"])
    assert [("Flip", "holds"), ("Pad", "refused")] == [(each.transform, each.verdict) for each in found]


def test_of_many_claims_some_would_hold_by_chance():
    """Alone its p-value is 0.03; of twenty such claims one is expected to have that."""
    # 1.2 * exp(spread around 0.1): t = 0.1 / (0.03 / sqrt(3)) = 5.77, two-sided p at two degrees = 0.0287
    close = [0.001 * 1.2 * math.exp(log) for log in (0.07, 0.1, 0.13)]
    names = ["Flip", *(f"Null{number}" for number in range(19))]
    equal = {name: [0.001] * 3 for name in names}
    analysis = analysed({"albumentationsx": equal, "pillow": {**equal, "Flip": close}})
    alone = verdict(analysis)
    assert ("holds", pytest.approx(0.0287, abs=0.0001)) == (alone.verdict, alone.p_value)
    claims = {name.lower(): {**CLAIM, "transforms": [name]} for name in names}
    among = judge(claims, analysis)[0]
    assert ("refused", pytest.approx(20 * 0.0287, abs=0.002)) == (among.verdict, among.q_value)
    assert "could be chance among 20 such comparisons: q 0.574, above 0.05" == among.reason


# --- no slower ---------------------------------------------------------------------------------------


def no_slower(analysis, **changed):
    return verdict(analysis, kind="no-slower", at_least=None, **changed)


def test_no_slower_holds_of_equals_and_not_of_what_is_slower():
    """Within the margin is enough, and twice as slow is not within it."""
    assert "holds" == no_slower(flips(FAST, FAST)).verdict
    assert "holds" == no_slower(flips()).verdict
    assert "found 0.493 [0.462, 0.525]: wholly below 0.953" == no_slower(flips(TWICE, FAST)).reason


def test_a_wide_interval_does_not_show_that_nothing_is_slower():
    """Equal in the mean, and by how much it might be slower is not known."""
    found = no_slower(flips([0.001, 0.0012, 0.0008], [0.0008, 0.001, 0.0012]))
    assert "not wholly at or above 0.953" in found.reason


def test_no_slower_is_among_the_discoveries():
    """p is one-sided, against 1.001 / 1.05; beside nineteen that are slower it may be chance."""
    # log ratios 0.02, 0.05 and 0.08: t = (0.05 + log(1.05 / 1.001)) / (0.03 / sqrt(3)), at two degrees
    close = [0.001 * math.exp(log) for log in (0.02, 0.05, 0.08)]
    names = ["Flip", *(f"Null{number}" for number in range(19))]
    mine = {name: [0.001 if name == "Flip" else 0.002] * 3 for name in names}
    other = {name: close if name == "Flip" else [0.001] * 3 for name in names}
    analysis = analysed({"albumentationsx": mine, "pillow": other})
    expected = stats.t.sf((0.05 + math.log(1.05 / 1.001)) / (0.03 / math.sqrt(3)), 2)
    alone = no_slower(analysis)
    assert ("holds", pytest.approx(expected)) == (alone.verdict, alone.p_value)
    claims = {n.lower(): {**CLAIM, "kind": "no-slower", "transforms": [n]} for n in names}
    among = judge(claims, analysis)[0]
    assert ("refused", pytest.approx(20 * expected)) == (among.verdict, among.q_value)
    assert "could be chance among 20 such comparisons" in among.reason


def test_a_noisy_machine_makes_it_harder_to_show_that_nothing_is_slower():
    """Equals, where two measurements of one thing differ by 30 %: 1.3 / 1.05 would have to be found."""
    found = no_slower(flips(FAST, FAST, factor=1.3))
    assert "found 1.00 [1.00, 1.00]: wholly below 1.24" == found.reason


# --- not judged --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"machine": "c4-standard-16"}, "the records are of local-3f9a"),
        ({"mode": "decode"}, "not planned: albumentationsx in image-rgb decode on cpu"),
        ({"scenario": "image-9ch"}, "not planned: albumentationsx in image-9ch micro on cpu"),
        ({"device": "cuda"}, "not planned: albumentationsx in image-rgb micro on cuda"),
        ({"than": "kornia"}, "not planned: kornia in image-rgb micro on cpu"),
        ({"transforms": ["Flip", "Pad"]}, "not planned: 1 of 2 rows of albumentationsx"),
        (
            {**COUNT, "against": ["pillow", "torchvision"]},
            "not planned: torchvision in image-rgb micro on cpu",
        ),
    ],
)
def test_what_the_records_are_not_about_is_not_judged(changed, reason):
    """It is neither carried nor refused."""
    found = verdicts(flips(), **changed)
    assert {("not judged", reason)} == {(each.verdict, each.reason) for each in found}
    assert [] == refused(found)


def test_a_depth_with_a_stamp_claims_nothing():
    """However large the difference and many the repeats."""
    found = verdict(flips(depth="min", stamp="smoke signal, not a score"))
    assert "not judged" == found.verdict
    assert "depth min is a smoke signal, not a score: it claims nothing" == found.reason


# --- files -------------------------------------------------------------------------------------------


def judged():
    claims = {
        "carried": {**CLAIM, "text": "Flips are fast | very."},
        "too-much": {**CLAIM, "at_least": 9},
        "elsewhere": {**CLAIM, "machine": "macbook-m4"},
    }
    analysis = flips()
    return judge(claims, analysis), analysis


def test_claims_as_markdown():
    """One line each, with ratio, interval, repeats, floor and reason; the sentence below."""
    found, analysis = judged()
    text = render(found, analysis.plan, analysis.records.machine)
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    assert 2 + 3 == len(lines)
    (carried,) = [line for line in lines if line.startswith("| carried ")]
    assert "| Flip | holds | 2.03 | 1.90 | 2.16 | 3 | 1 | 5.0% | 0.1% |  |" in carried
    assert "1 hold, 1 refused, 1 not judged" in text
    assert "carried carries: Flips are fast \\| very." in text


def test_claims_as_csv():
    """Every figure raw; unknown is empty."""
    lines = list(csv.DictReader(io.StringIO(render_csv(judged()[0]))))
    assert COLUMNS == list(lines[0])
    assert ["holds", "refused", "not judged"] == [line["verdict"] for line in lines]
    assert repr(judged()[0][0].ratio) == lines[0]["ratio"]
    assert "" == lines[2]["ratio"]


def test_claims_as_printed():
    """Verdict, id, transform and what was found."""
    said = printed(judged()[0]).splitlines()
    assert "holds       carried Flip    found 2.03 [1.90, 2.16]" == said[0]
    assert said[1].startswith("refused     too-much Flip   found 2.03 [1.90, 2.16]: wholly below 9.00")
    assert "claims: 1 hold, 1 refused, 1 not judged" == said[-1]


def test_the_same_records_give_the_same_bytes(tmp_path):
    """Files are written whole; another suffix is refused."""
    plan = {**flips().plan, "claims": {"flip": CLAIM}}
    analysis = flips()
    object.__setattr__(analysis, "plan", plan)
    first, second = ([tmp_path / f"{n}.{end}" for end in ("md", "csv")] for n in ("a", "b"))
    write_claims(analysis, first)
    write_claims(analysis, second)
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    with pytest.raises(AugmarkError, match=r"a \.md or a \.csv"):
        write_claims(analysis, [tmp_path / "claims.tex"])


def test_no_claims_is_said():
    """An empty file of claims makes a page that says so, and no table without lines."""
    analysis = flips()
    assert "says nothing" in render([], analysis.plan, analysis.records.machine)
    assert "claims: none" == printed([])


def test_sessions_of_the_examples_are_one():
    """What the tests above take for granted."""
    assert {SESSION} == set(flips().rows["session"])
