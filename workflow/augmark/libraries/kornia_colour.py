"""Kornia's colour, tone and channel transforms.

``RandomBrightness`` adds (factor - 1), ``RandomContrast`` multiplies about zero and ``RandomSaturation`` goes
through HSV; ``ColorJiggle`` is made of these. ``ColorJitter`` is made of what the other libraries call by
these names (multiply, move away from the grey mean, move away from the grey pixel), so it is what these
rows use, one factor at a time: its neutral steps are skipped.
"""

from __future__ import annotations

import kornia.augmentation as K
import torch

from augmark.libraries.base import Apply, Params, Registry
from augmark.libraries.kornia_common import ALWAYS, LEVELS, pair, pinned, real, scaled
from augmark.libraries.torch_common import fixed

builders = Registry()
STEPS = ("brightness", "contrast", "saturation", "hue")
COLDEST_KELVIN, KELVIN_STEP = 3000, 500  # of RandomPlanckianJitter's table of black bodies


@builders("Brightness")
def _brightness(params: Params) -> Apply:
    return real(K.ColorJitter(brightness=pair(params["brightness_factor"]), **ALWAYS))


@builders("Contrast")
def _contrast(params: Params) -> Apply:
    return real(K.ColorJitter(contrast=pair(params["contrast_factor"]), **ALWAYS))


@builders("Saturation")
def _saturation(params: Params) -> Apply:
    return real(K.ColorJitter(saturation=pair(params["saturation_factor"]), **ALWAYS))


@builders("Hue")
def _hue(params: Params) -> Apply:
    return real(K.RandomHue(scaled(params["shift_degrees"], 360), **ALWAYS))


@builders("ColorJitter", "ColorJiggle")
def _color_jitter(params: Params) -> Apply:
    order = params["order"]
    return real(
        K.ColorJitter(
            brightness=pair(params["brightness_factor"]),
            contrast=pair(params["contrast_factor"]),
            saturation=pair(params["saturation_factor"]),
            hue=scaled(params["hue_shift_degrees"], 360),
            order=None if order is None else tuple(STEPS.index(step) for step in order),
            **ALWAYS,
        )
    )


@builders("RandomGamma")
def _gamma(params: Params) -> Apply:
    gamma = params["gamma"]
    return real(K.RandomGamma((gamma, gamma), **ALWAYS))


@builders("Grayscale")
def _grayscale(params: Params) -> Apply:
    channels = params["channels"]
    if params["weights"] == "equal":
        return real(K.RandomGrayscale(torch.full((channels,), 1 / channels), **ALWAYS))
    fixed(params, weights="luma", channels=3)
    return real(K.RandomGrayscale(**ALWAYS))


@builders("Invert")
def _invert(params: Params) -> Apply:
    return real(K.RandomInvert(**ALWAYS))


@builders("Posterize")
def _posterize(params: Params) -> Apply:
    bits = float(params["bits"])  # a single number would be a range up to 8 bits, which is no change
    return real(K.RandomPosterize((bits, bits), **ALWAYS))


@builders("Solarize")
def _solarize(params: Params) -> Apply:
    # A single number would be a range about 0.5, and the default adds a drawn shift first. Half a level
    # below, so that a level that equals the threshold is on the same side whatever its rounding.
    threshold = (params["threshold_levels"] - 0.5) / LEVELS
    return real(K.RandomSolarize((threshold, threshold), additions=(0.0, 0.0), **ALWAYS))


@builders("AutoContrast")
def _autocontrast(params: Params) -> Apply:
    return real(K.RandomAutoContrast(**ALWAYS))


@builders("Equalize")
def _equalize(params: Params) -> Apply:
    return real(K.RandomEqualize(**ALWAYS))


@builders("CLAHE")
def _clahe(params: Params) -> Apply:
    grid = tuple(params["tile_grid"])
    return real(K.RandomClahe(pair(params["clip_limit"]), grid_size=grid, **ALWAYS))


@builders("RGBShift")
def _rgb_shift(params: Params) -> Apply:
    return real(
        K.RandomRGBShift(
            scaled(params["red_levels"], LEVELS),
            scaled(params["green_levels"], LEVELS),
            scaled(params["blue_levels"], LEVELS),
            **ALWAYS,
        )
    )


@builders("PlankianJitter")
def _planckian_jitter(params: Params) -> Apply:
    kelvin = params["temperature_kelvin"]
    index, rest = (None, 0) if kelvin is None else divmod(kelvin - COLDEST_KELVIN, KELVIN_STEP)
    if rest:
        raise ValueError(f"Kornia has no black body at {kelvin} K, only every {KELVIN_STEP} K")
    return real(K.RandomPlanckianJitter(params["mode"], select_from=index, **ALWAYS))


@builders("ChannelShuffle")
def _channel_shuffle(params: Params) -> Apply:
    module, order = K.RandomChannelShuffle(**ALWAYS), params["order"]
    if order is None:
        return real(module)
    return pinned(module, lambda height, width: {"channels": torch.tensor([order])})


@builders("ChannelDropout")
def _channel_dropout(params: Params) -> Apply:
    module = K.RandomChannelDropout(params["channels"], fill_value=params["fill_level"] / LEVELS, **ALWAYS)
    dropped = params["dropped"]
    if dropped is None:
        return real(module)
    return pinned(module, lambda height, width: {"channel_idx": torch.tensor([dropped])})
