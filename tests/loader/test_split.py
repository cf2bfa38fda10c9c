"""The pure parts: order, sizes, and what bounds a row; figures worked out by hand."""

import pytest

from augmark.worker.loader_split import (
    batches,
    bound_by,
    lanes,
    order,
    same_draws,
    sizes,
    split_of,
    worker_seed,
)


def test_an_order_is_a_permutation_of_its_epoch_and_seed():
    """Every item once; the same again for the same seed and epoch; another otherwise."""
    first = order(1, 1, 50)
    assert list(range(50)) == sorted(first)
    assert first == order(1, 1, 50)
    assert first != order(1, 2, 50)
    assert first != order(2, 1, 50)


def test_no_item_is_dropped():
    """The last batch is smaller."""
    assert [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]] == batches(range(10), 4)


def test_every_worker_has_a_seed_of_its_own():
    """Over rows and workers."""
    seeds = {worker_seed(row, worker) for row in range(20) for worker in range(20)}
    assert 400 == len(seeds)
    assert all(0 <= seed < 1 << 32 for seed in seeds)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((8, 256, 10_000, None), (10_000, 256)),
        ((8, 256, 256, None), (256, 16)),  # two of 16 for each of eight workers
        ((8, 256, 4096, None), (4096, 256)),  # two of 256 each, exactly
        ((2, 8, 48, None), (48, 8)),  # up to 48 / 4 = 12 would do
        ((8, 8, 3, None), (3, 1)),
        ((0, 256, 48, None), (48, 48)),
        ((8, 256, 10_000, 8), (64, 4)),  # 8 items each, in two batches of 4
        ((8, 2, 10_000, 8), (64, 2)),
        ((8, 256, 20, 8), (20, 1)),
        ((0, 256, 10_000, 8), (8, 8)),
        ((3, 256, 1, 1), (1, 1)),
    ],
)
def test_sizes(given, expected):
    """Batches small enough for every worker to get two; slow rows take few items."""
    assert expected == sizes(*given)


def test_lanes():
    """Never more than processors, never none."""
    assert [1, 4, 2] == [lanes(0, 8), lanes(4, 8), lanes(8, 2)]


def by_hand(decode, augment, collate, copy, epoch, lane_count):
    """What is left for delivery, and what the row is bound by."""
    split = split_of({"decode": decode, "augment": augment, "collate": collate}, copy, epoch, lane_count)
    return round(split["delivery_seconds_per_item"], 6), bound_by(split, epoch, lane_count)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        # 4 lanes, an item every 3: 12 of working time, of which 6 + 3 + 1 are accounted for.
        ((6, 3, 1, None, 3, 4), (2, "decode")),
        ((1, 8, 1, None, 3, 4), (2, "augment")),
        ((1, 1, 5, None, 2, 4), (1, "collate")),
        ((1, 1, 1, None, 3, 4), (9, "delivery")),
        # Parts measured alone may add up to more than they take together: nothing is left.
        ((6, 7, 1, None, 3, 4), (0, "augment")),
        # An item is copied in 3 and arrives every 3: four workers wait for it, 12 - 3 = 9 of their time.
        ((1, 1, 1, 3, 3, 4), (0, "copy")),
        # The same work, and a copy of 1: they wait 4 for it and 5 for other things.
        ((1, 1, 1, 1, 3, 4), (5, "delivery")),
        # Copied beside busy workers: a long copy that nobody waits for bounds nothing.
        ((8, 3, 1, 2.9, 3, 4), (0, "decode")),
        # Without workers everything comes one after the other.
        ((1, 1, 1, 5, 9, 1), (1, "copy")),
    ],
)
def test_what_bounds_a_row(given, expected):
    """The largest part of an epoch's working time; copying counts as far as the workers waited for it."""
    assert (pytest.approx(expected[0]), expected[1]) == by_hand(*given)


def test_same_draws():
    """The first pair that is the same as far as both were recorded."""
    assert same_draws([["a", "b"], ["a", "c"], ["d", "b"]]) is None
    assert (0, 2) == same_draws([["a", "b"], ["c", "b"], ["a", "b", "x"]])
    assert same_draws([["a"]]) is None
    assert same_draws([]) is None
