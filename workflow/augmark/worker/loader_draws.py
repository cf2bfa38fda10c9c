"""Whether workers draw apart: what they are asked to draw on, and what their answers say.

Standard library and numpy.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np

from augmark.worker.loader_split import same_draws

CROP_PIXELS = 224
FEW, FEW_OF_SLOW = 8, 4  # draws that show a healthy row; what may be chance is asked for again
SURE, SURE_SECONDS = 48, 2.0
TRIED, AGREE = 8, 3  # of the first items the most telling ones are taken: all of them have to agree
TELLING_LEVELS = 4.0  # of 255; what JPEG's rounding leaves of a flat area is below 2
LONGEST_SAMPLED = 256  # pixels of a side that are looked at
SAME_SHARE = 8  # one in so many outputs: crops that repeat show wherever the augmentations are the same too


@dataclass(frozen=True)
class Picture:
    """An item to draw on.

    Attributes:
        index: Among the items of the run.
        tells: Whether outputs that are all the same are the library's doing, and not the picture's.
    """

    index: int
    tells: bool


def part(item: np.ndarray, whole: bool) -> np.ndarray:
    """What a pipeline is given to draw on: the whole item (H, W, C), or its centre of the crop's size.

    A crop has nothing to choose on the latter, so that only the transform is left to chance.
    """
    if whole:
        return item
    top, left = (max(0, side - CROP_PIXELS) // 2 for side in item.shape[:2])
    return np.ascontiguousarray(item[top : top + CROP_PIXELS, left : left + CROP_PIXELS])


def contrast(pixels: np.ndarray) -> tuple[float, float]:
    """How much there is to see of geometry and of colour, in levels of 255.

    The first is the largest standard deviation of a channel over the picture: on a flat one, flips, crops
    and blurs do nothing. The second is the mean over the pixels of the largest difference between channels
    (of nine: within one of their three views, which differ among themselves on grey pictures also): on a
    grey one, hue, saturation and the order of the channels do nothing.
    """
    steps = [max(1, side // LONGEST_SAMPLED) for side in pixels.shape[:2]]
    sampled = pixels[:: steps[0], :: steps[1]].astype(np.int16)
    height, width, channels = sampled.shape
    views = sampled.reshape(height, width, -1, 3 if channels % 3 == 0 else channels)
    return float(sampled.std(axis=(0, 1)).max()), float(np.ptp(views, axis=-1).mean())


def pictures(items: Iterable[np.ndarray], whole: bool, larger: bool = False) -> list[Picture]:
    """The most telling of some items, best first.

    A transform may work on places or on colours, so of its part that has less of the two counts; where it
    is the choice of a crop that is looked for (``whole``), the places alone.

    Args:
        items: The first few of the run, H x W x C.
        larger: Only those that leave the crop a choice.
    """
    found = []
    for index, item in enumerate(items):
        if larger and max(item.shape[:2]) <= CROP_PIXELS:
            continue
        places, colours = contrast(part(item, whole))
        least = places if whole else min(places, colours)
        found.append(((-least, -places, index), Picture(index, least >= TELLING_LEVELS)))
    return [picture for _, picture in sorted(found, key=lambda each: each[0])[:AGREE]]


def repeated(
    ask: Callable[[int, int], list[list[str]]], chosen: Sequence[Picture], few: int, crop: bool
) -> str | None:
    """Why the draws of the workers are not their own, or None: they are, or no picture could tell.

    Args:
        ask: Index of an item and a number of draws -> per worker, a hash of each output in order. As many in
            each worker: generators that are in step stay so from one item to the next.
        few: Draws to begin with.
        crop: Whether it is the crop that is looked at, else the augmentations.
    """
    if not chosen:
        return None
    begin = time.perf_counter()
    if alike(ask(chosen[0].index, few), crop) is None:
        return None
    seconds = max(1e-6, (time.perf_counter() - begin) / few)
    sure, evidence = max(few, min(SURE, int(SURE_SECONDS / seconds))), []
    for picture in chosen:
        drawn = ask(picture.index, sure)
        if not picture.tells and _is_one(drawn):
            continue  # a flat or a grey picture: any augmentation may look like this
        if alike(drawn, crop) is None:
            return None
        evidence.append(drawn)
    if not evidence:
        return None
    what, do = ("the crop", "does") if crop else ("the augmentations", "do")
    if all(map(_is_one, evidence)):
        return f"not random: {what} gave one output in {sure} draws of each worker, on {len(evidence)} items"
    pair = alike([list(chain(*each)) for each in zip(*evidence, strict=True)], crop)
    if pair is None:
        return None
    return f"workers {pair[0]} and {pair[1]} drew the same: {what} {do} not follow their seeds"


def _is_one(drawn: Sequence[Sequence[str]]) -> bool:
    return len({value for sequence in drawn for value in sequence}) == 1


def alike(sequences: Sequence[Sequence[str]], crop: bool) -> tuple[int, int] | None:
    """The first two workers whose draws are the same, or None.

    Of the crop also where the augmentations after it are drawn apart: they fall together now and then (a
    coin half of the time), and then the outputs are the same if, and but for rare chance only if, the crops
    are. Outputs that a worker has more than once (black ones) say nothing of that.
    """
    pair = same_draws(sequences)
    if pair is not None or not crop:
        return pair
    single = [{value for value, times in Counter(each).items() if times == 1} for each in sequences]
    for first, second in combinations(range(len(sequences)), 2):
        both = list(zip(sequences[first], sequences[second], strict=False))
        same = sum(one == other and one in single[first] & single[second] for one, other in both)
        if same >= max(2, len(both) / SAME_SHARE):
            return first, second
    return None
