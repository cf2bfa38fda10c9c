"""Kornia's crops, resizes and warps."""

from __future__ import annotations

import math

import kornia.augmentation as K
import torch

from augmark.libraries.base import Apply, Params, Registry
from augmark.libraries.kornia_common import ALWAYS, Override, box_corners, pair, pinned, real
from augmark.libraries.torch_common import degenerate, fixed, symmetric, without

builders = Registry()

# --- size and crop ---------------------------------------------------------------------------------


@builders("Resize")
def _resize(params: Params) -> Apply:
    return real(
        K.Resize(
            (params["height_pixels"], params["width_pixels"]),
            resample=params["interpolation"],
            align_corners=False,  # the default, True, aligns the corner pixels: another grid
            antialias=params["antialias"],
        )
    )


@builders("LongestMaxSize")
def _longest_max_size(params: Params) -> Apply:
    fixed(params, antialias=False)
    size = params["max_size_pixels"]
    return real(K.LongestMaxSize(size, resample=params["interpolation"], align_corners=False))


@builders("SmallestMaxSize")
def _smallest_max_size(params: Params) -> Apply:
    fixed(params, antialias=False)
    size = params["max_size_pixels"]
    return real(K.SmallestMaxSize(size, resample=params["interpolation"], align_corners=False))


@builders("CenterCrop224")
def _center_crop(params: Params) -> Apply:
    return real(K.CenterCrop((params["height_pixels"], params["width_pixels"]), cropping_mode="slice"))


@builders("RandomCrop224")
def _random_crop(params: Params) -> Apply:
    size = (params["height_pixels"], params["width_pixels"])
    module = K.RandomCrop(size, cropping_mode="slice", **ALWAYS)
    position = params["position_pixels"]
    if position is None:
        return real(module)
    return pinned(module, lambda height, width: {"src": box_corners(*position, *size)})


@builders("RandomResizedCrop")
def _random_resized_crop(params: Params) -> Apply:
    fixed(params, antialias=False)
    area, ratio = pair(params["area_fraction"]), pair(params["aspect_ratio"])
    module = K.RandomResizedCrop(
        (params["height_pixels"], params["width_pixels"]),
        scale=area,
        ratio=ratio,
        resample=params["interpolation"],
        align_corners=False,
        cropping_mode="slice",
        **ALWAYS,
    )
    if not (degenerate(area) and degenerate(ratio)):
        return real(module)

    def central(height: int, width: int) -> Override:
        # Where no box of this area fits, Kornia takes the largest one, as the others do, but somewhere.
        box_height = min(height, round(width / ratio[0]))
        box_width = min(width, round(height * ratio[0]))
        top, left = (height - box_height) // 2, (width - box_width) // 2
        return {"src": box_corners(top, left, box_height, box_width)}

    return pinned(module, central)


@builders("Pad")
def _pad(params: Params) -> Apply:
    # Kornia has no class for a border on all sides: PadTo fills up to a size on the right and below. The size
    # is that of the bordered image, so as much memory is written, but the image lies in the corner.
    padding, fill = params["padding_pixels"], params["fill_level"] / 255
    modules: dict[torch.Size, K.PadTo] = {}

    def apply(item: torch.Tensor) -> torch.Tensor:
        module = modules.get(item.shape)
        if module is None:
            height, width = item.shape[-2:]
            module = K.PadTo((height + 2 * padding, width + 2 * padding), pad_value=fill)
            modules[item.shape] = module
        return module(item).contiguous()

    return apply


# --- geometry --------------------------------------------------------------------------------------


@builders("HorizontalFlip")
def _horizontal_flip(params: Params) -> Apply:
    return real(K.RandomHorizontalFlip(**ALWAYS))


@builders("VerticalFlip")
def _vertical_flip(params: Params) -> Apply:
    return real(K.RandomVerticalFlip(**ALWAYS))


@builders("RandomRotate90")
def _rotate90(params: Params) -> Apply:
    low, high = params["quarter_turns"]
    # The number is a uniform draw, rounded: half a turn more at both ends makes each number equally likely.
    # The bounds are -3 and 3, so that all four turns are asked for as -1 to 2.
    first, last = (low - 1, high - 1) if high - low == 3 else (low, high)
    ends = (first, last) if first == last else (first - 0.5, last + 0.5)
    return real(K.RandomRotation90(ends, resample="nearest", **ALWAYS))


@builders("Rotate")
def _rotate(params: Params) -> Apply:
    fixed(params, fill_level=0)
    return real(K.RandomRotation(pair(params["angle_degrees"]), resample=params["interpolation"], **ALWAYS))


@builders("Affine")
def _affine(params: Params) -> Apply:
    low, high = pair(params["angle_degrees"])
    shift = params["shift_fraction"]
    bound = abs(shift[0]) if degenerate(shift) else symmetric(shift)
    module = K.RandomAffine(
        (-high, -low),  # RandomAffine turns clockwise, RandomRotation counter-clockwise
        translate=(bound, bound),
        scale=pair(params["scale_factor"]),
        resample=params["interpolation"],
        align_corners=True,
        fill_value=None if params["fill_level"] == 0 else params["fill_level"] / 255,
        **ALWAYS,
    )
    if not degenerate(shift):
        return real(module)
    return pinned(
        module,
        lambda height, width: {"translations": torch.tensor([[shift[0] * width, shift[0] * height]])},
    )


@builders("Shear")
def _shear(params: Params) -> Apply:
    fixed(params, fill_level=0)
    shear, resample = pair(params["shear_x_degrees"]), params["interpolation"]
    return real(K.RandomShear(shear, resample=resample, align_corners=True, **ALWAYS))


@builders("Perspective")
def _perspective(params: Params) -> Apply:
    fixed(params, fill_level=0)
    module = K.RandomPerspective(
        params["distortion_fraction"], resample=params["interpolation"], align_corners=True, **ALWAYS
    )
    corners = params["corners"]
    if corners is None:
        return real(module)

    def ends(height: int, width: int) -> Override:
        return {"end_points": torch.tensor([corners]) * torch.tensor([width - 1.0, height - 1.0])}

    return pinned(module, ends)


@builders("Elastic")
def _elastic(params: Params) -> Apply:
    fixed(params, fill_level=0)
    without(params, "displacement_fraction")
    alpha, sigma = params["alpha_pixels"], float(params["sigma_pixels"])
    side = int(8 * sigma) | 1  # as wide as torchvision's; the default, 63, would cut another sigma off
    module = K.RandomElasticTransform(
        (side, side), (sigma, sigma), (1.0, 1.0), resample=params["interpolation"], **ALWAYS
    )

    def apply(item: torch.Tensor) -> torch.Tensor:
        # alpha is in units of half a side, so an alpha in pixels depends on the image.
        height, width = item.shape[-2:]
        return module(item, alpha=(2 * alpha / width, 2 * alpha / height)).contiguous()

    return apply


@builders("OpticalDistortion")
def _optical_distortion(params: Params) -> Apply:
    # The strength of RandomFisheye is fixed; its exponent is what can be drawn.
    fixed(params, fill_level=0, interpolation="bilinear")
    centre = torch.zeros(2)
    gamma = 1 + torch.tensor(pair(params["distortion_factor"]))
    return real(K.RandomFisheye(centre, centre, gamma, **ALWAYS))


@builders("ThinPlateSpline")
def _thin_plate_spline(params: Params) -> Apply:
    fixed(params, fill_level=0, interpolation="bilinear")
    # A uniform law, whose standard deviation is its bound / sqrt(3), on a grid whose unit is half a side.
    scale = 2 * math.sqrt(3) * params["shift_sd_fraction"]
    module = K.RandomThinPlateSpline(scale, align_corners=True, **ALWAYS)
    if params["shifts"] is None:
        return real(module)
    points = torch.tensor([[[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0], [0.0, 0.0]]])
    moved = points + 2 * torch.tensor([params["shifts"]])
    # Kornia shows at `dst` what was at `src`: here, at the fixed points what was at the moved ones.
    return pinned(module, lambda height, width: {"src": moved, "dst": points})


@builders("RandomJigsaw")
def _jigsaw(params: Params) -> Apply:
    rows, columns = params["grid"]
    module = K.RandomJigsaw((rows, columns), **ALWAYS)
    order = params["order"]
    permuted = module if order is None else pinned(module, lambda height, width: _permutation(order, rows))

    def apply(item: torch.Tensor) -> torch.Tensor:
        # RandomJigsaw raises where the grid does not divide the sides: fill up, then cut back.
        height, width = item.shape[-2:]
        missing = (0, -width % columns, 0, -height % rows)
        padded = torch.nn.functional.pad(item, missing) if any(missing) else item
        return permuted(padded)[..., :height, :width].contiguous()

    return apply


def _permutation(order: list[int], rows: int) -> Override:
    """Return Kornia's permutation, whose places go column by column, its tiles row by row."""
    places = torch.tensor(order).view(rows, -1)
    return {"permutation": places.T.flatten()[None]}
