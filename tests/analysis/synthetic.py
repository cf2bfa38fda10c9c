"""Plans, records and frames for the tests of the analysis, made by hand: no library, no clock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import pandas as pd

from augmark.analysis.classes import frame_of_lines
from augmark.analysis.frame import Records, frame_of
from augmark.analysis.gather import record_lines
from augmark.cell import Cell, short_digest
from augmark.plan import plan_digest
from augmark.record import ROW_FIELDS, seal_of

MACHINE = "local-3f9a"
TABLE = "image-rgb-micro"
SESSION = "20261130T100000Z-1"
HOST = {
    "cpu_model": "Test CPU @ 2.00GHz",
    "cpu_id": "TestMaker family 6 model 1 stepping 1",
    "microcode": "0x1",
    "simd": "avx2",
    "cpu_flags": "0123456789",
    "cpus": 2,
    "topology": {"sockets": 1, "cores": 2, "threads_per_core": 1, "numa_nodes": 1},
    "caches": {"l1d_bytes": 32768, "l2_bytes": 1048576},
    "governor": "performance",
    "frequency_driver": None,
    "energy_preference": None,
    "turbo": True,
    "memory_bytes": 8 << 30,
    "huge_pages": "madvise",
    "cgroup": {"version": 2, "cpus": "none", "memory_bytes": "none", "cpuset_cpus": 2},
    "architecture": "x86_64",
    "system": "Linux",
    "kernel": "6.1.0",
    "libc": "glibc 2.36",
    "virtual": False,
    "hypervisor": None,
    "hardware": None,
    "gpus": None,
    "gpu_driver": None,
}
FOUND_MACHINE = {
    "label": f"{MACHINE}: Test CPU @ 2.00GHz, 2 processors, 8.0 GiB",
    "found": {
        **{name: HOST[name] for name in ("cpu_model", "cpus", "memory_bytes", "architecture")},
        **{name: HOST[name] for name in ("hardware", "hypervisor", "virtual", "gpus")},
    },
}
NO_ENERGY = {"unavailable": "no counter of a package"}
DATASET = {
    "name": "demo",
    "kind": "demo",
    "source": "demo",
    "origin": "scikit-image",
    "licence": "CC0-1.0",
    "redistribute": True,
    "digest": "d" * 64,
}
VARIABLES = {"MALLOC_TRIM_THRESHOLD_": "67108864", "OMP_NUM_THREADS": "1"}
FORMS = {"kornia": ("float32 1CHW in [0, 1]", "float32")}
TITLES = {"albumentationsx": "AlbumentationsX", "kornia": "Kornia", "pillow": "Pillow"}
STATISTICS = {
    "confidence": 0.95,
    "margin": 0.05,
    "unstable_cv": 0.10,
    "interval_from_repeats": 3,
    "bca_from_repeats": 20,
    "p95_from_values": 20,
    "false_discovery_rate": 0.05,
    "drift_p": 0.01,
    "control_rows": 8,
    "floor_quantile": 0.95,
}
AGAIN = "control-aa"


TIMING = {"values": 1, "threads": 1}
# Where a carried row was measured: another record, by another Python and another commit.
ORIGIN = {
    "digest": "ab" * 5,
    "started": "2026-11-01T10:00:00.000000+00:00",
    "host": HOST,
    "machine": FOUND_MACHINE,
    "environment": {"lock_digest": "lock000000", "python": "3.11.5", "variables": VARIABLES},
    "code": {"digest": "codecarry0", "git_commit": "c0ffee", "git_dirty": True},
    "load_before": [0.1, 0.2, 0.3],
}


def plan_row(transform: str, planned: str = "run", reason: str | None = None, **more: Any) -> dict[str, Any]:
    """One row of a definition, without its digest."""
    return {
        "id": transform,
        "transform": transform,
        "condition": "plain",
        "setting": {},
        "chunked": None,
        "loader": None,
        "planned": planned,
        "reason": reason,
        "params": {},
        "pinned": {},
        "different": None,
        **more,
    }


def make_plan(
    offers: Mapping[str, Sequence[str | dict[str, Any]]],
    *,
    repeats: int = 3,
    depth: str = "max",
    stamp: str | None = None,
    machine: str = MACHINE,
    salt: str = "",
    scenario: str = "image-rgb",
    mode: str = "micro",
    again: str | None = None,
) -> dict[str, Any]:
    """A plan of one table: library -> its rows (a name, or ``plan_row``). ``salt`` makes other digests.

    The table is ``<scenario>-<mode>``. ``again`` is the library that ``control-aa`` is: with the records that
    ``measured_again`` adds there is a noise floor, and so there are claims.
    """
    if again is not None:
        offers = {**offers, AGAIN: offers[again]}
    definitions: dict[str, Any] = {}
    cells = []
    for library, named in offers.items():
        rows = [plan_row(row) if isinstance(row, str) else dict(row) for row in named]
        for row in rows:
            row["digest"] = short_digest([library, row["transform"], row["planned"], row.get("salt", salt)])
        digest = short_digest([row["digest"] for row in rows])
        definition = {"digest": digest, "timing": TIMING, "limits": {}, "rows": rows}
        definitions[f"{scenario}/{mode}/{library}/cpu"] = definition
        for repeat in range(repeats):
            cell = Cell(machine, scenario, mode, library, "cpu", repeat)
            path = str(cell.record_path(digest))
            cells.append({**cell.as_dict(), "digest": digest, "path": path, "priority": 1})
    return {
        "schema": "augmark/plan/3",
        "question": None,
        "repeats": {"first": repeats, "schedule": [repeats], "fixed": True, "decided": []},
        "config": {},
        "overrides": {},
        "campaign": "demo",
        "depth": depth,
        "stamp": stamp,
        "machine": machine,
        "datasets": {"images": DATASET},
        "policy": {
            "statistics": STATISTICS,
            "timed_share_target": 0.70,
            "comparison": {"may_differ": []},
        },
        "libraries": {
            library: {
                "title": TITLES.get(library, library),
                "kind": "control" if library.startswith("control-") else "library",
                **({"again": again} if library == AGAIN else {}),
            }
            for library in offers
        },
        "definitions": definitions,
        "cells": cells,
        "tables": {
            f"{scenario}-{mode}": {
                "title": "RGB images, transform alone",
                "scenario": scenario,
                "mode": mode,
                "devices": ["cpu"],
                "campaigns": ["demo"],
            }
        },
    }


def measured(seconds: float | Sequence[float], status: str = "ok", **more: Any) -> dict[str, Any]:
    """What a process found for one row: raw seconds per item."""
    values = [seconds] if isinstance(seconds, float) else list(seconds)
    return {"status": status, "values": values, **more}


def carried(seconds: float | Sequence[float], status: str = "ok", **more: Any) -> dict[str, Any]:
    """What an earlier process found, in a record that it was carried into."""
    return measured(seconds, status, **{"carried": True, "carried_from": ORIGIN, **more})


def unmeasured(status: str, reason: str) -> dict[str, Any]:
    """A row without a number."""
    return {"status": status, "reason": reason}


def _record_row(
    planned: Mapping[str, Any], told: Mapping[str, Any], library: str, repeat: int, session: str
) -> dict[str, Any]:
    form, dtype = FORMS.get(library, ("uint8 HWC", "uint8"))
    row = {
        **dict.fromkeys(ROW_FIELDS),
        **{name: planned[name] for name in ("transform", "condition", "chunked")},
        "digest": planned["digest"],
        "session": session,
        "timed_seconds": 0.0,
        "flags": [],
        "carried": False,
    }
    if told.get("values"):
        minute = f"2026-11-30T10:0{repeat % 10}"
        row.update(loops=10, items=32, form=form, dtype=dtype, shape="375x500x3", process=1, warmups=[0.1])
        row.update(started=f"{minute}:00.000000+00:00", ended=f"{minute}:30.000000+00:00")
        row.update(wall_seconds=1.0, timed_seconds=0.8, energy=NO_ENERGY)
    if told["status"] == "slow":
        row.update(reason="0.06 s per item, floor 0.05 s")
    return {**row, **told}


def make_record(
    plan: Mapping[str, Any],
    library: str,
    repeat: int,
    found: Mapping[str, dict[str, Any]],
    *,
    session: str = SESSION,
    **more: Any,
) -> dict[str, Any]:
    """A record as the worker writes it, from transform -> ``measured`` or ``unmeasured``.

    What the plan says cannot be run takes its status from there; what else is not in ``found`` is left out.
    """
    cell = next(c for c in plan["cells"] if c["library"] == library and c["repeat"] == repeat)
    rows = []
    definition = plan["definitions"][
        "/".join(cell[name] for name in ("scenario", "mode", "library", "device"))
    ]
    for planned in definition["rows"]:
        told = found.get(planned["transform"])
        if planned["planned"] != "run":
            told = unmeasured(planned["planned"], planned["reason"])
        if told is not None:
            rows.append(_record_row(planned, told, library, repeat, session))
    whole = {
        "schema": "augmark/record/4",
        "question": plan["question"],
        "repeats": plan["repeats"],
        "cell": {name: cell[name] for name in ("machine", "scenario", "mode", "library", "device", "repeat")},
        "digest": cell["digest"],
        "depth": plan["depth"],
        "campaign": plan["campaign"],
        "config": {},
        "overrides": {},
        "session": session,
        "order": [],
        "seed": 1,
        "started": "2026-11-30T10:00:00.000000+00:00",
        "ended": "2026-11-30T10:01:00.000000+00:00",
        "wall_seconds": 60.0,
        "timed_seconds": 48.0,
        "load_before": [0.1, 0.2, 0.3],
        "load_after": None,
        "threads": {"declared": 1, "read": {"torch": 1, "opencv": 1}},
        "environment": {
            "lock_digest": "lock000000",
            "python": "3.11.7",
            "packages": {library: "1.2.3", "numpy": "2.4.6"},
            "variables": VARIABLES,
            "build": None,
        },
        "dataset": {
            **{fact: value for fact, value in DATASET.items() if fact != "source"},
            "manifest_digest": "m" * 64,
            "common_items": 256,
            "items_digest": "items00000",
            "items": 32,
            "bytes": 320000,
            "widths": [500, 500, 500],
            "heights": [375, 375, 375],
        },
        "host": HOST,
        "machine": FOUND_MACHINE,
        "code": {"digest": "code000000", "git_commit": None, "git_dirty": None},
        "library_version": "1.2.3",
        "processes": [],
        "probe": "0123456789",
        "probe_seal": "0" * 64,
        "plan": plan_digest(plan),
        "definition": definition,
        "rows": rows,
    }
    return sealed({**whole, **more})


def sealed(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record with the seal of what it says now."""
    return {**record, "seal": seal_of(record)}


def measured_again(
    plan: Mapping[str, Any], records: Iterable[Mapping[str, Any]], *, factor: float = 1.0
) -> list[Mapping[str, Any]]:
    """The records, and those of ``control-aa``: its library's, each number times ``factor``."""
    records, stanza = list(records), plan["libraries"].get(AGAIN, {})
    if not stanza.get("again"):
        return records
    planned = {tuple(key.split("/")[:2]): d for key, d in plan["definitions"].items() if f"/{AGAIN}/" in key}
    found = []
    for record in records:
        cell = record["cell"]
        if cell["library"] == stanza["again"]:
            definition = planned[cell["scenario"], cell["mode"]]
            digests = {(row["transform"], row["condition"]): row["digest"] for row in definition["rows"]}
            rows = [
                {
                    **row,
                    "digest": digests[row["transform"], row["condition"]],
                    **({"values": [v * factor for v in row["values"]]} if row["values"] else {}),
                }
                for row in record["rows"]
            ]
            mine = {**cell, "library": AGAIN}
            (its,) = (c for c in plan["cells"] if all(c[name] == mine[name] for name in mine))
            same = {**record, "cell": mine, "digest": its["digest"], "definition": definition, "rows": rows}
            found.append(sealed(same))
    return records + found


def make_records(plan: Mapping[str, Any], records: Iterable[Mapping[str, Any]]) -> Records:
    """Records of a plan as they come out of records.parquet."""
    paths = {(c["library"], c["repeat"]): c["path"] for c in plan["cells"]}
    lines = [
        line
        for record in records
        for line in record_lines(record, paths[record["cell"]["library"], record["cell"]["repeat"]])
    ]
    return Records(
        frame=frame_of(lines),
        machine=plan["machine"],
        plan_digest=plan_digest(plan),
        cells=tuple(sorted(paths.values())),
        host=HOST,
    )


def make_classes(
    plan: Mapping[str, Any], other: Mapping[tuple[str, str], tuple[str | None, str | None]] | None = None
) -> pd.DataFrame:
    """equivalence.csv of a plan: every pair of libraries identical, but for those in ``other``.

    Args:
        plan: From ``make_plan``.
        other: A pair of libraries -> class and reason; a class of None leaves the pair out.
    """
    other = {frozenset(pair): told for pair, told in (other or {}).items()}
    offers: dict[tuple[str, str], list[str]] = {}
    unpinnable = set()
    for key, definition in plan["definitions"].items():
        scenario, _, library, _ = key.split("/")
        for row in definition["rows"]:
            offers.setdefault((scenario, row["transform"]), []).append(library)
            if row["pinned"] is None:
                unpinnable.add(row["transform"])
    lines = []
    for (scenario, transform), libraries in offers.items():
        for pair in combinations(libraries, 2):
            name, reason = other.get(
                frozenset(pair), ("unpinnable" if transform in unpinnable else "identical", None)
            )
            line = {"transform": transform, "scenario": scenario, "library_a": pair[0], "library_b": pair[1]}
            if name is not None:
                lines.append({**line, "class": name, "reason": reason})
    return frame_of_lines(lines)
