"""What the libraries really do on the demo's photographs: how much is the same, and why the rest is not."""

import json
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from augmark.analysis.equivalence import NO_WORDS, compare_scenario
from augmark.analysis.samples import read_scenario
from augmark.data.demo import PHOTOS, photo_path
from tests.contract.examination import LIBRARIES, TRANSFORMS

ROOT = Path(__file__).resolve().parents[2]
KEEPER = Path(__file__).with_name("keep_samples.py")
NAMES = ("albumentationsx", "torchvision", "kornia", "pillow")
SCENARIO = "image-rgb"


def plan_rows() -> list[dict[str, Any]]:
    """The 58 transforms of RGB images, as rows of a plan."""
    return [
        {
            "transform": name,
            "condition": "plain",
            "planned": "run",
            "params": about["params"],
            "pinned": None if "unpinnable" in about else about.get("pinned", {}),
            "unpinnable": about.get("unpinnable"),
            "random": about["random"],
            "control": False,
            "chunked": None,
            "output": about["output"],
            "differences": about.get("differences", {}),
        }
        for name, about in TRANSFORMS.items()
        if SCENARIO in about["scenarios"] and not about.get("control") and "mode" not in about
    ]


def photographs() -> list[np.ndarray]:
    """The middle 500 x 375 pixels of each photograph of the demo."""
    items = []
    for photo in PHOTOS:
        with Image.open(photo_path(photo)) as image:
            whole = np.asarray(image.convert("RGB"))
        whole = whole.repeat(photo.enlarge, 0).repeat(photo.enlarge, 1)
        top, left = (whole.shape[0] - 375) // 2, (whole.shape[1] - 500) // 2
        items.append(np.ascontiguousarray(whole[top : top + 375, left : left + 500]))
    return items


@pytest.fixture(scope="module")
def lines(
    library_python: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> list[dict[str, Any]]:
    """Every pair of libraries on every transform, as in equivalence.csv."""
    folder, rows = tmp_path_factory.mktemp("samples"), plan_rows()
    np.savez(folder / "items.npz", *photographs())
    paths = {}
    for name in NAMES:
        (folder / name).mkdir()
        adapter = LIBRARIES[name]["adapter"]
        python = library_python(LIBRARIES[name]["environment"])
        command = [python, "-I", KEEPER, adapter, folder / "items.npz", folder / name]
        subprocess.run(command, input=json.dumps(rows), text=True, check=True, timeout=600)
        paths[name] = folder / f"{name}.zip"
        with zipfile.ZipFile(paths[name], "w") as bundle:
            for path in sorted((folder / name).iterdir()):
                bundle.write(path, path.name)
    plan = {
        "scenarios": {SCENARIO: {"transforms": [row["transform"] for row in rows]}},
        "definitions": {f"{SCENARIO}/micro/{name}/cpu": {"rows": rows} for name in NAMES},
    }
    return compare_scenario(plan, SCENARIO, read_scenario(paths))


def named(lines: list[dict[str, Any]], name: str) -> set[str]:
    """Transforms with a pair of libraries of this class."""
    return {
        line["transform"]
        for line in lines
        if line["class"] == name and line["library_b"] != "numpy-reference"
    }


def test_what_is_different_is_known_and_little(lines: list[dict[str, Any]]) -> None:
    """Eight of 58 names, each for what a library does; a ninth is news, and belongs into transforms.yaml."""
    assert named(lines, "different") == {
        "Pad",
        "RandomRotate90",
        "Perspective",
        "OpticalDistortion",
        "CLAHE",
        "CornerIllumination",
        "GaussianIllumination",
        "JpegCompression",
    }


def test_every_difference_has_its_words(lines: list[dict[str, Any]]) -> None:
    """No pair is different without a reason that somebody wrote."""
    assert [line for line in lines if line["reason"] and NO_WORDS in line["reason"]] == []


def test_what_cannot_be_pinned_is_known_and_little(lines: list[dict[str, Any]]) -> None:
    """Six names; each pair with its reason and the figures of its draws."""
    found = [line for line in lines if line["class"] == "unpinnable"]
    assert {line["transform"] for line in found} == {
        name for name, about in TRANSFORMS.items() if "unpinnable" in about
    }
    assert len({line["transform"] for line in found}) <= 6
    for line in found:
        assert line["reason"].startswith(TRANSFORMS[line["transform"]]["unpinnable"])


def test_the_reference_is_what_the_libraries_do(lines: list[dict[str, Any]]) -> None:
    """Every library does what the NumPy reference does, but for what Kornia is known to do otherwise."""
    differing = {
        (line["transform"], line["library_a"])
        for line in lines
        if line["library_b"] == "numpy-reference" and line["class"] == "different"
    }
    assert differing == {("Pad", "kornia"), ("RandomRotate90", "kornia")}
