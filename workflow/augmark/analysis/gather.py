"""Record files of one machine -> records.parquet. The only place that reads a record's layout."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match

from augmark.analysis.alike import contract
from augmark.analysis.found_machine import label_of
from augmark.analysis.frame import NAME, PARTS, write_records
from augmark.analysis.planned import PlanContent, planned_cells, record_key
from augmark.cell import Cell, parse_record_path
from augmark.errors import AugmarkError
from augmark.modes import mode_facts
from augmark.plan import plan_digest
from augmark.progress import progress
from augmark.record import MEASURED, SCHEMA, SCHEMA_FILES, read_record, row_name

SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"


@cache
def _validator(name: str) -> Draft202012Validator:
    schema = json.loads((SCHEMAS / SCHEMA_FILES[name]).read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def _field(error: ValidationError) -> str:
    """The field that an error is about, e.g. ``rows/3/values/0``."""
    return "/".join(str(part) for part in error.absolute_path) or "top level"


def schema_problem(record: Any) -> str | None:
    """What of a record is not as the JSON Schema of its version says, the field named; None where all is."""
    named = record.get("schema") if isinstance(record, dict) else None
    # A record is held against the schema that it names; one that names none, or another's, against today's.
    error = best_match(_validator(named if named in SCHEMA_FILES else SCHEMA).iter_errors(record))
    if error is None:
        return None
    row = ""
    path = list(error.absolute_path)
    if path[:1] == ["rows"] and len(path) > 1 and isinstance(record["rows"][path[1]], dict):
        row = f" (row {row_name(record['rows'][path[1]])})"
    return f"{_field(error)}{row}: {error.message}"


def check_record(record: Any, where: str) -> None:
    """Check one record against its JSON Schema and its own path.

    Args:
        record: The parsed JSON.
        where: The record's path; it ends in the path that its cell and digest give.

    Raises:
        AugmarkError: Names the file, the field and what is wrong with it.
    """
    remedy = "delete the file and run `snakemake paper_tables`: it is measured again"
    if problem := schema_problem(record):
        raise AugmarkError(problem, where=where, remedy=remedy)
    cell, digest = parse_record_path(where)
    if Cell(**record["cell"]) != cell or record["digest"] != digest:
        raise AugmarkError("cell: is not the cell that the path names", where=where, remedy=remedy)
    names = [row_name(row) for row in record["rows"]]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise AugmarkError(f"rows: {twice[0]} is there twice", where=where, remedy=remedy)


def record_lines(record: Mapping[str, Any], path: str) -> list[dict[str, Any]]:
    """One line of the frame per row of a record.

    ``seconds_per_item`` is the mean of the process's values; ``threads_read`` the largest pool that was read
    back, or None where none was. What measured a row (Python, lock, code) is that of the record it was
    carried from.
    """
    whole = {
        **record["cell"],
        "cell_wall_seconds": record["wall_seconds"],
        "cell_timed_seconds": record["timed_seconds"],
        "cell_started": record["started"],
        "threads_declared": record["threads"]["declared"],
        "threads_read": max(record["threads"]["read"].values(), default=None),
        "depth": record["depth"],
        "campaign": record["campaign"],
        "question_digest": (record.get("question") or {}).get("digest"),
        "library_version": record["library_version"],
        "dataset_name": record["dataset"]["name"],
        "dataset_digest": record["dataset"]["digest"],
        "manifest_digest": record["dataset"]["manifest_digest"],
        "items_digest": record["dataset"]["items_digest"],
        "cell_digest": record["digest"],
        "record_path": record_key(path),
        "seal": record.get("seal"),  # none before record/3
    }
    planned = {(row["transform"], row["condition"]): row for row in record["definition"]["rows"]}
    lines = []
    for row in record["rows"]:
        source = origin(row, record)
        alike = contract(
            _contract_facts(record, source, planned.get((row["transform"], row["condition"]), {}))
        )
        found = {**_measured_by(source), "machine_label": label_of(record, source)}
        lines.append({**whole, **found, "contract": alike, **_row_fields(row)})
    return lines


def _contract_facts(
    record: Mapping[str, Any], source: Mapping[str, Any], planned: Mapping[str, Any]
) -> dict[str, Any]:
    """What has to be alike for a row to be compared with others; see ``augmark.analysis.alike``.

    A row that was carried has the digest that is planned now, and so the same data, timing rules, setting and
    lock: those may be had from the record that holds it, its host and variables only from the one it is of.
    """
    dataset, loader, cell = record["dataset"], planned.get("loader") or {}, record["cell"]
    host = dict(source["host"])
    if cell["device"] == "cpu" and not mode_facts(cell["mode"]).copies:
        # What is never used cannot change a figure; and nvidia-smi may time out and leave it unknown.
        for name in ("gpus", "gpu_driver"):
            host.pop(name, None)
    return {
        "host": host,
        # Records of schema 2 do not say.
        "variables": source["environment"].get("variables"),
        "python": source["environment"]["python"],
        "numpy": record["environment"]["packages"].get("numpy"),
        "depth": record["depth"],
        "dataset": {name: dataset[name] for name in ("digest", "manifest_digest", "items_digest")},
        # Its depth stands above, and threads are the setting's.
        "timing": {
            name: rule
            for name, rule in record["definition"]["timing"].items()
            if name not in ("depth", "threads")
        },
        # By the names of the axes that conditions are told by.
        "setting": {
            "threads": planned.get("threads"),
            **{name: value for name, value in loader.items() if name != "timeout_seconds"},
            **planned.get("setting", {}),
        },
    }


def origin(row: Mapping[str, Any], record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Where a row was measured: in the record that holds it, or in the one it was carried from."""
    return row["carried_from"] or record


def _measured_by(source: Mapping[str, Any]) -> dict[str, Any]:
    environment, code = source["environment"], source["code"]
    return {
        "lock_digest": environment["lock_digest"],
        "python_version": environment["python"],
        "code_digest": code["digest"],
        "git_commit": code["git_commit"],
        "git_dirty": code["git_dirty"],
    }


def _row_fields(row: Mapping[str, Any]) -> dict[str, Any]:
    plain = (
        *NAME,
        "status",
        "reason",
        "warmups",
        "loops",
        "items",
        "form",
        "dtype",
        "shape",
        "chunked",
        "draws",
        "first_call_seconds",
        "session",
    )
    values = row["values"] if row["status"] in MEASURED else None
    return {
        **{name: row.get(name) for name in (*plain, "process", "started", "ended")},
        "values": values,
        "seconds_per_item": None if values is None else fmean(values),
        "row_wall_seconds": row.get("wall_seconds"),
        "row_timed_seconds": row.get("timed_seconds"),
        "flags": row["flags"],
        "carried": row["carried"],
        "row_digest": row["digest"],
        **_loader_fields(row.get("loader")),
        **_energy_fields(row.get("energy")),
    }


def _loader_fields(loader: Mapping[str, Any] | None) -> dict[str, Any]:
    """The columns of DataLoader modes; none for a row of another mode."""
    if loader is None:
        return {}
    same = ("workers", "batch_size", "prefetch_factor", "copy_to", "startup_seconds", "first_epoch_seconds")
    return {
        **{name: loader[name] for name in (*same, "bound_by", "oversubscribed")},
        "thread_policy": loader["policy"],
        **{f"{part}_seconds": loader["split"][f"{part}_seconds_per_item"] for part in PARTS},
    }


def _energy_fields(energy: Mapping[str, Any] | None) -> dict[str, Any]:
    """The columns of energy; none for a row without a number, or of a record before record/4."""
    if energy is None:
        return {}
    if "unavailable" in energy:
        return {"energy_reason": energy["unavailable"]}
    return {
        "energy_source": energy["source"],
        "joules_per_item": energy["joules_per_item"],
        "energy_joules": energy["joules"],
        "energy_window_seconds": energy["window_seconds"],
        "energy_items": energy["items"],
        "energy_parts": ", ".join(sorted(energy["parts"])),
        "energy_coarse": energy["coarse"],
        "energy_reason": "; ".join(f"no {part}: {why}" for part, why in energy["missing"].items()) or None,
    }


def _common(hosts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What every host says alike (a cloud machine is another host each session, of one kind)."""
    first = hosts[0] if hosts else {}
    return {key: value for key, value in first.items() if all(host.get(key) == value for host in hosts)}


def _check_processors(hosts: Iterable[Mapping[str, Any]], machine: str) -> None:
    models = {str(host.get("cpu_model")) for host in hosts}
    if len(models) > 1:
        raise AugmarkError(
            f"cpu_model differs over the records of one machine: {' and '.join(sorted(models))}",
            where=machine,
            remedy="measure each processor under a machine of its own",
        )


def collect(
    record_paths: Iterable[str | Path], plan: PlanContent, out_parquet: Path, *, machine: str = ""
) -> int:
    """Gather the records of one machine into one file: same records, same bytes, in any order given.

    Args:
        record_paths: Record files of the plan's cells; not every cell needs to have one.
        plan: The plan they belong to.
        out_parquet: Where ``records.parquet`` goes.
        machine: Whose cells; by default the plan's machine.

    Returns:
        Number of lines written.

    Raises:
        AugmarkError: A file is no valid record or no cell of the plan on this machine, or the records are
            of processors that differ.
    """
    machine = machine or plan["machine"]
    cells = planned_cells(plan, machine)
    paths = {record_key(str(path)): Path(path) for path in record_paths}
    if strangers := sorted(set(paths) - set(cells)):
        raise AugmarkError(
            f"not a cell of the plan on machine {machine} (a stale record, or another plan's)",
            where=str(paths[strangers[0]]),
            remedy="collect the records that `augmark plan` names",
        )
    rows: list[dict[str, Any]] = []
    hosts: list[Mapping[str, Any]] = []
    with progress(label=f"collect {machine}", total=len(paths), unit="record") as bar:
        for key in sorted(paths):
            record = read_record(paths[key])
            check_record(record, str(paths[key]))
            rows += record_lines(record, key)
            hosts += [record["host"], *(origin(row, record)["host"] for row in record["rows"])]
            bar.update(1, note=key)
    _check_processors(hosts, machine)
    rows.sort(key=lambda line: (line["record_path"], *(line[name] for name in NAME)))
    write_records(
        out_parquet, rows, machine=machine, plan_digest=plan_digest(plan), cells=cells, host=_common(hosts)
    )
    return len(rows)
