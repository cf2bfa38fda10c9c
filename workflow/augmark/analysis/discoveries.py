"""Many comparisons at once: what is left of a p-value when it is one of a table's worth."""

from __future__ import annotations

from collections.abc import Sequence

from scipy import stats


def with_the_fastest(p_value: float, rivals: int) -> float:
    """p of "slower than the fastest", where the fastest was found in the same data.

    Whoever has the smallest time of several equals has it by luck, and to be slower than the lucky one proves
    nothing (the winner's curse). Each library is slower than the best if it is slower than any of the
    others, so each of those comparisons might have been the one made: Bonferroni over them.

    Args:
        p_value: Two-sided, of one library against the fastest.
        rivals: How many libraries the fastest is compared with in this row.
    """
    return min(1.0, p_value * rivals)


def q_values(p_values: Sequence[float]) -> list[float]:
    """Benjamini-Hochberg: the false-discovery rate at which each would be among the discoveries.

    Not Benjamini-Yekutieli, which holds under any dependence and costs a factor of six at a table of 200
    comparisons: what rows share is the process that they ran in and the fastest that they are held against,
    so their errors go the same way, which is the dependence that Benjamini-Hochberg allows for. A test
    simulates tables of such rows.
    """
    return list(map(float, stats.false_discovery_control(p_values, method="bh"))) if len(p_values) else []
