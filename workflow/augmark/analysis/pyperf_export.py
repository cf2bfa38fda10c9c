"""Records as pyperf files: what ``pyperf show``, ``check`` and ``compare_to`` read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyperf

from augmark.analysis.gather import origin
from augmark.files import whole_file
from augmark.record import MEASURED, row_name


def suite_of(record: Mapping[str, Any]) -> pyperf.BenchmarkSuite | None:
    """One benchmark per row with a number, one run per benchmark: a cell is one process.

    Returns:
        The suite, or None when no row has a number.
    """
    cell, benchmarks = record["cell"], []
    shared = {
        "library": cell["library"],
        "library_version": record["library_version"] or "unknown",
        "machine": cell["machine"],
        "scenario": cell["scenario"],
        "mode": cell["mode"],
        "device": cell["device"],
        "repeat": cell["repeat"],
    }
    by_number = {process["process"]: process.get("metadata") or {} for process in record["processes"]}
    for row in record["rows"]:
        if row["status"] not in MEASURED:
            continue
        environment = origin(row, record)["environment"]
        own = {} if row["carried"] else by_number.get(row["process"], {})
        metadata = {
            **own,
            **shared,
            "python_version": environment["python"],
            "lock_digest": environment["lock_digest"],
            "session": row["session"],
            "name": row_name(row),
            "unit": "second",
            "loops": row["loops"],
            "inner_loops": row["items"],
            "condition": row["condition"],
            "date": row["started"],
            "status": row["status"],
            **_energy(row.get("energy") or {}),
        }
        warmups = [(row["loops"], seconds) for seconds in row["warmups"]]
        run = pyperf.Run(row["values"], warmups=warmups, metadata=metadata, collect_metadata=False)
        benchmarks.append(pyperf.Benchmark([run]))
    return pyperf.BenchmarkSuite(benchmarks) if benchmarks else None


def _energy(energy: Mapping[str, Any]) -> dict[str, Any]:
    """What a row took, where that is known: a benchmark is of seconds, so it stands beside them."""
    names = {"joules_per_item": "joules_per_item", "energy_source": "source"}
    return {name: energy[key] for name, key in names.items() if key in energy}


def export(record: Mapping[str, Any], path: Path) -> bool:
    """Write a record's pyperf file, whole or not at all.

    Returns:
        Whether there was a number to write.
    """
    suite = suite_of(record)
    if suite is None:
        return False
    with whole_file(path) as part:
        suite.dump(str(part), replace=True)
    return True
