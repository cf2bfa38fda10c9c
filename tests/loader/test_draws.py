"""What workers draw on, and what is made of their answers; the hashes are letters."""

import numpy as np
import pytest

from augmark.worker.loader_draws import Picture, alike, contrast, part, pictures, repeated


def picture(places=0, colours=0, side=226, channels=3):
    """Stripes of `places` levels either way in every channel, the last channel of three `colours` lower."""
    stripes = 128 + places * np.where(np.arange(side) % 2, 1, -1)
    item = np.repeat(stripes[None, :, None], side, axis=0).repeat(channels, axis=2)
    item[..., 2::3] -= colours
    return item.astype(np.uint8)


@pytest.mark.parametrize("channels", [3, 9])
def test_contrast_is_that_of_places_and_that_of_colours(channels):
    """Stripes of plus and minus 20 levels deviate by 20; one channel 30 lower is a difference of 30."""
    assert (20.0, 30.0) == pytest.approx(contrast(picture(20, 30, channels=channels)))
    assert (0.0, 0.0) == contrast(picture(channels=channels))


def test_three_views_of_a_grey_picture_are_no_colours():
    """They differ from one another, but not within one."""
    grey = picture(20)
    assert 0.0 == contrast(np.concatenate([grey, grey[:, ::-1], grey + 9], axis=2))[1]


def test_the_most_telling_items_come_first():
    """Flat ones and grey ones tell little of augmentations; of a crop, grey ones tell as much as any."""
    items = [picture(), picture(60), picture(10, 90), picture(30, 25), picture(0, 120)]
    assert [Picture(3, True), Picture(2, True), Picture(1, False)] == pictures(items, whole=False)
    assert [Picture(1, True), Picture(3, True), Picture(2, True)] == pictures(items, whole=True)


def test_only_a_larger_item_leaves_the_crop_a_choice():
    """Of 224 x 224 there is one crop."""
    items = [picture(60, side=224), picture(20, side=225)]
    assert [Picture(1, True)] == pictures(items, whole=True, larger=True)


def test_the_part_without_a_choice_of_crop_is_the_centre():
    """226 x 226: one pixel off each side."""
    item = picture(20, 30)
    assert np.array_equal(item[1:225, 1:225], part(item, whole=False))
    assert part(item, whole=True) is item


TELLING, FLAT = Picture(0, True), Picture(1, False)
APART, SAME, ONE = [["a", "b"], ["c", "d"]], [["a", "b"], ["a", "b"]], [["a", "a"], ["a", "a"]]


@pytest.mark.parametrize(
    ("chosen", "answers", "words"),
    [
        ([], [], None),
        ([TELLING], [APART], None),
        ([TELLING], [SAME, APART], None),  # chance
        ([TELLING, TELLING], [SAME, SAME, APART], None),  # all have to agree
        ([TELLING, TELLING], [SAME, SAME, SAME], "workers 0 and 1 drew the same: the augmentations do"),
        ([FLAT], [SAME, SAME], "workers 0 and 1 drew the same"),
        ([FLAT, FLAT], [ONE, ONE, ONE], None),  # nothing to be seen
        ([FLAT, TELLING], [ONE, ONE, APART], None),
        ([FLAT, TELLING], [ONE, ONE, ONE], "not random: the augmentations gave one output in 48 draws"),
    ],
)
def test_workers_are_blamed_where_all_pictures_agree(chosen, answers, words):
    """Each answer once, in the order of the questions."""
    left = list(answers)
    found = repeated(lambda index, number: left.pop(0), chosen, 8, crop=False)
    assert [] == left
    assert (words is None) == (found is None)
    assert found is None or found.startswith(words)


def test_crops_that_repeat_show_where_the_augmentations_fall_together():
    """Two of eight outputs are the same at the same time; black ones say nothing."""
    first = list("abcdefgh")
    assert (0, 1) == alike([first, list("axcyzuvw")], crop=True)
    assert alike([first, list("axcyzuvw")], crop=False) is None
    assert alike([first, list("axyzuvwt")], crop=True) is None  # one is chance
    assert alike([list("aaaabcde"), list("aaaazuvw")], crop=True) is None
