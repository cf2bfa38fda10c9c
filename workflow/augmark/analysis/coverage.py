"""Planned rows against records: a status and a reason for every one of them, never a silent gap."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from augmark.analysis.frame import CELL, COLUMNS, NAME, frame_of
from augmark.analysis.gather import record_lines
from augmark.analysis.marks import SHOWN, symbols
from augmark.analysis.planned import PlanContent, planned_rows
from augmark.cell import Cell
from augmark.errors import AugmarkError
from augmark.record import MEASURED, row_id

_KEY = [*CELL, *NAME, "row_digest", "cell_digest"]
_SAME_ROW = [*CELL, *NAME, "row_digest"]


@dataclass(frozen=True)
class Coverage:
    """What became of a plan.

    Attributes:
        rows: One line per planned row: the plan's columns, ``recorded`` (bool), ``status``, ``reason``,
            ``no_record`` (why there is none) and, where recorded, every column of the records.
        stale: Recorded rows in a planned cell's place whose row digest is not the planned one (any more).
    """

    rows: pd.DataFrame
    stale: pd.DataFrame

    @property
    def missing(self) -> pd.DataFrame:
        """Planned rows without a record."""
        return self.rows[~self.rows["recorded"]]

    @property
    def exit_status(self) -> int:
        """0 where every planned row has a record, else 1."""
        return 0 if self.missing.empty else 1


def records_frame(records: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Records as they are on disk (already checked) as a frame; their paths follow from cell and digest."""
    lines: list[dict[str, Any]] = []
    for record in records:
        path = str(Cell(**record["cell"]).record_path(record["digest"]))
        lines += record_lines(record, path)
    return frame_of(lines)


def cover(
    plan: PlanContent, records: pd.DataFrame | Iterable[Mapping[str, Any]], *, machine: str | None = None
) -> Coverage:
    """Hold the records against the plan.

    Args:
        plan: The plan.
        records: A frame with the columns of ``records.parquet``, or record JSON dicts (earlier digests
            among them, so that what is stale can be told).
        machine: Only this machine's cells.

    Raises:
        AugmarkError: One planned row has two records, or there is nothing planned.
    """
    frame = records if isinstance(records, pd.DataFrame) else records_frame(records)
    planned = planned_rows(plan, machine)
    known = frame[[name for name in COLUMNS if name != "record_path"]]
    if known.duplicated(_KEY).any():
        line = known[known.duplicated(_KEY)].iloc[0]
        place = "/".join(str(line[name]) for name in [*CELL, *NAME])
        raise AugmarkError(
            f"two records of one row: {place}", where="records", remedy="snakemake paper_tables"
        )
    typed = planned.astype({"repeat": "Int64"})
    rows = typed.merge(known, how="left", on=_KEY, indicator="_found", validate="one_to_one")
    rows["recorded"] = (rows.pop("_found") == "both").to_numpy(dtype=bool)
    rows["status"] = rows["status"].where(rows["recorded"], _status_without_record(rows)).astype(object)
    rows["no_record"] = _why_no_record(rows, known)
    given = rows["reason"].where(rows["reason"].notna(), rows["planned_reason"])
    rows["reason"] = given.where(rows["status"] != "not-run", rows["no_record"]).astype(object)
    return Coverage(rows=rows, stale=_stale(typed, known))


def _status_without_record(rows: pd.DataFrame) -> pd.Series:
    # What the configuration says a library cannot do needs no record to be true.
    return rows["planned"].where(rows["planned"].isin(["unsupported", "excluded"]), "not-run")


def _stale(planned: pd.DataFrame, known: pd.DataFrame) -> pd.DataFrame:
    here = known.merge(planned[CELL].drop_duplicates(), on=CELL)
    with_plan = here.merge(planned[_SAME_ROW], how="left", on=_SAME_ROW, indicator="_found")
    stale = with_plan[with_plan["_found"] == "left_only"].drop(columns="_found")
    return stale.reset_index(drop=True)


def _keys(frame: pd.DataFrame, columns: list[str]) -> set[tuple[Any, ...]]:
    return set(frame[columns].itertuples(index=False, name=None))


def _why_no_record(rows: pd.DataFrame, known: pd.DataFrame) -> list[str | None]:
    whole = _keys(known, [*CELL, "cell_digest"])
    same_row = _keys(known, _SAME_ROW)
    same_place = _keys(known, [*CELL, *NAME])
    reasons: list[str | None] = []
    for row in rows.to_dict("records"):
        place, name = tuple(row[part] for part in CELL), tuple(row[part] for part in NAME)
        if row["recorded"]:
            reasons.append(None)
        elif (*place, row["cell_digest"]) in whole:
            reasons.append("the cell's record has no such row")
        elif (*place, *name, row["row_digest"]) in same_row:
            reasons.append("no record; an earlier one has this row and it will be carried over")
        elif (*place, *name) in same_place:
            reasons.append("no record; an earlier one is stale")
        else:
            reasons.append("no record yet")
    return reasons


def status_counts(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows per library: ``planned``, ``with number`` and each status that occurs (libraries as planned)."""
    counts = rows.groupby(["library", "status"], sort=False).size().unstack(fill_value=0)
    counts = counts.reindex(list(rows["library"].unique()))
    present = [name for name in reversed(SHOWN) if name in counts]
    counts.insert(0, "planned", counts.sum(axis=1))
    counts.insert(1, "with number", counts[[name for name in MEASURED if name in present]].sum(axis=1))
    # The sum over no column at all is a float.
    return counts[["planned", "with number", *present]].astype(int)


def status_grid(rows: pd.DataFrame) -> pd.DataFrame:
    """Row x library: symbols of the statuses over the repeats, worst first; blank where not planned."""
    names = [row_id(*name) for name in rows[NAME].itertuples(index=False, name=None)]
    named = rows.assign(transform=names)
    grid = named.groupby(["transform", "library"], sort=False)["status"].agg(symbols).unstack(fill_value="")
    return grid.reindex(index=list(dict.fromkeys(names)), columns=list(rows["library"].unique()))


def legend(statuses: Iterable[str]) -> str:
    """One line that says what the symbols mean: those of the given statuses only."""
    seen = set(statuses)
    return "  ".join(f"{SHOWN[name].symbol} {name}" for name in reversed(SHOWN) if name in seen)


def _lines(frame: pd.DataFrame, corner: str) -> list[str]:
    """A frame as aligned text: index to the left, columns centred on their heads."""
    heads = [str(name) for name in frame.columns]
    bodies = [[str(value) for value in line] for line in frame.to_numpy()]
    first = max(len(corner), *(len(str(name)) for name in frame.index))
    widths = [max(len(head), *(len(body[column]) for body in bodies), 1) for column, head in enumerate(heads)]
    text = [
        "  ".join(
            [corner.ljust(first), *(head.center(width) for head, width in zip(heads, widths, strict=True))]
        )
    ]
    for name, body in zip(frame.index, bodies, strict=True):
        fields = (field.center(width) for field, width in zip(body, widths, strict=True))
        text.append("  ".join([str(name).ljust(first), *fields]))
    return [line.rstrip() for line in text]


def render(coverage: Coverage, *, grid: bool = True) -> str:
    """What `augmark coverage` prints: counts and a grid per machine, scenario, mode and device.

    Ends with the reasons of the rows that have no record, and the number of stale rows.
    """
    text: list[str] = []
    keys = ["machine", "scenario", "mode", "device"]
    for place, rows in coverage.rows.groupby(keys, sort=False):
        text += [" ".join(map(str, place)), "", *_lines(status_counts(rows), "library"), ""]
        if grid:
            text += [*_lines(status_grid(rows), "transform"), "", legend(rows["status"]), ""]
    missing = coverage.missing
    text.append(f"{len(coverage.rows) - len(missing)} of {len(coverage.rows)} planned rows have a record")
    for reason, rows in missing.groupby("no_record", sort=True):
        cells = sorted(rows["record_path"].unique())
        more = f" and {len(cells) - 3} more" if len(cells) > 3 else ""
        text.append(f"  {len(rows)} rows, {reason}: {', '.join(cells[:3])}{more}")
    if len(coverage.stale):
        libraries = ", ".join(f"{name} {n}" for name, n in coverage.stale["library"].value_counts().items())
        text.append(f"{len(coverage.stale)} stale rows of earlier records, in no table: {libraries}")
    return "\n".join(text)
