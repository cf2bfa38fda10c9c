"""One way of showing how far long work is: a labelled tqdm bar with its unit.

On the workflow's terminal the bar stands one line below the workflow's own panel, which redraws its
own lines only; the job's log gets whole lines, a few per minute. Of several jobs that run beside each
other the one that holds the terminal's lock shows its bar.
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

try:
    from tqdm import tqdm
except ModuleNotFoundError:  # on a bare host: lines say the same
    tqdm = None

# Set by the Snakefile to a lock file's path when a person is looking: jobs' own stderr goes to logs.
TERMINAL = "AUGMARK_TERMINAL_LOCK"
SECONDS_BETWEEN_LINES = 10.0
# Make room for one line below, remember the cursor, go there; and come back. (IND, RI, DECSC, CUD; DECRC)
BELOW, BACK = "\x1bD\x1bM\x1b7\x1b[B", "\x1b8"


class LineBelow:
    """A terminal, written to one line below its cursor, which stays where it was.

    Another process draws there too: a cursor that it finds elsewhere shifts all that it draws, so
    every write is whole, in one system call.

    Args:
        terminal: Open for writing.
    """

    encoding = "utf-8"

    def __init__(self, terminal: IO[bytes]) -> None:
        self._terminal = terminal

    def write(self, text: str) -> None:
        if text:
            self._terminal.write(f"{BELOW}{text}{BACK}".encode())

    def flush(self) -> None:
        """Nothing is kept back."""

    def fileno(self) -> int:
        return self._terminal.fileno()


class Bar:
    """A bar and the lines that say the same in the log.

    Args:
        label: What is going on, e.g. ``micro image-rgb kornia r0``.
        total: How much there is to do, in units; None where it is not known.
        unit: What is counted, e.g. ``image``, ``row``, ``B``.
        terminal: Where the bar is drawn, or None.
    """

    def __init__(
        self, label: str, total: int | None, unit: str, terminal: IO[str] | LineBelow | None
    ) -> None:
        self.label, self.total, self.unit, self.done = label, total, unit, 0
        drawn = terminal if tqdm else None
        self._lines = drawn is not sys.stderr
        self._said = time.monotonic()
        self._bar = drawn and tqdm(
            total=total,
            desc=label,
            unit=unit,
            unit_scale=unit == "B",
            file=terminal,
            position=0,
            leave=False,
            dynamic_ncols=True,
        )
        self._line("started")

    def update(self, count: int = 1, *, note: str = "") -> None:
        """Say that ``count`` more units are done; ``note`` names what is in hand."""
        self.done += count
        if self._bar is not None:
            self._bar.set_postfix_str(note, refresh=count == 0)
            self._bar.update(count)
        if time.monotonic() - self._said >= SECONDS_BETWEEN_LINES or self.done == self.total:
            self._line(note)

    def _line(self, note: str) -> None:
        self._said = time.monotonic()
        if not self._lines:
            return
        of = "" if self.total is None else f"/{self.total}"
        print(f"{self.label}: {self.done}{of} {self.unit} {note}".rstrip(), file=sys.stderr, flush=True)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


@contextlib.contextmanager
def _terminal() -> Iterator[IO[str] | LineBelow | None]:
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
            below = LineBelow(stack.enter_context(open("/dev/tty", "wb", buffering=0)))
        except OSError:  # another job draws, or there is no terminal: the log has the lines
            below = None
        yield below


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
