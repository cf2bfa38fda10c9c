"""Nine channels: all of them are worked on, as three would be, and what is called chunked has to be.

``test_adapters.py`` checks shape, range, seeds and randomness of these rows too.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.contract.examination import LIBRARIES, OFFERS, TRANSFORMS, examine

SCENARIO = "image-9ch"
ROWS = [
    (library, name)
    for library, scenario, name in OFFERS
    if scenario == SCENARIO and LIBRARIES[library]["kind"] == "library"
]
# One output channel depends on others, so three channels of nine are not what three alone would be.
MIXING = {"Grayscale", "Contrast", "ChannelShuffle", "ChannelDropout", "PlasmaContrast"}
# Every channel draws for itself, so that another order of the channels is another draw.
DRAWN_PER_CHANNEL = {
    ("albumentationsx", "GaussianNoise"),
    ("torchvision", "GaussianNoise"),
    ("kornia", "GaussianNoise"),
    ("kornia", "PlasmaBrightness"),
    ("kornia", "PlasmaContrast"),
}
# Levels of 255 by which the same operation may differ between three channels and nine. In AlbumentationsX,
# OpenCV warps up to four channels exactly, and more with places rounded to 1/32 of a pixel: up to 6 levels
# on noise, 4 on this item. All else: nothing but rounding.
LEVELS = {
    ("albumentationsx", name): 4
    for name in (
        "Rotate",
        "Affine",
        "Shear",
        "Perspective",
        "Elastic",
        "OpticalDistortion",
        "ThinPlateSpline",
    )
}
ROUNDING_LEVELS = 0.01


@pytest.fixture
def report(library: str, transform: str, library_python: Callable[[str], str | Path]) -> dict[str, Any]:
    """What one transform of one library does with nine channels; fails where it raised."""
    found = examine(str(library_python(LIBRARIES[library]["environment"])), library, SCENARIO)[transform]
    assert "error" not in found, found["error"]
    return found


def reason_for_chunks(library: str, transform: str) -> str | None:
    return LIBRARIES[library]["scenarios"][SCENARIO].get("chunked", {}).get(transform)


def unit(library: str) -> float:
    """One level in the values of a library's native form."""
    return 1 / 255 if library == "kornia" else 1.0


every_row = pytest.mark.parametrize(("library", "transform"), ROWS)
chunked_rows = pytest.mark.parametrize(
    ("library", "transform"), [row for row in ROWS if reason_for_chunks(*row)]
)
direct_rows = pytest.mark.parametrize(
    ("library", "transform"), [row for row in ROWS if not reason_for_chunks(*row)]
)


def test_counts_are_those_that_were_tried() -> None:
    """The paper's 42 names, and how many of them each library takes directly and in chunks."""
    paper = [name for name, about in TRANSFORMS.items() if SCENARIO in about["scenarios"]]
    assert len([name for name in paper if not TRANSFORMS[name].get("control")]) == 42
    counts = {}
    for library in ("albumentationsx", "torchvision", "kornia"):
        rows = [row for row in ROWS if row[0] == library]
        chunked = [row for row in rows if reason_for_chunks(*row)]
        counts[library] = (len(rows) - len(chunked), len(chunked))
    assert counts == {"albumentationsx": (40, 2), "torchvision": (22, 6), "kornia": (41, 1)}
    assert {library for library, _ in ROWS} == set(counts)


@every_row
def test_every_channel_is_changed(library: str, transform: str, report: dict[str, Any]) -> None:
    """No channel is left out; of ChannelDropout exactly the eighth changes."""
    changed = report["changed"]
    if transform == "ChannelDropout":
        assert [value > 0 for value in changed] == [channel == 7 for channel in range(9)]
    elif changed is not True:  # True: of another size
        assert min(changed) > 0


@every_row
def test_each_three_channels_are_as_an_image_of_three(
    library: str, transform: str, report: dict[str, Any]
) -> None:
    """The work on three channels of nine is the work on the three alone; in chunks, to the bit."""
    if reason_for_chunks(library, transform):
        assert report["beside_rgb"] == [0, 0, 0]
    elif transform not in MIXING and (library, transform) not in DRAWN_PER_CHANNEL:
        allowed = LEVELS.get((library, transform), ROUNDING_LEVELS) * unit(library)
        assert max(report["beside_rgb"]) <= allowed


@direct_rows
def test_what_is_direct_treats_all_channels_alike(
    library: str, transform: str, report: dict[str, Any]
) -> None:
    """Channels in another order come out in that order; so nothing is done to the first three alone."""
    assert report["raises"] is None
    if (library, transform) in DRAWN_PER_CHANNEL or transform in ("ChannelShuffle", "ChannelDropout"):
        return  # pinned by the number of a channel, or drawn for each
    allowed = LEVELS.get((library, transform), ROUNDING_LEVELS) * unit(library)
    assert report["unlike"] <= allowed


@chunked_rows
def test_what_is_chunked_has_to_be(library: str, transform: str, report: dict[str, Any]) -> None:
    """Given nine channels the operation raises, or does not treat them alike: the label is true."""
    assert report["raises"] is not None or report["unlike"] > 2 * unit(library)


@chunked_rows
def test_chunks_share_one_draw(library: str, transform: str, report: dict[str, Any]) -> None:
    """Three equal chunks come out equal, call after call."""
    assert report["one_draw"]


@pytest.mark.parametrize(
    ("library", "transform", "reading"),
    [
        ("albumentationsx", "Grayscale", "all"),
        ("kornia", "Grayscale", "all"),
        ("torchvision", "Grayscale", "three"),
        ("albumentationsx", "Contrast", "three"),
        ("torchvision", "Contrast", "three"),
        ("kornia", "Contrast", "all"),
        *(
            (library, name, "all")
            for name in ("ChannelShuffle", "ChannelDropout")
            for library in ("albumentationsx", "torchvision", "kornia")
            if (library, name) in ROWS
        ),
    ],
)
def test_what_mixes_channels_is_what_is_stated(
    library: str, transform: str, reading: str, report: dict[str, Any]
) -> None:
    """Against NumPy, to the rounding of a level: over all nine channels, or over each three."""
    assert report["beside_numpy"][reading] <= 1.1 * unit(
        library
    )  # torchvision has 0.2989 for red, and cuts off
    others = [error for key, error in report["beside_numpy"].items() if key != reading]
    assert all(error > 2 * unit(library) for error in others)


@pytest.mark.parametrize("library", ["albumentationsx", "torchvision", "kornia"])
@pytest.mark.parametrize("transform", ["GaussianNoise"])
def test_noise_is_of_each_channel(library: str, transform: str, report: dict[str, Any]) -> None:
    """No two channels share their noise: of 76,800 pixels, independent ones correlate by less than 0.03."""
    assert report["correlation"] < 0.03
