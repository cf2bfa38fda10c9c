"""Sessions: all cells of one scenario, mode and device of a machine, which one host measures in one go.

On an engine a session is one submission; here it is a stretch of the one run. A session that was interrupted
goes on with the cells that are missing.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any

from augmark.analysis.sampled import archive_paths
from augmark.cell import short_digest
from augmark.plan import Plan
from augmark.record import read_record, replace_json

SCHEMA = "augmark/session/1"

Place = tuple[str, str, str]  # scenario, mode, device


def places(plan: Plan) -> list[Place]:
    """Where a plan has probes or cells, in planned order."""
    keys = (key.split("/") for key in plan.content["definitions"])
    return list(dict.fromkeys((scenario, mode, device) for scenario, mode, _, device in keys))


def cells(plan: Plan, place: Place) -> list[dict[str, Any]]:
    """The cells of a place, in planned order; none where it is only probed."""
    return [cell for cell in plan.cells() if (cell["scenario"], cell["mode"], cell["device"]) == place]


def products(plan: Plan, place: Place) -> list[Path]:
    """The probes and records of a place."""
    return [
        *plan.block_probes(*place),
        *(plan.output / "records" / cell["path"] for cell in cells(plan, place)),
    ]


def left(plan: Plan, place: Place, again: Container[Path] = ()) -> list[Path]:
    """What a session still has to make.

    A cell wants the probes of its whole place. Where all cells are there a probe is wanted only for its
    samples: whoever was given records alone probes nothing.

    Args:
        again: Records that are there, and are asked for again.
    """
    records = [plan.output / "records" / cell["path"] for cell in cells(plan, place)]
    records = [path for path in records if path in again or not path.exists()]
    probes = [path for path in plan.block_probes(*place) if not path.exists()]
    if not records:
        wanted = set(archive_paths(plan))
        probes = [path for path in probes if path.with_suffix(".samples.zip") in wanted]
    return [*probes, *records]


def session_file(plan: Plan, place: Place) -> Path:
    """What gathers a session: named after all that it should have."""
    scenario, mode, device = place
    named = [str(path.relative_to(plan.output)) for path in products(plan, place)]
    folder = plan.output / "sessions" / plan.machine / scenario / mode
    return folder / f"{device}.{short_digest(named)}.json"


def gather(plan: Plan, place: Place, out: Path) -> None:
    """Write which stretches of work the cells of a session come from, and on which host each was.

    Raises:
        AugmarkError: A record is missing or damaged.
    """
    replace_json(out, {"schema": SCHEMA, "place": list(place), "stretches": list(_stretches(plan, place))})


def _stretches(plan: Plan, place: Place) -> Iterator[dict[str, Any]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for cell in cells(plan, place):
        record = read_record(plan.output / "records" / cell["path"])
        found.setdefault(record["session"], []).append(record)
    for session, records in sorted(found.items()):
        yield {
            "session": session,
            "hosts": sorted({record["machine"]["label"] for record in records}),
            "started": min(record["started"] for record in records),
            "ended": max(record["ended"] for record in records),
            "cells": len(records),
        }
