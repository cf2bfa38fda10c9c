"""How a random transform of AlbumentationsX is given its draws, for the pinned rows of the probe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import albumentations as A
import numpy as np

# (height, width) of the image -> what the transform's ``apply`` is to be called with
Draws = Callable[[int, int], Mapping[str, Any]]


def with_draws(transform: type[A.BasicTransform], draws: Draws, **arguments: Any) -> A.BasicTransform:
    """Build ``transform`` so that it is always applied with ``draws(height, width)``."""

    def sample_parameters(
        self: A.BasicTransform, params: Any, data: Any, targets: Any, sampling: Any
    ) -> A.SampledParams:
        height, width = targets.require_aligned_spatial_shape(2)
        return A.SampledParams(params=dict(draws(height, width)))

    pinned = type(f"Pinned{transform.__name__}", (transform,), {"sample_parameters": sample_parameters})
    return pinned(**arguments)


def with_normal_draws(
    transform: type[A.BasicTransform], values: np.ndarray, **arguments: Any
) -> A.BasicTransform:
    """Build ``transform`` so that what it draws from a normal law is always ``values``."""

    def sample_parameters(
        self: A.BasicTransform, params: Any, data: Any, targets: Any, sampling: Any
    ) -> A.SampledParams:
        scripted = SimpleNamespace(
            py_random=sampling.py_random,
            applied_overrides=sampling.applied_overrides,
            random_generator=SimpleNamespace(normal=lambda *_, **__: values),
        )
        return transform.sample_parameters(self, params=params, data=data, targets=targets, sampling=scripted)

    pinned = type(f"Pinned{transform.__name__}", (transform,), {"sample_parameters": sample_parameters})
    return pinned(**arguments)
