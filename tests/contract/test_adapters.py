"""Every transform that ``libraries.yaml`` offers, run by its adapter in that library's real environment."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.contract.examination import LIBRARIES, OFFERS, SCENARIOS, TRANSFORMS, examine

# Of an item of 240 x 320: what each shape rule of transforms.yaml comes to, worked out by hand.
SIZES = {
    "same": [(240, 320)],
    "transposed": [(320, 240)],
    "quarter-turns": [(240, 320), (320, 240)],
    "pad-10": [(260, 340)],
    "longest-512": [(384, 512)],
    "shortest-480": [(480, 640)],
}


@pytest.fixture
def report(
    library: str, scenario: str, transform: str, library_python: Callable[[str], str | Path]
) -> dict[str, Any]:
    """What one transform of one library does with an item of one scenario; fails where it raised."""
    found = examine(str(library_python(LIBRARIES[library]["environment"])), library, scenario)[transform]
    assert "error" not in found, found["error"]
    return found


offered = pytest.mark.parametrize(("library", "scenario", "transform"), OFFERS)


@pytest.mark.parametrize("library", LIBRARIES)
def test_adapter_builds_what_is_offered(library: str, library_python: Callable[[str], str | Path]) -> None:
    """An adapter builds exactly the names that its libraries offer: nothing hidden, nothing missing."""
    adapter = LIBRARIES[library]["adapter"]
    sharing = [stanza for stanza in LIBRARIES.values() if stanza["adapter"] == adapter]
    names = {
        name
        for stanza in sharing
        for scenario in stanza["scenarios"].values()
        for name in scenario["transforms"]
    }
    described = examine(str(library_python(LIBRARIES[library]["environment"])), library, "image-rgb")[""]
    assert sorted(names) == described["builders"]
    assert LIBRARIES[library]["form"] == described["form"]


@offered
def test_output_is_what_is_promised(
    library: str, scenario: str, transform: str, report: dict[str, Any]
) -> None:
    """Height, width, channels and dtype are those of the output contract, and the output is real."""
    rule = TRANSFORMS[transform]["output"]
    sizes = [tuple(rule["shape"])] if isinstance(rule["shape"], list) else SIZES[rule["shape"]]
    assert tuple(report["shape"]) in [
        (height, width, SCENARIOS[scenario]["channels"]) for height, width in sizes
    ]
    assert report["dtype"] == ("float32" if library == "kornia" or rule["dtype"] == "float32" else "uint8")
    assert report["real"]


@offered
def test_values_are_in_range(library: str, scenario: str, transform: str, report: dict[str, Any]) -> None:
    """All values are finite and inside the range of the native form."""
    highest = 1.0 if report["dtype"] == "float32" else 255
    assert report["finite"]
    # Floats may be beside the bound by their rounding.
    assert report["lowest"] >= -1e-5
    assert report["highest"] <= highest + 1e-5


@offered
def test_input_is_left_alone(library: str, scenario: str, transform: str, report: dict[str, Any]) -> None:
    """No call changes its input."""
    assert report["input_unchanged"]


@offered
def test_image_is_changed(library: str, scenario: str, transform: str, report: dict[str, Any]) -> None:
    """The transform does something (a control copies, and so does nothing)."""
    assert report["changes_image"] is not TRANSFORMS[transform].get("control", False)


@offered
def test_seed_decides(library: str, scenario: str, transform: str, report: dict[str, Any]) -> None:
    """The same seed gives the same output, before and after building."""
    assert report["repeats_after_seed"]
    assert report["repeats_when_rebuilt"]


@offered
def test_random_is_random(library: str, scenario: str, transform: str, report: dict[str, Any]) -> None:
    """A random transform varies over six seeds and over six calls in a row; another never does."""
    if TRANSFORMS[transform]["random"]:
        assert report["distinct_over_seeds"] > 1
        assert report["distinct_in_a_row"] > 1
    else:
        assert report["distinct_over_seeds"] == 1
        assert report["distinct_in_a_row"] == 1


PINNABLE = [offer for offer in OFFERS if "unpinnable" not in TRANSFORMS[offer[2]]]


@pytest.mark.parametrize(("library", "scenario", "transform"), PINNABLE)
def test_pinned_is_pinned(library: str, scenario: str, transform: str, report: dict[str, Any]) -> None:
    """A pinned transform gives one output, whatever the seed and however often it is called."""
    assert report["distinct_pinned"] == 1
