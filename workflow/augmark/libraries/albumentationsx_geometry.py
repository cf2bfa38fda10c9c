"""AlbumentationsX: crops, sizes and geometry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import albumentations as A
import cv2
import numpy as np

from augmark.libraries.albumentationsx_pinning import with_draws, with_normal_draws
from augmark.libraries.base import Params, Registry

builders = Registry()

_INTERPOLATION = {"nearest": cv2.INTER_NEAREST, "bilinear": cv2.INTER_LINEAR}


def _warp(params: Params) -> dict[str, Any]:
    """Arguments that every warp shares: interpolation, and a border of one level."""
    return {
        "interpolation": _INTERPOLATION[params["interpolation"]],
        "border_mode": cv2.BORDER_CONSTANT,
        "fill": params["fill_level"],
        "p": 1,
    }


def _unfiltered(params: Params) -> dict[str, Any]:
    """Arguments of a resize. OpenCV's INTER_LINEAR never filters, so ``antialias`` must be off."""
    if params["antialias"]:
        raise ValueError("AlbumentationsX has no antialiased bilinear resize")
    return {"interpolation": _INTERPOLATION[params["interpolation"]], "p": 1}


@builders("Resize")
def _resize(params: Params) -> A.BasicTransform:
    return A.Resize(height=params["height_pixels"], width=params["width_pixels"], **_unfiltered(params))


@builders("LongestMaxSize")
def _longest_max_size(params: Params) -> A.BasicTransform:
    return A.LongestMaxSize(max_size=params["max_size_pixels"], **_unfiltered(params))


@builders("SmallestMaxSize")
def _smallest_max_size(params: Params) -> A.BasicTransform:
    return A.SmallestMaxSize(max_size=params["max_size_pixels"], **_unfiltered(params))


@builders("RandomCrop224")
def _random_crop(params: Params) -> A.BasicTransform:
    height, width = params["height_pixels"], params["width_pixels"]
    if params["position_pixels"] is None:
        return A.RandomCrop(height=height, width=width, p=1)
    top, left = params["position_pixels"]
    draws = {"crop_coords": (left, top, left + width, top + height), "pad_params": None}
    return with_draws(A.RandomCrop, lambda *_: draws, height=height, width=width, p=1)


@builders("RandomResizedCrop")
def _random_resized_crop(params: Params) -> A.BasicTransform:
    return A.RandomResizedCrop(
        size=(params["height_pixels"], params["width_pixels"]),
        scale=tuple(params["area_fraction"]),
        ratio=tuple(params["aspect_ratio"]),
        **_unfiltered(params),
    )


@builders("CenterCrop224")
def _center_crop(params: Params) -> A.BasicTransform:
    return A.CenterCrop(height=params["height_pixels"], width=params["width_pixels"], p=1)


@builders("Pad")
def _pad(params: Params) -> A.BasicTransform:
    return A.Pad(
        padding=params["padding_pixels"], fill=params["fill_level"], border_mode=cv2.BORDER_CONSTANT, p=1
    )


@builders("HorizontalFlip")
def _horizontal_flip(params: Params) -> A.BasicTransform:
    return A.HorizontalFlip(p=1)


@builders("VerticalFlip")
def _vertical_flip(params: Params) -> A.BasicTransform:
    return A.VerticalFlip(p=1)


@builders("Transpose")
def _transpose(params: Params) -> A.BasicTransform:
    return A.Transpose(p=1)


@builders("RandomRotate90")
def _random_rotate90(params: Params) -> A.BasicTransform:
    first, last = params["quarter_turns"]
    elements = ("e", "r90", "r180", "r270")[first : last + 1]
    return A.RandomRotate90(group_elements=elements, p=1)


@builders("Rotate")
def _rotate(params: Params) -> A.BasicTransform:
    return A.Rotate(angle_range=tuple(params["angle_degrees"]), **_warp(params))


@builders("Affine")
def _affine(params: Params) -> A.BasicTransform:
    shift = tuple(params["shift_fraction"])
    return A.Affine(
        rotate=tuple(params["angle_degrees"]),
        scale=tuple(params["scale_factor"]),
        translate_percent={"x": shift, "y": shift},
        **_warp(params),
    )


@builders("Shear")
def _shear(params: Params) -> A.BasicTransform:
    return A.Affine(shear={"x": tuple(params["shear_x_degrees"]), "y": (0.0, 0.0)}, **_warp(params))


@builders("Perspective")
def _perspective(params: Params) -> A.BasicTransform:
    if params["corners"] is None:
        # The library draws |normal(0, scale)|, whose mean is 0.798 * scale. This scale gives the mean of a
        # uniform law on 0 .. distortion_fraction / 2.
        scale = params["distortion_fraction"] / 4 / 0.798
        return A.Perspective(scale=(scale, scale), keep_size=True, **_warp(params))

    def draws(height: int, width: int) -> Mapping[str, Any]:
        side = np.array([width - 1, height - 1], dtype=np.float32)
        corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], dtype=np.float32) * side
        moved = np.array(params["corners"], dtype=np.float32) * side
        matrix = cv2.getPerspectiveTransform(corners, moved)
        return {"matrix": matrix, "matrix_bbox": matrix, "max_height": height, "max_width": width}

    return with_draws(A.Perspective, draws, keep_size=True, **_warp(params))


@builders("Elastic")
def _elastic(params: Params) -> A.BasicTransform:
    displacement = params["displacement_fraction"]
    return A.ElasticTransform(displacement_range=(displacement, displacement), **_warp(params))


@builders("OpticalDistortion")
def _optical_distortion(params: Params) -> A.BasicTransform:
    return A.OpticalDistortion(
        distort_range=tuple(params["distortion_factor"]), mode="fisheye", **_warp(params)
    )


@builders("ThinPlateSpline")
def _thin_plate_spline(params: Params) -> A.BasicTransform:
    # Two control points a side are the four corners and the centre; the library divides the scale by ten.
    scale = params["shift_sd_fraction"] * 10
    arguments = {"scale_range": (scale, scale), "num_control_points": 2, **_warp(params)}
    if params["shifts"] is None:
        return A.ThinPlateSpline(**arguments)
    return with_normal_draws(A.ThinPlateSpline, np.array(params["shifts"], dtype=np.float32), **arguments)


@builders("RandomJigsaw")
def _random_jigsaw(params: Params) -> A.BasicTransform:
    rows, columns = params["grid"]
    if params["order"] is None:
        return A.RandomGridShuffle(grid=(rows, columns), p=1)

    def draws(height: int, width: int) -> Mapping[str, Any]:
        high, wide = height // rows, width // columns
        tiles = [
            (r * high, c * wide, (r + 1) * high, (c + 1) * wide) for r in range(rows) for c in range(columns)
        ]
        # The library's mapping says where a tile goes, `order` which tile comes.
        mapping = [params["order"].index(tile) for tile in range(len(tiles))]
        # What is left over at the right and below stays where it is: the library swaps equal tiles only.
        tiles += [(0, columns * wide, rows * high, width), (rows * high, 0, height, width)]
        return {
            "tiles": np.array(tiles, dtype=np.int16),
            "mapping": [*mapping, len(mapping), len(mapping) + 1],
        }

    return with_draws(A.RandomGridShuffle, draws, grid=(rows, columns), p=1)
