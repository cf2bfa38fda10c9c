"""The record of one cell: its form, its check, and the writing of it once. Standard library only."""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import tempfile
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from augmark.cell import Cell, parse_record_path
from augmark.errors import AugmarkError
from augmark.files import whole_file
from augmark.modes import PLAIN

SCHEMA = "augmark/record/4"
# Records keep the schema that they name, and are checked under it.
SCHEMA_FILES = {
    "augmark/record/2": "record-2.schema.json",
    "augmark/record/3": "record-3.schema.json",
    SCHEMA: "record-4.schema.json",
}
DAMAGED_REMEDY = "delete the file and run the same command again: only this cell is measured again"
MEASURED = ("ok", "slow")
STATUSES = (*MEASURED, "unsupported", "excluded", "failed", "invalid", "oom", "timeout", "crashed")
ROW_FIELDS = [
    "transform",
    "condition",
    "digest",
    "status",
    "reason",
    "values",
    "warmups",
    "loops",
    "items",
    "form",
    "dtype",
    "shape",
    "chunked",
    "draws",
    "first_call_seconds",
    "loader",
    "session",
    "process",
    "started",
    "ended",
    "wall_seconds",
    "timed_seconds",
    "energy",
    "flags",
    "carried",
    "carried_from",
    "threads_read",
]
RECORD_FIELDS = [
    "schema",
    "cell",
    "digest",
    "depth",
    "campaign",
    "question",
    "config",
    "overrides",
    "repeats",
    "session",
    "order",
    "seed",
    "started",
    "ended",
    "wall_seconds",
    "timed_seconds",
    "load_before",
    "load_after",
    "threads",
    "environment",
    "dataset",
    "host",
    "machine",
    "code",
    "library_version",
    "processes",
    "probe",
    "probe_seal",
    "plan",
    "definition",
    "rows",
    "seal",
]


def iso(seconds: float) -> str:
    """Seconds since the epoch as UTC, to the microsecond: the order of rows can be proved from it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds")


def seal_of(record: Mapping[str, Any]) -> str:
    """The sha256 of all that a record says beside its seal, in hexadecimal: one changed digit is another."""
    said = {name: value for name, value in record.items() if name != "seal"}
    # canonical_json, but also of what is no JSON (nan), which is for the check of the values to name.
    text = json.dumps(said, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def blank_row(planned: Mapping[str, Any], session: str) -> dict[str, Any]:
    """A row with every field, all unknown but what is planned."""
    row: dict[str, Any] = dict.fromkeys(ROW_FIELDS)
    row.update({name: planned[name] for name in ("transform", "condition", "digest", "chunked")})
    row.update(session=session, flags=[], carried=False, timed_seconds=0.0)
    return row


def row_name(row: Mapping[str, Any]) -> str:
    """As messages name a row: its transform, with the condition where it is not a plain one."""
    return row_id(str(row.get("transform")), str(row.get("condition")))


def row_id(transform: str, condition: str) -> str:
    """The id of a row in its cell: ``Rotate``, ``Rotate@threads-2``."""
    return transform if condition == PLAIN else f"{transform}@{condition}"


def problems(record: Mapping[str, Any]) -> list[str]:
    """What is wrong with a record, in words; empty when it is whole."""
    found = [f"field {name} is missing" for name in RECORD_FIELDS if name not in record]
    found += [f"field {name} is unknown" for name in record if name not in RECORD_FIELDS]
    if found:
        return found
    if record["schema"] != SCHEMA:
        found.append(f"schema is {record['schema']!r}, not {SCHEMA!r}")
    elif record["seal"] != seal_of(record):
        found.append("seal: what the record says is not what was sealed when it was measured")
    try:
        Cell(**record["cell"])
    except (TypeError, ValueError) as error:
        found.append(f"cell: {error}")
    names = [row_name(row) for row in record["rows"]]
    found += [f"row {name} stands twice" for name in sorted({n for n in names if names.count(n) > 1})]
    for row in record["rows"]:
        found += [f"row {row_name(row)}: {what}" for what in row_problems(row)]
    return found


def row_fields(schema: str) -> list[str]:
    """The fields of a row under a schema: energy came with record/4."""
    return [name for name in ROW_FIELDS if name != "energy" or schema == SCHEMA]


def row_problems(row: Mapping[str, Any], schema: str = SCHEMA) -> Iterable[str]:
    """What is wrong with one row, in words: fields, and whether its status and its numbers agree."""
    for name in row_fields(schema):
        if name not in row:
            yield f"field {name} is missing"
            return
    status, values = row["status"], row["values"]
    if status not in STATUSES:
        yield f"status {status!r} is not one of {', '.join(STATUSES)}"
    if status in MEASURED:
        if not values or not all(isinstance(v, float) and math.isfinite(v) and v > 0 for v in values):
            yield f"status {status} needs positive finite values, found {values!r}"
    elif values is not None:
        yield f"status {status} carries no numbers, found {values!r}"
    if schema == SCHEMA:
        yield from _energy_problems(row["energy"], status in MEASURED)
    if status not in ("ok",) and not str(row["reason"] or "").strip():
        yield f"status {status} has no reason"


def _energy_problems(energy: Mapping[str, Any] | None, measured: bool) -> Iterable[str]:
    """A row with numbers has an energy or the reason why not; its joules follow from their parts."""
    if energy is None or not measured:
        if measured or energy is not None:
            yield f"energy is {energy!r}, of a row {'with' if measured else 'without'} numbers"
        return
    if "unavailable" in energy:
        if not str(energy["unavailable"] or "").strip():
            yield "energy is unavailable without a reason"
        return
    joules, each = energy["joules"], energy["joules_per_item"]
    if not all(joules > 0 for joules in (joules, energy["window_seconds"], *energy["parts"].values())):
        yield f"energy is not positive: {joules!r} J"
    if not math.isclose(joules, sum(energy["parts"].values()), rel_tol=1e-9):
        yield f"energy is {joules} J, its parts make {sum(energy['parts'].values())} J"
    if not math.isclose(each * energy["items"], joules, rel_tol=1e-9):
        yield f"energy is {joules} J of {energy['items']} items, and {each} J per item"


def read_record(path: Path) -> dict[str, Any]:
    """Read and check one record.

    Raises:
        AugmarkError: It cannot be read, is not whole, or is not the cell that its path says.
    """
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise AugmarkError(
            f"the record cannot be read: {error}", where=str(path), remedy=DAMAGED_REMEDY
        ) from error
    found = problems(record) if isinstance(record, dict) else ["not a JSON object"]
    if not found:
        cell, digest = parse_record_path(path.as_posix())
        if cell != Cell(**record["cell"]) or digest != record["digest"]:
            found = [f"the path says {cell} {digest}, the record {record['cell']} {record['digest']}"]
    if found:
        raise AugmarkError("; ".join(found[:5]), where=str(path), remedy=DAMAGED_REMEDY)
    return record


def write_once(path: Path, content: Mapping[str, Any]) -> bool:
    """Write JSON beside its place and link it there; what is already there stays.

    Returns:
        Whether this call's content is the one that is there now.

    Raises:
        AugmarkError: The file system refused (full, read-only); nothing half-written is left.
    """
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", dir=path.parent, prefix=".", suffix=".part", delete=False
        ) as stream:
            temporary = stream.name
            json.dump(content, stream, indent=1, allow_nan=False)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o644)
        os.link(temporary, path)
        return True
    except FileExistsError:
        return False
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise AugmarkError(
            "cannot write: the disk is full" if full else f"cannot write: {error.strerror}",
            where=str(path),
            remedy="free some disk space and run the same command again: what is there stays, and only what "
            "is missing is measured",
        ) from error
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def replace_json(path: Path, content: Any) -> bool:
    """Write derived JSON whole or not at all, and only when it changes.

    Returns:
        Whether the file was written.
    """
    # In the order of the content: libraries stand in tables as they are declared.
    text = json.dumps(content, indent=1) + "\n"
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return False
    with whole_file(path, part_suffix=f"{os.getpid()}.part") as part:
        part.write_text(text, encoding="utf-8")
    return True
