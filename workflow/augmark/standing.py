"""``augmark status``: what is done, running, failed and left, and when it will end. Standard library only.

Told from the records that are there and from the notices of jobs (``augmark.worker.notice``), so that it can
be asked in another terminal, on another host of a shared file system, and after a run was killed.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from augmark import sessions
from augmark.cell import Cell
from augmark.estimate import duration, expected
from augmark.machines import quota
from augmark.plan import Plan
from augmark.record import DAMAGED_REMEDY
from augmark.worker import notice

SCHEMA = "augmark/status/1"
DONE, RUNNING, FAILED, DAMAGED, STALE, LEFT = STATES = (
    "done",
    "running",
    "failed",
    "damaged",
    "stale",
    "left",
)
HELP = "what is done, running, failed and left, and when it will end"
# As `augmark coverage`, so that `until augmark status; do snakemake; done` is a loop that ends.
STATUSES = (
    "Exit status: 0 when every planned cell is done, 1 while one is running, failed, damaged or left, "
    "2 where the question cannot be answered."
)
_NAMES = tuple(Cell.__dataclass_fields__)
Place = tuple[str, str, str]  # scenario, mode, device


@dataclass(frozen=True)
class CellStanding:
    """How one cell stands.

    Attributes:
        cell: Of the plan.
        state: One of ``STATES``: *stale* is left, with a record of an earlier plan, lock or code.
        about: What is known of it beyond: of a running job its notice, of a failure its message.
        seconds: Still to go for it; 0 where it is done.
        known: False where that is the least that it can take.
    """

    cell: Mapping[str, Any]
    state: str
    about: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    known: bool = True

    @property
    def place(self) -> Place:
        return self.cell["scenario"], self.cell["mode"], self.cell["device"]

    @property
    def label(self) -> str:
        return Cell(**{name: self.cell[name] for name in _NAMES}).label


@dataclass(frozen=True)
class Standing:
    """How a plan stands.

    Attributes:
        cells: In planned order.
        jobs: Probes of it that are at work or failed, in the same form (their ``cell`` is of repeat 0).
        hosts: How many hosts may be at work at once.
        others: Jobs at work in the same folder that are not of this plan.
        run: Whether a run of this host is at work in the folder, if only between two jobs.
        now: When it was asked, in seconds since the epoch.
    """

    plan: Plan
    cells: list[CellStanding]
    jobs: list[CellStanding]
    hosts: int
    others: int
    run: bool
    now: float

    @property
    def done(self) -> bool:
        return all(each.state == DONE for each in self.cells)

    def counts(self, place: Place | None = None) -> dict[str, int]:
        """State -> cells, of one place or of all."""
        states = [each.state for each in self.cells if place in (None, each.place)]
        return {state: states.count(state) for state in STATES}

    def left(self, place: Place | None = None) -> tuple[float, bool]:
        """Seconds until the last cell is measured, and whether that is known or the least."""
        seconds: dict[Place, float] = {}
        for each in self.cells:
            if place in (None, each.place):
                seconds[each.place] = seconds.get(each.place, 0.0) + each.seconds
        known = all(each.known for each in self.cells if place in (None, each.place))
        return quota.seconds_at(seconds.values(), self.hosts), known


def standing(plan: Plan, hosts: int = 1, now: float | None = None) -> Standing:
    """Look at every record and notice of a plan.

    Args:
        plan: Of this machine or of another.
        hosts: How many hosts may be at work at once.
        now: Seconds since the epoch; by default the present.
    """
    now = time.time() if now is None else now
    read = {cell["path"]: _record(plan, cell) for cell in plan.cells()}
    took = _wall_seconds(plan, read)
    cells = [_cell(plan, cell, read[cell["path"]], took, now) for cell in plan.cells()]
    jobs = list(_probes(plan, now))
    mine = {notice.place(plan.output / "records" / each.cell["path"], notice.RUNNING) for each in cells}
    mine |= {notice.place(path, notice.RUNNING) for _, path in _probe_paths(plan)}
    folder = plan.output / notice.RUNNING
    others = [path for path in folder.glob("*/*/*/*/*/*.json") if path not in mine and _running(path, now)]
    run = _running(plan.output / "plan" / notice.RUN_LOCK, now) is not None
    return Standing(plan, cells, jobs, hosts, len(others), run, now)


def _record(plan: Plan, cell: Mapping[str, Any]) -> dict[str, Any] | str | None:
    """A record, what is wrong with it in words, or None where there is none. Seals are for ``verify``."""
    path = plan.output / "records" / cell["path"]
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        return f"the record cannot be read: {error}"
    if not isinstance(content, dict) or not all(
        name in content for name in ("cell", "digest", "rows", "seal")
    ):
        return "not a whole record"
    if content["digest"] != cell["digest"] or any(content["cell"].get(name) != cell[name] for name in _NAMES):
        return f"it is the record of {content['cell']} {content['digest']}"
    return content


def _cell(
    plan: Plan, cell: Mapping[str, Any], record: Any, took: Mapping[tuple[str, ...], float], now: float
) -> CellStanding:
    if isinstance(record, dict):
        return CellStanding(cell, DONE)
    path = plan.output / "records" / cell["path"]
    seconds, known = _expected(plan, cell, took)
    if running := _running(notice.place(path, notice.RUNNING), now):
        gone_by = 0.0 if running["phase"] == "waiting" else max(0.0, now - running["started"])
        left = max(0.0, seconds - gone_by)
        return CellStanding(cell, RUNNING, running, left, known and left > 0)
    if isinstance(record, str):
        about = {"message": record, "path": str(path), "remedy": DAMAGED_REMEDY}
        return CellStanding(cell, DAMAGED, about, seconds, known)
    if failed := notice.read(notice.place(path, notice.FAILED)):
        return CellStanding(cell, FAILED, {**failed, "log": str(_log(plan, cell))}, seconds, known)
    earlier = any(other.name != path.name for other in path.parent.glob(f"r{cell['repeat']}.*.json"))
    about = _cut_off(notice.place(path, notice.RUNNING))
    return CellStanding(cell, STALE if earlier else LEFT, about, seconds, known)


def _running(path: Path, now: float) -> dict[str, Any] | None:
    """The notice of a job that is at work, with how long it has been silent."""
    try:
        silent = max(0.0, now - path.stat().st_mtime)
    except OSError:
        return None
    found = notice.read(path)
    return {**found, "silent_for": silent} if found and notice.is_running(found, silent) else None


def _cut_off(path: Path) -> dict[str, Any]:
    """What is known of a job that ended without a word: it was killed, or its host is gone."""
    found = notice.read(path)
    return {name: found[name] for name in ("host", "pid", "started", "done", "rows")} if found else {}


def _wall_seconds(plan: Plan, read: Mapping[str, Any]) -> dict[tuple[str, ...], float]:
    """How long a cell of a library took in a place, by what was measured in it and not carried over."""
    found: dict[tuple[str, ...], list[float]] = {}
    for cell in plan.cells():
        record = read[cell["path"]]
        if isinstance(record, dict) and not any(row.get("carried") for row in record["rows"]):
            found.setdefault(_alike(cell), []).append(float(record["wall_seconds"]))
    return {key: sum(seconds) / len(seconds) for key, seconds in found.items()}


def _alike(cell: Mapping[str, Any]) -> tuple[str, ...]:
    """Cells of the same work: repeats of the same rows."""
    return tuple(cell[name] for name in ("scenario", "mode", "library", "device", "digest"))


def _expected(
    plan: Plan, cell: Mapping[str, Any], took: Mapping[tuple[str, ...], float]
) -> tuple[float, bool]:
    if _alike(cell) in took:
        return took[_alike(cell)], True
    estimate = expected(plan, dict(cell))
    return estimate.seconds, estimate.known


def _log(plan: Plan, cell: Mapping[str, Any]) -> Path:
    return (plan.output / "logs" / "measure" / cell["path"]).with_suffix(".log")


def _probe_paths(plan: Plan) -> Iterator[tuple[dict[str, Any], Path]]:
    for key in plan.content["definitions"]:
        names = dict(zip(("scenario", "mode", "library", "device"), key.split("/"), strict=True))
        yield {"machine": plan.machine, **names, "repeat": 0}, plan.probe_path(**names)


def _probes(plan: Plan, now: float) -> Iterator[CellStanding]:
    for cell, path in _probe_paths(plan):
        if running := _running(notice.place(path, notice.RUNNING), now):
            yield CellStanding(cell, RUNNING, running)
        elif not path.exists() and (failed := notice.read(notice.place(path, notice.FAILED))):
            digest = path.name.removeprefix("probe.").removesuffix(".json")
            log = plan.output / "logs" / "probe" / Path(*path.parts[-6:]).with_name(f"{digest}.log")
            yield CellStanding(cell, FAILED, {**failed, "log": str(log)})


# --- in words --------------------------------------------------------------------------------------------


def render(found: Standing) -> str:
    """A table of the session places, then what is running, failed or damaged, and when it will end."""
    plan = found.plan
    names = list(dict.fromkeys(each.place for each in found.cells))
    heads = ("", "cells", *STATES, "time left")
    lines = [heads, *(_line(found, " ".join(place), place) for place in names), _line(found, "total", None)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(heads))]
    text = [f"{plan.asked}, depth {plan.content['depth']}, machine {plan.machine}", ""]
    for line in lines:
        cells = (each.rjust(width) for each, width in zip(line[1:], widths[1:], strict=True))
        text.append("  ".join((line[0].ljust(widths[0]), *cells)).rstrip())
    text += ["", *_said(found), *_ending(found)]
    return "\n".join(text).replace("\n\n\n", "\n\n")


def _line(found: Standing, name: str, place: Place | None) -> tuple[str, ...]:
    counts = found.counts(place)
    seconds, known = found.left(place)
    left = "" if counts[DONE] == sum(counts.values()) else f"{'' if known else '>= '}{duration(seconds)}"
    return name, str(sum(counts.values())), *(str(counts[state]) for state in STATES), left


def _said(found: Standing) -> Iterator[str]:
    probes = [("probe " + each.label.rpartition(" ")[0], each) for each in found.jobs]
    named = [*probes, *((each.label, each) for each in found.cells)]
    for name, each in named:
        about = each.about
        if each.state == RUNNING:
            yield f"running   {name}: {running_words(about, found.now)}"
        elif each.state == FAILED:
            yield f"failed    {name}, {clock(about['failed'], found.now)}: {about['message']}"
            yield f"          log: {about['log']}"
            yield f"          remedy: {about['remedy']}"
        elif each.state == DAMAGED:
            yield f"damaged   {about['path']}: {about['message']}"
            yield f"          remedy: {about['remedy']}"
        elif about:
            done = f" after {about['done']} of {about['rows']} rows" if about["rows"] else ""
            yield f"cut off   {name}: process {about['pid']} on {about['host']} is gone{done}; it is left"
    if found.others:
        yield f"{found.others} more at work in {found.plan.output}, of another plan (other keys or machine)"


def running_words(about: Mapping[str, Any], now: float) -> str:
    """What a running job does, since when, and where."""
    where = f"process {about['pid']} on {about['host']}"
    where += f" ({about['engine_job']})" if about["engine_job"] else ""
    doing = about["phase"]
    if about["rows"]:
        row = min(about["done"] + 1, about["rows"])
        doing = f"row {row} of {about['rows']}"
    elif doing == "waiting":
        doing = "waiting for another timed job of this host to end"
    silent = about["silent_for"]
    heard = f", heard of {duration(silent)} ago" if silent > 2 * notice.SECONDS_BETWEEN_IN_A_ROW else ""
    return f"{doing}, since {clock(about['started'], now)}, {where}{heard}"


def clock(seconds: float, now: float) -> str:
    """A time of day here, with its date where it is not today's."""
    at, today = datetime.fromtimestamp(seconds), datetime.fromtimestamp(now)
    return f"{at:%H:%M:%S}" if at.date() == today.date() else f"{at:%Y-%m-%d %H:%M:%S}"


def _ending(found: Standing) -> Iterator[str]:
    if found.done:
        yield "all is measured"
        return
    seconds, known = found.left()
    about = f"{'about' if known else 'at least'} {duration(seconds)}"
    hosts = f" on {found.hosts} hosts at once" if found.hosts > 1 else ""
    if found.run or any(each.state == RUNNING for each in (*found.cells, *found.jobs)):
        end = clock(found.now + seconds, found.now)
        yield f"left: {about}{hosts}; the last cell ends {'about' if known else 'not before'} {end}"
    else:
        yield f"left: {about}{hosts}; nothing is running: the same snakemake command goes on"


def as_json(found: Sequence[Standing]) -> str:
    """The same for programs: seconds since the epoch, and seconds."""
    return json.dumps({"schema": SCHEMA, "plans": [_content(each) for each in found]}, indent=1)


def _content(found: Standing) -> dict[str, Any]:
    names = dict.fromkeys(each.place for each in found.cells)
    seconds, known = found.left()
    return {
        "asked": found.plan.asked,
        "depth": found.plan.content["depth"],
        "machine": found.plan.machine,
        "now": found.now,
        "done": found.done,
        "hosts": found.hosts,
        "others": found.others,
        "run": found.run,
        "counts": found.counts(),
        "seconds_left": seconds,
        "known": known,
        "ends": None if found.done else found.now + seconds,
        "places": [
            {
                **dict(zip(("scenario", "mode", "device"), place, strict=True)),
                "counts": found.counts(place),
                **dict(zip(("seconds_left", "known"), found.left(place), strict=True)),
            }
            for place in names
        ],
        "cells": [{**_cell_content(each), "path": each.cell["path"]} for each in found.cells],
        "probes": [_cell_content(each) for each in found.jobs],
    }


def _cell_content(each: CellStanding) -> dict[str, Any]:
    names = {name: each.cell[name] for name in _NAMES}
    return {**names, "state": each.state, "seconds_left": each.seconds, "known": each.known, **_about(each)}


def _about(each: CellStanding) -> dict[str, Any]:
    return {"about": dict(each.about)} if each.about else {}


# --- the question ----------------------------------------------------------------------------------------


def add_command(commands: Any, common: argparse.ArgumentParser) -> None:
    """``augmark status``."""
    status = commands.add_parser("status", parents=[common], help=HELP, description=HELP, epilog=STATUSES)
    status.add_argument("--json", action="store_true", help="the same as JSON")
    status.set_defaults(answer=answer, without_plan=True)


def answer(root: Path, args: argparse.Namespace) -> int:
    """Print how the plan stands; 0 when all is done, 1 while something is left."""
    from augmark.cli import plans_of

    found = [standing(plan, hosts_at_once(plan, args.selected)) for plan in plans_of(root, args)]
    print(as_json(found) if args.json else "\n\n".join(render(each) for each in found))
    return 0 if all(each.done for each in found) else 1


def hosts_at_once(plan: Plan, profile: Any) -> int:
    """How many hosts an engine may have at work at once, by the profile's quotas; 1 here."""
    if profile is None or not profile.engine:
        return 1
    ask = quota.host_ask(plan.content["machine_stanza"])
    allowed, _ = quota.at_once(quota.profile_limits(profile), ask)
    return max(1, len(sessions.places(plan)) if allowed is None else allowed)
