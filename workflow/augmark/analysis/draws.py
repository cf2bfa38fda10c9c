"""Do two libraries draw from the same distribution? Figures over seeds, compared for gross differences.

The pinned outputs say that one draw is the same work, not that the draws are: ranges may be read otherwise,
sides swapped, a share of the images left alone. That is looked for here, and only that: libraries draw with
generators of their own, and a small difference of two distributions is no reason not to compare their speed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from augmark.worker.samples import CHANGE

if TYPE_CHECKING:
    from augmark.analysis.samples import Sample

# Two conditions, both needed, for either of a row's two figures.
# 1. Kolmogorov-Smirnov at 1e-6. A table holds some thousand of these tests (58 names, six pairs of libraries,
#    two figures, two scenarios): 0.001 over all of them, by Bonferroni. With 256 seeds a side that asks for
#    distributions that are 0.24 apart, with 64 for 0.47, with 16 for 0.88.
LEVEL = 1e-6
# 2. A distance (mean over quantiles) of more than a tenth of the effect, as for the pinned outputs, and of
#    more than one level: rounding down and rounding off are told apart by any test, and are the same work.
SHARE = 0.10
LEVELS = 1.0


@dataclass(frozen=True)
class Drawn:
    """Two libraries' draws.

    Attributes:
        differ: Grossly.
        words: The figures.
        effect: Mean absolute change over all draws of both, in levels; None where the shape changes.
    """

    differ: bool
    words: str
    effect: float | None


def compare(first: Sample, second: Sample) -> Drawn | None:
    """Compare the draws of two samples; None where either has none, or they are of different figures."""
    if first.draws is None or second.draws is None or first.names != second.names:
        return None
    # The second figure is in both cases the size of what is looked at: mean absolute change, or contrast.
    scale = float(np.mean([first.draws[:, 1].mean(), second.draws[:, 1].mean()]))
    parts, differ = [], False
    for index, name in enumerate(first.names):
        one, other = first.draws[:, index], second.draws[:, index]
        chance = float(stats.ks_2samp(one, other).pvalue)
        apart = float(stats.wasserstein_distance(one, other))
        gross = chance < LEVEL and apart > max(SHARE * scale, LEVELS)
        differ = differ or gross
        parts.append(f"{name} {_summary(one)} against {_summary(other)} levels{'' if gross else ' (alike)'}")
    seeds = min(len(first.draws), len(second.draws))
    effect = scale if first.names == CHANGE else None
    return Drawn(differ, f"over {seeds} seeds {', '.join(parts)}", effect)


def _summary(values: np.ndarray) -> str:
    """Median and the quartiles around it."""
    low, middle, high = np.percentile(values, [25, 50, 75])
    return f"{middle:.1f} [{low:.1f}, {high:.1f}]"
