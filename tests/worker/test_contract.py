"""What an output may look like: sizes by rule, and the check of one output."""

import math

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from augmark.worker.contract import Invalid, check_output, expected_shape, most_telling, same
from tests.conftest import ROOT

SIDES = st.integers(32, 4000)
ITEM = np.arange(6 * 4 * 3, dtype=np.uint8).reshape(6, 4, 3)


@pytest.mark.parametrize(
    ("rule", "landscape", "portrait"),
    [
        ("same", [(375, 500)], [(500, 375)]),
        ("transposed", [(500, 375)], [(375, 500)]),
        ("quarter-turns", [(375, 500), (500, 375)], [(500, 375), (375, 500)]),
        ("pad-10", [(395, 520)], [(520, 395)]),
        ([224, 224], [(224, 224)], [(224, 224)]),
        ([512, 256], [(512, 256)], [(512, 256)]),
        ("longest-512", [(383, 512), (384, 512), (385, 512)], [(512, 383), (512, 384), (512, 385)]),
        ("shortest-480", [(480, 639), (480, 640), (480, 641)], [(639, 480), (640, 480), (641, 480)]),
        ("longest-100", [(74, 100), (75, 100), (76, 100)], [(100, 74), (100, 75), (100, 76)]),
    ],
)
def test_sizes_by_rule(rule, landscape, portrait):
    """Of an item of 375 x 500, and of one of 500 x 375."""
    assert landscape == expected_shape(rule, 375, 500)
    assert portrait == expected_shape(rule, 500, 375)


def test_every_rule_of_the_configuration_is_known():
    """No stanza of transforms.yaml has a rule that the check does not know."""
    stanzas = yaml.safe_load((ROOT / "config" / "transforms.yaml").read_text(encoding="utf-8"))
    for stanza in stanzas.values():
        assert expected_shape(stanza["output"]["shape"], 375, 500)


@pytest.mark.parametrize("rule", ["", "pad", "longest", "shortest", "bigger-7", "Same"])
def test_an_unknown_rule_is_an_error(rule):
    """A rule without its figure, or none at all, is never taken for another."""
    with pytest.raises(ValueError, match="unknown output shape"):
        expected_shape(rule, 375, 500)


@given(height=SIDES, width=SIDES, figure=st.integers(32, 2000), kind=st.sampled_from(["longest", "shortest"]))
def test_a_resized_side_is_exact_and_the_other_within_a_pixel(height, width, figure, kind):
    """However a library rounds (half up, half even, down, in floats), its size is an allowed one."""
    allowed = expected_shape(f"{kind}-{figure}", height, width)
    fixed = (max if kind == "longest" else min)(height, width)
    other = height + width - fixed
    exact = other * figure / fixed
    in_floats = int(figure / (fixed / other)), int(figure * (other / fixed)), int(other * (figure / fixed))
    for side in (math.floor(exact), math.ceil(exact), round(exact), math.floor(exact + 0.5), *in_floats):
        assert ((figure, side) if height == fixed else (side, figure)) in allowed
    for one, two in allowed:
        assert figure == (one if height == fixed else two)
        assert abs((two if height == fixed else one) - exact) <= 1 + 1e-6


@given(height=SIDES, width=SIDES, rule=st.sampled_from(["same", "quarter-turns", "transposed", "pad-7"]))
def test_a_turned_item_has_turned_sizes(height, width, rule):
    """Portrait and landscape are treated alike."""
    upright = {(w, h) for h, w in expected_shape(rule, height, width)}
    assert upright == set(expected_shape(rule, width, height))


@pytest.mark.parametrize(
    ("output", "contract", "words"),
    [
        (ITEM[..., 0], {"shape": "same"}, "output has 2 axes, 3 expected"),
        (ITEM[None], {"shape": "same"}, "output has 4 axes, 3 expected"),
        (ITEM[:5], {"shape": "same"}, "shape 5x4x3, expected 6x4x3"),
        (ITEM[..., :1], {"shape": "same"}, "shape 6x4x1, expected 6x4x3"),
        (ITEM, {"shape": "transposed"}, "shape 6x4x3, expected 4x6x3"),
        (ITEM[:5], {"shape": "quarter-turns"}, "shape 5x4x3, expected 6x4x3 or 4x6x3"),
        (ITEM.astype(np.float32), {"shape": "same"}, "dtype float32, expected uint8"),
        (ITEM.astype(np.float64), {"shape": "same", "dtype": "float32"}, "dtype float64, expected float32"),
        (ITEM, {"shape": "same", "dtype": "float32"}, "dtype uint8, expected float32"),
        (np.full(ITEM.shape, np.nan, np.float32), {"shape": "same", "dtype": "float32"}, "NaN or infinity"),
        (np.full(ITEM.shape, -np.inf, np.float32), {"shape": "same", "dtype": "float32"}, "NaN or infinity"),
    ],
)
def test_a_broken_contract_says_how(output, contract, words):
    """Axes, sizes, channels, dtype and values: each with what was seen and what was expected."""
    with pytest.raises(Invalid) as raised:
        check_output(output, ITEM, contract, "uint8")
    assert words in str(raised.value)


@pytest.mark.parametrize("native", ["uint8", "float32"])
def test_a_kept_contract_says_nothing(native):
    """The native dtype is the adapter's; ``native`` said and left out are the same."""
    output = ITEM.astype(native)
    check_output(output, ITEM, {"shape": "same"}, native)
    check_output(output, ITEM, {"shape": "same", "dtype": "native"}, native)
    turned = {"shape": "quarter-turns", "dtype": "uint8"}
    check_output(ITEM.transpose(1, 0, 2), ITEM, turned, native)


def test_same_is_to_the_bit():
    """One value or one axis more is another output."""
    other = ITEM.copy()
    assert same(ITEM, other)
    other[0, 0, 0] += 1
    assert not same(ITEM, other)
    assert not same(ITEM, ITEM[:5])
    assert not same(ITEM[:1], np.broadcast_to(ITEM[:1], ITEM.shape))


def test_the_most_telling_item_shows_places_and_colours():
    """A photograph before a grey one, and both before a flat red one, whatever their order."""
    ramp = np.tile(np.arange(64, dtype=np.uint8) * 4, (64, 1))
    photograph = np.stack([ramp, ramp.T, 255 - ramp], axis=-1)
    grey, red = np.stack([ramp] * 3, axis=-1), np.full((64, 64, 3), (250, 0, 0), np.uint8)
    assert [2, 0, 1] == most_telling([grey, red, photograph])
    assert [0, 2] == most_telling([photograph, red, grey], count=2)
