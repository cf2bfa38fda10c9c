"""Statuses and marks: their order, symbols, words and colours, for every product alike."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Status:
    """How a status is shown.

    Attributes:
        symbol: One ASCII character, for grids.
        short: What stands in a table in place of a number.
        words: What it means.
        colour, ink: Of a grid's field and of the symbol in it (told apart by colour-blind readers).
    """

    symbol: str
    short: str
    words: str
    colour: str
    ink: str = "#ffffff"


# Those of records and `not-run`, from what says most against a row to what says nothing against it.
SHOWN: dict[str, Status] = {
    "crashed": Status("C", "crashed", "the process died from a signal", "#000000"),
    "oom": Status("M", "oom", "went over the memory limit", "#7a3b69"),
    "timeout": Status("T", "timeout", "went over the time limit", "#b8336a"),
    "failed": Status("F", "failed", "raised an error", "#d55e00"),
    "invalid": Status("I", "invalid", "output breaks the row's contract", "#e69f00", "#000000"),
    "not-run": Status("?", "not run", "planned, but there is no record", "#f0e442", "#000000"),
    "excluded": Status("x", "excluded", "excluded by the configuration", "#999999", "#000000"),
    "unsupported": Status("-", "–", "the library has no such operation", "#e4e4e4", "#444444"),
    "slow": Status("s", "slow", "below the floor of speed; its figure is kept", "#56b4e9", "#000000"),
    "ok": Status("+", "ok", "measured", "#0072b2"),
}

# Letter and meaning; `{}` is filled in by whoever knows the figure.
MARKS: dict[str, tuple[str, str]] = {
    "slow": ("s", "slow: below the floor, measured on fewer items"),
    "unstable": ("u", "unstable: spread over repeats (CV) of {unstable_cv:.0%} or more"),
    "partial": ("p", "fewer repeats with a record than planned"),
    "sessions": (
        "x",
        "not measured in the sessions of the fastest: the interval does not know what two sessions differ "
        "by, and nothing is decided (refresh=blocks measures them side by side)",
    ),
    "different": ("w", "not the same work as the rows compared: not compared"),
    "unpinned": (
        "n",
        "sameness of the work cannot be shown, its randomness cannot be pinned: not compared",
    ),
    "unsampled": ("o", "no output of it to hold against the others: whether its work is theirs is not known"),
    "items": ("i", "timed on other items than the rows compared (fewer, or another set): not compared"),
    "blocked": ("m", "measured under other conditions than the rows compared (footnote): not compared"),
    "mixed": ("h", "some of its repeats were measured under other conditions (footnote) and are left out"),
    "undecided": (
        "q",
        "undecided: neither shown to be slower than the fastest by more than the margin, nor to be within it",
    ),
    "dtype": ("d", "compared across native dtypes: its dtype is not that of the fastest"),
    "threads": ("t", "thread count read back differs from the declared one: not compared"),
    "reduced-items": ("r", "measured on a reduced set of items"),
    "chunked": ("k", "run on chunks of three channels: the library's operation does not take nine alike"),
    "oversubscribed": ("v", "its workers' threads can want more processors than there are"),
    "reduced-batch": ("y", "batches smaller than declared, so that every worker has two: few items"),
    "idle-workers": ("z", "fewer items than workers: some had nothing to do"),
    "carried": ("c", "carried over from an earlier record whose row has the same digest"),
}
OTHER_FLAG = "f"
# What the bounds of a figure are, by the summary's column ``interval``; `{}` is the confidence.
INTERVALS = {
    "student": "{:.0%} Student interval",
    "bca": "{:.0%} BCa bootstrap interval",
    "range": "range",
}
# What a flag without a letter of its own means; one that is not here is shown by its name alone.
FLAGS = {"not-resident": "not all of its items were in memory"}


def worst(statuses: Iterable[str]) -> str:
    """The status of several repeats of one row together: the one that says most against it."""
    seen = set(statuses)
    return next(name for name in SHOWN if name in seen)


def symbols(statuses: Iterable[str]) -> str:
    """Symbols of the different statuses of several repeats, worst first: ``?+`` is "one of them not run"."""
    seen = set(statuses)
    return "".join(status.symbol for name, status in SHOWN.items() if name in seen)


def flag_words(flag: str) -> str:
    """A flag of the measuring process without a letter of its own, with its meaning where it is known."""
    return f"{flag} ({FLAGS[flag]})" if flag in FLAGS else flag


def mark_letter(mark: str) -> str:
    """The letter of a mark; flags of the worker that have no letter of their own share one."""
    return MARKS[mark][0] if mark in MARKS else OTHER_FLAG


def order_marks(marks: Iterable[str]) -> tuple[str, ...]:
    """Each mark once: the known ones in their order, then other flags by name."""
    seen = set(marks)
    return (*(mark for mark in MARKS if mark in seen), *sorted(seen - set(MARKS)))
