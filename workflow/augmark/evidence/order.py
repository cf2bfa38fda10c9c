"""Is the order of measuring the planned one? Proved from the times that records, rows and probes hold.

The design asks for blocks (repeat k of every library of one scenario, mode and device) measured one after the
other, the libraries of a block in a seeded order, all probes before a block's first cell, and the rows of a
cell in a seeded order of their own. Blocks are paired only inside one session, so order is asked for inside
sessions: a block that was completed in another session is *torn* (``augmark.refresh``), which is no fault:
its libraries are compared unpaired. Standard library only.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Any

from augmark.cell import Cell
from augmark.evidence.findings import Finding
from augmark.record import row_name
from augmark.refresh import Block, block_of, torn_blocks
from augmark.worker.seeds import row_seed

Record = Mapping[str, Any]
# Two clocks are read one after the other; and an ended record's time is taken a moment before it is written.
SLACK_SECONDS = 0.05
# The time of day and the clock that only counts: apart by more than this, somebody set the former.
STEP_SECONDS = 1.0
REMEDY = (
    "the order cannot be shown from these times, be it another one or a clock that was set meanwhile: "
    "measure the block again with `snakemake paper_tables --config refresh=blocks`, and leave the clock alone"
)


@dataclass(frozen=True)
class Span:
    """A stretch of time that something took, in seconds since the epoch."""

    name: str
    started: float
    ended: float
    place: tuple[Any, ...] = field(default=(), compare=False)


def seconds_of(time: str) -> float:
    """Seconds since the epoch of a time in a record."""
    return datetime.fromisoformat(time).timestamp()


def order_problems(
    records: Iterable[Record],
    plan_content: Mapping[str, Any],
    probes: Iterable[Mapping[str, Any]] = (),
) -> list[Finding]:
    """What in the times of records contradicts the planned order.

    Args:
        records: Each as it is on disk. Of what the plan does not have, its order among libraries is not
            asked for.
        plan_content: Whose ``cells`` say the order of libraries and blocks.
        probes: Of the plan's definitions, each as it is on disk; without them nothing is said of probes.
    """
    records = list(records)
    found = [problem for record in records for problem in _inside(record)]
    sessions: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        sessions.setdefault((record["session"], record["cell"]["machine"]), []).append(record)
    ranks = {cell["path"]: rank for rank, cell in enumerate(plan_content["cells"])}
    torn = torn_blocks(plan_content["cells"], {path_of(record): record for record in records})
    for (session, _), own in sessions.items():
        found += _overlaps(own, session)
        found += _libraries(own, ranks, torn)
        found += _repeats(own)
    found += _probes(records, list(probes))
    return found


def path_of(record: Record) -> str:
    """A record's path below ``records``, from what it says."""
    return str(Cell(**record["cell"]).record_path(record["digest"]))


def _span(record: Record) -> Span:
    started, ended = seconds_of(record["started"]), seconds_of(record["ended"])
    return Span(path_of(record), started, ended, tuple(record["cell"].values()))


# --- inside a record -------------------------------------------------------------------------------------


def _inside(record: Record) -> Iterator[Finding]:
    """Rows in the seeded order, one after the other, between the start and the end of their cell."""
    path, cell = path_of(record), _span(record)
    rows = [
        Span(row_name(row), seconds_of(row["started"]), seconds_of(row["ended"]))
        for row in record["rows"]
        if not row["carried"] and row.get("started")
    ]
    problems = [*_clock(cell, record["wall_seconds"], longer=True)]
    walls = {row_name(row): row.get("wall_seconds") for row in record["rows"]}
    for row in rows:
        problems += [f"row {row.name}: {what}" for what in _clock(row, walls[row.name])]
        if row.started < cell.started - SLACK_SECONDS or row.ended > cell.ended + SLACK_SECONDS:
            problems.append(f"row {row.name} was not measured between the start and the end of its cell")
    in_time = sorted(rows, key=lambda row: (row.started, row.ended))
    for before, after in pairwise(in_time):
        if after.started < before.ended - SLACK_SECONDS:
            problems.append(f"row {after.name} started before row {before.name} had ended")
    problems += _row_order(record, [row.name for row in in_time])
    yield from (Finding(path, "order", what, REMEDY) for what in problems)


def _clock(span: Span, wall_seconds: float | None, *, longer: bool = False) -> Iterator[str]:
    """Whether the time of day went as the clock that only counts. ``longer``: waiting is in it, too."""
    took = span.ended - span.started
    if took < 0:
        yield f"ended {-took:.3f} s before it started: the clock was set back"
    elif wall_seconds is not None:
        apart = took - wall_seconds
        if apart < -STEP_SECONDS or (apart > STEP_SECONDS and not longer):
            yield f"took {wall_seconds:.3f} s, and {took:.3f} s by the time of day: the clock was set"


def _row_order(record: Record, in_time: list[str]) -> Iterator[str]:
    order = list(record["order"])
    if sorted(order) != sorted(in_time):
        others = sorted(set(order) ^ set(in_time))
        yield f"order and rows are not the same rows: {', '.join(others[:3])}"
        return
    if in_time != order:
        first = next(k for k, pair in enumerate(zip(in_time, order, strict=True)) if pair[0] != pair[1])
        yield f"row {in_time[first]} was measured as number {first + 1}; by `order` that is {order[first]}"
    if order != (seeded := seeded_order(record)):
        first = next(k for k, pair in enumerate(zip(order, seeded, strict=True)) if pair[0] != pair[1])
        yield f"`order` is not the seeded one: number {first + 1} is {order[first]}, not {seeded[first]}"


def seeded_order(record: Record) -> list[str]:
    """The rows that a cell measured itself in the order that its seed gives (``worker.job``).

    Rows of one number of threads come together: each such group has processes of its own.
    """
    ids = sorted(record["order"])
    seed = row_seed(Cell(**record["cell"]), record["seed"], "order")
    random.Random(seed).shuffle(ids)
    threads = {row_name(row): row["threads"] for row in record["definition"]["rows"]}
    groups = dict.fromkeys(threads.get(name) for name in ids)
    return [name for group in groups for name in ids if threads.get(name) == group]


# --- inside a session ------------------------------------------------------------------------------------


def _overlaps(records: list[Record], session: str) -> Iterator[Finding]:
    """A machine measures one cell at a time."""
    for before, after in pairwise(sorted(map(_span, records), key=lambda span: (span.started, span.ended))):
        if after.started < before.ended - SLACK_SECONDS:
            early = f"started {before.ended - after.started:.3f} s before {before.name} had ended"
            what = f"{early}, in session {session}"
            yield Finding(after.name, "order", what, REMEDY)


def _libraries(
    records: list[Record], ranks: Mapping[str, int], torn: Mapping[Block, list[str]]
) -> Iterator[Finding]:
    """Inside a block of one session the libraries in their planned order."""
    blocks: dict[Block, list[Record]] = {}
    for record in records:
        if path_of(record) in ranks:
            blocks.setdefault(block_of(record["cell"]), []).append(record)
    for block, own in blocks.items():
        if block in torn:
            continue
        in_time = [
            path_of(record) for record in sorted(own, key=lambda record: seconds_of(record["started"]))
        ]
        planned = sorted(in_time, key=lambda path: ranks[path])
        if in_time != planned:
            first = next(k for k, pair in enumerate(zip(in_time, planned, strict=True)) if pair[0] != pair[1])
            what = f"was measured as number {first + 1} of its block; planned there is {planned[first]}"
            yield Finding(in_time[first], "order", what, REMEDY)


def _repeats(records: list[Record]) -> Iterator[Finding]:
    """Repeat k of every library has ended when repeat k + 1 of any of them starts."""
    places: dict[tuple[str, ...], dict[int, list[Span]]] = {}
    for record in records:
        *place, repeat = block_of(record["cell"])
        places.setdefault(tuple(place), {}).setdefault(repeat, []).append(_span(record))
    for repeats in places.values():
        for earlier, later in pairwise(sorted(repeats)):
            last = max(repeats[earlier], key=lambda span: span.ended)
            first = min(repeats[later], key=lambda span: span.started)
            if first.started < last.ended - SLACK_SECONDS:
                what = f"repeat {later} started before {last.name} (repeat {earlier}) had ended"
                yield Finding(first.name, "order", what, REMEDY)


def _probes(records: list[Record], probes: list[Mapping[str, Any]]) -> Iterator[Finding]:
    """All probes of a block's libraries precede its first cell.

    Asked for inside a session: a probe that a changed lock or an added transform asked for came later than
    the cells that were there, and its block is torn.
    """
    first: dict[tuple[str, ...], Span] = {}
    for record in records:
        span, place = _span(record), (record["session"], *block_of(record["cell"])[:3])
        if place not in first or span.started < first[place].started:
            first[place] = span
    for probe in probes:
        cell = first.get(
            (probe["session"], *(probe["cell"][name] for name in ("scenario", "mode", "device")))
        )
        ends = [row["ended"] for row in probe["rows"].values() if row.get("ended") is not None]
        if cell is not None and ends and max(ends) > cell.started + SLACK_SECONDS:
            name = f"{'/'.join(probe['cell'].values())}/probe.{probe['digest']}.json"
            what = f"ended after {cell.name} had started: a block's probes precede its first cell"
            yield Finding(name, "order", what, REMEDY)
