"""The decoder of every library that offers mode decode, in that library's real environment."""

from __future__ import annotations

import functools
import io
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from PIL import Image

from augmark.data import demo
from tests.contract.examination import LIBRARIES

ROOT = Path(__file__).resolve().parents[2]
POLICY = yaml.safe_load((ROOT / "config" / "policy.yaml").read_text(encoding="utf-8"))
DECODING = [
    library
    for library, stanza in LIBRARIES.items()
    if any("decode" in offer["modes"] for offer in stanza["scenarios"].values())
]
HEIGHT, WIDTH = 373, 499  # odd, so that halved colour planes end in half a pixel
RED, GREEN, BLUE = COLOUR = (200, 40, 90)
# What is asked of every decoder: a photograph saved in each of these ways.
KINDS = {
    "quarter-chroma": {"subsampling": "4:2:0"},
    "half-chroma": {"subsampling": "4:2:2"},
    "full-chroma": {"subsampling": "4:4:4"},
    "coarse": {"subsampling": "4:2:0", "quality": 40},
    "progressive": {"subsampling": "4:2:0", "progressive": True},
}
PHOTOS = ("astronaut.png", "rocket.jpg", "china.jpg")


def encode(image: Image.Image, **how: Any) -> bytes:
    stream = io.BytesIO()
    image.save(stream, "JPEG", **{"quality": 90, **how})
    return stream.getvalue()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Photographs saved in many ways, with their pixels by Pillow; and files that are not whole."""
    folder = tmp_path_factory.mktemp("jpeg")
    for photo in demo.PHOTOS:
        if photo.file not in PHOTOS:
            continue
        with Image.open(demo.photo_path(photo)) as opened:
            image = opened.convert("RGB").crop((10, 0, 10 + WIDTH, HEIGHT))
        kinds = {kind: encode(image, **how) for kind, how in KINDS.items()}
        kinds["grey"] = encode(image.convert("L"))
        for kind, data in kinds.items():
            (folder / f"{kind}-{photo.name}.jpg").write_bytes(data)
    one_colour = encode(Image.new("RGB", (WIDTH, HEIGHT), COLOUR), quality=100, subsampling="4:4:4")
    (folder / "one-colour.jpg").write_bytes(one_colour)
    for path in folder.glob("*.jpg"):
        with Image.open(path) as image:
            np.save(path.with_suffix(".npy"), np.asarray(image.convert("RGB")))
    whole = (folder / "quarter-chroma-astronaut.jpg").read_bytes()
    (folder / "broken-half.jpg").write_bytes(whole[: len(whole) // 2])
    (folder / "broken-end.jpg").write_bytes(whole[:-100])
    (folder / "broken-junk.jpg").write_bytes(b"no image at all" * 20)
    return folder


@functools.cache
def examine(python: str, adapter: str, folder: Path) -> dict[str, dict[str, Any]]:
    """Run ``check_decoder.py`` once per library: file -> what comes of it, ``""`` -> the decoder."""
    done = subprocess.run(
        [python, "-I", str(ROOT / "tests" / "contract" / "check_decoder.py"), adapter, str(folder)],
        env={**os.environ, "ALBUMENTATIONS_NO_TELEMETRY": "1", "ALBUMENTATIONS_OFFLINE": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {line.get("file", ""): line for line in lines}


@pytest.fixture(scope="session")
def python_of(library_python: Callable[[str], str | Path]) -> Callable[[str], str | Path]:
    """The interpreter of an environment, which is looked at once and not before each test."""
    return functools.cache(library_python)


@pytest.fixture
def reports(library: str, files: Path, python_of: Callable[[str], str | Path]) -> dict[str, dict[str, Any]]:
    """What one library's decoder makes of every file."""
    stanza = LIBRARIES[library]
    return examine(str(python_of(stanza["environment"])), stanza["adapter"], files)


every_decoder = pytest.mark.parametrize("library", DECODING)


def good(reports: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {name: report for name, report in reports.items() if name and not name.startswith("broken")}


@every_decoder
def test_decoder_says_what_it_is(library: str, reports: dict[str, dict[str, Any]]) -> None:
    """It decodes and nothing else, and names the decoder and the form that it gives."""
    about = reports[""]
    assert about["builders"] == ["Decode"]
    assert about["dtype"] == "uint8"
    assert about["title"]
    assert about["form"] in ("uint8 HWC", "uint8 CHW", "PIL.Image RGB")


@every_decoder
def test_decoder_imports_no_more_than_it_needs(library: str, reports: dict[str, dict[str, Any]]) -> None:
    """Pillow and OpenCV decode without torch: its half gigabyte is none of theirs."""
    assert reports[""]["torch"] is (library in ("torchvision", "kornia"))


@every_decoder
def test_decoded_is_rgb(library: str, reports: dict[str, dict[str, Any]]) -> None:
    """Every file comes out as H x W x 3 uint8, the same from memory, from disk and a second time."""
    found = good(reports)
    assert len(found) == len(PHOTOS) * (len(KINDS) + 1) + 1
    for name, report in found.items():
        assert report["raised"] is report["raised_from_disk"] is None, name
        assert (report["shape"], report["dtype"]) == ([HEIGHT, WIDTH, 3], "uint8"), name
        assert report["same_from_disk"], name
        assert report["same_again"], name


@every_decoder
def test_decoded_is_near_pillows(library: str, reports: dict[str, dict[str, Any]]) -> None:
    """Decoders may round otherwise, no more: the same tolerance as the output contract of the mode."""
    tolerance = POLICY["decode"]["tolerance_mean_levels"]
    assert {name: report["mean_levels"] for name, report in good(reports).items()} == {
        name: pytest.approx(0, abs=tolerance) for name in good(reports)
    }


@every_decoder
def test_colours_are_in_order(library: str, reports: dict[str, dict[str, Any]]) -> None:
    """One known colour at the best quality comes out as red, green, blue, within two levels."""
    assert reports["one-colour"]["corner"] == pytest.approx([RED, GREEN, BLUE], abs=2)


@every_decoder
def test_grey_becomes_three_equal_channels(library: str, reports: dict[str, dict[str, Any]]) -> None:
    """A file of one channel is decoded as RGB like every other one."""
    assert all(report["channels_equal"] is name.startswith("grey") for name, report in good(reports).items())


@every_decoder
@pytest.mark.parametrize("file", ["broken-half", "broken-end", "broken-junk"])
def test_broken_file_raises(library: str, file: str, reports: dict[str, dict[str, Any]]) -> None:
    """What a file lacks is never filled in, from memory or from disk."""
    assert reports[file]["raised"]
    assert reports[file]["raised_from_disk"]


@every_decoder
def test_encoded_bytes_are_left_alone(library: str, reports: dict[str, dict[str, Any]]) -> None:
    """The native form holds the bytes of the file, also after decoding."""
    assert all(report["encoded_unchanged"] for name, report in reports.items() if name)
