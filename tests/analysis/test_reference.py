"""The NumPy references against tiny arrays worked out by hand."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from augmark.analysis.reference import REFERENCES, apply

ROOT = Path(__file__).resolve().parents[2]


def row(*levels, channels=1):
    """An image of one row, every channel the same."""
    return np.repeat(np.array(levels, np.uint8)[None, :, None], channels, axis=2)


def grid(*rows):
    """An image of one channel."""
    return np.array(rows, np.uint8)[..., None]


def colours(*pixels):
    """An image of one row of pixels of three channels."""
    return np.array([pixels], np.uint8)


ONE_TO_NINE = grid([1, 2, 3], [4, 5, 6], [7, 8, 9])
PEAK = grid(*[[0] * 5] * 2, [0, 0, 90, 0, 0], *[[0] * 5] * 2)


@pytest.mark.parametrize(
    ("transform", "item", "params", "expected"),
    [
        # Centres of four pixels in two: at -0.25, 0.25, 0.75 and 1.25 of them.
        ("Resize", row(0, 100), {"height_pixels": 1, "width_pixels": 4}, row(0, 25, 75, 100)),
        ("Resize", row(0, 10, 20, 30), {"height_pixels": 1, "width_pixels": 2}, row(5, 25)),
        ("LongestMaxSize", row(0, 100), {"max_size_pixels": 4}, grid([0, 25, 75, 100], [0, 25, 75, 100])),
        ("SmallestMaxSize", row(7, 7), {"max_size_pixels": 2}, np.full((2, 4, 1), 7, np.uint8)),
        (
            "RandomCrop224",
            ONE_TO_NINE,
            {"height_pixels": 2, "width_pixels": 1, "position_pixels": [1, 2]},
            grid([6], [9]),
        ),
        ("CenterCrop224", row(1, 2, 3, 4, 5), {"height_pixels": 1, "width_pixels": 2}, row(2, 3)),
        ("Pad", row(5), {"padding_pixels": 1, "fill_level": 9}, grid([9, 9, 9], [9, 5, 9], [9, 9, 9])),
        ("HorizontalFlip", row(1, 2, 3), {}, row(3, 2, 1)),
        ("VerticalFlip", ONE_TO_NINE, {}, grid([7, 8, 9], [4, 5, 6], [1, 2, 3])),
        ("Transpose", ONE_TO_NINE, {}, grid([1, 4, 7], [2, 5, 8], [3, 6, 9])),
        # Counter-clockwise: the right column becomes the upper row.
        ("RandomRotate90", ONE_TO_NINE, {"quarter_turns": [1, 1]}, grid([3, 6, 9], [2, 5, 8], [1, 4, 7])),
        ("RandomJigsaw", row(1, 2, 3, 4), {"grid": [1, 2], "order": [1, 0]}, row(3, 4, 1, 2)),
        ("Blur", PEAK, {"kernel_size_pixels": 3}, grid([0] * 5, *[[0, 10, 10, 10, 0]] * 3, [0] * 5)),
        ("MedianBlur", PEAK, {"kernel_size_pixels": 3}, np.zeros((5, 5, 1), np.uint8)),
        # Weights e^-0.5 / (1 + 2 e^-0.5) = 0.274 and 0.452 each way: 0.204, 0.124 and 0.075 of 90.
        (
            "GaussianBlur",
            PEAK,
            {"kernel_size_pixels": 3, "sigma_pixels": 1.0},
            grid([0] * 5, [0, 7, 11, 7, 0], [0, 11, 18, 11, 0], [0, 7, 11, 7, 0], [0] * 5),
        ),
        # Smoothed: 5 / 13 of 26 in the middle, 2 around; three times away from that.
        (
            "Sharpen",
            grid(*[[0] * 5] * 2, [0, 0, 26, 0, 0], *[[0] * 5] * 2) + np.uint8(50),
            {"sharpness_factor": 3.0},
            np.array([[50] * 5, [50, 46, 46, 46, 50], [50, 46, 108, 46, 50], [50, 46, 46, 46, 50], [50] * 5])[
                ..., None
            ],
        ),
        (
            "UnsharpMask",
            row(7, 7, 7),
            {"kernel_size_pixels": 3, "sigma_pixels": 1, "amount_factor": 1},
            row(7, 7, 7),
        ),
        # Above and below the peak is the peak again: (260 - 52 - 120) / 2, and (260 - 52 - 40) / 6.
        ("EnhanceEdge", row(20, 20, 26, 20, 20), {}, row(20, 11, 44, 11, 20)),
        ("EnhanceDetail", row(20, 20, 26, 20, 20), {}, row(20, 19, 28, 19, 20)),
        ("Brightness", row(100, 240), {"brightness_factor": [1.2, 1.2]}, row(120, 255)),
        ("Contrast", row(100, 200, channels=3), {"contrast_factor": [1.2, 1.2]}, row(90, 210, channels=3)),
        # Luma 0.299 * 100 = 29.9: 29.9 + 1.5 * 70.1, and 29.9 - 1.5 * 29.9.
        ("Saturation", colours([100, 0, 0]), {"saturation_factor": [1.5, 1.5]}, colours([135, 0, 0])),
        ("RandomGamma", row(0, 51, 255), {"gamma": 2.0}, row(0, 10, 255)),
        ("Grayscale", colours([100, 0, 200]), {"weights": "luma"}, colours([53, 53, 53])),
        ("Grayscale", colours([100, 0, 200]), {"weights": "equal"}, colours([100, 100, 100])),
        ("Invert", row(0, 100), {}, row(255, 155)),
        ("Posterize", row(0, 15, 16, 255), {"bits": 4}, row(0, 0, 16, 240)),
        ("Solarize", row(127, 128, 255), {"threshold_levels": 128}, row(127, 127, 0)),
        ("AutoContrast", row(50, 100, 150), {}, row(0, 128, 255)),
        ("AutoContrast", row(9, 9), {}, row(9, 9)),
        (
            "RGBShift",
            colours([0, 9, 250]),
            {"red_levels": [5], "green_levels": [-10], "blue_levels": [10]},
            colours([5, 0, 255]),
        ),
        ("ChannelShuffle", colours([1, 2, 3]), {"order": [2, 0, 1]}, colours([3, 1, 2])),
        ("ChannelDropout", colours([1, 2, 3]), {"dropped": [1], "fill_level": 0}, colours([1, 0, 3])),
        ("SaltAndPepper", row(9, 9, 9, 9), {"lattice_pixels": 2}, row(255, 9, 255, 9)),
        (
            "Erasing",
            ONE_TO_NINE,
            {"box_pixels": [0, 1, 2, 2], "fill_level": 0},
            grid([1, 0, 0], [4, 0, 0], [7, 8, 9]),
        ),
    ],
)
def test_against_hand_worked_arrays(transform, item, params, expected):
    """Every reference does what its meaning says."""
    assert apply(transform, item, params).tolist() == expected.tolist()


def test_equalize_stretches_the_steps_between_the_levels():
    """510 pixels of three levels, 170 each: what lies before the last level makes steps of 340 // 255 = 1."""
    item = np.repeat(np.array([10, 20, 30], np.uint8), 170).reshape(1, -1, 1)
    assert sorted(set(apply("Equalize", item, {}).ravel().tolist())) == [0, 170, 255]
    flat = np.full((4, 4, 1), 77, np.uint8)
    assert np.array_equal(apply("Equalize", flat, {}), flat)


def test_nine_channels_are_three_pictures():
    """Luma of each three channels, in the place of all three."""
    item = np.array([[[100, 0, 0, 0, 100, 0, 0, 0, 100]]], np.uint8)
    assert apply("Grayscale", item, {"weights": "luma"}).ravel().tolist() == [30] * 3 + [59] * 3 + [11] * 3


def test_references_are_of_transforms_that_there_are():
    """A reference of a name that nobody plans would never be used."""
    assert not set(REFERENCES) - set(yaml.safe_load((ROOT / "config" / "transforms.yaml").read_text()))
