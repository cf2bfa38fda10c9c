"""Contact sheets: input and each library's output side by side, one small PNG per transform and scenario."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from augmark.analysis.classes import REFERENCE
from augmark.analysis.drawing import headline, save, style
from augmark.analysis.planned import PlanContent, library_title
from augmark.analysis.samples import Sample
from augmark.worker.samples import telling

# Of one picture, at two pixels of the file for each of its own: a sheet of noise stays below 300 KB.
SIDE_PIXELS, SIDE_PIXELS_OF_CHANNELS = 150, 90
DOTS_PER_INCH = 200  # as in `drawing`
HEAD_INCHES, TEXT_INCHES, GAP_INCHES = 0.55, 0.62, 0.12
COLUMN_INCHES = 1.4  # what "AlbumentationsX: unpinnable" takes


def thumbnail(image: np.ndarray, side: int) -> np.ndarray:
    """A picture (H x W x 3) of at most ``side`` pixels, each the mean of a square; small ones as they are."""
    step = -(-max(image.shape[:2]) // side)
    height, width = (max(1, length // step) for length in image.shape[:2])
    blocks = image[: height * step, : width * step].reshape(height, step, width, step, -1)
    return blocks.mean(axis=(1, 3)).astype(np.uint8)


def draw_sheet(
    plan: PlanContent,
    scenario: str,
    transform: str,
    samples: Mapping[str, Sample],
    classes: pd.DataFrame,
    path: Path,
) -> None:
    """Draw one sheet.

    Args:
        plan: For the titles.
        scenario, transform: Whose.
        samples: Library -> sample, of the libraries that have one; shown is the item with the most contrast.
        classes: Lines of equivalence.csv of this transform and scenario.
        path: The PNG.
    """
    items = next((sample.inputs for sample in samples.values()), {"none": np.full((3, 4, 3), 255, np.uint8)})
    names = [name for name in items if _shown(samples, name)] or list(items)
    name = names[telling([items[each] for each in names])]
    pictures = [("input", items[name], "")]
    for library, sample in samples.items():
        output = sample.outputs.get(name, sample.drawn.get(name))
        if output is not None:
            pictures.append((library_title(plan, library), output, _words(plan, library, classes)))
    lines = [f"{scenario}; outputs with the randomness pinned; below, the class against the others and PSNR"]
    if not any(sample.outputs for sample in samples.values()):
        lines = [f"{scenario}; one draw of each library: its randomness cannot be pinned"]
    if not samples:
        lines = [f"{scenario}; no samples: the probes of these records are not here"]
    with style():
        save(_figure(transform, lines, pictures), [path])


def _shown(samples: Mapping[str, Sample], name: str) -> bool:
    return any(name in sample.outputs or name in sample.drawn for sample in samples.values())


def _words(plan: PlanContent, library: str, classes: pd.DataFrame) -> str:
    lines = []
    for line in classes.to_dict("records"):
        if library not in (line["library_a"], line["library_b"]):
            continue
        other = line["library_b"] if line["library_a"] == library else line["library_a"]
        title = "NumPy" if other == REFERENCE else library_title(plan, other)
        psnr = line["psnr_db"]
        figure = (
            "" if psnr is None or psnr != psnr else f", {psnr:.0f} dB" if np.isfinite(psnr) else ", equal"
        )
        lines.append(f"{title}: {line['class']}{figure}")
    return "\n".join(lines)


def _figure(title: str, lines: list[str], pictures: list[tuple[str, np.ndarray, str]]) -> Figure:
    groups = pictures[0][1].shape[2] // 3
    side = SIDE_PIXELS if groups == 1 else SIDE_PIXELS_OF_CHANNELS
    inches = 2 * side / DOTS_PER_INCH
    step = max(inches, COLUMN_INCHES) + GAP_INCHES
    width = len(pictures) * step + GAP_INCHES
    height = HEAD_INCHES + groups * (inches + GAP_INCHES) + TEXT_INCHES
    figure = Figure(figsize=(width, height))
    headline(figure, title, lines)
    for column, (name, image, words) in enumerate(pictures):
        left = (GAP_INCHES + column * step) / width
        for group in range(groups):
            top = HEAD_INCHES + group * (inches + GAP_INCHES)
            axes = figure.add_axes((left, 1 - (top + inches) / height, inches / width, inches / height))
            axes.imshow(thumbnail(image[..., 3 * group : 3 * group + 3], side), interpolation="nearest")
            axes.set_anchor("NW")
            axes.axis("off")
        below = 1 - (HEAD_INCHES + groups * (inches + GAP_INCHES)) / height
        figure.text(left, below, name, fontsize=7, fontweight="bold", va="top")
        figure.text(left, below - 0.13 / height, words, fontsize=5, va="top")
    return figure
