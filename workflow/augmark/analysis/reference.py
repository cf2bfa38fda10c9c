"""What transforms do, written a second time in NumPy and scipy, from their meaning alone.

Only where an honest reference is short. Images are uint8 H x W x C with values 0..255, any number of
channels; parameters are those of transforms.yaml with the pinned ones on top. Nothing is taken from the
libraries' code, so that what all of them do wrongly would show.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy import ndimage

Params = Mapping[str, Any]
Reference = Callable[[np.ndarray, Params], np.ndarray]
LUMA = np.array([0.299, 0.587, 0.114])  # ITU-R BT.601
REFERENCES: dict[str, Reference] = {}


def apply(transform: str, item: np.ndarray, params: Params) -> np.ndarray:
    """The reference output of a transform, uint8; what it computes in floats is rounded here, once.

    Raises:
        KeyError: There is no reference for it.
    """
    return np.clip(np.rint(REFERENCES[transform](item, params)), 0, 255).astype(np.uint8)


def _reference(*names: str) -> Callable[[Reference], Reference]:
    def register(function: Reference) -> Reference:
        REFERENCES.update(dict.fromkeys(names, function))
        return function

    return register


# --- size and crop -----------------------------------------------------------------------------------


def resize(item: np.ndarray, height: int, width: int) -> np.ndarray:
    """Bilinear: pixel centres aligned at half a pixel, no antialias filter, the border repeated."""
    image = item.astype(float)
    for axis, wanted in enumerate((height, width)):
        have = image.shape[axis]
        place = np.clip((np.arange(wanted) + 0.5) * have / wanted - 0.5, 0, have - 1)
        low = np.floor(place).astype(int)
        share = (place - low).reshape([-1 if axis == k else 1 for k in range(3)])
        upper = np.take(image, np.minimum(low + 1, have - 1), axis)
        image = np.take(image, low, axis) * (1 - share) + upper * share
    return image


@_reference("Resize")
def _resize(item: np.ndarray, params: Params) -> np.ndarray:
    return resize(item, params["height_pixels"], params["width_pixels"])


def _resize_side(item: np.ndarray, side: int, params: Params) -> np.ndarray:
    height, width = (round(each * params["max_size_pixels"] / side) for each in item.shape[:2])
    return resize(item, height, width)


@_reference("LongestMaxSize")
def _longest(item: np.ndarray, params: Params) -> np.ndarray:
    return _resize_side(item, max(item.shape[:2]), params)


@_reference("SmallestMaxSize")
def _shortest(item: np.ndarray, params: Params) -> np.ndarray:
    return _resize_side(item, min(item.shape[:2]), params)


@_reference("RandomCrop224")
def _crop(item: np.ndarray, params: Params) -> np.ndarray:
    top, left = params["position_pixels"]
    return item[top : top + params["height_pixels"], left : left + params["width_pixels"]]


@_reference("CenterCrop224")
def _centre_crop(item: np.ndarray, params: Params) -> np.ndarray:
    place = [(item.shape[0] - params["height_pixels"]) // 2, (item.shape[1] - params["width_pixels"]) // 2]
    return _crop(item, {**params, "position_pixels": place})


@_reference("Pad")
def _pad(item: np.ndarray, params: Params) -> np.ndarray:
    by = params["padding_pixels"]
    return np.pad(item, ((by, by), (by, by), (0, 0)), constant_values=params["fill_level"])


# --- geometry ----------------------------------------------------------------------------------------


@_reference("HorizontalFlip")
def _mirror(item: np.ndarray, params: Params) -> np.ndarray:
    return item[:, ::-1]


@_reference("VerticalFlip")
def _upside_down(item: np.ndarray, params: Params) -> np.ndarray:
    return item[::-1]


@_reference("Transpose")
def _transpose(item: np.ndarray, params: Params) -> np.ndarray:
    return item.swapaxes(0, 1)


@_reference("RandomRotate90")
def _quarter_turns(item: np.ndarray, params: Params) -> np.ndarray:
    return np.rot90(item, params["quarter_turns"][0])


@_reference("RandomJigsaw")
def _jigsaw(item: np.ndarray, params: Params) -> np.ndarray:
    down, across = params["grid"]
    height, width = item.shape[0] // down, item.shape[1] // across
    output = item.copy()
    for place, tile in enumerate(params["order"]):
        (to_row, to_column), (row, column) = divmod(place, across), divmod(tile, across)
        output[to_row * height : (to_row + 1) * height, to_column * width : (to_column + 1) * width] = item[
            row * height : (row + 1) * height, column * width : (column + 1) * width
        ]
    return output


# --- blur and detail ---------------------------------------------------------------------------------


def _filtered(item: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """Each channel under a kernel (H x W), the image mirrored at the border without its outermost line."""
    return ndimage.correlate(item.astype(float), kernel[..., None], mode="mirror")


def _gaussian(params: Params) -> np.ndarray:
    half = params["kernel_size_pixels"] // 2
    line = np.exp(-0.5 * (np.arange(-half, half + 1) / params["sigma_pixels"]) ** 2)
    return np.outer(line, line) / line.sum() ** 2


@_reference("Blur")
def _mean(item: np.ndarray, params: Params) -> np.ndarray:
    size = params["kernel_size_pixels"]
    return _filtered(item, np.full((size, size), 1 / size**2))


@_reference("GaussianBlur")
def _gaussian_blur(item: np.ndarray, params: Params) -> np.ndarray:
    return _filtered(item, _gaussian(params))


@_reference("MedianBlur")
def _median(item: np.ndarray, params: Params) -> np.ndarray:
    size = params["kernel_size_pixels"]
    return ndimage.median_filter(item, size=(size, size, 1), mode="nearest")


@_reference("Sharpen")
def _sharpen(item: np.ndarray, params: Params) -> np.ndarray:
    smooth = _filtered(item, np.array([[1, 1, 1], [1, 5, 1], [1, 1, 1]]) / 13)
    return smooth + params["sharpness_factor"] * (item - smooth)


@_reference("UnsharpMask")
def _unsharp(item: np.ndarray, params: Params) -> np.ndarray:
    return item + params["amount_factor"] * (item - _filtered(item, _gaussian(params)))


@_reference("EnhanceEdge")
def _edge(item: np.ndarray, params: Params) -> np.ndarray:
    return _filtered(item, np.array([[-1, -1, -1], [-1, 10, -1], [-1, -1, -1]]) / 2)


@_reference("EnhanceDetail")
def _detail(item: np.ndarray, params: Params) -> np.ndarray:
    return _filtered(item, np.array([[0, -1, 0], [-1, 10, -1], [0, -1, 0]]) / 6)


# --- colour and tone ---------------------------------------------------------------------------------


def luma(item: np.ndarray) -> np.ndarray:
    """Grey level of each three channels, in the place of all three, as floats."""
    grey = item.reshape(*item.shape[:2], -1, 3) @ LUMA
    return np.repeat(grey, 3, axis=2)


@_reference("Brightness")
def _brightness(item: np.ndarray, params: Params) -> np.ndarray:
    return item * params["brightness_factor"][0]


@_reference("Contrast")
def _contrast(item: np.ndarray, params: Params) -> np.ndarray:
    mean = luma(item).mean(axis=(0, 1))  # of each three channels
    return mean + params["contrast_factor"][0] * (item - mean)


@_reference("Saturation")
def _saturation(item: np.ndarray, params: Params) -> np.ndarray:
    grey = luma(item)
    return grey + params["saturation_factor"][0] * (item - grey)


@_reference("RandomGamma")
def _gamma(item: np.ndarray, params: Params) -> np.ndarray:
    return 255 * (item / 255) ** params["gamma"]


@_reference("Grayscale")
def _grey(item: np.ndarray, params: Params) -> np.ndarray:
    if params["weights"] == "equal":
        return np.broadcast_to(item.mean(axis=2, keepdims=True), item.shape)
    return luma(item)


@_reference("Invert")
def _invert(item: np.ndarray, params: Params) -> np.ndarray:
    return 255 - item


@_reference("Posterize")
def _posterize(item: np.ndarray, params: Params) -> np.ndarray:
    step = 2 ** (8 - params["bits"])
    return item // step * step


@_reference("Solarize")
def _solarize(item: np.ndarray, params: Params) -> np.ndarray:
    return np.where(item >= params["threshold_levels"], 255 - item, item)


@_reference("AutoContrast")
def _stretch(item: np.ndarray, params: Params) -> np.ndarray:
    low, high = (find(item, axis=(0, 1)).astype(float) for find in (np.min, np.max))
    flat = high == low
    return np.where(flat, item, (item - low) * 255 / np.where(flat, 1, high - low))


@_reference("Equalize")
def _equalize(item: np.ndarray, params: Params) -> np.ndarray:
    """A level becomes the share of pixels below it and half of those at it, stretched to 0..255."""
    output = np.empty(item.shape)
    for channel in range(item.shape[2]):
        counts = np.bincount(item[..., channel].ravel(), minlength=256)
        # As histograms are equalised everywhere: the last level that occurs is left out of the range.
        step = (counts.sum() - counts[counts.nonzero()[0][-1]]) // 255
        table = (np.cumsum(counts) - counts + step // 2) // max(step, 1) if step else np.arange(256)
        output[..., channel] = table[item[..., channel]]
    return output


@_reference("RGBShift")
def _shift(item: np.ndarray, params: Params) -> np.ndarray:
    return item + np.array([params[f"{name}_levels"][0] for name in ("red", "green", "blue")], float)


@_reference("ChannelShuffle")
def _shuffle(item: np.ndarray, params: Params) -> np.ndarray:
    return item[..., params["order"]]


@_reference("ChannelDropout")
def _dropout(item: np.ndarray, params: Params) -> np.ndarray:
    output = item.copy()
    output[..., params["dropped"]] = params["fill_level"]
    return output


# --- noise and loss ----------------------------------------------------------------------------------


@_reference("SaltAndPepper")
def _salt_and_pepper(item: np.ndarray, params: Params) -> np.ndarray:
    step = params["lattice_pixels"]
    output = item.copy()
    output[::step, ::step] = 255
    output[step // 2 :: step, step // 2 :: step] = 0
    return output


@_reference("Erasing")
def _erase(item: np.ndarray, params: Params) -> np.ndarray:
    top, left, height, width = params["box_pixels"]
    output = item.copy()
    output[top : top + height, left : left + width] = params["fill_level"]
    return output
