"""The settings of the sweeps, in each library's real environment: batches, compiled code, float32 items."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.contract.examination import LIBRARIES, TRANSFORMS

HERE = Path(__file__).resolve().parent
BATCH = {"batched": 4}
FLOAT = {"dtype": "float32"}
# Two each, one of them random: every compilation takes seconds.
COMPILED = ["Solarize", "ChannelShuffle"]
# Of 255, with uint8 steps rounded one after the other (and hue in steps of two degrees): most, mean.
SEVERAL_ROUNDINGS = {
    "ColorJitter": (12, 2),
    "ColorJiggle": (12, 2),
    "PhotoMetricDistort": (12, 2),
    "Snow": (4, 1),  # through HLS, whose channels are uint8 as well
}
needs_compiler = pytest.mark.skipif(
    shutil.which("g++") is None, reason="torch.compile needs a C++ compiler, and there is no g++ here"
)


def offered(library: str) -> list[str]:
    return LIBRARIES[library]["scenarios"]["image-rgb"]["transforms"]


def run(python: Path, script: str, *words: str, given: str = "", **more: str) -> list[dict[str, Any]]:
    quiet = {"ALBUMENTATIONS_NO_TELEMETRY": "1", "ALBUMENTATIONS_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [str(python), "-I", str(HERE / script), *words],
        input=given,
        env={**os.environ, **quiet, **more},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


@functools.cache
def examine(python: Path, library: str, setting: str, names: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """Transform -> what it does under a setting (``check_regimes.py``, once per library and setting)."""
    given = json.dumps({name: TRANSFORMS[name] for name in names})
    lines = run(python, "check_regimes.py", LIBRARIES[library]["adapter"], setting, given=given)
    return {line.pop("transform"): line for line in lines}


@pytest.fixture
def report(library_python: Callable[[str], Path]) -> Callable[..., dict[str, Any]]:
    def of(library: str, setting: dict[str, Any], transform: str, names: list[str] | None = None) -> Any:
        python = library_python(LIBRARIES[library]["environment"])
        return examine(python, library, json.dumps(setting), tuple(names or offered(library)))[transform]

    return of


def each(*libraries: str) -> Any:
    rows = [(library, name) for library in libraries for name in offered(library)]
    return pytest.mark.parametrize(("library", "transform"), rows)


@each("kornia", "torchvision")
def test_a_batch_is_its_items(library: str, transform: str, report: Callable[..., Any]) -> None:
    """Four items in one call: of one shape, left alone, real, and where nothing is drawn as one by one."""
    found = report(library, BATCH, transform)
    assert found["samples"] == 4
    assert found["firsts_fit"]
    assert found["real"]
    assert found["input_unchanged"]
    assert found["same_after_seed"]
    if not TRANSFORMS[transform]["random"]:
        assert found["apart"]["most"] < 0.01  # of 255: another order of the same sums


@each("kornia", "torchvision")
def test_who_draws_in_a_batch(library: str, transform: str, report: Callable[..., Any]) -> None:
    """One photograph four times: Kornia's samples differ; torchvision's are alike, but for its noise."""
    found = report(library, BATCH, transform)
    per_sample = library == "kornia" or transform == "GaussianNoise"
    assert found["draws"] == ("per-sample" if per_sample else "per-batch")
    assert (found["distinct_in_batch"] > 1) is (TRANSFORMS[transform]["random"] and per_sample)
    assert (found["distinct_over_seeds"] > 1) is TRANSFORMS[transform]["random"]


@each("torchvision", "albumentationsx")
def test_float_is_the_same_work(library: str, transform: str, report: Callable[..., Any]) -> None:
    """Pinned, a float32 item comes out as the uint8 one, in [0, 1]: levels were scaled."""
    found = report(library, FLOAT, transform)
    if (library, transform) == ("torchvision", "JpegCompression"):
        assert "uint8 only" in found["unsupported"]
        return
    assert found["dtype"] == "float32"
    assert found["lowest"] >= -1e-5
    assert found["highest"] <= 1 + 1e-5
    assert found["real"]
    assert found["input_unchanged"]
    assert (found["distinct_over_seeds"] > 1) is TRANSFORMS[transform]["random"]
    if "pinned" in TRANSFORMS[transform]:
        most, mean = SEVERAL_ROUNDINGS.get(transform, (1.01, 0.6))
        assert found["apart"]["most"] <= most
        assert found["apart"]["mean"] <= mean


@pytest.mark.parametrize(
    ("library", "transform", "changed"),
    [
        ("torchvision", "Pad", {"fill_level": 51}),
        ("torchvision", "Rotate", {"fill_level": 51}),
        ("torchvision", "Erasing", {"fill_level": 51}),
        ("albumentationsx", "Pad", {"fill_level": 51}),
        ("albumentationsx", "Rotate", {"fill_level": 51}),
        ("albumentationsx", "Erasing", {"fill_level": 51}),
        ("albumentationsx", "ChannelDropout", {"fill_level": 51}),
    ],
)
def test_a_fill_is_scaled(
    library: str, transform: str, changed: dict[str, Any], library_python: Callable[[str], Path]
) -> None:
    """A fill of 51 levels is 0.2 of a float item's range."""
    stanza = {**TRANSFORMS[transform], "params": {**TRANSFORMS[transform]["params"], **changed}}
    python = library_python(LIBRARIES[library]["environment"])
    words = (LIBRARIES[library]["adapter"], json.dumps(FLOAT))
    (found,) = run(python, "check_regimes.py", *words, given=json.dumps({transform: stanza}))
    # torchvision blends a fill over the border of the image, and rounds after each step.
    assert found["apart"]["most"] <= 2.01


@needs_compiler
@pytest.mark.parametrize("library", ["kornia", "torchvision"])
@pytest.mark.parametrize("transform", COMPILED)
def test_compiled_is_the_same_work(library: str, transform: str, report: Callable[..., Any]) -> None:
    """Pinned, compiled code does what the adapter does; not pinned, it still draws anew, by the seed."""
    found = report(library, {"compile": True}, transform, COMPILED)
    assert found["first_call_seconds"] > 0
    assert found["apart"]["most"] <= 1.01
    assert found["same_after_seed"]
    assert found["input_unchanged"]
    assert (found["distinct_over_seeds"] > 1) is TRANSFORMS[transform]["random"]
    if transform == "ChannelShuffle":
        assert found["flags"] == []
    elif library == "torchvision":  # v2.RandomSolarize branches on what it draws
        assert found["flags"] == ["graph-breaks"]


@needs_compiler
def test_eager_code_is_not_called_compiled(library_python: Callable[[str], Path]) -> None:
    """Nothing compiled, compiled anew for every draw, or anew while timed: each is a reason, no number."""
    (said,) = run(library_python("torchvision"), "check_compiled.py")
    assert said.pop("honest") is None
    assert "nothing is compiled" in said.pop("hidden")
    assert "up to its limit of 8" in said.pop("fixed_by_a_draw")
    assert "while it is timed" in said.pop("changes_late")
    assert said == {}


def test_no_compiler_is_a_reason(library_python: Callable[[str], Path], tmp_path: Path) -> None:
    """Without a C++ compiler the rows are unsupported, and the reason says what is missing."""
    given = json.dumps({"Solarize": TRANSFORMS["Solarize"]})
    words = ("torchvision", json.dumps({"compile": True}))
    python = library_python("torchvision")
    (found,) = run(python, "check_regimes.py", *words, given=given, PATH=str(tmp_path), CXX="")
    assert "needs a C++ compiler" in found["unsupported"]


@pytest.mark.parametrize(
    ("library", "setting", "reason"),
    [
        ("kornia", FLOAT, "float32 only"),
        ("albumentationsx", BATCH, "AlbumentationsX has no way of its own to do this (batched)"),
        ("albumentationsx", {"compile": True}, "AlbumentationsX has no way of its own to do this (compile)"),
        ("torchvision", {"dtype": "float16"}, "not on float16"),
    ],
)
def test_what_a_library_lacks_has_a_reason(
    library: str, setting: dict[str, Any], reason: str, library_python: Callable[[str], Path]
) -> None:
    """An axis that a library has not, or a value of it, is unsupported in words."""
    python = library_python(LIBRARIES[library]["environment"])
    code = (
        "import json, sys; sys.path.insert(0, sys.argv[1])\n"
        "from importlib import import_module\n"
        "from augmark.libraries.base import Unsupported\n"
        "try: import_module(f'augmark.libraries.{sys.argv[2]}_regimes').variant(json.loads(sys.argv[3]))\n"
        "except Unsupported as error: print(error)\n"
    )
    words = [str(HERE.parents[1] / "workflow"), LIBRARIES[library]["adapter"], json.dumps(setting)]
    quiet = {"ALBUMENTATIONS_NO_TELEMETRY": "1", "ALBUMENTATIONS_OFFLINE": "1"}
    done = subprocess.run(
        [str(python), "-I", "-c", code, *words],
        env={**os.environ, **quiet},
        capture_output=True,
        text=True,
        check=True,
    )
    assert reason in done.stdout
