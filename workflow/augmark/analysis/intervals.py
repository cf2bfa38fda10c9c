"""Means over repeats, on logarithms of seconds: their intervals, and what speaks against a margin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special, stats

from augmark.analysis.rules import Rules

Interval = tuple[float, float]

RESAMPLES = 19999  # with half of them an end is off by up to 5 % of the width, by luck of the draw
SEED = 20261130  # one for every interval: the same repeats give the same bounds, to the byte


@dataclass(frozen=True)
class Estimate:
    """A mean or a difference of means, with its standard error and Student's degrees of freedom."""

    value: float
    error: float
    freedom: float

    def interval(self, confidence: float) -> Interval:
        """Student interval; a point where nothing varies."""
        if self.error == 0:
            return self.value, self.value
        reach = float(special.stdtrit(self.freedom, (1 + confidence) / 2)) * self.error
        return self.value - reach, self.value + reach

    def p_beyond(self, margin: float) -> float:
        """p of the null that the true value is within the margin: ``-margin <= value <= margin``.

        The claim is "beyond the margin", so that is what the null denies. It is composite, and each of its
        two ends is tested by a one-sided t test; the end is chosen by the data, hence twice the smaller p.
        So p is below ``1 - confidence`` exactly where ``interval(confidence)`` lies wholly beyond the
        margin. With a margin of 0 it is the usual two-sided t test.
        """
        if self.error == 0:
            return 0.0 if abs(self.value) > margin else 1.0
        return min(1.0, 2 * float(special.stdtr(self.freedom, (margin - abs(self.value)) / self.error)))

    def p_above(self, least: float) -> float:
        """p of the null that the true value is below ``least``: one-sided, as the data choose no end."""
        if self.error == 0:
            return 0.0 if self.value >= least else 1.0
        return float(special.stdtr(self.freedom, (least - self.value) / self.error))


def mean_of(values: Sequence[float]) -> Estimate:
    """The mean of at least two values."""
    error = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return Estimate(float(np.mean(values)), error, len(values) - 1)


def difference_of(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """Welch's mean(first) - mean(second), of at least two values each."""
    value = float(np.mean(first) - np.mean(second))
    parts = [float(np.var(values, ddof=1)) / len(values) for values in (first, second)]
    if sum(parts) == 0:
        return Estimate(value, 0.0, math.inf)
    freedom = sum(parts) ** 2 / sum(
        part**2 / (len(values) - 1) for part, values in zip(parts, (first, second), strict=True)
    )
    return Estimate(value, math.sqrt(sum(parts)), freedom)


def student_interval(values: Sequence[float], confidence: float) -> Interval:
    """Student interval of the mean of at least two values."""
    return mean_of(values).interval(confidence)


def bca_interval(values: Sequence[float], confidence: float) -> Interval:
    """Bias-corrected and accelerated bootstrap interval of the mean (Efron 1987), seeded.

    A bootstrap interval of n values is too narrow: it has the spread with n, not n - 1, and the normal's
    quantiles, not Student's. Of twenty normal values the plain one at 95 % covers 93 %. So its level is
    widened to where it would be Student's if the values were normal (Hesterberg 2015, "expanded
    percentile"); then it covers 95 %, and what is left of the bootstrap is that it follows a skew.
    """
    count = len(values)
    reach = math.sqrt(count / (count - 1)) * float(special.stdtrit(count - 1, (1 + confidence) / 2))
    level = 1 - 2 * float(special.ndtr(-reach))
    if np.ptp(values) == 0:
        return float(values[0]), float(values[0])
    found = stats.bootstrap(
        (np.asarray(values, dtype=float),),
        np.mean,
        confidence_level=level,
        n_resamples=RESAMPLES,
        method="BCa",
        rng=np.random.default_rng(SEED),
    ).confidence_interval
    return float(found.low), float(found.high)


def mean_interval(values: Sequence[float], rules: Rules) -> tuple[Interval, str]:
    """Interval of the mean, and which: ``student``, or ``bca`` from ``bca_from_repeats`` values on."""
    if len(values) >= rules.bca_from_repeats:
        return bca_interval(values, rules.confidence), "bca"
    return student_interval(values, rules.confidence), "student"


def repeat_interval(seconds: Sequence[float], rules: Rules) -> tuple[Interval, str]:
    """Interval over repeats, computed on log(seconds), in seconds, and which it is.

    It is centred on the geometric mean: seconds are positive and skewed, and a ratio is what is asked.
    """
    (low, high), kind = mean_interval([math.log(value) for value in seconds], rules)
    return (math.exp(low), math.exp(high)), kind
