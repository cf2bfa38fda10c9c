"""Is it the same work? The outputs that the probes kept, compared for every pair of libraries.

Classes, per pair and transform (``docs/methodology.md`` says the same to readers):

``identical``
    within one grey level everywhere, and the error is less than half of the effect (a no-op is within one
    level of a transform that adds one level, and is not the same work).
``close``
    PSNR of at least 30 dB and a mean absolute error of at most 10 % of the effect.
``different``
    anything else: other outputs, outputs of another shape, or draws that come from another distribution.
``unpinnable``
    its randomness cannot be pinned: there is no pair of outputs, only the distribution over seeds.

The *effect* is the mean absolute distance from input to output, of the pair's mean. Where the output has
another shape than the input no pixel of one belongs to a pixel of the other; there it is the distance from
the output to the input brought to that shape by taking the nearest pixel, which is what doing nothing would
be. So an error always stands against what a library that did nothing would be off by.

A pair is judged on each item on which the transform has an effect of at least ten levels, its class being
the worst of them; an item with less counts only where the error is as large as the effect. Below ten levels
a tenth of the effect is less than the level by which rounding in one or two steps differs, and such an item
(dark, flat, without colours) tells little of the work. Where no item has so much, it is judged on the one
with the largest effect.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from augmark.analysis import draws, reference
from augmark.analysis.classes import COLUMNS, REFERENCE
from augmark.analysis.planned import PlanContent, library_facts
from augmark.analysis.sampled import rows_of
from augmark.analysis.samples import Sample

IDENTICAL_LEVELS = 1  # of 255: what rounding differently does
IDENTICAL_SHARE = (
    0.5  # of the effect: rounding a gentle transform costs a quarter level, leaving it out all of it
)
CLOSE_PSNR_DB = 30.0
CLOSE_SHARE = 0.10  # of the effect
TELLING_EFFECT = IDENTICAL_LEVELS / CLOSE_SHARE  # levels
ORDER = ("different", "unpinnable", "close", "identical")  # from what says most against a pair
OF_ONE_LIBRARY = "the library itself does something else under the two conditions"
NO_WORDS = "no reason is written down yet in transforms.yaml"


@dataclass(frozen=True)
class Figures:
    """One output against another, in levels 0..255.

    Attributes:
        max_error, mean_abs_error: Of the two outputs.
        psnr_db: Infinite where they are equal.
        effect: Mean distance from input to output, the mean of the two.
    """

    max_error: int
    mean_abs_error: float
    psnr_db: float
    effect: float

    @property
    def share(self) -> float:
        """The error as a share of the effect."""
        if self.mean_abs_error == 0:
            return 0.0
        return self.mean_abs_error / self.effect if self.effect else math.inf

    @property
    def nothing_done(self) -> bool:
        """Whether the error is as large as the effect: one of the two may have left the item as it was."""
        return self.max_error > IDENTICAL_LEVELS and self.share >= 1

    @property
    def name(self) -> str:
        """The class that these figures make."""
        if self.max_error == 0:
            return "identical"
        if self.max_error <= IDENTICAL_LEVELS:
            return "identical" if self.share < IDENTICAL_SHARE else "different"
        return "close" if self.psnr_db >= CLOSE_PSNR_DB and self.share <= CLOSE_SHARE else "different"


def untouched(item: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """The item brought to height and width of ``shape`` by taking the nearest pixel; the item where equal."""
    rows, columns = (
        np.floor((np.arange(wanted) + 0.5) * have / wanted).astype(int)
        for wanted, have in zip(shape[:2], item.shape[:2], strict=True)
    )
    return item[rows][:, columns]


def effect(item: np.ndarray, output: np.ndarray) -> float:
    """Mean absolute distance from input to output, in levels."""
    return float(np.abs(output.astype(np.int16) - untouched(item, output.shape)).mean())


def compare_outputs(item: np.ndarray, first: np.ndarray, second: np.ndarray) -> Figures:
    """Figures of two outputs (uint8, H x W x C, of one shape) for one item."""
    error = np.abs(first.astype(np.int16) - second)
    squares = float(np.mean(error.astype(np.float64) ** 2))
    return Figures(
        max_error=int(error.max()),
        mean_abs_error=float(error.mean()),
        psnr_db=10 * math.log10(255.0**2 / squares) if squares else math.inf,
        effect=(effect(item, first) + effect(item, second)) / 2,
    )


@dataclass(frozen=True)
class Verdict:
    """A pair's class, with the figures of the item on which it is worst and what was measured in words."""

    name: str
    figures: Figures | None = None
    measured: str = ""
    effect: float | None = None


def _worst(found: Sequence[Figures]) -> Figures:
    """Of the items that can tell, the one that says most against a pair: by class, then by share."""
    telling = [figures for figures in found if figures.effect >= TELLING_EFFECT or figures.nothing_done]
    telling = telling or [max(found, key=lambda figures: figures.effect)]
    return min(telling, key=lambda figures: (ORDER.index(figures.name), -figures.share))


def judge(first: Sample, second: Sample) -> Verdict | None:
    """Class of two libraries on one transform; None where nothing can be compared, or inputs differ."""
    if first.inputs_digest != second.inputs_digest:
        return None
    items = first.inputs
    drawn = draws.compare(first, second)
    if not first.outputs and not second.outputs:
        words, size = (drawn.words, drawn.effect) if drawn else ("too slow to be drawn over seeds", None)
        return Verdict("unpinnable", measured=words, effect=size)
    shared = [name for name in first.outputs if name in second.outputs and name in items]
    if not shared:
        return None
    for name in shared:
        shapes = ["x".join(map(str, sample.outputs[name].shape[:2])) for sample in (first, second)]
        if shapes[0] != shapes[1]:
            return Verdict("different", measured=f"outputs of {shapes[0]} against {shapes[1]} pixels")
    figures = _worst([compare_outputs(items[k], first.outputs[k], second.outputs[k]) for k in shared])
    if figures.name == "different":
        return Verdict("different", figures, _figure_words(figures), figures.effect)
    if drawn is not None and drawn.differ:
        words = f"the same work when pinned, but its draws are not: {drawn.words}"
        return Verdict("different", figures, words, figures.effect)
    return Verdict(figures.name, figures, "", figures.effect)


def _figure_words(figures: Figures) -> str:
    share = "more than all" if figures.share > 1 else f"{figures.share:.0%}"
    return (
        f"off by {figures.mean_abs_error:.2g} levels on average, {share} of the effect, "
        f"PSNR {figures.psnr_db:.1f} dB"
    )


def judge_conditions(first: Sample, second: Sample) -> Verdict | None:
    """Class of two conditions of one library, which draw alike: more can be held against one another.

    Where nothing can be pinned, seeded draws are compared as outputs are. Where the two were given items in
    another grouping (batches), those items count that both were given.
    """
    if first.inputs_digest != second.inputs_digest:
        aligned = _aligned(first, second)
        return judge(first, aligned) if aligned is not None else None
    found = judge(first, second)
    shared = [name for name in first.drawn if name in second.drawn and name in first.inputs]
    if found is None or found.name != "unpinnable" or not shared or not _same_draws(first, second):
        return found
    outputs = [(first.inputs[name], first.drawn[name], second.drawn[name]) for name in shared]
    if any(one.shape != other.shape for _, one, other in outputs):
        return found
    figures = _worst([compare_outputs(*each) for each in outputs])
    return found if figures.name == "different" else Verdict(figures.name, figures, "", figures.effect)


def _same_draws(first: Sample, second: Sample) -> bool:
    """Whether every seed gives the two the same figures, within rounding; a slower one has fewer seeds."""
    if first.draws is None or second.draws is None:
        return first.draws is second.draws
    seeds = min(len(first.draws), len(second.draws))
    return float(np.abs(first.draws[:seeds] - second.draws[:seeds]).max()) <= IDENTICAL_LEVELS


def _aligned(first: Sample, second: Sample) -> Sample | None:
    """``second`` with the names and inputs of ``first``, of the items that both have; None where none is."""
    names = {
        name: other
        for name, item in first.inputs.items()
        for other, its in second.inputs.items()
        if item.shape == its.shape and np.array_equal(item, its)
    }
    outputs = {name: second.outputs[other] for name, other in names.items() if other in second.outputs}
    if not outputs:
        return None
    return replace(second, outputs=outputs, draws=None, inputs_digest=first.inputs_digest)


def words_of(differences: Mapping[str, str], first: str, second: str) -> str:
    """What transforms.yaml says of a pair: its own words, else those of each library that has some."""
    for key in (f"{first}/{second}", f"{second}/{first}"):
        if key in differences:
            return differences[key]
    return "; ".join(f"{name}: {differences[name]}" for name in (first, second) if name in differences)


def line_of(
    row: Mapping[str, Any],
    scenario: str,
    first: str,
    second: str,
    verdict: Verdict,
    of: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """One line of equivalence.csv.

    Args:
        of: Condition of a plan file -> its library, by whose name transforms.yaml knows it.
    """
    figures = verdict.figures
    names = [(of or {}).get(name, name) for name in (first, second)]
    known = OF_ONE_LIBRARY if names[0] == names[1] else words_of(row.get("differences") or {}, *names)
    parts: list[str] = []
    if verdict.name == "unpinnable":
        parts = [row.get("unpinnable") or "its randomness cannot be pinned", verdict.measured]
        parts.append("" if names[0] == names[1] else known)
    elif verdict.name == "different":
        parts = [known or ("" if second == REFERENCE else NO_WORDS), verdict.measured]
    return {
        "transform": row["transform"],
        "scenario": scenario,
        "library_a": first,
        "library_b": second,
        "class": verdict.name,
        "psnr_db": None if figures is None else figures.psnr_db,
        "mean_abs_error": None if figures is None else figures.mean_abs_error,
        "effect": verdict.effect,
        "reason": "; ".join(part for part in parts if part) or None,
    }


def compare_scenario(
    plan: PlanContent, scenario: str, samples: Mapping[str, Mapping[str, Sample]]
) -> list[dict[str, Any]]:
    """Lines of one scenario: every pair of libraries that both have a sample, then each with the reference.

    Args:
        plan: Of whose definitions the rows are.
        samples: Library -> transform -> sample, libraries in the plan's order.
    """
    lines = []
    of = {name: library_facts(plan, name).get("of") or name for name in samples}
    for row in rows_of(plan, scenario):
        have = {name: kept[row["transform"]] for name, kept in samples.items() if row["transform"] in kept}
        for first, second in combinations(have, 2):
            compare = judge_conditions if of[first] == of[second] else judge
            verdict = compare(have[first], have[second])
            if verdict is not None:
                lines.append(line_of(row, scenario, first, second, verdict, of))
        lines += _against_reference(row, scenario, have, of)
    return [{name: line[name] for name in COLUMNS} for line in lines]


def _against_reference(
    row: Mapping[str, Any], scenario: str, samples: Mapping[str, Sample], of: Mapping[str, str]
) -> list[dict[str, Any]]:
    if row["pinned"] is None or row["transform"] not in reference.REFERENCES:
        return []
    params = {**row["params"], **row["pinned"]}
    made: dict[str, dict[str, np.ndarray]] = {}
    lines = []
    for library, sample in samples.items():
        if sample.inputs_digest not in made:
            made[sample.inputs_digest] = {
                name: reference.apply(row["transform"], item, params) for name, item in sample.inputs.items()
            }
        verdict = judge(sample, replace(sample, outputs=made[sample.inputs_digest], draws=None))
        if verdict is not None:
            lines.append(line_of(row, scenario, library, REFERENCE, verdict, of))
    return lines
