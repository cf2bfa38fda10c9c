"""The sample archives of the probes, read (``worker/samples.py`` says what is in them)."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from augmark.errors import AugmarkError
from augmark.worker.samples import DRAWN, INPUTS


@dataclass(frozen=True)
class Sample:
    """What a probe kept of one row.

    Attributes:
        outputs: ``item<k>`` -> uint8 H x W x C, randomness pinned; empty where it cannot be.
        draws: Seeds x 2 figures of the unpinned transform, or None.
        names: What the figures are.
        inputs: ``item<k>`` -> what it was given, uint8 H x W x C.
        inputs_digest: Two samples of one digest were given the same.
        drawn: ``item<k>`` -> one seeded draw, where nothing can be pinned: to be looked at, not compared.
    """

    outputs: Mapping[str, np.ndarray]
    draws: np.ndarray | None = None
    names: tuple[str, ...] = ()
    drawn: Mapping[str, np.ndarray] = field(default_factory=dict)
    inputs: Mapping[str, np.ndarray] = field(default_factory=dict)
    inputs_digest: str = ""


def read_scenario(paths: Mapping[str, Path]) -> dict[str, dict[str, Sample]]:
    """Samples of one scenario: library -> transform -> sample.

    Args:
        paths: Library -> archive; a library whose archive is not there is left out.

    Raises:
        AugmarkError: An archive cannot be read.
    """
    inputs: dict[str, dict[str, np.ndarray]] = {}
    samples: dict[str, dict[str, Sample]] = {}
    for library, path in paths.items():
        if not path.exists():  # records without the probes that they were made after
            continue
        found = {}
        for name, arrays in _files(path):
            stem = name.removesuffix(".npz")
            if stem.startswith(INPUTS):
                inputs.setdefault(stem.removeprefix(INPUTS), arrays)
            else:
                found[stem] = arrays
        samples[library] = {stem: _sample(arrays, inputs) for stem, arrays in found.items()}
    return samples


def _files(path: Path) -> Iterator[tuple[str, dict[str, np.ndarray]]]:
    try:
        with zipfile.ZipFile(path) as bundle:
            for name in sorted(bundle.namelist()):
                with np.load(io.BytesIO(bundle.read(name)), allow_pickle=False) as arrays:
                    yield name, {key: arrays[key] for key in arrays.files}
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise AugmarkError(
            f"cannot be read as samples: {error}", where=str(path), remedy="remove the probe and run again"
        ) from error


def _sample(arrays: Mapping[str, np.ndarray], inputs: Mapping[str, Mapping[str, np.ndarray]]) -> Sample:
    digest = str(arrays["inputs"])
    return Sample(
        outputs={name: array for name, array in arrays.items() if name.startswith("item")},
        draws=arrays.get("draws"),
        names=tuple(map(str, arrays.get("names", ()))),
        drawn={name[len(DRAWN) :]: array for name, array in arrays.items() if name.startswith(DRAWN)},
        inputs=inputs[digest],
        inputs_digest=digest,
    )
