"""torchvision: ``transforms.v2`` classes, called one by one on uint8 tensors (C, H, W).

The class is called as it is, which is what a user does with one transform; ``Random*`` classes have p=1.
Every output is made contiguous, since crops, grayscale and permutations may be views.

* ``RandomGamma`` has no class and is ``v2.functional.adjust_gamma``.
* ``GaussianNoise`` takes float tensors only. The row is what a user of uint8 images has to write, uint8 ->
  float32 -> noise, clipped -> uint8, so both conversions are inside the timer and the output is uint8.
* ``JPEG`` cannot be called without the ``DeprecationWarning`` that torchvision gives since 0.29 (in favour
  of TorchCodec, which needs a system FFmpeg). It is silenced by its message alone, for the process, when
  this module is imported; building the transform gives none.
* Nine channels: what takes three only is given a list of three ``tv_tensors.Image``, for which a class draws
  once (of several plain tensors it transforms the first alone). As a batch of three, ``Sharpen`` takes four
  times as long, because each call then maps memory anew.
* Randomness is pinned by overriding ``make_params``, the documented hook of v2 transforms: what the library
  then does with the parameters is its own code.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from torchvision import tv_tensors
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional

from augmark.libraries import torch_common, torchvision_geometric
from augmark.libraries.base import Apply, Params, Registry
from augmark.libraries.torch_common import without
from augmark.libraries.torchvision_common import pin, real, turns

warnings.filterwarnings(
    "ignore",
    message="The image decoding and encoding capabilities of TorchVision are deprecated",
    category=DeprecationWarning,
)

builders = Registry()
for name, builder in torchvision_geometric.builders.items():
    builders(name)(builder)
STEPS = ("brightness", "contrast", "saturation", "hue")


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
    without(params, "weights", "channels")  # always the luma of three
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

    def build_chunked(self, transform: str, params: Params) -> Apply:
        """Return uint8 (9, H, W) -> contiguous uint8 (9, H', W') by chunks of three channels, drawn for once.

        Raises:
            KeyError: torchvision does not offer ``transform``.
            ValueError: A parameter has no effect, or a value that torchvision cannot do.
        """
        image_transform = self.build(transform, params).transform

        def apply(item: torch.Tensor) -> torch.Tensor:
            images = [tv_tensors.Image(chunk) for chunk in item.split(torch_common.CHUNK_CHANNELS)]
            return torch.cat(image_transform(images))

        return apply

    def to_numpy(self, output: torch.Tensor) -> np.ndarray:
        """Turn an output into H x W x C uint8."""
        return output.permute(1, 2, 0).contiguous().numpy()


adapter = TorchvisionAdapter()
