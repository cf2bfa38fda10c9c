"""records.parquet, the seam between measuring and everything after: its columns, reading and writing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from augmark.errors import AugmarkError
from augmark.files import whole_file

FORMAT = "augmark/records/4"
META_KEY = b"augmark"

# Where a row stands: a place is a cell without its repeat.
PLACE = ["machine", "scenario", "mode", "library", "device"]
CELL = [*PLACE, "repeat"]
NAME = ["transform", "condition"]  # which row of a cell

_TEXT, _WHOLE, _REAL, _FLAG = pa.string(), pa.int64(), pa.float64(), pa.bool_()
# Of DataLoader modes; the parts of the split are seconds per item.
PARTS = ("decode", "augment", "collate", "copy", "delivery")
_LOADER: list[tuple[str, pa.DataType]] = [
    ("workers", _WHOLE),
    ("batch_size", _WHOLE),
    ("prefetch_factor", _WHOLE),
    ("thread_policy", _TEXT),
    ("copy_to", _TEXT),
    ("startup_seconds", _REAL),
    ("first_epoch_seconds", _REAL),
    *((f"{part}_seconds", _REAL) for part in PARTS),
    ("bound_by", _TEXT),
    ("oversubscribed", _FLAG),
]
_COLUMNS: list[tuple[str, pa.DataType]] = [
    *((name, _TEXT) for name in PLACE),
    ("repeat", _WHOLE),
    ("transform", _TEXT),
    ("condition", _TEXT),
    ("status", _TEXT),
    ("reason", _TEXT),
    ("seconds_per_item", _REAL),
    ("values", pa.list_(_REAL)),
    ("warmups", pa.list_(_REAL)),
    ("loops", _WHOLE),
    ("items", _WHOLE),
    ("form", _TEXT),
    ("dtype", _TEXT),
    ("shape", _TEXT),
    ("chunked", _TEXT),
    ("draws", _TEXT),
    ("first_call_seconds", _REAL),
    *_LOADER,
    ("session", _TEXT),
    ("process", _WHOLE),
    ("started", _TEXT),
    ("ended", _TEXT),
    ("row_wall_seconds", _REAL),
    ("row_timed_seconds", _REAL),
    ("energy_source", _TEXT),
    ("joules_per_item", _REAL),
    ("energy_joules", _REAL),
    ("energy_window_seconds", _REAL),
    ("energy_items", _WHOLE),
    ("energy_parts", _TEXT),  # what is in the joules: package, dram, gpu
    ("energy_coarse", _FLAG),
    ("energy_reason", _TEXT),  # why there are no joules, or not those of a part
    ("cell_wall_seconds", _REAL),
    ("cell_timed_seconds", _REAL),
    ("cell_started", _TEXT),
    ("threads_declared", _WHOLE),
    ("threads_read", _WHOLE),
    ("flags", pa.list_(_TEXT)),
    ("carried", _FLAG),
    ("depth", _TEXT),
    ("campaign", _TEXT),
    ("library_version", _TEXT),
    ("machine_label", _TEXT),  # what the host that measured the row was found to be
    ("lock_digest", _TEXT),
    ("dataset_name", _TEXT),
    ("dataset_digest", _TEXT),
    ("manifest_digest", _TEXT),
    ("items_digest", _TEXT),
    ("code_digest", _TEXT),
    ("git_commit", _TEXT),
    ("git_dirty", _FLAG),
    ("python_version", _TEXT),
    ("question_digest", _TEXT),  # of the plan file that the record was measured under
    ("contract", _TEXT),  # see augmark.analysis.alike
    ("cell_digest", _TEXT),
    ("row_digest", _TEXT),
    ("record_path", _TEXT),
    ("seal", _TEXT),  # of the record: whatever is changed in it shows here
]
SCHEMA = pa.schema(_COLUMNS)
COLUMNS = list(SCHEMA.names)

_NULLABLE = {_WHOLE: pd.Int64Dtype(), _FLAG: pd.BooleanDtype()}


@dataclass(frozen=True)
class Records:
    """The records of one machine.

    Attributes:
        frame: One line per cell and row, columns as in ``SCHEMA``.
        machine: The machine's id.
        plan_digest: Of the plan that the records were collected for.
        cells: Record paths (below ``<output>/records``) of that plan's cells on the machine, sorted,
            with or without a record.
        host: Facts that are equal in every record.
    """

    frame: pd.DataFrame
    machine: str
    plan_digest: str
    cells: tuple[str, ...]
    host: Mapping[str, Any]


def frame_of(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """A frame with the columns and types of ``SCHEMA`` from one mapping per row."""
    return _pandas(pa.Table.from_pylist([dict(row) for row in rows], schema=SCHEMA))


def _pandas(table: pa.Table) -> pd.DataFrame:
    return table.to_pandas(types_mapper=_NULLABLE.get)


def read_records(path: Path) -> Records:
    """Read a ``records.parquet``.

    Raises:
        AugmarkError: The file is missing, is no records file, or is of another format.
    """
    remedy = "snakemake paper_tables"
    try:
        table = pq.ParquetFile(path).read()
    except (OSError, pa.ArrowInvalid) as error:
        raise AugmarkError(f"cannot be read as records: {error}", where=str(path), remedy=remedy) from error
    meta = json.loads((table.schema.metadata or {}).get(META_KEY, b"{}"))
    if meta.get("schema") != FORMAT:
        raise AugmarkError(
            f"format is {meta.get('schema')!r}, this version reads {FORMAT!r}", where=str(path), remedy=remedy
        )
    if missing := [name for name in COLUMNS if name not in table.schema.names]:
        raise AugmarkError(f"column {missing[0]!r} is missing", where=str(path), remedy=remedy)
    return Records(
        frame=_pandas(table.select(COLUMNS)),
        machine=meta["machine"],
        plan_digest=meta["plan_digest"],
        cells=tuple(meta["cells"]),
        host=meta["host"],
    )


def write_records(
    path: Path,
    rows: Iterable[Mapping[str, Any]],
    *,
    machine: str,
    plan_digest: str,
    cells: Iterable[str],
    host: Mapping[str, Any],
) -> None:
    """Write a ``records.parquet`` beside its place and rename it: same rows, same bytes."""
    meta = {
        "schema": FORMAT,
        "machine": machine,
        "plan_digest": plan_digest,
        "cells": sorted(cells),
        "host": dict(host),
    }
    text = json.dumps(meta, sort_keys=True, separators=(",", ":"))
    table = pa.Table.from_pylist([dict(row) for row in rows], schema=SCHEMA.with_metadata({META_KEY: text}))
    with whole_file(path) as part:
        pq.write_table(table, part, compression="zstd", version="2.6")


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text with Unix line ends, whole or not at all."""
    with whole_file(path) as part:
        part.write_text(text, encoding="utf-8", newline="\n")
