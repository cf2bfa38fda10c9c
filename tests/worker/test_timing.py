"""The timer: what is called how often, what a value is, and how a row is judged warm."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from augmark.worker import timing


class Calls:
    """A transform that keeps what it was called with; its first call may be cold."""

    def __init__(self, first_seconds=0.0, seconds=0.0):
        self.seen, self._first, self._seconds = [], first_seconds, seconds

    def __call__(self, item):
        time.sleep(self._seconds if self.seen else self._first)
        self.seen.append(item)


@given(loops=st.integers(0, 5), items=st.lists(st.integers(), min_size=1, max_size=6))
def test_a_pass_takes_every_item_once_and_in_order(loops, items):
    """``loops`` passes are as many times the items, one after the other."""
    apply = Calls()
    assert 0 <= timing.time_passes(apply, items, loops)
    assert items * loops == apply.seen


def test_a_pass_lasts_as_long_as_its_calls():
    """All calls are inside the timer."""
    before = time.perf_counter()
    taken = timing.time_passes(Calls(0.01, 0.01), range(4), 3)
    assert 0.12 <= taken <= time.perf_counter() - before


@given(
    seconds_per_item=st.floats(0, 10),
    items=st.integers(1, 1000),
    min_value_seconds=st.floats(0.001, 10),
)
def test_loops_are_the_fewest_that_last_long_enough(seconds_per_item, items, min_value_seconds):
    """A value lasts its minimum, a pass less would not; there is always one."""
    loops = timing.loops_for(seconds_per_item, items, min_value_seconds)
    a_pass = max(seconds_per_item * items, 1e-9)
    assert loops >= 1
    assert loops * a_pass >= min_value_seconds * (1 - 1e-9)
    assert loops == 1 or (loops - 1) * a_pass < min_value_seconds * (1 + 1e-9)


def test_a_time_of_nothing_is_no_division_by_nothing():
    """A clock that saw nothing pass still gives a number of loops."""
    assert 50_000_000 == timing.loops_for(0.0, 48, 0.05)


def test_warm_up_makes_two_calls_at_least_and_goes_round():
    """However slow the first, there is a second; items are taken in turn."""
    apply = Calls(first_seconds=0.05)
    calls, seconds = timing.warm_up(apply, ["a"], 0.0)
    assert (2, ["a", "a"]) == (calls, apply.seen)
    assert seconds >= 0.05
    apply = Calls(0.01, 0.01)
    calls, seconds = timing.warm_up(apply, ["a", "b", "c"], 0.045)
    assert calls == len(apply.seen)
    assert ["a", "b", "c", "a"] == apply.seen[:4]
    assert 0.045 <= seconds


def test_a_row_is_judged_warm():
    """A cold first call is in no figure that a row is judged by."""
    apply = Calls(first_seconds=1.0, seconds=0.002)
    warm = timing.warm_seconds_per_item(apply, ["a", "b"], warmup_seconds=0.0, judged_on=4)
    assert 0.002 <= warm < 0.25
    assert ["a", "b", "a", "b"] == apply.seen[-4:]


@pytest.mark.parametrize("loops", [1, 3])
def test_a_value_is_raw_seconds_per_item(loops):
    """Each value is one timing over loops and items; what runs between values is in none."""
    between = []

    def after():
        between.append(len(apply.seen))
        time.sleep(0.2)

    apply = Calls(0.002, 0.002)
    values = timing.values_of(apply, ["a", "b"], loops=loops, values=3, after=after)
    assert 3 == len(values)
    assert [2 * loops, 4 * loops, 6 * loops] == between
    assert all(0.002 <= value < 0.1 for value in values)
