"""What the shipped configuration promises, against counts worked out elsewhere."""

import pytest

from augmark.config.load import load
from augmark.config.select import combinations, planned_rows, scenario_transforms, wanted_transforms
from tests.config.tree import ROOT


@pytest.fixture(scope="module")
def settings():
    return load(ROOT)


def test_rgb_set_is_the_papers(settings):
    """The paper measures 58 transforms on RGB images."""
    assert len(scenario_transforms(settings, "image-rgb")) == 58


@pytest.mark.parametrize(
    ("library", "count"),
    [("albumentationsx", 58), ("torchvision", 34), ("kornia", 54), ("pillow", 33)],
)
def test_library_offers_what_it_does_natively(settings, library, count):
    """Counted by trying each operation of each library once, on RGB images."""
    assert len(settings.libraries[library]["scenarios"]["image-rgb"]["transforms"]) == count


def test_every_gap_has_its_reason(settings):
    """Each library either offers a transform of the set or says why it does not."""
    names = set(scenario_transforms(settings, "image-rgb"))
    for library, stanza in settings.libraries.items():
        if stanza["kind"] == "library":
            offered = set(stanza["scenarios"]["image-rgb"]["transforms"])
            assert sorted(names - offered) == sorted(stanza["unsupported"]), library


def test_min_spans_the_families(settings):
    """The shallow depth has at least one transform of each family."""
    families = {settings.transforms[name]["family"] for name in wanted_transforms(settings, "image-rgb")}
    every = {settings.transforms[name]["family"] for name in scenario_transforms(settings, "image-rgb")}
    assert families == every


def test_controls_run_whatever_is_selected():
    """Naming one library leaves the controls in."""
    narrowed = load(ROOT, {"libraries": "pillow"})
    assert [each[3] for each in combinations(narrowed)] == ["pillow", "control-copy", "control-slow"]


def test_named_transforms_replace_the_depths():
    """A transform that the depth leaves out is measured where it is named."""
    narrowed = load(ROOT, {"transforms": "Elastic,Rotate"})
    rows = planned_rows(narrowed, "pillow", "image-rgb", "micro", "cpu")
    assert [(name, planned) for name, planned, _ in rows] == [("Rotate", "run"), ("Elastic", "unsupported")]


def test_planned_row_says_why_it_is_not_run(tree):
    """An exclusion gives its reason and issue, a gap its reason."""
    with tree.edit("libraries") as libraries:
        shear = {"transforms": ["Shear"], "devices": ["cpu"], "reason": "it leans", "issue": "kornia#4415"}
        libraries["kornia"]["exclusions"] = [shear]
    rows = planned_rows(load(tree.root, {"depth": "max"}), "kornia", "image-rgb", "micro", "cpu")
    assert ("Shear", "excluded", "it leans (kornia#4415)") in rows
    assert ("Transpose", "unsupported", "no transform swaps the axes") in rows
    assert ("Rotate", "run", None) in rows


def test_demo_attributes_every_photograph(settings):
    """Nine photographs, each with licence and attribution."""
    photographs = settings.datasets["demo"]["photographs"]
    assert len(photographs) == 9
    assert all(each["licence"] and each["attribution"] for each in photographs)
