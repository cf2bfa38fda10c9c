"""One record file against itself: its schema, its seal, its path, and every digest and sum in it.

What a record says has to follow from what else it says, so that one changed byte is found without knowing
anything else. A record is checked under the version that it names.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from augmark.analysis.gather import schema_problem
from augmark.cell import Cell, parse_record_path
from augmark.definition import row_digest, rows_digest
from augmark.evidence.findings import Finding
from augmark.record import MEASURED, SCHEMA_FILES, row_name, row_problems, seal_of
from augmark.worker import described

Record = dict[str, Any]
SHOWN = 3  # findings of one rule in one record: a digest that is wrong may be wrong in every row
RESTORE = (
    "bring the file back from where it was published or packed; or delete it and run "
    "`snakemake paper_tables`: the cell is measured again"
)
UNSEALED = {"augmark/record/2"}  # seals came with record/3
ROUNDING = 1e-9  # of sums that are made of the same numbers in another order


@dataclass
class Checked:
    """One record file.

    Attributes:
        path: Where it lies.
        record: Its content; None where it cannot be read or does not follow a schema that is known here.
        schema: The version that it names.
        findings: What does not hold.
    """

    path: Path
    record: Record | None = None
    schema: str = ""
    findings: list[Finding] = field(default_factory=list)

    @property
    def known(self) -> bool:
        """Whether there is a schema for the version that it names."""
        return self.schema in SCHEMA_FILES

    @property
    def sealed(self) -> bool:
        return self.known and self.schema not in UNSEALED


def check_file(path: Path, named: str) -> Checked:
    """Check one record file.

    Args:
        path: The file, below ``records`` or in a ``history`` folder there.
        named: The file as findings name it.
    """
    checked = Checked(path)
    try:
        text = path.read_bytes().decode("utf-8")
        content = json.loads(text, parse_constant=_no_number)
    except (OSError, ValueError) as error:
        checked.findings.append(Finding(named, "record-file", f"cannot be read: {error}", RESTORE))
        return checked
    schema = content.get("schema") if isinstance(content, dict) else None
    checked.schema = schema if isinstance(schema, str) else ""
    if not checked.known:
        what = f"names the schema {schema!r}; this version has those of {', '.join(SCHEMA_FILES)}"
        checked.findings.append(Finding(named, "record-schema", what, RESTORE))
        return checked
    if text != (written := json.dumps(content, indent=1)):
        at = next((k for k, pair in enumerate(zip(text, written, strict=False)) if pair[0] != pair[1]), None)
        where = f"character {min(len(text), len(written)) if at is None else at}"
        what = f"says what a record says, but was not written like this by `measure`: see {where}"
        checked.findings.append(Finding(named, "record-file", what, RESTORE))
    if problem := schema_problem(content):
        checked.findings.append(Finding(named, "record-schema", problem, RESTORE))
    if checked.sealed and content.get("seal") != (seal := seal_of(content)):
        what = f"its seal is {content.get('seal')}, its content gives {seal}: it is not what was measured"
        checked.findings.append(Finding(named, "record-seal", what, RESTORE))
    if not problem:
        checked.record = content
        checked.findings += _inside(content, path, named)
    return checked


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _inside(record: Record, path: Path, named: str) -> Iterator[Finding]:
    for rule, problems in {
        "record-path": _path(record, path),
        "record-digest": _digests(record),
        "row-digest": _row_digests(record),
        "planned-rows": _planned(record),
        "row-status": _statuses(record),
        "row-seconds": _seconds(record),
        "record-facts": _facts(record),
    }.items():
        try:
            found = list(problems)
        except (KeyError, TypeError, ValueError, AttributeError) as error:  # what the schema leaves open
            found = [f"cannot be checked: {type(error).__name__} {error}"]
        if len(found) > SHOWN:
            found[SHOWN - 1 :] = [f"{found[SHOWN - 1]} (and {len(found) - SHOWN} more such)"]
        yield from (Finding(named, rule, what, _remedy(rule)) for what in found)


def _remedy(rule: str) -> str:
    if rule == "record-path":
        return "move it to the path that its content gives, and see whose file lies there now; " + RESTORE
    return RESTORE


def _path(record: Record, path: Path) -> Iterator[str]:
    """The path of a record, or of an earlier one: ``history/r0.<digest>.<session>.json``."""
    place, name = path.parent, path.name
    if place.name == "history":
        place, name = place.parent, f"{'.'.join(name.split('.')[:2])}.json"
    cell, digest = parse_record_path((place / name).as_posix())
    own = Cell(**record["cell"])
    if (own, record["digest"]) != (cell, digest):
        yield f"its content is that of {own.record_path(record['digest'])}"


def _digests(record: Record) -> Iterator[str]:
    definition = record["definition"]
    found = rows_digest(definition["rows"])
    for where, digest in {"digest": record["digest"], "definition/digest": definition["digest"]}.items():
        if digest != found:
            yield f"{where} is {digest}, its rows give {found}"


def python_of(record: Record) -> str:
    """What a record's rows ran on, as plans name it: ``cpython-3.11``."""
    named = [(process.get("metadata") or {}).get("python_implementation") for process in record["processes"]]
    minor = ".".join(record["environment"]["python"].split(".")[:2])
    return f"{next(filter(None, named), 'cpython')}-{minor}"


def _row_digests(record: Record) -> Iterator[str]:
    """Every planned row's digest, from the timing rules, parameters and digests that the record holds."""
    cell, definition = record["cell"], record["definition"]
    depends = {
        **{name: cell[name] for name in ("library", "scenario", "mode", "device")},
        "timing": definition["timing"],
        "items": definition["items_digest"],
        "lock": definition["lock_digest"],
        "python": python_of(record),
        "code": definition["code_digest"],
    }
    for name in ("variables", "again"):
        if said := definition.get(name):
            depends[name] = said
    for row in definition["rows"]:
        found = row_digest(depends, row, definition["regimes_digest"])
        if row["digest"] != found:
            yield f"row {row_name(row)}: its digest is {row['digest']}, what it depends on gives {found}"


def _planned(record: Record) -> Iterator[str]:
    planned = {row_name(row): row for row in record["definition"]["rows"]}
    found = [row_name(row) for row in record["rows"]]
    yield from (f"row {name} is missing" for name in planned if name not in found)
    yield from (f"row {name} is not planned" for name in found if name not in planned)
    yield from (f"row {name} stands twice" for name in sorted({n for n in found if found.count(n) > 1}))
    for row in record["rows"]:
        name = row_name(row)
        if name in planned and row["digest"] != planned[name]["digest"]:
            yield f"row {name}: its digest is {row['digest']}, {planned[name]['digest']} was planned"


def _statuses(record: Record) -> Iterator[str]:
    planned = {row_name(row): row for row in record["definition"]["rows"]}
    for row in record["rows"]:
        name = row_name(row)
        yield from (f"row {name}: {what}" for what in row_problems(row, record["schema"]))
        plan = planned.get(name, row)
        asked = plan.get("planned", "run")
        if asked != "run" and (row["status"], row["reason"]) != (asked, plan["reason"]):
            yield f"row {name}: is {row['status']} ({row['reason']}), planned as {asked} ({plan['reason']})"
        if row["carried"] and row["status"] not in MEASURED:
            yield f"row {name}: was carried over without a number"
        if not row["carried"] and row.get("session") != record["session"]:
            yield f"row {name}: is of session {row.get('session')}, its record of {record['session']}"


def _seconds(record: Record) -> Iterator[str]:
    """Sums that hold by construction (``worker``): a changed digit of a value breaks the first of them."""
    wanted = record["definition"]["timing"]["values"]
    for row in record["rows"]:
        if row["status"] not in MEASURED:
            continue
        name, values = row_name(row), row["values"]
        inside = sum(values) * row["loops"] * row["items"]
        if not math.isclose(inside, row["timed_seconds"], rel_tol=1e-6):
            said = f"{row['timed_seconds']:.9g} s"
            yield f"row {name}: its values make {inside:.9g} s inside the timer, it says {said}"
        if row["timed_seconds"] > row["wall_seconds"]:
            yield f"row {name}: {row['timed_seconds']} s inside the timer, {row['wall_seconds']} s in all"
        if row["status"] == "ok" and len(values) != wanted:
            yield f"row {name}: has {len(values)} values, the timing rules ask for {wanted}"
    own = sum(row["timed_seconds"] for row in record["rows"] if not row["carried"])
    if not math.isclose(own, record["timed_seconds"], rel_tol=ROUNDING, abs_tol=ROUNDING):
        yield f"timed_seconds is {record['timed_seconds']}, its own rows give {own}"
    if own > record["wall_seconds"]:
        yield f"{own} s inside timers, {record['wall_seconds']} s in all"


def _facts(record: Record) -> Iterator[str]:
    definition = record["definition"]
    asked = {
        "environment/lock_digest": (record["environment"]["lock_digest"], definition["lock_digest"]),
        "code/digest": (record["code"]["digest"], definition["code_digest"]),
        "dataset/items_digest": (record["dataset"]["items_digest"], definition["items_digest"]),
        "probe": (record["probe"], definition["probe_digest"]),
        "seed": (record["seed"], definition["timing"]["seed"]),
    }
    for row in record["rows"]:
        origin: Mapping[str, Any] | None = row["carried_from"]
        if origin:
            where = f"row {row_name(row)}: carried_from"
            asked[f"{where}/environment/lock_digest"] = (
                origin["environment"]["lock_digest"],
                definition["lock_digest"],
            )
            asked[f"{where}/code/digest"] = origin["code"]["digest"], definition["code_digest"]
    for name, (found, wanted) in asked.items():
        if found != wanted:
            yield f"{name} is {found}, its definition has {wanted}"
    if "machine" in record:  # it came with record/4
        for name in described.TOLD_BY:
            found, wanted = record["machine"]["found"][name], record["host"][name]
            if found != wanted:
                yield f"machine/found/{name} is {found}, its host has {wanted}"
