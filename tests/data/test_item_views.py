"""Items of nine channels: three different views of each image, stacked and named."""

import numpy as np
import pytest
from PIL import Image

from augmark.data.audit import audit_dataset
from augmark.data.items import summary
from augmark.errors import AugmarkError
from tests.data.prepared import prepare

VIEWS = ["as-decoded", "mirrored", "half-turn"]


def test_nine_channels_are_three_views_of_each_image(audited, tmp_path):
    """Pixel by pixel: the image, its mirror image and the image upside down and mirrored."""
    items = prepare(audited, tmp_path / "nine", scenario="image-9ch", channels=9, views=VIEWS)
    rgb = prepare(audited, tmp_path / "rgb")

    assert items.names == rgb.names
    assert (items.index["channels"], items.index["views"], items.index["alike"]) == (9, VIEWS, [])
    assert (rgb.index["channels"], rgb.index["views"], rgb.index["alike"]) == (3, None, [])
    for nine, three in zip(items, rgb, strict=True):
        height, width, _ = three.shape
        assert (nine.shape, nine.dtype) == ((height, width, 9), np.uint8)
        assert nine.flags.c_contiguous
        for y, x in ((0, 0), (0, width - 1), (height - 1, 3), (height // 2, width // 3)):
            assert nine[y, x].tolist() == [
                *three[y, x],
                *three[y, width - 1 - x],
                *three[height - 1 - y, width - 1 - x],
            ]
        assert np.array_equal(nine[..., :3], three)
        assert np.array_equal(nine[..., 3:6], np.fliplr(three))
        assert np.array_equal(nine[..., 6:], np.rot90(three, 2))
    items.verify()


def test_other_views_are_other_items(audited, tmp_path):
    """A folder never keeps the items of other views, and the order of the views is theirs."""
    first = prepare(audited, tmp_path / "items", 3, channels=9, views=VIEWS)[0].copy()
    second = prepare(audited, tmp_path / "items", 3, channels=9, views=VIEWS[::-1])[0]

    assert np.array_equal(
        first, np.concatenate([second[..., 6:], second[..., 3:6], second[..., :3]], axis=-1)
    )
    assert not np.array_equal(first, second)


@pytest.mark.parametrize(
    ("channels", "views", "message"),
    [
        (9, None, "9 channels are asked for, no views of an RGB image make 3"),
        (6, VIEWS, "6 channels are asked for, 3 views of an RGB image make 9"),
        (9, ["as-decoded", "mirrored", "upside-down"], r"no such view: upside-down\n.*as-decoded, mirrored"),
        (9, ["as-decoded", "mirrored", "mirrored"], "are not different views"),
    ],
)
def test_views_that_do_not_fit_are_refused(audited, tmp_path, channels, views, message):
    """Before anything is written, in words that say what would fit."""
    with pytest.raises(AugmarkError, match=message):
        prepare(audited, tmp_path / "items", channels=channels, views=views)
    assert not (tmp_path / "items").exists()


def test_a_symmetric_image_is_kept_and_named(kit, tmp_path):
    """Left equals right, so two of its views are alike; a set of such images alone is refused."""
    half = np.asarray(kit.draw(24, 40))
    symmetric = Image.fromarray(np.concatenate([half, half[:, ::-1]], axis=1))
    images = [("even.png", kit.encode(symmetric, "PNG")), ("odd.png", kit.encode(kit.draw(), "PNG"))]
    nine = {"scenario": "image-9ch", "channels": 9, "views": VIEWS}
    for count, name in ((2, "both"), (1, "alone")):
        tar = kit.staged(kit.pack(tmp_path / f"{name}.tar", images[:count]), tmp_path / "out")
        audit_dataset(tar, kit.policy, tar.parent / "manifest.json")
        if count == 2:
            items = prepare((tar, tar.parent / "manifest.json"), tmp_path / name, **nine)
            assert items.index["alike"] == ["even.png"]
            assert sorted(items.names) == ["even.png", "odd.png"]
            assert summary(items.index).splitlines()[1] == "symmetric, with views that are alike: even.png"
            assert prepare((tar, tar.parent / "manifest.json"), tmp_path / name, **nine).index == items.index
        else:
            with pytest.raises(AugmarkError, match="all images are symmetric, 1 of 1"):
                prepare((tar, tar.parent / "manifest.json"), tmp_path / name, **nine)
