"""What the shipped configuration promises, against counts worked out elsewhere."""

import pytest

from augmark.config.load import load
from augmark.config.select import combinations, lacking, planned_rows, scenario_transforms, wanted_transforms
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


def test_nine_channel_set_is_the_papers(settings):
    """The paper measures 42 transforms on nine channels, all of them also on RGB images."""
    names = scenario_transforms(settings, "image-9ch")
    assert len(names) == 42
    assert set(names) < set(scenario_transforms(settings, "image-rgb"))


@pytest.mark.parametrize(("library", "count"), [("albumentationsx", 42), ("torchvision", 28), ("kornia", 42)])
def test_library_offers_what_it_does_to_nine_channels(settings, library, count):
    """Counted in the lists; Pillow has no image of nine channels."""
    assert len(settings.libraries[library]["scenarios"]["image-9ch"]["transforms"]) == count
    assert "image-9ch" not in settings.libraries["pillow"]["scenarios"]


def test_every_gap_has_its_reason(settings):
    """Each library either offers a transform of the set or says why it does not; and says no more."""
    for library, stanza in settings.libraries.items():
        if stanza["kind"] == "library":
            missing = set()
            for scenario, offer in stanza["scenarios"].items():
                gaps = set(scenario_transforms(settings, scenario)) - set(offer["transforms"])
                assert gaps <= lacking(settings, library, scenario).keys(), library
                missing |= gaps
            assert sorted(missing) == sorted(stanza["unsupported"]), library


def test_min_spans_the_families(settings):
    """The shallow depth has at least one transform of each family; of nine channels all but two."""

    def families(names):
        return {settings.transforms[name]["family"] for name in names}

    rgb, nine = (wanted_transforms(settings, scenario) for scenario in ("image-rgb", "image-9ch"))
    assert families(rgb) == families(scenario_transforms(settings, "image-rgb"))
    assert families(scenario_transforms(settings, "image-9ch")) - families(nine) == {"noise", "light"}


@pytest.mark.parametrize("depth", ["min", "max", "pro"])
def test_every_loader_row_is_also_timed_alone(depth):
    """What a pipeline makes of a transform is held against the transform alone: the depth has both."""
    settings = load(ROOT, {"depth": depth})
    for scenario in settings.scenarios:
        alone = wanted_transforms(settings, scenario)
        assert set(wanted_transforms(settings, scenario, "dataloader-memory")) <= set(alone)


def test_controls_run_whatever_is_selected():
    """Naming one library leaves the controls in."""
    narrowed = load(ROOT, {"libraries": "pillow", "scenarios": "image-rgb", "modes": "micro"})
    controls = ["control-copy", "control-slow", "control-aa"]
    places = [place for place in combinations(narrowed) if place[0] == "local"]
    assert [library for _, _, _, library, *_ in places] == ["pillow", *controls]


def test_controls_go_with_the_libraries():
    """Where no selected library has rows, controls have none, unless one of them is asked for by name."""
    pillow = {tuple(each[1:3]) for each in combinations(load(ROOT, {"libraries": "pillow"}))}
    modes = ("micro", "decode", "dataloader-memory", "dataloader-decode")
    assert pillow == {("image-rgb", mode) for mode in modes}
    control = {tuple(each[1:3]) for each in combinations(load(ROOT, {"libraries": "control-copy"}))}
    assert control == {("image-rgb", "micro"), ("image-9ch", "micro")}


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
