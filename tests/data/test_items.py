"""Prepared items: the right pixels of the right images, whole, aligned, resident, and cheap to open."""

import hashlib
import io
import json
import shutil
import subprocess
import sys
import tarfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from augmark.data import items as items_module
from augmark.data.itemfile import open_items
from augmark.data.items import select_items
from augmark.errors import AugmarkError
from tests.data.prepared import prepare

names = st.lists(st.text(min_size=1, max_size=8), unique=True, min_size=1, max_size=60)


@given(names=names, seed=st.integers(0, 2**63), data=st.data())
def test_a_smaller_selection_is_the_beginning_of_a_larger_one(names, seed, data):
    """For any names, seed and counts; and the order of the manifest does not matter."""
    entries = [{"name": name, "sha256": str(index)} for index, name in enumerate(names)]
    small, large = sorted(data.draw(st.tuples(*[st.integers(1, len(names))] * 2)))
    shuffled = data.draw(st.permutations(entries))

    assert select_items(entries, small, seed) == select_items(shuffled, large, seed)[:small]
    assert sorted(map(str, select_items(entries, None, seed))) == sorted(map(str, entries))


def test_another_seed_is_another_selection():
    """The seed is used: of 100 items, 10 seeds choose 10 different sets of 20."""
    entries = [{"name": str(index), "sha256": ""} for index in range(100)]
    chosen = {frozenset(entry["name"] for entry in select_items(entries, 20, seed)) for seed in range(10)}

    assert len(chosen) == 10


def test_pixels_are_those_that_pillow_decodes(audited, tmp_path):
    """Round trip through the flat file, exact, for every item, shape and mode."""
    items = prepare(audited, tmp_path / "items")

    assert len(items) == 10
    assert set(items.names) == {*(f"{i}.png" for i in range(8)), "grey.jpg", "photo.jpg"}
    with tarfile.open(audited[0]) as tar:
        for name, pixels in zip(items.names, items, strict=True):
            expected = np.asarray(Image.open(io.BytesIO(tar.extractfile(name).read())).convert("RGB"))
            assert (pixels.dtype, pixels.shape) == (np.uint8, expected.shape)
            assert np.array_equal(expected, pixels)


def test_items_are_aligned_read_only_and_contiguous(audited, tmp_path):
    """64 bytes, so that no library pays for an odd address; and none can change what the next one reads."""
    items = prepare(audited, tmp_path / "items")

    for position in range(len(items)):
        assert items[position].ctypes.data % 64 == 0
        assert items[position].flags.c_contiguous
        assert not items[position].flags.writeable
        assert type(items[position]) is np.ndarray
    assert items.total_bytes == (tmp_path / "items" / "items.bin").stat().st_size
    with pytest.raises(IndexError):
        items[len(items)]


def test_fewer_items_are_a_prefix_of_the_file(audited, tmp_path):
    """Three items are the first three of ten, byte for byte."""
    small, large = prepare(audited, tmp_path / "small", 3), prepare(audited, tmp_path / "large", 10)

    assert small.names == large.names[:3]
    assert (
        (tmp_path / "large" / "items.bin")
        .read_bytes()
        .startswith((tmp_path / "small" / "items.bin").read_bytes())
    )


def test_the_files_are_the_same_bytes_every_time(audited, tmp_path):
    """Index and pixels, in any folder."""
    for place in ("a", "b"):
        prepare(audited, tmp_path / place, 5)

    for name in ("items.bin", "index.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert (
        json.loads((tmp_path / "a" / "index.json").read_text())["manifest_digest"]
        == (json.loads(audited[1].read_text())["manifest_digest"])
    )


def test_too_many_asked_by_key_is_an_error_but_a_depth_takes_what_there_is(audited, tmp_path):
    """Both numbers stand in the message; nothing is written."""
    with pytest.raises(AugmarkError, match=r"11 items were asked for, the common set .* has 10") as refused:
        prepare(audited, tmp_path / "items", 11, exact=True)
    assert "items=10" in str(refused.value)
    assert not (tmp_path / "items").exists()
    with pytest.raises(AugmarkError, match="items=0"):
        prepare(audited, tmp_path / "items", 0)

    assert len(prepare(audited, tmp_path / "items", 11)) == 10
    assert len(prepare(audited, tmp_path / "exact", 10, exact=True)) == 10


def test_whole_items_are_left_and_damaged_ones_made_again(audited, tmp_path):
    """Verified by digest, not by their presence."""
    folder = tmp_path / "items"
    prepare(audited, folder, 4)
    before = (folder / "items.bin").stat().st_mtime_ns
    prepare(audited, folder, 4)
    assert (folder / "items.bin").stat().st_mtime_ns == before

    data = (folder / "items.bin").read_bytes()
    (folder / "items.bin").write_bytes(bytes([data[0] ^ 1]) + data[1:])
    with pytest.raises(AugmarkError, match=r"items\.bin has the sha256 .*\n.*remove the folder"):
        open_items(folder).verify()
    prepare(audited, folder, 4).verify()

    assert (folder / "items.bin").read_bytes() == data


def test_other_parameters_in_the_same_folder_are_prepared_again(audited, tmp_path):
    """A folder never keeps the items of another seed or count."""
    first = prepare(audited, tmp_path / "items", 4).names
    second = prepare(audited, tmp_path / "items", 4, seed=2).names

    assert first != second
    assert second == prepare(audited, tmp_path / "fresh", 4, seed=2).names


def test_a_folder_that_is_not_whole_says_what_is_missing(audited, tmp_path):
    """No index, a cut-off file, another schema: each has its sentence."""
    folder = tmp_path / "items"
    with pytest.raises(AugmarkError, match=r"index\.json is not there: the items were not prepared"):
        open_items(folder)
    total = prepare(audited, folder).total_bytes
    with open(folder / "items.bin", "r+b") as stream:
        stream.truncate(100)
    with pytest.raises(AugmarkError, match=rf"items\.bin has 100 bytes, the index says {total}"):
        open_items(folder)
    (folder / "items.bin").unlink()
    with pytest.raises(AugmarkError, match=r"items\.bin is not there, the index says"):
        open_items(folder)
    (folder / "index.json").write_text("{}")
    with pytest.raises(AugmarkError, match="is not of the schema augmark/items/2"):
        open_items(folder)
    (folder / "index.json").write_text("{")
    with pytest.raises(AugmarkError, match=r"index\.json is not JSON"):
        open_items(folder)


def test_the_originals_lie_beside_the_pixels(audited, tmp_path):
    """Every item's file is the archive's member, byte for byte, named by position and format."""
    items = prepare(audited, tmp_path / "items")

    with tarfile.open(audited[0]) as tar:
        for position, name in enumerate(items.names):
            data = tar.extractfile(name).read()
            ending = name.rpartition(".")[2]
            expected = tmp_path / "items" / "files" / f"{position:06d}.{ending}"
            assert items.file(position) == expected
            assert expected.read_bytes() == data
            assert items.index["files"][position] == {
                "name": expected.name,
                "bytes": len(data),
                "sha256": hashlib.sha256(data).hexdigest(),
                "format": {"png": "PNG", "jpg": "JPEG"}[ending],
            }
    assert len(list((tmp_path / "items" / "files").iterdir())) == 10
    with pytest.raises(IndexError):
        items.file(10)


def test_a_changed_original_is_found_named_and_made_again(audited, tmp_path):
    """Gone, cut off, or of the same size with other bytes: file, item and how are told."""
    folder = tmp_path / "items"
    items = prepare(audited, folder, 4)
    path, data = items.file(2), items.file(2).read_bytes()
    named = rf"files/{path.name} \({items.names[2]}\) "
    breakage = [
        (path.unlink, "is not there"),
        (lambda: path.write_bytes(data[:-1]), f"has {len(data) - 1} bytes, the index says {len(data)}"),
        (lambda: path.write_bytes(data[:-1] + bytes([data[-1] ^ 1])), r"has the sha256 \w{64}, not \w{64}"),
    ]
    for break_it, how in breakage:
        break_it()
        with pytest.raises(AugmarkError, match=rf"{named}{how}\n.*remove the folder"):
            open_items(folder).verify()
        prepare(audited, folder, 4).verify()
        assert path.read_bytes() == data


def test_a_folder_of_originals_that_was_taken_away_is_made_again(audited, tmp_path):
    """Snakemake removes a folder before its job, and leaves a time stamp in it later: both are no harm."""
    folder = tmp_path / "items"
    prepare(audited, folder, 4)
    (folder / "files" / ".snakemake_timestamp").touch()
    before = (folder / "items.bin").stat().st_mtime_ns
    prepare(audited, folder, 4).verify()
    assert (folder / "items.bin").stat().st_mtime_ns == before

    shutil.rmtree(folder / "files")
    prepare(audited, folder, 4).verify()
    shutil.rmtree(folder / "files")
    (folder / "files").mkdir()
    prepare(audited, folder, 4).verify()


def test_another_choice_leaves_no_original_of_the_earlier_one(audited, tmp_path):
    """Ten items, then three in the same folder: three files."""
    prepare(audited, tmp_path / "items")
    prepare(audited, tmp_path / "items", 3).verify()

    assert len(list((tmp_path / "items" / "files").iterdir())) == 3


def test_a_preparation_that_fails_leaves_nothing_half(audited, tmp_path, monkeypatch):
    """After two of five images: no index, no pixels, no originals; the next start needs no clean-up."""
    real, folder, calls = items_module.decode_pillow, tmp_path / "items", []

    def decode(data):
        calls.append(data)
        if len(calls) == 3:
            raise MemoryError
        return real(data)

    monkeypatch.setattr(items_module, "decode_pillow", decode)
    with pytest.raises(MemoryError):
        prepare(audited, folder, 5)
    assert list(folder.iterdir()) == []
    (folder / "files.part").mkdir()  # as a kill leaves it
    (folder / "files.part" / "000000.png").write_bytes(b"half")

    prepare(audited, folder, 5).verify()
    assert sorted(path.name for path in folder.iterdir()) == ["files", "index.json", "items.bin"]
    assert len(list((folder / "files").iterdir())) == 5


def test_the_disk_must_hold_pixels_and_originals(audited, tmp_path, monkeypatch):
    """Asked for before anything is written: the sum of both."""
    asked = []
    monkeypatch.setattr(
        items_module.files, "require_free", lambda folder, needed, what: asked.append((needed, what))
    )
    items = prepare(audited, tmp_path / "items")
    originals = sum(path.stat().st_size for path in (tmp_path / "items" / "files").iterdir())

    assert asked == [(items.total_bytes + originals, "preparing image-rgb")]


def test_a_manifest_of_another_dataset_is_refused(kit, audited, tmp_path):
    """Items are never cut from one archive by the list of another."""
    other = kit.staged(kit.pack(tmp_path / "other.tar", kit.photos(2)), tmp_path / "out")

    with pytest.raises(AugmarkError, match=r"is the manifest of the dataset \w{64}, not of \w{64}"):
        prepare((other, audited[1]), tmp_path / "items")


def test_residency_is_measured(audited, tmp_path):
    """After touching every page all are in memory, or the kernel cannot be asked."""
    items = prepare(audited, tmp_path / "items")
    share = items.make_resident()

    if sys.platform == "linux":
        assert share == 1.0
    else:
        assert share is None or 0.0 <= share <= 1.0


def test_reading_items_loads_no_image_library(audited, tmp_path):
    """The measured process holds what is measured, and nothing of the preparation."""
    prepare(audited, tmp_path / "items")
    code = (
        "import sys; from augmark.data.itemfile import open_items\n"
        "items = open_items(sys.argv[1]); items.verify()\n"
        "items[0].sum(); print({'PIL', 'cv2', 'tarfile', 'tqdm', 'augmark.data.items'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "items"],
        check=True,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )

    assert done.stdout == "set()\n"


def test_the_command_prepares(audited, tmp_path, request):
    """scripts/prepare_items.py with a count, with all, and with too many."""
    script = request.config.rootpath / "scripts" / "prepare_items.py"
    command = [sys.executable, script, "--dataset", audited[0], "--manifest", audited[1], "--seed", "1"]
    command += ["--scenario", "image-rgb", "--digest", "0123456789", "--out"]
    some = subprocess.run([*command, tmp_path / "some", "--items", "3"], capture_output=True, text=True)
    every = subprocess.run([*command, tmp_path / "all", "--items", "all"], capture_output=True, text=True)
    many = subprocess.run(
        [*command, tmp_path / "x", "--items", "99", "--exact"], capture_output=True, text=True
    )

    nine = subprocess.run(
        [
            *command,
            tmp_path / "nine",
            "--items",
            "3",
            "--channels",
            "9",
            "--views",
            "as-decoded,mirrored,half-turn",
        ],
        capture_output=True,
        text=True,
    )
    none = subprocess.run([*command, tmp_path / "none", "--items", "3", "--views", ""], capture_output=True)

    assert open_items(tmp_path / "nine")[0].shape[2] == 9
    assert nine.returncode == none.returncode == 0
    assert open_items(tmp_path / "none").index == open_items(tmp_path / "some").index
    assert some.stdout == f"image-rgb: 3 items, {open_items(tmp_path / 'some').total_bytes} bytes\n"
    assert every.stdout.startswith("image-rgb: 10 items, ")
    assert "prepare image-rgb: 3/3 image" in some.stderr
    assert (many.returncode, many.stderr.splitlines()[0]) == (
        1,
        "error: items: 99 items were asked for, the common set of set has 10",
    )
