"""Planned rows against records: a status and a reason for every one of them, never a silent gap."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from augmark.analysis.found_machine import machine_words
from augmark.analysis.frame import CELL, COLUMNS, NAME, PLACE, frame_of
from augmark.analysis.gather import record_lines
from augmark.analysis.marks import SHOWN, symbols
from augmark.analysis.planned import PlanContent, planned_rows
from augmark.analysis.stale import Reasons
from augmark.cell import Cell
from augmark.errors import AugmarkError
from augmark.record import MEASURED, row_id

_KEY = [*CELL, *NAME, "row_digest", "cell_digest"]
_SAME_ROW = [*CELL, *NAME, "row_digest"]
_SAME_PLACE = [*CELL, *NAME]
STALE = "no record; an earlier one is stale"


@dataclass(frozen=True)
class Coverage:
    """What became of a plan.

    Attributes:
        rows: One line per planned row: the plan's columns, ``recorded`` (bool), ``status``, ``reason``,
            ``no_record`` (why there is none), ``changed`` (what makes its earlier record stale, None without
            one) and, where recorded, every column of the records.
        stale: Recorded rows of which another is planned now, by the digest; ``changed`` says what changed.
        unplanned: Recorded rows in a planned cell's place of which none is planned now.
    """

    rows: pd.DataFrame
    stale: pd.DataFrame
    unplanned: pd.DataFrame

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
    on_disk = [] if isinstance(records, pd.DataFrame) else list(records)
    frame = records if isinstance(records, pd.DataFrame) else records_frame(on_disk)
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
    stale, unplanned = _outdated(typed, known, Reasons(plan, on_disk))
    rows["changed"] = pd.Series(_newest_change(rows, stale), index=rows.index, dtype=object)
    rows["no_record"] = _why_no_record(rows, known)
    given = rows["reason"].where(rows["reason"].notna(), rows["planned_reason"])
    rows["reason"] = given.where(rows["status"] != "not-run", rows["no_record"]).astype(object)
    return Coverage(rows=rows, stale=stale, unplanned=unplanned)


def _status_without_record(rows: pd.DataFrame) -> pd.Series:
    # What the configuration says a library cannot do needs no record to be true.
    return rows["planned"].where(rows["planned"].isin(["unsupported", "excluded"]), "not-run")


def _outdated(
    planned: pd.DataFrame, known: pd.DataFrame, reasons: Reasons
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Recorded rows that are not the planned ones: stale where another is planned in their place, or not."""
    here = known.merge(planned[CELL].drop_duplicates(), on=CELL)
    with_plan = here.merge(planned[_SAME_ROW], how="left", on=_SAME_ROW, indicator="_found")
    other = with_plan[with_plan["_found"] == "left_only"].drop(columns="_found").reset_index(drop=True)
    places = _keys(planned, _SAME_PLACE)
    named = [place in places for place in other[_SAME_PLACE].itertuples(index=False, name=None)]
    stale = other[pd.Series(named, dtype=bool)].reset_index(drop=True)
    told = [reasons.why(line) for line in stale[[*_KEY]].to_dict("records")]
    unplanned = other[~pd.Series(named, dtype=bool)].reset_index(drop=True)
    return stale.assign(changed=pd.Series(told, dtype=object)), unplanned


def _newest_change(rows: pd.DataFrame, stale: pd.DataFrame) -> list[str | None]:
    """What has changed since the newest of a row's stale records; None for rows that have a record."""
    newest = stale.sort_values("cell_started", kind="stable").drop_duplicates(_SAME_PLACE, keep="last")
    columns = newest[[*_SAME_PLACE, "changed"]].itertuples(index=False, name=None)
    changes = {tuple(place): changed for *place, changed in columns}
    places = rows[_SAME_PLACE].itertuples(index=False, name=None)
    return [
        None if recorded else changes.get(place)
        for place, recorded in zip(places, rows["recorded"], strict=True)
    ]


def _keys(frame: pd.DataFrame, columns: list[str]) -> set[tuple[Any, ...]]:
    return set(frame[columns].itertuples(index=False, name=None))


def _why_no_record(rows: pd.DataFrame, known: pd.DataFrame) -> list[str | None]:
    whole = _keys(known, [*CELL, "cell_digest"])
    same_row = _keys(known, _SAME_ROW)
    with_number = _keys(known[known["status"].isin(MEASURED)], _SAME_ROW)
    same_place = _keys(known, _SAME_PLACE)
    reasons: list[str | None] = []
    for row in rows.to_dict("records"):
        place, name = tuple(row[part] for part in CELL), tuple(row[part] for part in NAME)
        if row["recorded"]:
            reasons.append(None)
        elif (*place, row["cell_digest"]) in whole:
            reasons.append("the cell's record has no such row")
        elif (*place, *name, row["row_digest"]) in with_number:
            reasons.append("no record; an earlier one has this row and it will be carried over")
        elif row["planned"] != "run":
            reasons.append("no record yet; there is nothing to measure")
        elif (*place, *name, row["row_digest"]) in same_row:
            reasons.append("no record; an earlier one has this row without a number and it is tried again")
        elif (*place, *name) in same_place:
            reasons.append(STALE)
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

    Ends with the reasons of the rows that have no record (of stale ones: which, and what changed), and the
    numbers of rows in earlier records.
    """
    text: list[str] = []
    keys = ["machine", "scenario", "mode", "device"]
    for place, rows in coverage.rows.groupby(keys, sort=False):
        found = f"machine: {machine_words(str(place[0]), rows)}"
        text += [" ".join(map(str, place)), found, "", *_lines(status_counts(rows), "library"), ""]
        if grid:
            text += [*_lines(status_grid(rows), "transform"), "", legend(rows["status"]), ""]
    missing = coverage.missing
    text.append(f"{len(coverage.rows) - len(missing)} of {len(coverage.rows)} planned rows have a record")
    for reason, rows in missing.groupby("no_record", sort=True):
        if reason == STALE:
            text += [f"  {len(rows)} rows, {reason}; they will be measured again:", *_stale_rows(rows)]
            continue
        cells = sorted(rows["record_path"].unique())
        more = f" and {len(cells) - 3} more" if len(cells) > 3 else ""
        text.append(f"  {len(rows)} rows, {reason}: {', '.join(cells[:3])}{more}")
    for what, rows in (("stale rows", coverage.stale), ("rows that are not planned now", coverage.unplanned)):
        if len(rows):
            counts = rows["library"].value_counts().reindex(coverage.rows["library"].unique()).dropna()
            libraries = ", ".join(f"{name} {int(count)}" for name, count in counts.items())
            text.append(f"{len(rows)} {what} of earlier records, in no table: {libraries}")
    return "\n".join(text)


def _stale_rows(rows: pd.DataFrame) -> list[str]:
    """What changed, and below it the rows that it concerns: by library, with their repeats."""
    text: list[str] = []
    for changed, lines in rows.fillna({"changed": "what changed is not known"}).groupby(
        "changed", sort=False
    ):
        text.append(f"    {changed}")
        for place, its in lines.groupby([*PLACE[1:]], sort=False):
            names = dict.fromkeys(row_id(*name) for name in its[NAME].itertuples(index=False, name=None))
            repeats = " ".join(f"r{repeat}" for repeat in sorted(its["repeat"].unique()))
            text.append(f"      {' '.join(map(str, place))} {repeats}: {', '.join(names)}")
    return text
