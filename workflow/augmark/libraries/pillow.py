"""Pillow: ``PIL.Image`` in mode RGB.

Pillow has operations, not random transforms. What is drawn (a box, an angle, a factor) is drawn here, by
Python's ``random.Random``, with as little around the operation as can be; such lines are marked `glue`, and
are inside the timer as the draws of the other libraries are. ``RandomResizedCrop`` samples through
``Image.transform``, as ``Image.resize`` always filters when it makes an image smaller and the others do not.
"""

from __future__ import annotations

import io
import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image, ImageEnhance, ImageFilter, ImageOps

from augmark.libraries.base import Apply, Params, Registry

builders = Registry()
draw = random.Random()

_RESAMPLING = {"nearest": Image.Resampling.NEAREST, "bilinear": Image.Resampling.BILINEAR}


def _fill(params: Params) -> tuple[int, int, int]:
    return (params["fill_level"],) * 3


# --- size and crop ------------------------------------------------------------------------------------


@builders("Resize")
def _resize(params: Params) -> Apply:
    """Enlarging, the filter is plain bilinear; making smaller, Pillow always filters."""
    size, resampling = (params["width_pixels"], params["height_pixels"]), _RESAMPLING[params["interpolation"]]
    return lambda image: image.resize(size, resampling)


@builders("LongestMaxSize")
def _longest_max_size(params: Params) -> Apply:
    size, resampling = (params["max_size_pixels"],) * 2, _RESAMPLING[params["interpolation"]]
    return lambda image: ImageOps.contain(image, size, resampling)


@builders("SmallestMaxSize")
def _smallest_max_size(params: Params) -> Apply:
    size, resampling = (params["max_size_pixels"],) * 2, _RESAMPLING[params["interpolation"]]
    return lambda image: ImageOps.cover(image, size, resampling)


@builders("RandomCrop224")
def _random_crop(params: Params) -> Apply:
    height, width = params["height_pixels"], params["width_pixels"]
    if params["position_pixels"] is not None:
        top, left = params["position_pixels"]
        return lambda image: image.crop((left, top, left + width, top + height))

    def apply(image: Image.Image) -> Image.Image:
        left = draw.randint(0, image.width - width)  # glue
        top = draw.randint(0, image.height - height)  # glue
        return image.crop((left, top, left + width, top + height))

    return apply


def _random_box(
    width: int, height: int, area_fraction: list[float], ratio: list[float]
) -> tuple[float, float, float, float]:
    """A box (left, top, right, bottom) of drawn area and aspect ratio: ten tries, else the central one."""
    logs = [math.log(bound) for bound in ratio]
    for _ in range(10):
        area = width * height * draw.uniform(*area_fraction)
        aspect = math.exp(draw.uniform(*logs))
        wide, high = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if 0 < wide <= width and 0 < high <= height:
            left, top = draw.randint(0, width - wide), draw.randint(0, height - high)
            return left, top, left + wide, top + high
    aspect = min(max(width / height, ratio[0]), ratio[1])
    wide, high = min(width, round(height * aspect)), min(height, round(width / aspect))
    left, top = (width - wide) // 2, (height - high) // 2
    return left, top, left + wide, top + high


@builders("RandomResizedCrop")
def _random_resized_crop(params: Params) -> Apply:
    size, resampling = (params["width_pixels"], params["height_pixels"]), _RESAMPLING[params["interpolation"]]
    area_fraction, ratio = params["area_fraction"], params["aspect_ratio"]

    def apply(image: Image.Image) -> Image.Image:
        box = _random_box(image.width, image.height, area_fraction, ratio)  # glue
        return image.transform(size, Image.Transform.EXTENT, box, resampling)

    return apply


@builders("CenterCrop224")
def _center_crop(params: Params) -> Apply:
    height, width = params["height_pixels"], params["width_pixels"]

    def apply(image: Image.Image) -> Image.Image:
        left, top = (image.width - width) // 2, (image.height - height) // 2
        return image.crop((left, top, left + width, top + height))

    return apply


@builders("Pad")
def _pad(params: Params) -> Apply:
    border, fill = params["padding_pixels"], _fill(params)
    return lambda image: ImageOps.expand(image, border, fill)


# --- geometry -----------------------------------------------------------------------------------------


@builders("HorizontalFlip")
def _horizontal_flip(params: Params) -> Apply:
    return lambda image: image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)


@builders("VerticalFlip")
def _vertical_flip(params: Params) -> Apply:
    return lambda image: image.transpose(Image.Transpose.FLIP_TOP_BOTTOM)


@builders("Transpose")
def _transpose(params: Params) -> Apply:
    return lambda image: image.transpose(Image.Transpose.TRANSPOSE)


@builders("RandomRotate90")
def _random_rotate90(params: Params) -> Apply:
    first, last = params["quarter_turns"]
    turns = (None, Image.Transpose.ROTATE_90, Image.Transpose.ROTATE_180, Image.Transpose.ROTATE_270)

    def apply(image: Image.Image) -> Image.Image:
        turn = turns[draw.randint(first, last)]  # glue
        return image.copy() if turn is None else image.transpose(turn)

    return apply


@builders("Rotate")
def _rotate(params: Params) -> Apply:
    low, high = params["angle_degrees"]
    resampling, fill = _RESAMPLING[params["interpolation"]], _fill(params)
    return lambda image: image.rotate(draw.uniform(low, high), resampling, fillcolor=fill)  # glue: the angle


def _warp(image: Image.Image, coefficients: tuple[float, ...], params: Params) -> Image.Image:
    """Warp to the same size; six coefficients are affine, eight perspective, output to input."""
    method = Image.Transform.AFFINE if len(coefficients) == 6 else Image.Transform.PERSPECTIVE
    resampling = _RESAMPLING[params["interpolation"]]
    return image.transform(image.size, method, coefficients, resampling, fillcolor=_fill(params))


@builders("Affine")
def _affine(params: Params) -> Apply:
    def apply(image: Image.Image) -> Image.Image:
        # glue: the inverse of a rotation and scaling about the centre followed by a shift
        angle = math.radians(draw.uniform(*params["angle_degrees"]))
        scale = draw.uniform(*params["scale_factor"])
        shift_x, shift_y = (draw.uniform(*params["shift_fraction"]) * side for side in image.size)
        cos, sin = math.cos(angle) / scale, math.sin(angle) / scale
        x, y = image.width / 2, image.height / 2
        to_x, to_y = x + int(shift_x), y + int(shift_y)
        coefficients = (cos, -sin, x - cos * to_x + sin * to_y, sin, cos, y - sin * to_x - cos * to_y)
        return _warp(image, coefficients, params)

    return apply


@builders("Shear")
def _shear(params: Params) -> Apply:
    def apply(image: Image.Image) -> Image.Image:
        slope = math.tan(math.radians(draw.uniform(*params["shear_x_degrees"])))  # glue
        return _warp(image, (1, slope, -slope * image.height / 2, 0, 1, 0), params)

    return apply


def _perspective_coefficients(source: list[Any], target: list[Any]) -> tuple[float, ...]:
    """Eight coefficients of the projective map that takes the four target points to the source points."""
    rows, values = [], []
    for (x, y), (u, v) in zip(target, source, strict=True):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        values += [u, v]
    return tuple(np.linalg.solve(np.array(rows, dtype=float), np.array(values, dtype=float)))


@builders("Perspective")
def _perspective(params: Params) -> Apply:
    pinned, most = params["corners"], params["distortion_fraction"] / 2

    def apply(image: Image.Image) -> Image.Image:
        # glue: where the corners go, and the coefficients of that map. Pillow's coordinates count from the
        # edge of the first pixel, half a pixel before its centre.
        right, bottom = image.width - 1, image.height - 1
        corners = [(0, 0), (1, 0), (1, 1), (0, 1)]
        moved = pinned or [
            (abs(x - draw.uniform(0, most)), abs(y - draw.uniform(0, most))) for x, y in corners
        ]
        source = [(x * right + 0.5, y * bottom + 0.5) for x, y in corners]
        target = [(x * right + 0.5, y * bottom + 0.5) for x, y in moved]
        return _warp(image, _perspective_coefficients(source, target), params)

    return apply


# --- blur and detail ----------------------------------------------------------------------------------


def _filter(image_filter: ImageFilter.Filter) -> Apply:
    return lambda image: image.filter(image_filter)


@builders("Blur")
def _blur(params: Params) -> Apply:
    return _filter(ImageFilter.BoxBlur(params["kernel_size_pixels"] // 2))


@builders("GaussianBlur")
def _gaussian_blur(params: Params) -> Apply:
    return _filter(ImageFilter.GaussianBlur(params["sigma_pixels"]))


@builders("MedianBlur")
def _median_blur(params: Params) -> Apply:
    return _filter(ImageFilter.MedianFilter(params["kernel_size_pixels"]))


@builders("UnsharpMask")
def _unsharp_mask(params: Params) -> Apply:
    percent = round(100 * params["amount_factor"])
    return _filter(ImageFilter.UnsharpMask(params["sigma_pixels"], percent, params["threshold_levels"]))


@builders("EnhanceEdge")
def _enhance_edge(params: Params) -> Apply:
    _only_full_strength(params)
    return _filter(ImageFilter.EDGE_ENHANCE())


@builders("EnhanceDetail")
def _enhance_detail(params: Params) -> Apply:
    _only_full_strength(params)
    return _filter(ImageFilter.DETAIL())


def _only_full_strength(params: Params) -> None:
    if params["strength_fraction"] != 1:
        raise ValueError("Pillow's filter has one strength only")


# --- colour and tone ----------------------------------------------------------------------------------


def _enhance(enhancer: Callable[[Image.Image], Any], factor: list[float]) -> Apply:
    low, high = factor
    return lambda image: enhancer(image).enhance(draw.uniform(low, high))  # glue: the factor


@builders("Brightness")
def _brightness(params: Params) -> Apply:
    return _enhance(ImageEnhance.Brightness, params["brightness_factor"])


@builders("Contrast")
def _contrast(params: Params) -> Apply:
    return _enhance(ImageEnhance.Contrast, params["contrast_factor"])


@builders("Saturation")
def _saturation(params: Params) -> Apply:
    return _enhance(ImageEnhance.Color, params["saturation_factor"])


@builders("Sharpen")
def _sharpen(params: Params) -> Apply:
    factor = params["sharpness_factor"]
    return lambda image: ImageEnhance.Sharpness(image).enhance(factor)


@builders("RandomGamma")
def _random_gamma(params: Params) -> Apply:
    table = [round(255 * (level / 255) ** params["gamma"]) for level in range(256)] * 3
    return lambda image: image.point(table)


@builders("Grayscale")
def _grayscale(params: Params) -> Apply:
    return lambda image: ImageOps.grayscale(image).convert("RGB")


@builders("Invert")
def _invert(params: Params) -> Apply:
    return ImageOps.invert


@builders("Posterize")
def _posterize(params: Params) -> Apply:
    bits = params["bits"]
    return lambda image: ImageOps.posterize(image, bits)


@builders("Solarize")
def _solarize(params: Params) -> Apply:
    threshold = params["threshold_levels"]
    return lambda image: ImageOps.solarize(image, threshold)


@builders("AutoContrast")
def _auto_contrast(params: Params) -> Apply:
    return ImageOps.autocontrast


@builders("Equalize")
def _equalize(params: Params) -> Apply:
    return ImageOps.equalize


@builders("JpegCompression")
def _jpeg_compression(params: Params) -> Apply:
    quality = params["quality"]

    def apply(image: Image.Image) -> Image.Image:
        encoded = io.BytesIO()
        image.save(encoded, "JPEG", quality=quality)
        return Image.open(encoded)  # decoded by the load() that makes every output real

    return apply


class PillowAdapter:
    """The adapter of Pillow (see ``augmark.libraries.base.Adapter``)."""

    form = "PIL.Image RGB"
    dtype = "uint8"
    builders = builders

    def set_threads(self, threads: int) -> None:
        """Pillow has one thread."""

    def seed(self, seed: int) -> None:
        """Seed what the glue draws from; Pillow draws nothing."""
        draw.seed(seed)

    def native(self, item: np.ndarray) -> Image.Image:
        """Own RGB image of a uint8 H x W x 3 array."""
        return Image.fromarray(np.ascontiguousarray(item)).copy()

    def build(self, transform: str, params: Params) -> Apply:
        """Build one operation; its output is loaded.

        Raises:
            KeyError: The library does not offer ``transform``.
        """
        operation = self.builders[transform](params)

        def apply(image: Image.Image) -> Image.Image:
            output = operation(image)
            output.load()
            return output

        return apply

    def to_numpy(self, output: Image.Image) -> np.ndarray:
        """H x W x 3, levels 0..255."""
        return np.asarray(output)


adapter = PillowAdapter()
