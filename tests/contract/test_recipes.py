"""The recipe of every library for every transform that it offers, in that library's real environment.

What comes out is compared with mode micro's output, cropped and normalised by NumPy: a recipe has to do the
very same operation, and nothing else.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from PIL import Image

from augmark.data import demo
from augmark.definition import stanza_in
from tests.contract.examination import LIBRARIES, SCENARIOS, TRANSFORMS

ROOT = Path(__file__).resolve().parents[2]
LOADER = yaml.safe_load((ROOT / "config" / "policy.yaml").read_text(encoding="utf-8"))["loader"]
MODE = "dataloader-memory"
# Of a crop of 224 x 224: what each shape rule of transforms.yaml comes to, worked out by hand.
SIZES = {
    "same": (224, 224),
    "transposed": (224, 224),
    "quarter-turns": (224, 224),
    "pad-10": (244, 244),
    "longest-512": (512, 512),
    "shortest-480": (480, 480),
}
# Drawn by every library that offers them: the crop alone, and a transform behind the crop.
IN_WORKERS = ("RandomCrop224", "Rotate")


def excluded(library: str, scenario: str, transform: str) -> bool:
    return any(
        transform in stanza["transforms"]
        and scenario in stanza.get("scenarios", [scenario])
        and MODE in stanza.get("modes", [MODE])
        and "cpu" in stanza.get("devices", ["cpu"])
        for stanza in LIBRARIES[library]["exclusions"]
    )


OFFERS = [
    (library, scenario, name)
    for library, stanza in LIBRARIES.items()
    for scenario, offer in stanza["scenarios"].items()
    if MODE in offer["modes"]
    for name in offer["transforms"]
    if not TRANSFORMS[name].get("control") and not excluded(library, scenario, name)
]
RECIPES = sorted({offer[:2] for offer in OFFERS})


def stanza_of(library: str, scenario: str, transform: str) -> dict[str, Any]:
    """What a recipe and mode micro are built with: parameters as in a plan, and how they are pinned."""
    about = stanza_in(TRANSFORMS[transform], scenario)
    stanza = {
        "params": {**about["params"], **about.get("in_recipe", {})},
        "crops": about.get("crops", False),
        "chunked": LIBRARIES[library]["scenarios"][scenario].get("chunked", {}).get(transform),
    }
    # What is pinned belongs to the parameters of mode micro: an order of 25 tiles is none of 16.
    if "unpinnable" not in about and "in_recipe" not in about:
        stanza["pinned"] = about["pinned"]
    return stanza


@functools.cache
def examine(python: str, library: str, scenario: str, path: str) -> dict[str, dict[str, Any]]:
    """Run ``check_recipe.py`` once per library and scenario: transform -> what comes of it."""
    chunks = SCENARIOS[scenario]["channels"] // 3
    asked = {
        "mean": LOADER["mean"] * chunks,
        "std": LOADER["std"] * chunks,
        "views": SCENARIOS[scenario].get("views"),
        "crop": TRANSFORMS["RandomCrop224"]["params"],
        "workers": IN_WORKERS,
        "rows": {offer[2]: stanza_of(*offer) for offer in OFFERS if offer[:2] == (library, scenario)},
    }
    quiet = {"ALBUMENTATIONS_NO_TELEMETRY": "1", "ALBUMENTATIONS_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    script = str(ROOT / "tests" / "contract" / "check_recipe.py")
    done = subprocess.run(
        [python, "-I", script, LIBRARIES[library]["adapter"], path],
        input=json.dumps(asked),
        env={**os.environ, **quiet},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {line.get("transform", ""): line for line in lines}


@pytest.fixture(scope="session")
def photo(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A JPEG file, larger than the crop and not square."""
    path = tmp_path_factory.mktemp("photo") / "photo.jpg"
    with Image.open(demo.photo_path(demo.PHOTOS[0])) as image:
        image.convert("RGB").crop((0, 0, 320, 240)).save(path)
    return str(path)


@pytest.fixture(scope="session")
def python_of(library_python: Callable[[str], str | Path]) -> Callable[[str], str | Path]:
    """The interpreter of an environment, which is looked at once and not before each of all these tests."""
    return functools.cache(library_python)


@pytest.fixture
def reports(
    library: str, scenario: str, photo: str, python_of: Callable[[str], str | Path]
) -> dict[str, dict[str, Any]]:
    """All that was seen of one library in one scenario."""
    return examine(str(python_of(LIBRARIES[library]["environment"])), library, scenario, photo)


@pytest.fixture
def report(transform: str, reports: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """What one pipeline gives; fails where it raised."""
    found = reports[transform]
    assert "error" not in found, found["error"]
    return found


offered = pytest.mark.parametrize(("library", "scenario", "transform"), OFFERS)
every_recipe = pytest.mark.parametrize(("library", "scenario"), RECIPES)


@every_recipe
def test_recipe_says_what_it_gives(library: str, scenario: str, reports: dict[str, dict[str, Any]]) -> None:
    """The same form for all, so that what a loader delivers can be compared."""
    assert reports[""]["form"] == "float32 CHW, normalised"
    assert reports[""]["dtype"] == "float32"


@every_recipe
@pytest.mark.parametrize("name", IN_WORKERS)
def test_file_is_as_its_pixels(
    library: str, scenario: str, name: str, reports: dict[str, dict[str, Any]]
) -> None:
    """A file comes out as the item that was decoded from it, to the bit, of nine channels too."""
    assert reports[""][name]["same_as_decoded"]
    assert reports[""][name]["shape"] == [SCENARIOS[scenario]["channels"], 224, 224]


@every_recipe
@pytest.mark.parametrize("name", IN_WORKERS)
def test_forked_workers_draw_by_their_seeds(
    library: str, scenario: str, name: str, reports: dict[str, dict[str, Any]]
) -> None:
    """Two workers of other seeds draw otherwise, and the same in the next loader of the same seeds."""
    workers = reports[""][name]
    assert workers["repeats"]
    assert workers["distinct_of_four"] == 4
    assert workers["distinct_of_eight"] == 8


@offered
def test_tensor_is_what_is_promised(
    library: str, scenario: str, transform: str, report: dict[str, Any]
) -> None:
    """Channels, sides and dtype are right; the tensor is contiguous, owns its memory and can be collated."""
    rule = TRANSFORMS[transform]["output"]["shape"]
    height, width = rule if isinstance(rule, list) else SIZES[rule]
    shape = [SCENARIOS[scenario]["channels"], height, width]
    assert report["shapes"] == [shape]
    assert report["collated"] == [2, *shape]
    assert report["dtype"] == "torch.float32"
    assert report["contiguous"]
    assert report["owned"]


@offered
def test_levels_are_normalised(library: str, scenario: str, transform: str, report: dict[str, Any]) -> None:
    """Every channel lies between what its mean and deviation make of no light and full light."""
    assert report["finite"]
    chunks = SCENARIOS[scenario]["channels"] // 3
    for channel, (mean, std) in enumerate(zip(LOADER["mean"] * chunks, LOADER["std"] * chunks, strict=True)):
        assert report["lowest"][channel] >= (0 - mean) / std - 1e-4
        assert report["highest"][channel] <= (1 - mean) / std + 1e-4


@offered
def test_item_is_left_alone(library: str, scenario: str, transform: str, report: dict[str, Any]) -> None:
    """No pipeline writes into the items, which are mapped for reading."""
    assert report["input_unchanged"]


@offered
def test_seed_decides(library: str, scenario: str, transform: str, report: dict[str, Any]) -> None:
    """The same seed gives the same crop and the same draws, before and after building."""
    assert report["repeats_after_seed"]
    assert report["repeats_when_rebuilt"]


@offered
def test_crop_or_transform_is_random(
    library: str, scenario: str, transform: str, report: dict[str, Any]
) -> None:
    """Every pipeline varies over seeds and calls, but for a fixed crop in the place of the drawn one."""
    fixed = TRANSFORMS[transform].get("crops") and not TRANSFORMS[transform]["random"]
    assert (report["distinct_over_seeds"] == 1) is bool(fixed)
    assert (report["distinct_in_a_row"] == 1) is bool(fixed)


PINNED = [offer for offer in OFFERS if "pinned" in stanza_of(*offer)]


@pytest.mark.parametrize(("library", "scenario", "transform"), PINNED)
def test_work_is_that_of_mode_micro(
    library: str, scenario: str, transform: str, report: dict[str, Any]
) -> None:
    """Randomness pinned, a recipe gives micro's output of the cropped item, normalised, to float rounding."""
    assert report["beside_micro"] == pytest.approx(0, abs=1e-5)
