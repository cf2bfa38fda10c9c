"""Energy of a row: what counters rose by over a window of its own work, or why there is no figure.

The window holds the timed values, or, where they are shorter than a counter needs, the same calls once more
after them, untimed, for as long as it takes. Counters are read before the window, after it, and now and then
between two values: never inside a timer. They count whole packages, so what else ran then is in the figure,
and so is what the machine takes when it rests. Where there is no counter, nothing is run for it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from time import perf_counter
from typing import Any

from augmark.worker.energy_sources import Counter, Powermetrics, Source, Unreadable, nvml, rapl

Row = dict[str, Any]
Beat = Callable[[], None]
CPU_PARTS, GPU_PART = "package", "gpu"  # what a row misses where a source is not there
# A counter of 65 kJ is not round twice in this time, whatever the processor.
READ_EVERY_SECONDS = 10.0
BEAT_SECONDS = 2.0


@dataclass
class Window:
    """Readings of counters around work.

    Attributes:
        readings: Time (seconds) and the counters then, in their order.
        problem: Why a counter could not be read, where one could not.
    """

    counters: Sequence[Counter]
    readings: list[tuple[float, list[int]]] = field(default_factory=list)
    problem: str | None = None

    def read(self) -> None:
        """Read every counter: before the work, and after it."""
        try:
            found = [counter.read() for counter in self.counters]
        except (OSError, ValueError, Unreadable) as error:
            self.problem = f"a counter could not be read: {error}"
            return
        self.readings.append((perf_counter(), found))

    def read_if_due(self) -> None:
        """Between two values: read where a counter might otherwise be round twice before the next reading."""
        if self.counters and self.readings and perf_counter() - self.readings[-1][0] > READ_EVERY_SECONDS:
            self.read()

    @property
    def seconds(self) -> float:
        """From the first reading to the last."""
        return self.readings[-1][0] - self.readings[0][0] if self.readings else 0.0

    @property
    def running_seconds(self) -> float:
        """From the first reading to now; endless where that failed, so that nobody waits."""
        return perf_counter() - self.readings[0][0] if self.readings else float("inf")

    def joules(self) -> tuple[dict[str, float], dict[str, str]]:
        """Joules by part, and part -> why it has none.

        A counter that did not move although work was done counts nothing, and nothing is not zero joules. A
        part is the sum of its counters: where one of them has no figure, nor has the part.
        """
        parts: dict[str, float] = {}
        missing: dict[str, str] = {}
        for index, counter in enumerate(self.counters):
            try:
                if self.problem:
                    raise Unreadable(self.problem)
                parts[counter.part] = parts.get(counter.part, 0.0) + self._joules_of(counter, index)
            except Unreadable as error:
                missing[counter.part] = str(error)
        return {part: joules for part, joules in parts.items() if part not in missing}, missing

    def _joules_of(self, counter: Counter, index: int) -> float:
        steps = zip(self.readings, self.readings[1:], strict=False)
        spent = sum(
            counter.step_joules(then - now, before[index], after[index])
            for (now, before), (then, after) in steps
        )
        if spent <= 0:
            at = self.readings[-1][1][index] if self.readings else "unknown"
            raise Unreadable(f"{counter.name} stood still at {at} over {self.seconds:.2f} s of work")
        return spent


@dataclass(frozen=True)
class Meter:
    """What there is on this machine to read the energy of one kind of row with.

    Attributes:
        sources: Of counters.
        sampler: Of power, on a Mac; then there are no counters.
        missing: Part -> why it cannot be read.
    """

    sources: tuple[Source, ...] = ()
    sampler: Powermetrics | None = None
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def counters(self) -> tuple[Counter, ...]:
        return tuple(counter for source in self.sources for counter in source.counters)

    def start(self) -> Window:
        """A window that begins now: to be called right before the timed values."""
        window = Window(self.counters)
        window.read()
        return window

    def energy(self, window: Window, items: int, again: Callable[[], int], beat: Beat) -> Row:
        """The energy of a row, as its record has it.

        Args:
            window: That was around the timed values.
            items: How many items were worked on in it.
            again: Does the same work once more; how many items that was.
            beat: A sign of life, called every few seconds.

        Returns:
            ``source joules window_seconds items joules_per_item coarse parts missing``, or why there is no
            figure as ``unavailable``.
        """
        try:
            if self.sampler is not None:
                return self._sampled(again, beat)
            if not self.sources:
                raise Unreadable("; ".join(self.missing.values()))
            if window.seconds < max(source.window_seconds for source in self.sources):
                window = self.start()
                items = self._repeat(window, again, beat)
                window.read()
            return self._counted(window, items)
        except Unreadable as error:
            return {"unavailable": str(error)}
        except Exception as error:  # the row has its values, whatever becomes of work that is repeated
            return {"unavailable": f"raised when its work was repeated for it: {type(error).__name__}"}

    def _repeat(self, window: Window, again: Callable[[], int], beat: Beat) -> int:
        items, seconds = 0, max(source.window_seconds for source in self.sources)
        due = perf_counter() + BEAT_SECONDS
        while items == 0 or window.running_seconds < seconds:
            items += again()
            if perf_counter() > due:
                beat()
                due = perf_counter() + BEAT_SECONDS
        return items

    def _counted(self, window: Window, items: int) -> Row:
        parts, missing = window.joules()
        missing = {**self.missing, **missing}
        if not {CPU_PARTS, GPU_PART} & set(parts):
            raise Unreadable("; ".join(dict.fromkeys(missing.values())))
        if GPU_PART in missing:  # the joules of a row on a GPU are not those of all else
            raise Unreadable(missing[GPU_PART])
        told = "+".join(source.name for source in self.sources if source.parts & set(parts))
        return _row(told, parts, missing, window.seconds, items, coarse=False)

    def _sampled(self, again: Callable[[], int], beat: Beat) -> Row:
        assert self.sampler is not None
        done, seconds, begin = 0, 0.0, perf_counter()

        def work() -> None:
            nonlocal done, seconds
            while perf_counter() - begin < self.sampler.window_seconds:
                done += again()
                beat()
            seconds = perf_counter() - begin

        watts = self.sampler.watts_during(work)
        parts = {part: power * seconds for part, power in watts.items() if power > 0}
        if not parts:
            raise Unreadable("powermetrics told zero watts while work was done")
        return _row(self.sampler.name, parts, dict(self.missing), seconds, done, coarse=True)


def _row(
    source: str, parts: dict[str, float], missing: dict[str, str], seconds: float, items: int, coarse: bool
) -> Row:
    joules = sum(parts.values())
    return {
        "source": source,
        "joules": joules,
        "window_seconds": seconds,
        "items": items,
        "joules_per_item": joules / items,
        "coarse": coarse,
        "parts": parts,
        "missing": missing,
    }


@cache
def meter(cuda: bool) -> Meter:
    """What there is here: looked for once per process, at the first row that is asked for.

    Args:
        cuda: Whether the row's transform or its copy runs on an NVIDIA GPU. To be asked when it has run once:
            until then nobody knows on which.
    """
    if sys.platform == "darwin":
        try:
            return Meter(sampler=Powermetrics())
        except Unreadable as error:
            return Meter(missing={CPU_PARTS: str(error)})
    sources, missing = [], {}
    for part, find in {CPU_PARTS: rapl, **({GPU_PART: nvml} if cuda else {})}.items():
        try:
            sources.append(find())
        except Unreadable as error:
            missing[part] = str(error)
    return Meter(tuple(sources), None, missing)


def between(window: Window, beat: Beat) -> Beat:
    """What runs between two timed values: a sign of life, and a reading where one is due."""

    def both() -> None:
        beat()
        window.read_if_due()

    return both
