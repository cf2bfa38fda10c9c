"""torchvision: ``transforms.v2`` classes, called one by one on uint8 tensors (C, H, W).

The class is called as it is, which is what a user does with one transform; ``Random*`` classes have p=1.
Every output is made contiguous, since crops, grayscale and permutations may be views.

* ``RandomGamma`` has no class and is ``v2.functional.adjust_gamma``.
* ``GaussianNoise`` takes float tensors only. The row is what a user of uint8 images has to write, uint8 ->
  float32 -> noise, clipped -> uint8, so both conversions are inside the timer and the output is uint8.
* ``JPEG`` cannot be called without the ``DeprecationWarning`` that torchvision gives since 0.29 (in favour
  of TorchCodec, which needs a system FFmpeg). It is silenced by its message alone, for the process, when
  this module is imported; building the transform gives none.
* Randomness is pinned by overriding ``make_params``, the documented hook of v2 transforms: what the library
  then does with the parameters is its own code.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional

from augmark.libraries import torch_common
from augmark.libraries.base import Apply, Params, Registry
from augmark.libraries.torch_common import degenerate, symmetric, without

warnings.filterwarnings(
    "ignore",
    message="The image decoding and encoding capabilities of TorchVision are deprecated",
    category=DeprecationWarning,
)

builders = Registry()
STEPS = ("brightness", "contrast", "saturation", "hue")


def real(transform: Callable[[torch.Tensor], torch.Tensor]) -> Apply:
    """Return the transform with its output made contiguous."""

    def apply(item: torch.Tensor) -> torch.Tensor:
        return transform(item).contiguous()

    return apply


def pin(transform: v2.Transform, override: Callable[[int, int], dict[str, Any]]) -> v2.Transform:
    """Replace drawn parameters of a transform by those that ``override(height, width)`` returns."""
    draw = transform.make_params

    def make_params(flat_inputs: list[torch.Tensor]) -> dict[str, Any]:
        height, width = flat_inputs[0].shape[-2:]
        return {**draw(flat_inputs), **override(height, width)}

    transform.make_params = make_params
    return transform


def fill_or_none(level: int) -> int | None:
    """Return the fill of a warp; None stands for 0.

    Both leave zeros outside. With a number, torchvision also warps a mask and blends by it, which takes up to
    a third more time and darkens the pixels on the border twice; no other library does that.
    """
    return level or None


def turns(degrees: list[float]) -> tuple[float, float]:
    """Turn a range of degrees into a range of fractions of a full turn, as hue is given."""
    return degrees[0] / 360, degrees[1] / 360


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
    return real(v2.CenterCrop((params["height_pixels"], params["width_pixels"])))


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


# --- blur and detail -------------------------------------------------------------------------------


@builders("GaussianBlur")
def _gaussian_blur(params: Params) -> Apply:
    return real(v2.GaussianBlur(params["kernel_size_pixels"], sigma=params["sigma_pixels"]))


@builders("Sharpen")
def _sharpen(params: Params) -> Apply:
    return real(v2.RandomAdjustSharpness(params["sharpness_factor"], p=1))


# --- colour and tone -------------------------------------------------------------------------------


@builders("Brightness")
def _brightness(params: Params) -> Apply:
    return real(v2.ColorJitter(brightness=params["brightness_factor"]))


@builders("Contrast")
def _contrast(params: Params) -> Apply:
    return real(v2.ColorJitter(contrast=params["contrast_factor"]))


@builders("Saturation")
def _saturation(params: Params) -> Apply:
    return real(v2.ColorJitter(saturation=params["saturation_factor"]))


@builders("Hue")
def _hue(params: Params) -> Apply:
    return real(v2.ColorJitter(hue=turns(params["shift_degrees"])))


@builders("ColorJitter", "ColorJiggle")
def _color_jitter(params: Params) -> Apply:
    transform = v2.ColorJitter(
        brightness=params["brightness_factor"],
        contrast=params["contrast_factor"],
        saturation=params["saturation_factor"],
        hue=turns(params["hue_shift_degrees"]),
    )
    if params["order"] is not None:
        order = torch.tensor([STEPS.index(step) for step in params["order"]])
        pin(transform, lambda height, width: {"fn_idx": order})
    return real(transform)


@builders("PhotoMetricDistort")
def _photometric_distort(params: Params) -> Apply:
    transform = v2.RandomPhotometricDistort(
        brightness=tuple(params["brightness_factor"]),
        contrast=tuple(params["contrast_factor"]),
        saturation=tuple(params["saturation_factor"]),
        hue=turns(params["hue_shift_degrees"]),
        p=1,
    )
    override: dict[str, Any] = {}
    if params["contrast_first"] is not None:
        override["contrast_before"] = params["contrast_first"]
    if params["channel_order"] is not None:
        override["channel_permutation"] = torch.tensor(params["channel_order"])
    return real(pin(transform, lambda height, width: override) if override else transform)


@builders("RandomGamma")
def _gamma(params: Params) -> Apply:
    gamma = params["gamma"]
    return real(lambda item: functional.adjust_gamma(item, gamma))


@builders("Grayscale")
def _grayscale(params: Params) -> Apply:
    return real(v2.Grayscale(num_output_channels=3))


@builders("Invert")
def _invert(params: Params) -> Apply:
    return real(v2.RandomInvert(p=1))


@builders("Posterize")
def _posterize(params: Params) -> Apply:
    return real(v2.RandomPosterize(params["bits"], p=1))


@builders("Solarize")
def _solarize(params: Params) -> Apply:
    return real(v2.RandomSolarize(params["threshold_levels"], p=1))


@builders("AutoContrast")
def _autocontrast(params: Params) -> Apply:
    return real(v2.RandomAutocontrast(p=1))


@builders("Equalize")
def _equalize(params: Params) -> Apply:
    return real(v2.RandomEqualize(p=1))


@builders("ChannelShuffle")
def _channel_shuffle(params: Params) -> Apply:
    transform = v2.RandomChannelPermutation()
    if params["order"] is not None:
        order = torch.tensor(params["order"])
        pin(transform, lambda height, width: {"permutation": order})
    return real(transform)


# --- noise and loss --------------------------------------------------------------------------------


@builders("GaussianNoise")
def _gaussian_noise(params: Params) -> Apply:
    return real(
        v2.Compose(
            [
                v2.ToDtype(torch.float32, scale=True),
                v2.GaussianNoise(mean=params["mean_fraction"], sigma=params["std_fraction"], clip=True),
                v2.ToDtype(torch.uint8, scale=True),
            ]
        )
    )


@builders("Erasing")
def _erasing(params: Params) -> Apply:
    fill = params["fill_level"]
    transform = v2.RandomErasing(p=1, scale=params["area_fraction"], ratio=params["aspect_ratio"], value=fill)
    if params["box_pixels"] is not None:
        box = dict(zip("ijhw", params["box_pixels"], strict=True), v=torch.tensor([[[float(fill)]]]))
        pin(transform, lambda height, width: box)
    return real(transform)


@builders("JpegCompression")
def _jpeg(params: Params) -> Apply:
    return real(v2.JPEG(params["quality"]))


class TorchvisionAdapter:
    """torchvision on uint8 tensors of shape (C, H, W)."""

    form = "uint8 CHW"
    dtype = "uint8"
    builders = builders

    def set_threads(self, threads: int) -> None:
        """Set torch's pool inside an operation."""
        torch_common.set_threads(threads)

    def seed(self, seed: int) -> None:
        """Seed the generators that torchvision may draw from."""
        torch_common.seed(seed)

    def native(self, item: np.ndarray) -> torch.Tensor:
        """Turn H x W x C uint8 into a contiguous C x H x W tensor that owns its memory."""
        return torch.from_numpy(np.array(item)).permute(2, 0, 1).contiguous()

    def build(self, transform: str, params: Params) -> Apply:
        """Return uint8 (C, H, W) -> contiguous uint8 (C, H', W').

        Raises:
            KeyError: torchvision does not offer ``transform``.
            ValueError: A parameter has no effect, or a value that torchvision cannot do.
        """
        return torch_common.build(self.builders[transform], transform, params)

    def to_numpy(self, output: torch.Tensor) -> np.ndarray:
        """Turn an output into H x W x C uint8."""
        return output.permute(1, 2, 0).contiguous().numpy()


adapter = TorchvisionAdapter()
