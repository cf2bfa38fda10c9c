"""torchvision: size and crop, geometry. How each is called: see ``augmark.libraries.torchvision``."""

from __future__ import annotations

from typing import Any

import torch
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional

from augmark.libraries.base import Apply, Params, Registry
from augmark.libraries.torch_common import degenerate, symmetric, without
from augmark.libraries.torchvision_common import fill_or_none, pin, real

builders = Registry()


# --- size and crop ---------------------------------------------------------------------------------


@builders("Resize")
def _resize(params: Params) -> Apply:
    size = [params["height_pixels"], params["width_pixels"]]
    return real(v2.Resize(size, params["interpolation"], antialias=params["antialias"]))


@builders("LongestMaxSize")
def _longest_max_size(params: Params) -> Apply:
    size = params["max_size_pixels"]
    return real(v2.Resize(None, params["interpolation"], max_size=size, antialias=params["antialias"]))


@builders("SmallestMaxSize")
def _smallest_max_size(params: Params) -> Apply:
    return real(v2.Resize(params["max_size_pixels"], params["interpolation"], antialias=params["antialias"]))


@builders("CenterCrop224")
def _center_crop(params: Params) -> Apply:
    return real(_CentreCrop((params["height_pixels"], params["width_pixels"])))


class _CentreCrop(v2.CenterCrop):
    """Its class and its crop, at the place where the other libraries have it.

    Its own place is ``round(half)``: to the even pixel where a side is odd, so one pixel beside the others on
    half of such images. That would be the same work with another output, and no comparison.
    """

    def transform(self, inpt: torch.Tensor, params: dict[str, Any]) -> torch.Tensor:
        height, width = self.size
        top, left = (inpt.shape[-2] - height) // 2, (inpt.shape[-1] - width) // 2
        return self._call_kernel(functional.crop, inpt, top, left, height, width)


@builders("RandomCrop224")
def _random_crop(params: Params) -> Apply:
    transform = v2.RandomCrop((params["height_pixels"], params["width_pixels"]))
    position = params["position_pixels"]
    if position is not None:
        pin(transform, lambda height, width: {"top": position[0], "left": position[1]})
    return real(transform)


@builders("RandomResizedCrop")
def _random_resized_crop(params: Params) -> Apply:
    return real(
        v2.RandomResizedCrop(
            (params["height_pixels"], params["width_pixels"]),
            scale=tuple(params["area_fraction"]),
            ratio=tuple(params["aspect_ratio"]),
            interpolation=params["interpolation"],
            antialias=params["antialias"],
        )
    )


@builders("Pad")
def _pad(params: Params) -> Apply:
    return real(v2.Pad(params["padding_pixels"], fill=params["fill_level"]))


# --- geometry --------------------------------------------------------------------------------------


@builders("HorizontalFlip")
def _horizontal_flip(params: Params) -> Apply:
    return real(v2.RandomHorizontalFlip(p=1))


@builders("VerticalFlip")
def _vertical_flip(params: Params) -> Apply:
    return real(v2.RandomVerticalFlip(p=1))


@builders("Rotate")
def _rotate(params: Params) -> Apply:
    return real(
        v2.RandomRotation(
            params["angle_degrees"],
            interpolation=params["interpolation"],
            fill=fill_or_none(params["fill_level"]),
        )
    )


@builders("Affine")
def _affine(params: Params) -> Apply:
    low, high = params["angle_degrees"]
    shift = params["shift_fraction"]
    bound = abs(shift[0]) if degenerate(shift) else symmetric(shift)
    transform = v2.RandomAffine(
        [-high, -low],  # RandomAffine turns clockwise, RandomRotation counter-clockwise
        translate=(bound, bound),
        scale=params["scale_factor"],
        interpolation=params["interpolation"],
        fill=fill_or_none(params["fill_level"]),
    )
    if degenerate(shift):
        pin(
            transform,
            lambda height, width: {"translate": (round(shift[0] * width), round(shift[0] * height))},
        )
    return real(transform)


@builders("Shear")
def _shear(params: Params) -> Apply:
    return real(
        v2.RandomAffine(
            0,
            shear=params["shear_x_degrees"],
            interpolation=params["interpolation"],
            fill=fill_or_none(params["fill_level"]),
        )
    )


@builders("Perspective")
def _perspective(params: Params) -> Apply:
    corners = params["corners"]
    warp = {"interpolation": params["interpolation"], "fill": fill_or_none(params["fill_level"])}
    transform = v2.RandomPerspective(params["distortion_fraction"], p=1, **warp)
    if corners is None:
        return real(transform)

    def apply(item: torch.Tensor) -> torch.Tensor:
        bottom, right = item.shape[-2] - 1, item.shape[-1] - 1
        start = [[0, 0], [right, 0], [right, bottom], [0, bottom]]
        end = [[x * right, y * bottom] for x, y in corners]
        return functional.perspective(item, start, end, **warp)

    return real(apply)


@builders("Elastic")
def _elastic(params: Params) -> Apply:
    without(params, "displacement_fraction")
    # The displacement is alpha / side on a grid whose unit is half a side: half a pixel per unit of alpha.
    return real(
        v2.ElasticTransform(
            alpha=2 * params["alpha_pixels"],
            sigma=params["sigma_pixels"],
            interpolation=params["interpolation"],
            fill=fill_or_none(params["fill_level"]),
        )
    )
