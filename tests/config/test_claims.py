"""What claims mean before there is any record: their words, and what a count is over."""

import pytest

from augmark.config.claims import in_words, resolved
from augmark.config.load import load
from tests.config.examples_claims import COUNT, ID, claim
from tests.config.tree import ROOT


@pytest.mark.parametrize("changed", [{}, {"kind": "no-slower", "at_least": None}, COUNT])
def test_what_the_examples_change_is_a_claim_of_each_kind(tree, changed):
    """What the examples start from has no problem of its own."""
    claim(tree, **changed)
    assert tree.problems() == []


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, "albumentationsx is at least 1.2 times as fast as pillow on Blur"),
        (
            {"kind": "no-slower", "at_least": None, "transforms": ["Blur", "Rotate"]},
            "albumentationsx is no slower than pillow on each of Blur, Rotate",
        ),
        (COUNT, "albumentationsx is the fastest in at least 20 of 40 rows compared"),
    ],
)
def test_a_claim_in_words(tree, changed, words):
    """Every number and name of the claim is said, the place in brackets."""
    claim(tree, **changed)
    (stanza,) = load(tree.root).claims.values()
    assert f"{words} (image-rgb, micro, cpu, local)" == in_words(stanza)


def test_a_count_is_over_the_whole_set_whatever_is_selected(tree):
    """A narrower selection does not make the denominator smaller: all 58 rows, all three other libraries."""
    claim(tree, **COUNT)
    tree.overrides = {"transforms": "Blur", "libraries": "albumentationsx,pillow"}
    count = resolved(load(tree.root, tree.overrides))[ID]
    assert 58 == len(count["transforms"])
    assert ["torchvision", "kornia", "pillow"] == count["against"]


def test_shipped_claims_are_of_every_kind_and_favour_different_libraries():
    """Somebody who ships only claims in their own favour has chosen them."""
    claims = load(ROOT).claims
    assert {"faster", "no-slower", "count"} == {stanza["kind"] for stanza in claims.values()}
    assert 3 <= len({stanza["library"] for stanza in claims.values()})
