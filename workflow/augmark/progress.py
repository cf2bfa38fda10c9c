"""One way of showing how far long work is: a labelled tqdm bar with its unit.

On a terminal the bar stands one line below the workflow's own panel (``position=1``: the panel
redraws its own lines only); a job's log gets whole lines instead, a few per minute. Of several
jobs that run beside each other the one that holds the terminal's lock shows its bar.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from tqdm import tqdm

# Set by the Snakefile to a lock file's path when a person is looking: jobs' own stderr goes to logs.
TERMINAL = "AUGMARK_TERMINAL_LOCK"
SECONDS_BETWEEN_LINES = 10.0


class Bar:
    """A bar and the lines that say the same in the log.

    Args:
        label: What is going on, e.g. ``micro image-rgb kornia r0``.
        total: How much there is to do, in units; None where it is not known.
        unit: What is counted, e.g. ``image``, ``row``, ``B``.
        terminal: Where the bar is drawn, or None.
    """

    def __init__(self, label: str, total: int | None, unit: str, terminal: IO[str] | None) -> None:
        self.label, self.total, self.unit, self.done = label, total, unit, 0
        self._said = time.monotonic()
        self._bar = terminal and tqdm(
            total=total,
            desc=label,
            unit=unit,
            unit_scale=unit == "B",
            file=terminal,
            position=0 if terminal is sys.stderr else 1,
            leave=False,
            dynamic_ncols=True,
        )
        self._line("started")

    def update(self, count: int = 1, *, note: str = "") -> None:
        """Say that ``count`` more units are done; ``note`` names what is in hand."""
        self.done += count
        if self._bar is not None:
            self._bar.set_postfix_str(note, refresh=False)
            self._bar.update(count)
        if time.monotonic() - self._said >= SECONDS_BETWEEN_LINES or self.done == self.total:
            self._line(note)

    def _line(self, note: str) -> None:
        self._said = time.monotonic()
        if self._bar is not None and self._bar.fp is sys.stderr:
            return
        of = "" if self.total is None else f"/{self.total}"
        print(f"{self.label}: {self.done}{of} {self.unit} {note}".rstrip(), file=sys.stderr, flush=True)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


@contextlib.contextmanager
def _terminal() -> Iterator[IO[str] | None]:
    """The terminal to draw on: one's own stderr, or the workflow's if no other job draws there."""
    if sys.stderr.isatty():
        yield sys.stderr
        return
    lock = os.environ.get(TERMINAL)
    if not lock:
        yield None
        return
    with contextlib.ExitStack() as stack:
        try:
            held = stack.enter_context(open(Path(lock), "w"))
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            tty = stack.enter_context(open("/dev/tty", "w"))
        except OSError:  # another job draws, or there is no terminal: the log has the lines
            tty = None
        yield tty


@contextlib.contextmanager
def progress(*, label: str, total: int | None, unit: str) -> Iterator[Bar]:
    """Show a labelled bar while the block runs.

    Args:
        label: What is going on; never empty.
        total: Number of units, or None.
        unit: Name of one unit.
    """
    with _terminal() as terminal:
        bar = Bar(label, total, unit, terminal)
        try:
            yield bar
        finally:
            bar.close()
