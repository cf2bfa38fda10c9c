"""What a plan is expected to write and to need, worked out by hand for one transform of one library."""

import dataclasses
import json
import re

import pytest

from augmark.machines import looks, plan_needs
from augmark.machines.doctor import Case
from tests.core.kit import MICRO, ROOT, plan_of

MIB = 1 << 20


@pytest.fixture(autouse=True)
def on_linux(monkeypatch):
    """Where PyTorch brings its CUDA libraries."""
    monkeypatch.setattr(plan_needs.platform, "system", lambda: "Linux")


@pytest.fixture
def plan(tmp_path):
    """One row of one library (and the controls') on ten images, with nothing made yet."""
    made = plan_of(
        {**MICRO, "libraries": "pillow", "transforms": "HorizontalFlip", "items": 10, "repeats": 2}
    )
    return dataclasses.replace(made, output=tmp_path)


def total(parts):
    return {what.split(",")[0]: size for what, size in parts}


def test_everything_is_still_to_come(plan):
    """Two environments, one with PyTorch; ten items, four samples of each row, every row of a record."""
    want = plan_needs.wanted(plan, ROOT, downloads={"images": False}, conda=False)
    places, cells = len(plan.content["definitions"]), len(plan.cells())
    assert total(want.output) == {
        "2 environments": 6_100_000_000,
        "dataset demo": None,  # the plan of the kit knows no size
        "items image-rgb": 10 * (MIB + 150_000),
        "samples of probes": places * 4 * MIB,
        "records": cells * 12_000,
    }
    assert (want.cache, total(want.packages)) == ([], {"2 environments": 6_100_000_000})


def test_what_is_there_is_not_counted(plan):
    """Environments by their marker, the others by their file; a download only where it is missing."""
    for name in plan.content["locks"]:
        marker = plan.environment_marker(name)
        marker.parent.mkdir(parents=True)
        marker.write_text(json.dumps({"schema": "augmark/env/1"}), encoding="utf-8")
    places = [key.split("/") for key in plan.content["definitions"]]
    there = [plan.staged("images"), plan.items_index("image-rgb", "micro"), *plan.record_paths()]
    for path in (*there, *(plan.probe_path(*place) for place in places)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert plan_needs.wanted(plan, ROOT, downloads={}, conda=False) == plan_needs.Wanted([], [], [])
    want = plan_needs.wanted(plan, ROOT, downloads={"images": True}, conda=False)
    assert total(want.cache) == {"dataset demo": None}


def test_conda_builds_elsewhere(plan):
    """Its environments are not in the output folder, and uv's cache is not used."""
    want = plan_needs.wanted(plan, ROOT, downloads={}, conda=True)
    assert not any("environments" in what for what, _ in want.output)
    assert want.packages == []


def test_pytorch_is_counted_once(tmp_path):
    """Several environments of the locks have it, and uv links all to one copy."""
    made = dataclasses.replace(plan_of({**MICRO, "libraries": "kornia,torchvision"}), output=tmp_path)
    count = len(made.content["locks"])
    want = total(plan_needs.wanted(made, ROOT, downloads={}, conda=False).output)
    assert want[f"{count} environments"] == count * 250_000_000 + 5_600_000_000


def test_the_cuda_of_the_locks():
    """Of an environment with PyTorch; none without."""
    lock = (ROOT / "envs" / "kornia.txt").read_text(encoding="utf-8")
    known = re.search(r"^nvidia-cuda-runtime\S*==(\d+)\.", lock, flags=re.MULTILINE)
    assert plan_needs.cuda_major(ROOT, plan_of({**MICRO, "libraries": "kornia"})) == int(known[1])
    only = plan_of({**MICRO, "libraries": "pillow"})
    only.content["locks"] = {"control": ""}
    assert plan_needs.cuda_major(ROOT, only) is None


def test_the_size_of_a_dataset(tmp_path):
    """As declared, or that of the file or of a folder's files; of a URL it is not known."""
    (tmp_path / "a.tar").write_bytes(b"x" * 7)
    folder = tmp_path / "folder" / "deep"
    folder.mkdir(parents=True)
    (folder / "b.jpg").write_bytes(b"x" * 5)
    sizes = {
        (9, "a.tar"): 9,
        (None, "a.tar"): 7,
        (None, "folder"): 5,
        (None, "missing.tar"): None,
        (None, "https://example.org/a.tar"): None,
        (None, None): None,
    }
    for (size, source), expected in sizes.items():
        assert plan_needs.dataset_bytes({"size": size, "source": source}, tmp_path) == expected


def test_items_that_are_prepared_are_what_they_are(plan):
    """A quarter of the memory limit is for items: ten of one byte need forty bytes of it."""
    index = plan.items_index("image-rgb", "micro")
    index.parent.mkdir(parents=True)
    index.write_text(json.dumps({"shapes": [[1, 1, 3]] * 10, "total_bytes": 10}), encoding="utf-8")
    needs = plan_needs.run_needs(plan)
    assert set(needs.memory_bytes.values()) == {40}
    assert needs.shared_memory_bytes == {}
    index.unlink()
    assert set(plan_needs.run_needs(plan).memory_bytes.values()) == {4 * 10 * MIB}


def test_folders_of_one_disk_are_one_line(plan, tmp_path, monkeypatch):
    """The output folder asks for all where it shares the disk; other disks are asked for what goes there."""
    numbers = {plan.output: 1}
    monkeypatch.setattr(looks, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(looks, "_uv_cache", lambda: tmp_path / "uv")
    monkeypatch.setattr(looks.host_facts, "disk_of", lambda folder: (numbers.get(folder, 2), 10**12))
    (look,) = (each.look for each in looks.LOOKS if each.name == "disk")
    case = Case(ROOT, plan)
    output, cache = look(case)
    assert output.found.startswith(f"{plan.output}: 1.0 TB free")
    assert cache.name == "disk: cache"
    assert cache.found.startswith(
        f"{tmp_path / 'cache'}, {tmp_path / 'uv'}: 1.0 TB free, about 6.1 GB to come"
    )
    numbers.clear()
    (only,) = look(case)
    assert only.found.count("environments") == 1
