"""AlbumentationsX: colour, tone, channels and light."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import albumentations as A

from augmark.libraries.albumentationsx_pinning import with_draws
from augmark.libraries.base import Params, Registry

builders = Registry()

_UNCHANGED = (1.0, 1.0)
_CORNERS = {"upper-left": 0, "upper-right": 1, "lower-right": 2, "lower-left": 3}
# Degrees along which the ramp rises, as the library counts them.
_DIRECTIONS = {"right": 0.0, "down": 90.0, "left": 180.0, "up": 270.0}
_EFFECTS = {None: "both", 1: "brighten", -1: "darken"}


def _turns(degrees: Any) -> tuple[float, float]:
    """A range in degrees as a range in whole turns."""
    low, high = degrees
    return low / 360, high / 360


@builders("Brightness")
def _brightness(params: Params) -> A.BasicTransform:
    low, high = params["brightness_factor"]
    return A.RandomBrightnessContrast(brightness_range=(low - 1, high - 1), contrast_range=(0.0, 0.0), p=1)


@builders("Contrast")
def _contrast(params: Params) -> A.BasicTransform:
    low, high = params["contrast_factor"]
    return A.RandomBrightnessContrast(brightness_range=(0.0, 0.0), contrast_range=(low - 1, high - 1), p=1)


@builders("Saturation")
def _saturation(params: Params) -> A.BasicTransform:
    # HueSaturationValue adds to the saturation instead of scaling it.
    return A.ColorJitter(
        brightness_range=_UNCHANGED,
        contrast_range=_UNCHANGED,
        saturation_range=tuple(params["saturation_factor"]),
        hue_range=(0.0, 0.0),
        p=1,
    )


@builders("Hue")
def _hue(params: Params) -> A.BasicTransform:
    low, high = params["shift_degrees"]
    # OpenCV's hue of a uint8 image is in steps of two degrees.
    return A.HueSaturationValue(
        hue_shift_range=(low / 2, high / 2), sat_shift_range=(0, 0), val_shift_range=(0, 0), p=1
    )


@builders("ColorJitter", "ColorJiggle")
def _color_jitter(params: Params) -> A.BasicTransform:
    arguments = {
        "brightness_range": tuple(params["brightness_factor"]),
        "contrast_range": tuple(params["contrast_factor"]),
        "saturation_range": tuple(params["saturation_factor"]),
        "hue_range": _turns(params["hue_shift_degrees"]),
        "p": 1,
    }
    if params["order"] is None:
        return A.ColorJitter(**arguments)
    draws = {
        "brightness": params["brightness_factor"][0],
        "contrast": params["contrast_factor"][0],
        "saturation": params["saturation_factor"][0],
        "hue": _turns(params["hue_shift_degrees"])[0],
        "order": list(params["order"]),
    }
    return with_draws(A.ColorJitter, lambda *_: draws, **arguments)


@builders("PhotoMetricDistort")
def _photometric_distort(params: Params) -> A.BasicTransform:
    arguments = {
        "brightness_range": tuple(params["brightness_factor"]),
        "contrast_range": tuple(params["contrast_factor"]),
        "saturation_range": tuple(params["saturation_factor"]),
        "hue_range": _turns(params["hue_shift_degrees"]),
        "distort_p": 1.0,
        "p": 1,
    }
    if params["channel_order"] is None:
        return A.PhotoMetricDistort(**arguments)
    draws = {
        "brightness_factor": params["brightness_factor"][0],
        "contrast_factor": params["contrast_factor"][0],
        "saturation_factor": params["saturation_factor"][0],
        "hue_factor": _turns(params["hue_shift_degrees"])[0],
        "contrast_before": params["contrast_first"],
        "channel_permutation": list(params["channel_order"]),
    }
    return with_draws(A.PhotoMetricDistort, lambda *_: draws, **arguments)


@builders("RandomGamma")
def _random_gamma(params: Params) -> A.BasicTransform:
    percent = params["gamma"] * 100
    return A.RandomGamma(gamma_range=(percent, percent), p=1)


@builders("Grayscale")
def _grayscale(params: Params) -> A.BasicTransform:
    method = {"luma": "weighted_average", "equal": "average"}[params["weights"]]
    return A.ToGray(num_output_channels=params["channels"], method=method, p=1)


@builders("Invert")
def _invert(params: Params) -> A.BasicTransform:
    return A.InvertImg(p=1)


@builders("Posterize")
def _posterize(params: Params) -> A.BasicTransform:
    return A.Posterize(num_bits=(params["bits"], params["bits"]), p=1)


@builders("Solarize")
def _solarize(params: Params) -> A.BasicTransform:
    threshold = params["threshold_levels"] / 255
    return A.Solarize(threshold_range=(threshold, threshold), p=1)


@builders("AutoContrast")
def _auto_contrast(params: Params) -> A.BasicTransform:
    return A.AutoContrast(method="pil", p=1)


@builders("Equalize")
def _equalize(params: Params) -> A.BasicTransform:
    return A.Equalize(mode="pil", by_channels=True, p=1)


@builders("CLAHE")
def _clahe(params: Params) -> A.BasicTransform:
    return A.CLAHE(clip_range=tuple(params["clip_limit"]), tile_grid_size=tuple(params["tile_grid"]), p=1)


@builders("RGBShift")
def _rgb_shift(params: Params) -> A.BasicTransform:
    return A.RGBShift(
        r_shift_range=tuple(params["red_levels"]),
        g_shift_range=tuple(params["green_levels"]),
        b_shift_range=tuple(params["blue_levels"]),
        p=1,
    )


@builders("PlankianJitter")
def _planckian_jitter(params: Params) -> A.BasicTransform:
    if params["temperature_kelvin"] is None:
        return A.PlanckianJitter(mode=params["mode"], p=1)
    draws: Mapping[str, Any] = {"temperature": params["temperature_kelvin"]}
    return with_draws(A.PlanckianJitter, lambda *_: draws, mode=params["mode"], p=1)


@builders("ChannelShuffle")
def _channel_shuffle(params: Params) -> A.BasicTransform:
    order = params["order"]
    return A.ChannelShuffle(channel_order=None if order is None else tuple(order), p=1)


@builders("ChannelDropout")
def _channel_dropout(params: Params) -> A.BasicTransform:
    count = params["channels"]
    arguments = {"channel_drop_range": (count, count), "fill": params["fill_level"], "p": 1}
    if params["dropped"] is None:
        return A.ChannelDropout(**arguments)
    draws = {"channels_to_drop": tuple(params["dropped"])}
    return with_draws(A.ChannelDropout, lambda *_: draws, **arguments)


def _light(params: Params) -> dict[str, Any]:
    return {
        "intensity_range": tuple(params["gain_fraction"]),
        "effect_type": _EFFECTS[params["sign"]],
        "p": 1,
    }


@builders("LinearIllumination")
def _linear_illumination(params: Params) -> A.BasicTransform:
    direction = params["direction"]
    angles = (0.0, 360.0) if direction is None else (_DIRECTIONS[direction], _DIRECTIONS[direction])
    return A.Illumination(mode="linear", angle_range=angles, **_light(params))


@builders("CornerIllumination")
def _corner_illumination(params: Params) -> A.BasicTransform:
    arguments = {"mode": "corner", **_light(params)}
    if params["corner"] is None:
        return A.Illumination(**arguments)
    draws = {
        "intensity": params["sign"] * params["gain_fraction"][0],
        "corner": _CORNERS[params["corner"]],
        "angle": None,
        "center": None,
        "sigma": None,
        "spots": None,
    }
    return with_draws(A.Illumination, lambda *_: draws, **arguments)


@builders("GaussianIllumination")
def _gaussian_illumination(params: Params) -> A.BasicTransform:
    return A.Illumination(
        mode="gaussian",
        center_range=tuple(params["centre_fraction"]),
        sigma_range=tuple(params["sigma_fraction"]),
        **_light(params),
    )


@builders("PlasmaBrightness")
def _plasma_brightness(params: Params) -> A.BasicTransform:
    return A.PlasmaBrightnessContrast(
        brightness_range=tuple(params["intensity_fraction"]),
        contrast_range=(0.0, 0.0),
        roughness=params["roughness"],
        p=1,
    )


@builders("PlasmaContrast")
def _plasma_contrast(params: Params) -> A.BasicTransform:
    return A.PlasmaBrightnessContrast(
        brightness_range=(0.0, 0.0),
        contrast_range=tuple(params["intensity_fraction"]),
        roughness=params["roughness"],
        p=1,
    )


@builders("PlasmaShadow")
def _plasma_shadow(params: Params) -> A.BasicTransform:
    return A.PlasmaShadow(
        shadow_intensity_range=tuple(params["intensity_fraction"]), roughness=params["roughness"], p=1
    )
