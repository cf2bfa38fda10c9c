"""Which repeats were measured alike: held against one another pair by pair, and pooled row by row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from augmark.analysis.alike import differing
from augmark.analysis.compare import Repeat, Samples, pairs_of, samples_of
from augmark.analysis.rules import Rules
from augmark.record import MEASURED


@dataclass(frozen=True)
class Repeats:
    """The repeats of one row that have a number, and the contract of each (none: not known)."""

    samples: Samples
    contracts: Mapping[Repeat, str | None] = field(default_factory=dict)

    def figure(self, may_differ: Sequence[str]) -> list[Repeat]:
        """Those that make the row's own figure: most of them that are alike, of equal numbers the latest."""
        repeats = sorted(self.samples)
        groups = alike_groups([self.contracts.get(repeat) for repeat in repeats], may_differ)
        # A session's id begins with when it began.
        return max(
            ([repeats[index] for index in group] for group in groups),
            key=lambda group: (len(group), group[-1]),
            default=[],
        )


@dataclass(frozen=True)
class Sides:
    """What of two rows is held against one another.

    Attributes:
        first, second: Their repeats; of pairs those whose two sides were measured alike.
        enough: Whether so many are left that the rows are compared at all.
        left_out, pairs: How many pairs were not alike, of how many.
        apart: In which facts they are not.
    """

    first: Samples
    second: Samples
    enough: bool
    left_out: int
    pairs: int
    apart: Sequence[str]


def contracts_of(rows: pd.DataFrame) -> list[str | None]:
    """The contract of each row; None where it is not known."""
    if "contract" not in rows:
        return [None] * len(rows)
    return [text if isinstance(text, str) else None for text in rows["contract"]]


def repeats_of(rows: pd.DataFrame) -> Repeats:
    """The repeats of one row that have a number."""
    counted = rows[rows["recorded"] & rows["status"].isin(MEASURED)]
    keys = [(str(s), int(r)) for s, r in counted[["session", "repeat"]].itertuples(index=False)]
    return Repeats(samples_of(counted), dict(zip(keys, contracts_of(counted), strict=True)))


def apart(first: str | None, second: str | None, may_differ: Sequence[str]) -> list[str]:
    """What two contracts differ in, in words; two that are not known are alike."""
    if first is None or second is None:
        return [] if first is second else ["contract (known against unknown)"]
    return [] if first == second else differing(first, second, may_differ)


def grouped(count: int, same: Callable[[int, int], bool]) -> list[list[int]]:
    """Indices in groups, each the same as the first of its own: the largest first, then as they came."""
    groups: list[list[int]] = []
    for index in range(count):
        for group in groups:
            if same(group[0], index):
                group.append(index)
                break
        else:
            groups.append([index])
    return sorted(groups, key=lambda group: -len(group))


def alike_groups(contracts: Sequence[str | None], may_differ: Sequence[str]) -> list[list[int]]:
    """Indices of contracts that are alike: the largest group first, then the one that came first."""
    return grouped(len(contracts), lambda one, other: not apart(contracts[one], contracts[other], may_differ))


def alike_sides(first: Repeats, second: Repeats, rules: Rules) -> Sides:
    """Hold two rows together, pair by pair.

    What differs between two pairs and not inside of either (the kernel was updated between two stages of a
    top-up) cancels in their log-ratios, so only the two sides of a pair have to be alike. Where there are no
    pairs, the figures' repeats are held against one another, and have to be alike as a whole.

    Args:
        first, second: Repeats.
        rules: The policy's: there have to be ``interval_from_repeats`` alike pairs, or, below that, all.
    """
    shared = pairs_of(first.samples, second.samples, rules.interval_from_repeats)
    if not shared:
        repeats = [side.figure(rules.may_differ) for side in (first, second)]
        ends = [side.contracts.get(keys[-1]) for side, keys in zip((first, second), repeats, strict=True)]
        fields = apart(*ends, rules.may_differ)
        kept = [_only(side, keys) for side, keys in zip((first, second), repeats, strict=True)]
        return Sides(*kept, enough=not fields, left_out=0, pairs=0, apart=fields)
    told = {
        key: apart(first.contracts.get(key), second.contracts.get(key), rules.may_differ) for key in shared
    }
    same = [key for key, fields in told.items() if not fields]
    return Sides(
        _only(first, same),
        _only(second, same),
        enough=len(same) >= min(rules.interval_from_repeats, len(shared)),
        left_out=len(shared) - len(same),
        pairs=len(shared),
        apart=list(dict.fromkeys(text for fields in told.values() for text in fields)),
    )


def _only(side: Repeats, repeats: Sequence[Repeat]) -> Samples:
    return {repeat: side.samples[repeat] for repeat in repeats}
