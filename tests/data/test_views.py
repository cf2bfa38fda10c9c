"""Views of an image, stacked: small arrays worked out by hand, and properties of any array."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from augmark.data.views import VIEWS, alike, check_views, stack
from augmark.errors import AugmarkError

# Two rows of two pixels; the channels of a pixel are 10 * its number, and one and two more.
SMALL = np.array([[[10, 11, 12], [20, 21, 22]], [[30, 31, 32], [40, 41, 42]]], np.uint8)


def test_a_small_image_by_hand():
    """Where each pixel of two by two goes in the mirror image and after a half turn."""
    stacked = stack(SMALL, ["as-decoded", "mirrored", "half-turn"])

    assert stacked.tolist() == [
        [[10, 11, 12, 20, 21, 22, 40, 41, 42], [20, 21, 22, 10, 11, 12, 30, 31, 32]],
        [[30, 31, 32, 40, 41, 42, 20, 21, 22], [40, 41, 42, 30, 31, 32, 10, 11, 12]],
    ]


def test_the_order_of_the_views_is_that_of_the_channels():
    """Half turn first, one view alone, and two."""
    assert stack(SMALL, ["half-turn"])[0, 0].tolist() == [40, 41, 42]
    assert stack(SMALL, ["mirrored", "as-decoded"])[1, 0].tolist() == [40, 41, 42, 30, 31, 32]


images = arrays.arrays(
    np.uint8, st.tuples(st.integers(1, 9), st.integers(1, 9), st.just(3)), elements=st.integers(0, 255)
)


@given(image=images, names=st.permutations(list(VIEWS)))
def test_the_output_owns_contiguous_memory_and_each_view_undoes_itself(image, names):
    """Also of a view into other memory; every view is its own inverse, so the image comes back."""
    whole = np.repeat(image, 2, axis=1)
    stacked = stack(whole[:, ::2], names)

    assert stacked.flags.c_contiguous
    assert stacked.flags.owndata
    assert (stacked.shape, stacked.dtype) == ((*image.shape[:2], 9), np.uint8)
    for number, name in enumerate(names):
        part = stacked[..., 3 * number : 3 * number + 3]
        assert np.array_equal(VIEWS[name](part), image)
        assert sorted(map(tuple, part.reshape(-1, 3))) == sorted(map(tuple, image.reshape(-1, 3)))
    before = image.copy()
    stacked[:] = 7
    assert np.array_equal(image, before)


def test_other_dtypes_are_kept():
    """Views are permutations, whatever the numbers are."""
    assert stack(SMALL.astype(np.float32) / 3, ["mirrored"]).dtype == np.float32


@pytest.mark.parametrize(
    ("views", "message"),
    [
        ([], "no view is named"),
        (["mirrored", "mirrored"], "are not different views"),
        (["as-decoded", "rotated"], "no such view: rotated"),
    ],
)
def test_unfit_views_are_refused(views, message):
    """With the names that there are."""
    for call in (check_views, lambda names: stack(SMALL, names)):
        with pytest.raises(AugmarkError, match=message) as refused:
            call(views)
        assert "as-decoded, mirrored, half-turn" in str(refused.value)


@pytest.mark.parametrize("shape", [(4, 4), (4, 4, 1), (4, 4, 9), (1, 4, 4, 3)])
def test_what_is_no_rgb_image_is_refused(shape):
    """The shape is told."""
    with pytest.raises(ValueError, match=r"\(H, W, 3\) is needed, not \(4|\(1"):
        stack(np.zeros(shape, np.uint8), ["mirrored"])


def test_symmetry_is_seen():
    """Left to right, by a half turn, and neither; one view alone is like no other."""
    views = list(VIEWS)
    mirrored = np.concatenate([SMALL, SMALL[:, ::-1]], axis=1)
    turned = np.concatenate([SMALL, SMALL[::-1, ::-1]], axis=0)

    assert [alike(stack(image, views)) for image in (SMALL, mirrored, turned)] == [False, True, True]
    # Top equals bottom: the mirror image and the half turn are then the same.
    assert alike(stack(np.concatenate([SMALL, SMALL[::-1]], axis=0), views))
    assert not alike(SMALL)


def test_nothing_but_numpy_is_loaded():
    """The measured process imports it: recipes stack what they have decoded."""
    code = "import sys; import augmark.data.views; print({'PIL', 'cv2', 'torch', 'tqdm'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )

    assert done.stdout == "set()\n"
