"""Intervals and p-values against formulas, tables and each other."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from augmark.analysis.compare import Comparison, compare, log_margin, verdict
from augmark.analysis.intervals import (
    bca_interval,
    difference_of,
    mean_interval,
    mean_of,
    repeat_interval,
    student_interval,
)
from tests.analysis.summaries import RULES

T_975_2 = 4.302652729911275  # tabulated: two degrees of freedom, 97.5 %
T_975_4 = 2.7764451051977987  # four degrees of freedom

seconds = st.floats(1e-6, 1e3)


def test_student_interval_is_the_formula():
    """Mean 3, standard deviation 1, n = 3: 3 +- t * 1 / sqrt(3)."""
    reach = T_975_2 / math.sqrt(3)
    assert student_interval([2.0, 3.0, 4.0], 0.95) == pytest.approx((3 - reach, 3 + reach))


def welch(first, second):
    return difference_of(first, second).interval(0.95)


def test_welch_interval_is_the_formula():
    """Equal variances and sizes: Welch is the pooled test with 2n - 2 = 4 degrees of freedom."""
    reach = T_975_4 * math.sqrt(1 / 3 + 1 / 3)
    assert welch([2.0, 3.0, 4.0], [12.0, 13.0, 14.0]) == pytest.approx((-10 - reach, -10 + reach))


def test_intervals_without_spread_are_points():
    """What does not vary has no width, however it is worked out."""
    assert welch([2.0, 2.0], [5.0, 5.0]) == (-3.0, -3.0)
    assert student_interval([2.0, 2.0, 2.0], 0.95) == (2.0, 2.0)
    assert bca_interval([2.0] * 20, 0.95) == (2.0, 2.0)


def test_interval_over_repeats_is_on_the_logarithm():
    """log2 seconds -1, 0, 1: centre 1 s, and a factor of 2 ** (t / sqrt(3)) either way."""
    factor = 2 ** (T_975_2 / math.sqrt(3))
    bounds, kind = repeat_interval([0.5, 1.0, 2.0], RULES)
    assert kind == "student"
    assert bounds == pytest.approx((1 / factor, factor))


@given(st.lists(seconds, min_size=3, max_size=8), st.floats(0.01, 100))
def test_interval_scales_with_the_unit(values, factor):
    """In another unit of time the interval is the same in that unit."""
    (low, high), _ = repeat_interval(values, RULES)
    scaled, _ = repeat_interval([value * factor for value in values], RULES)
    assert np.log(scaled) == pytest.approx(np.log([low * factor, high * factor]), abs=1e-6)


def test_bootstrap_begins_at_twenty():
    """Nineteen repeats: Student. Twenty: BCa, of the ratio too."""
    values = [1.0 + 0.01 * k for k in range(20)]
    assert [repeat_interval(values[:n], RULES)[1] for n in (3, 19, 20)] == ["student", "student", "bca"]
    first = {("s", k): value for k, value in enumerate(values)}
    second = dict.fromkeys(first, 1.0)
    found = compare(first, second, RULES)
    assert (found.low, found.high) == bca_interval([math.log(value) for value in values], 0.95)


def test_bootstrap_of_symmetric_values_is_students():
    """Twenty normal quantiles: nothing is skewed, so the widened BCa interval is Student's, within 4 %."""
    values = stats.norm.ppf((np.arange(20) + 0.5) / 20)
    low, high = bca_interval(values, 0.95)
    reach = stats.t.ppf(0.975, 19) * values.std(ddof=1) / math.sqrt(20)
    assert (-low, high) == pytest.approx((reach, reach), rel=0.04)


def test_bootstrap_follows_a_skew():
    """Of exponential quantiles the upper arm is the longer one; Student's are equal."""
    values = stats.expon.ppf((np.arange(20) + 0.5) / 20)
    low, high = bca_interval(values, 0.95)
    assert high - values.mean() > 1.2 * (values.mean() - low)


def test_bootstrap_is_the_same_each_time():
    """To the last bit, whatever was drawn in between: tables are rebuilt byte for byte."""
    values = [math.sin(k) for k in range(25)]
    once = bca_interval(values, 0.95)
    np.random.default_rng().random()
    assert once == bca_interval(values, 0.95)


def test_p_without_margin_is_the_t_test():
    """Margin 0: scipy's paired t test."""
    values = [0.1, 0.3, -0.05, 0.2]
    assert mean_of(values).p_beyond(0.0) == pytest.approx(stats.ttest_1samp(values, 0).pvalue)


def test_p_of_one_end_is_the_one_sided_t_test():
    """SciPy's, against an end that nobody chose; of values without spread it is certain."""
    values = [0.1, 0.3, -0.05, 0.2]
    expected = stats.ttest_1samp(values, -0.04, alternative="greater").pvalue
    assert mean_of(values).p_above(-0.04) == pytest.approx(expected)
    assert (mean_of([0.0] * 3).p_above(-0.04), mean_of([-0.1] * 3).p_above(-0.04)) == (0.0, 1.0)


def test_p_tests_the_nearer_end_of_the_margin():
    """Twice the one-sided t test against the margin; a value inside of it has p = 1."""
    values = [0.1, 0.3, 0.05, 0.2]
    one_sided = stats.ttest_1samp(values, 0.02, alternative="greater").pvalue
    assert mean_of(values).p_beyond(0.02) == pytest.approx(2 * one_sided)
    assert mean_of([-value for value in values]).p_beyond(0.02) == pytest.approx(2 * one_sided)
    assert mean_of([-0.1, 0.1, 0.02]).p_beyond(0.02) == 1.0
    assert (mean_of([0.125] * 3).p_beyond(0.02), mean_of([0.0] * 3).p_beyond(0.02)) == (0.0, 1.0)


@given(st.lists(seconds, min_size=3, max_size=8), st.lists(seconds, min_size=3, max_size=8))
def test_p_agrees_with_the_interval(first, second):
    """Below 5 % exactly where the 95 % interval lies wholly beyond the margin."""
    one = {("s", index): value for index, value in enumerate(first)}
    other = {("s", index): value for index, value in enumerate(second)}
    found = compare(one, other, RULES)
    margin = log_margin(RULES)
    gap = max(found.low - margin, -margin - found.high)
    if abs(gap) > 1e-9:
        assert (found.p_value < 0.05) == (gap > 0)


@given(st.lists(seconds, min_size=3, max_size=8), st.lists(seconds, min_size=3, max_size=8))
def test_comparison_is_antisymmetric(first, second):
    """a against b is b against a with the sign turned, paired or not."""
    one = {("s", index): value for index, value in enumerate(first)}
    for session in ("s", "t"):
        other = {(session, index): value for index, value in enumerate(second)}
        there, back = compare(one, other, RULES), compare(other, one, RULES)
        assert there.log_ratio == pytest.approx(-back.log_ratio, abs=1e-9)
        assert (there.low, there.high) == pytest.approx((-back.high, -back.low), abs=1e-9)
        assert there.p_value == (pytest.approx(back.p_value, abs=1e-9) if session == "s" else None)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.floats(0.5, 2.0), min_size=20, max_size=24))
def test_bootstrapped_comparison_is_antisymmetric(values):
    """From twenty repeats on as well, but for the luck of resampling few different values."""
    one = {("s", index): value for index, value in enumerate(values)}
    other = dict.fromkeys(one, 1.0)
    there, back = compare(one, other, RULES), compare(other, one, RULES)
    luck = 0.1 * (there.high - there.low) + 1e-9
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low), abs=luck)


def test_two_repeats_have_a_ratio_and_nothing_else():
    """No interval, no p, no verdict."""
    found = compare({("s", 0): 2.0, ("s", 1): 2.0}, {("s", 0): 1.0, ("s", 1): 1.0}, RULES)
    assert found == Comparison(True, 2, math.log(2), None, None, None)
    assert verdict(found, RULES, 0.0) == "undecided"


@pytest.mark.parametrize(
    ("low", "high", "floor", "said"),
    [
        (1.06, 1.30, 0.0, "slower"),
        (0.70, 0.90, 0.0, "faster"),
        (0.97, 1.04, 0.0, "same"),
        (1.01, 1.30, 0.0, "undecided"),
        (0.70, 1.30, 0.0, "undecided"),
        (1.06, 1.30, 0.10, "undecided"),  # the floor is the wider margin
        (1.06, 1.08, 0.10, "undecided"),  # and what the machine adds may hide 5 %
        (1.11, 1.30, 0.10, "slower"),
        (1.06, 1.30, None, "undecided"),  # nobody knows what the machine cannot tell apart
    ],
)
def test_verdicts(low, high, floor, said):
    """Margin 5 %, by hand."""
    comparison = Comparison(True, 3, 0.0, math.log(low), math.log(high), 0.5)
    assert verdict(comparison, RULES, floor) == said


def test_the_floor_is_the_margin_of_p_where_it_is_wider():
    """A p of 10 % less is that of a margin of 10 %."""
    first = {("s", k): value for k, value in enumerate([1.2, 1.25, 1.22])}
    second = dict.fromkeys(first, 1.0)
    wide = compare(first, second, replace(RULES, margin=0.10))
    assert compare(first, second, RULES, 0.10).p_value == wide.p_value
    assert compare(first, second, RULES, 0.01).p_value == compare(first, second, RULES).p_value < wide.p_value


def test_values_of_a_mean_interval_are_of_repeats():
    """Whatever rules say of the number."""
    assert mean_interval([0.0, 1.0, 2.0], replace(RULES, bca_from_repeats=3))[1] == "bca"
