"""Kornia's blurs, light, noise, loss and weather."""

from __future__ import annotations

import kornia.augmentation as K
import torch
from kornia.filters import UnsharpMask

from augmark.libraries.base import Apply, Params, Registry
from augmark.libraries.kornia_common import ALWAYS, LEVELS, Override, chosen, pair, pinned, real
from augmark.libraries.torch_common import fixed, without

builders = Registry()

# --- blur and detail -------------------------------------------------------------------------------


def _square(params: Params) -> tuple[int, int]:
    return params["kernel_size_pixels"], params["kernel_size_pixels"]


@builders("Blur")
def _blur(params: Params) -> Apply:
    return real(K.RandomBoxBlur(_square(params), border_type="reflect", **ALWAYS))


@builders("GaussianBlur")
def _gaussian_blur(params: Params) -> Apply:
    sigma = float(params["sigma_pixels"])
    return real(K.RandomGaussianBlur(_square(params), (sigma, sigma), border_type="reflect", **ALWAYS))


@builders("MedianBlur")
def _median_blur(params: Params) -> Apply:
    return real(K.RandomMedianBlur(_square(params), **ALWAYS))


@builders("MotionBlur")
def _motion_blur(params: Params) -> Apply:
    return real(
        K.RandomMotionBlur(
            params["kernel_size_pixels"],
            pair(params["angle_degrees"]),
            pair(params["direction"]),
            border_type="reflect",  # the default, constant, darkens the border
            **ALWAYS,
        )
    )


@builders("Sharpen")
def _sharpen(params: Params) -> Apply:
    factor = float(params["sharpness_factor"])  # a single number would be a range from 0, which is a blur
    return real(K.RandomSharpness((factor, factor), **ALWAYS))


@builders("UnsharpMask")
def _unsharp_mask(params: Params) -> Apply:
    fixed(params, amount_factor=1.0, threshold_levels=0)
    sigma = float(params["sigma_pixels"])
    module = UnsharpMask(_square(params), (sigma, sigma))
    # A filter, not an augmentation: it does not clip, so the value range of an image is restored here.
    return real(lambda item: module(item).clamp_(0, 1))


# --- light -----------------------------------------------------------------------------------------


def _sign(params: Params) -> tuple[float, float]:
    sign = params["sign"]
    return (-1.0, 1.0) if sign is None else (float(sign), float(sign))


@builders("LinearIllumination")
def _linear_illumination(params: Params) -> Apply:
    module = K.RandomLinearIllumination(pair(params["gain_fraction"]), _sign(params), **ALWAYS)
    if params["direction"] is None:
        return real(module)
    fixed(params, direction="down")

    def brighter_below(drawn: Override) -> bool:
        ramp = drawn["gradient"][0, 0].abs()
        return bool(ramp[-1, 0] > ramp[0, 0])

    def horizontal(drawn: Override) -> bool:
        ramp = drawn["gradient"][0, 0]
        return bool(ramp[0, 0] == ramp[0, -1])

    return chosen(module, lambda drawn: horizontal(drawn) and brighter_below(drawn))


@builders("CornerIllumination")
def _corner_illumination(params: Params) -> Apply:
    module = K.RandomLinearCornerIllumination(pair(params["gain_fraction"]), _sign(params), **ALWAYS)
    if params["corner"] is None:
        return real(module)
    fixed(params, corner="upper-left")

    def upper_left(drawn: Override) -> bool:
        ramp = drawn["gradient"][0, 0].abs()
        return bool(ramp[0, 0] == ramp.max())

    return chosen(module, upper_left)


@builders("GaussianIllumination")
def _gaussian_illumination(params: Params) -> Apply:
    return real(
        K.RandomGaussianIllumination(
            pair(params["gain_fraction"]),
            pair(params["centre_fraction"]),
            pair(params["sigma_fraction"]),
            _sign(params),
            **ALWAYS,
        )
    )


def _roughness(params: Params) -> tuple[float, float]:
    return params["roughness"], params["roughness"]


@builders("PlasmaBrightness")
def _plasma_brightness(params: Params) -> Apply:
    return real(K.RandomPlasmaBrightness(_roughness(params), pair(params["intensity_fraction"]), **ALWAYS))


@builders("PlasmaContrast")
def _plasma_contrast(params: Params) -> Apply:
    without(params, "intensity_fraction")  # always a factor of 0 to 4
    return real(K.RandomPlasmaContrast(_roughness(params), **ALWAYS))


@builders("PlasmaShadow")
def _plasma_shadow(params: Params) -> Apply:
    low, high = params["intensity_fraction"]
    return real(K.RandomPlasmaShadow(_roughness(params), shade_intensity=(-high, -low), **ALWAYS))


# --- noise, loss and weather -----------------------------------------------------------------------


@builders("GaussianNoise")
def _gaussian_noise(params: Params) -> Apply:
    module = K.RandomGaussianNoise(params["mean_fraction"], params["std_fraction"], **ALWAYS)
    # Kornia leaves values outside [0, 1], where uint8 libraries saturate: clipped, as an image has to be.
    return real(lambda item: module(item).clamp_(0, 1))


@builders("SaltAndPepper")
def _salt_and_pepper(params: Params) -> Apply:
    amount, salt = pair(params["amount_fraction"]), pair(params["salt_fraction"])
    module, step = K.RandomSaltAndPepperNoise(amount, salt, **ALWAYS), params["lattice_pixels"]
    if step is None:
        return real(module)

    def lattice(height: int, width: int) -> Override:
        salt, pepper = torch.zeros((2, 1, 3, height, width), dtype=torch.bool)
        salt[..., ::step, ::step] = True
        pepper[..., step // 2 :: step, step // 2 :: step] = True
        return {"mask_salt": salt, "mask_pepper": pepper}

    return pinned(module, lattice)


@builders("Erasing")
def _erasing(params: Params) -> Apply:
    module = K.RandomErasing(
        pair(params["area_fraction"]), pair(params["aspect_ratio"]), params["fill_level"] / LEVELS, **ALWAYS
    )
    box = params["box_pixels"]
    if box is None:
        return real(module)
    place = {
        key: torch.tensor([float(value)])
        for key, value in zip(("ys", "xs", "heights", "widths"), box, strict=True)
    }
    return pinned(module, lambda height, width: place)


@builders("JpegCompression")
def _jpeg(params: Params) -> Apply:
    quality = float(params["quality"])  # a single number would be a range about 50
    return real(K.RandomJPEG((quality, quality), **ALWAYS))


@builders("Rain")
def _rain(params: Params) -> Apply:
    width, height = params["drop_width_pixels"], params["drop_height_pixels"]
    return real(K.RandomRain(drop_height=(height, height), drop_width=(width, width), **ALWAYS))


@builders("Snow")
def _snow(params: Params) -> Apply:
    point, factor = float(params["snow_point_fraction"]), float(params["brightness_factor"])
    return real(K.RandomSnow((point, point), (factor, factor), **ALWAYS))
