"""What the plan says there should be, as a frame, and the words that tables use for it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

import pandas as pd

from augmark.cell import parse_record_path
from augmark.errors import AugmarkError
from augmark.modes import PLAIN
from augmark.plan import cell_definition

PlanContent = Mapping[str, Any]


def record_key(path: str) -> str:
    """A record's path below ``<output>/records``, whatever stands before it."""
    parse_record_path(path)
    return "/".join(PurePosixPath(path).parts[-6:])


def definition_key(scenario: str, mode: str, library: str, device: str) -> str:
    """The key of a definition in the plan."""
    return f"{scenario}/{mode}/{library}/{device}"


def planned_cells(plan: PlanContent, machine: str | None = None) -> list[str]:
    """Record paths of the plan's cells (of one machine), sorted."""
    return sorted(record_key(cell["path"]) for cell in plan["cells"] if machine in (None, cell["machine"]))


def _shown_order(plan: PlanContent, cell: Mapping[str, Any], declared: Mapping[str, int]) -> tuple[Any, ...]:
    key = definition_key(cell["scenario"], cell["mode"], cell["library"], cell["device"])
    return cell["machine"], is_control(plan, cell["library"]), declared.get(key, -1), cell["repeat"]


def planned_rows(plan: PlanContent, machine: str | None = None) -> pd.DataFrame:
    """One line per planned row: libraries and transforms as defined, controls last.

    Returns:
        A frame with the place, ``repeat transform condition planned planned_reason row_digest cell_digest
        record_path``.

    Raises:
        AugmarkError: The plan has no cell (on that machine), or a cell without a definition.
    """
    lines = []
    # Cells stand in the drawn order of measuring; tables want that of the definitions, controls last.
    declared = {key: index for index, key in enumerate(plan["definitions"])}
    for cell in sorted(plan["cells"], key=lambda cell: _shown_order(plan, cell, declared)):
        if machine not in (None, cell["machine"]):
            continue
        key = definition_key(cell["scenario"], cell["mode"], cell["library"], cell["device"])
        if key not in plan["definitions"]:
            raise AugmarkError(
                f"cell without a definition: {key}", where="plan", remedy="snakemake paper_tables"
            )
        place = {name: cell[name] for name in ("machine", "scenario", "mode", "library", "device", "repeat")}
        same = {**place, "cell_digest": cell["digest"], "record_path": record_key(cell["path"])}
        for row in cell_definition(plan, cell)["rows"]:
            lines.append(
                {
                    **same,
                    "transform": row["transform"],
                    "condition": row["condition"],
                    "planned": row["planned"],
                    "planned_reason": row.get("reason"),
                    "row_digest": row["digest"],
                }
            )
    if not lines:
        raise AugmarkError(
            f"the plan has no cell{f' on machine {machine}' if machine else ''}",
            where="plan",
            remedy="see `augmark plan` for what is planned",
        )
    return pd.DataFrame(lines)


def library_facts(plan: PlanContent, library: str) -> Mapping[str, Any]:
    """The plan's stanza of a library (``title``, ``kind``); empty where the plan has none."""
    return plan.get("libraries", {}).get(library, {})


def library_title(plan: PlanContent, library: str) -> str:
    """A library's name as its authors write it, or its id."""
    return library_facts(plan, library).get("title", library)


def is_control(plan: PlanContent, library: str) -> bool:
    """Whether a library is a control, which tables show under the line and never as a column."""
    return library_facts(plan, library).get("kind") == "control" or library.startswith("control-")


def table_rows(plan: PlanContent, rows: pd.DataFrame, table: str) -> pd.DataFrame:
    """The lines of ``rows`` that belong to one table of the plan: plain ones, controls included.

    Raises:
        AugmarkError: The plan has no such table, or the table no line.
    """
    if table not in plan["tables"]:
        known = ", ".join(sorted(plan["tables"])) or "none"
        raise AugmarkError(f"the plan has no table {table!r} (it has: {known})", where="plan")
    stanza = plan["tables"][table]
    chosen = rows[
        (rows["scenario"] == stanza["scenario"])
        & (rows["mode"] == stanza["mode"])
        & rows["device"].isin(stanza["devices"])
        & (rows["condition"] == PLAIN)
    ]
    if chosen.empty:
        raise AugmarkError(f"table {table!r} has no planned row", where="plan", remedy="see `augmark plan`")
    return chosen
