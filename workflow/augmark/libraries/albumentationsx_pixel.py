"""AlbumentationsX: blur, detail, noise, loss and weather."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import albumentations as A
import numpy as np

from augmark.libraries.albumentationsx_pinning import with_draws
from augmark.libraries.base import Params, Registry

builders = Registry()


@builders("Blur")
def _blur(params: Params) -> A.BasicTransform:
    size = params["kernel_size_pixels"]
    return A.Blur(blur_range=(size, size), p=1)


@builders("GaussianBlur")
def _gaussian_blur(params: Params) -> A.BasicTransform:
    size, sigma = params["kernel_size_pixels"], params["sigma_pixels"]
    return A.GaussianBlur(blur_range=(size, size), sigma_range=(sigma, sigma), p=1)


@builders("MedianBlur")
def _median_blur(params: Params) -> A.BasicTransform:
    size = params["kernel_size_pixels"]
    return A.MedianBlur(blur_range=(size, size), p=1)


@builders("MotionBlur")
def _motion_blur(params: Params) -> A.BasicTransform:
    size, (low, high) = params["kernel_size_pixels"], params["angle_degrees"]
    return A.MotionBlur(
        blur_range=(size, size),
        angle_range=(360 - high, 360 - low),  # the library turns clockwise
        direction_range=tuple(params["direction"]),
        allow_shifted=False,
        p=1,
    )


@builders("Sharpen")
def _sharpen(params: Params) -> A.BasicTransform:
    # image + alpha * (8 centre - neighbours) is what the factor means where alpha = (factor - 1) / 13:
    # 13 is the sum of the smoothing weights (eight times 1 and a centre of 5).
    alpha = (params["sharpness_factor"] - 1) / 13
    return A.Sharpen(alpha_range=(alpha, alpha), lightness_range=(1.0, 1.0), method="kernel", p=1)


@builders("UnsharpMask")
def _unsharp_mask(params: Params) -> A.BasicTransform:
    size, sigma, amount = params["kernel_size_pixels"], params["sigma_pixels"], params["amount_factor"]
    return A.UnsharpMask(
        blur_range=(size, size),
        sigma_range=(sigma, sigma),
        alpha_range=(amount, amount),
        threshold=params["threshold_levels"],
        p=1,
    )


@builders("EnhanceEdge")
def _enhance_edge(params: Params) -> A.BasicTransform:
    strength = params["strength_fraction"]
    return A.Enhance(mode="edge", alpha_range=(strength, strength), p=1)


@builders("EnhanceDetail")
def _enhance_detail(params: Params) -> A.BasicTransform:
    strength = params["strength_fraction"]
    return A.Enhance(mode="detail", alpha_range=(strength, strength), p=1)


@builders("GaussianNoise")
def _gaussian_noise(params: Params) -> A.BasicTransform:
    mean, std = params["mean_fraction"], params["std_fraction"]
    return A.GaussNoise(std_range=(std, std), mean_range=(mean, mean), per_channel=True, p=1)


@builders("SaltAndPepper")
def _salt_and_pepper(params: Params) -> A.BasicTransform:
    arguments = {
        "amount_range": tuple(params["amount_fraction"]),
        "salt_vs_pepper_range": tuple(params["salt_fraction"]),
        "p": 1,
    }
    step = params["lattice_pixels"]
    if step is None:
        return A.SaltAndPepper(**arguments)

    def draws(height: int, width: int) -> Mapping[str, Any]:
        salt, pepper = np.zeros((2, height, width), dtype=bool)
        salt[::step, ::step] = True
        pepper[step // 2 :: step, step // 2 :: step] = True
        return {"salt_mask": salt, "pepper_mask": pepper}

    return with_draws(A.SaltAndPepper, draws, **arguments)


@builders("Erasing")
def _erasing(params: Params) -> A.BasicTransform:
    arguments = {
        "scale": tuple(params["area_fraction"]),
        "ratio": tuple(params["aspect_ratio"]),
        "fill": params["fill_level"],
        "p": 1,
    }
    if params["box_pixels"] is None:
        return A.Erasing(**arguments)
    top, left, height, width = params["box_pixels"]
    holes = np.array([[left, top, left + width, top + height]], dtype=np.int32)
    return with_draws(A.Erasing, lambda *_: {"holes": holes, "seed": 0}, **arguments)


@builders("JpegCompression")
def _jpeg_compression(params: Params) -> A.BasicTransform:
    quality = params["quality"]
    return A.ImageCompression(compression_type="jpeg", quality_range=(quality, quality), p=1)


@builders("Rain")
def _rain(params: Params) -> A.BasicTransform:
    return A.RandomRain(drop_length=params["drop_height_pixels"], drop_width=params["drop_width_pixels"], p=1)


@builders("Snow")
def _snow(params: Params) -> A.BasicTransform:
    # The library's own snow point s stands for a lightness of s / 2 + 1 / 3 of the range.
    point = 2 * (params["snow_point_fraction"] - 1 / 3)
    return A.RandomSnow(
        snow_point_range=(point, point), brightness_coeff=params["brightness_factor"], method="bleach", p=1
    )
