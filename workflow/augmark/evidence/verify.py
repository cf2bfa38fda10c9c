"""Does everything hold? Recomputed from the raw seconds of the records, and compared with what is there."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from augmark.errors import AugmarkError
from augmark.evidence.findings import Finding
from augmark.evidence.order import order_problems
from augmark.evidence.rebuild import RECORDS_FILE, SHEETS, Sources, gathered, has_samples, make
from augmark.evidence.verify_products import (
    Compared,
    compare,
    compare_pyperf,
    compare_records_file,
    refused_claims,
)
from augmark.evidence.verify_records import RESTORE, Checked, Record, check_file
from augmark.evidence.verify_samples import probe_problems, record_problems
from augmark.evidence.verify_topup import topup_problems
from augmark.plan import Plan
from augmark.products import products
from augmark.progress import progress
from augmark.refresh import torn_blocks

SHOWN_FILES = 3
CLASSES = "tables/equivalence.csv"
FROM_SAMPLES = ("equivalence", SHEETS)  # rules whose products rest on no record
BUILD = "run `snakemake paper_tables` with the same keys"
MEASURE = (
    "bring the record back from where it was published or packed; or run `snakemake paper_tables`: "
    "the cell is measured"
)
FIRST = "mend the records first, then verify again"


@dataclass
class Verification:
    """What a verification found.

    Attributes:
        findings: What does not hold.
        notes: What is no fault, and is to be known.
        unverified: What could not be held against anything, and was taken as it is.
        records, sealed, rows, values: How many records were checked, how many of them have a seal, and how
            many rows and raw values are in them.
        compared: Files and figures.
        seconds: How long it took.
    """

    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unverified: list[str] = field(default_factory=list)
    records: int = 0
    sealed: int = 0
    rows: int = 0
    values: int = 0
    compared: Compared = field(default_factory=Compared)
    seconds: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "findings": [finding.as_dict() for finding in self.findings],
            "notes": self.notes,
            "unverified": self.unverified,
            "records": self.records,
            "sealed": self.sealed,
            "rows": self.rows,
            "values": self.values,
            "files_compared": self.compared.files,
            "numbers_compared": self.compared.numbers,
            "seconds": round(self.seconds, 1),
        }


def verify(plan: Plan, root: Path) -> list[Finding]:
    """What does not hold of a plan's evidence; empty where everything does. See ``examine``."""
    return examine(plan, root).findings


def examine(plan: Plan, root: Path) -> Verification:
    """Check records, probes, pyperf files, samples, products, stages of topup, order and claims.

    Args:
        plan: As the configuration gives it now.
        root: The project's root: a relative ``output`` starts there.
    """
    begin, found = time.monotonic(), Verification()
    prefix = "" if plan.output.is_absolute() else f"{plan.output.as_posix()}/"
    plan = replace(plan, output=root / plan.output)
    prefix = prefix or f"{plan.output.as_posix()}/"
    good = _records(plan, prefix, found)
    probes, problems = probe_problems(plan, prefix)
    found.findings += problems
    problems, notes = record_problems(good.values(), probes, prefix)
    found.findings += problems
    found.notes += notes
    _order(plan, good, probes, prefix, found)
    pyperf = compare_pyperf(good, plan.output, prefix) if (plan.output / "pyperf").exists() else Compared()
    found.compared.add(pyperf)
    found.findings += pyperf.findings
    if good:
        _products(plan, good, prefix, found)
    found.seconds = time.monotonic() - begin
    return found


# --- records -----------------------------------------------------------------------------------------


def _records(plan: Plan, prefix: str, found: Verification) -> dict[Path, Record]:
    """Check every record file that is there; those of the plan's cells in which nothing was found."""
    folder = plan.output / "records"
    planned = {folder / cell["path"]: cell for cell in plan.cells()}
    files = {
        path
        for pattern in ("*", "history/*")
        for path in folder.glob(f"*/*/*/*/*/{pattern}.json")
        if path.parent.name == "history" or not path.name.endswith(".damaged.json")
    }
    missing = [path for path in planned if path not in files]
    if len(missing) == len(planned):
        what = f"none of the {len(planned)} planned cells has a record"
        found.findings.append(Finding(f"{prefix}records", "missing-cell", what, BUILD))
    else:
        for path in missing:
            name = f"{prefix}{path.relative_to(plan.output).as_posix()}"
            found.findings.append(Finding(name, "missing-cell", "is planned and has no record", MEASURE))
    good: dict[Path, Record] = {}
    others: Counter[str] = Counter()
    with progress(label="verify records", total=len(files), unit="record") as bar:
        for path in sorted(files):
            name = f"{prefix}{path.relative_to(plan.output).as_posix()}"
            checked = check_file(path, name)
            _counted(checked, path in planned, found, others)
            if path in planned and checked.record is not None and not checked.findings:
                good[path] = checked.record
            bar.update(1, note=name)
    found.notes += _words_of(others)
    found.notes += _unknown(plan, files, prefix)
    return good


def _unknown(plan: Plan, files: set[Path], prefix: str) -> Iterator[str]:
    """Files below ``records`` that nothing reads: somebody's own, or a record that was put out of the way."""
    folder = plan.output / "records"
    known = {*files, *folder.glob(f"*/{RECORDS_FILE}")}
    strays = [
        f"{prefix}{path.relative_to(plan.output).as_posix()}"
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path not in known and path.parent.name != "history"
    ]
    if strays:
        yield f"{len(strays)} files below records are none, and nothing reads them: {_some(strays)}"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN_FILES} more" if len(names) > SHOWN_FILES else ""
    return f"{', '.join(names[:SHOWN_FILES])}{more}"


def _counted(checked: Checked, planned: bool, found: Verification, others: Counter[str]) -> None:
    if not planned and not checked.known and checked.schema:
        others[f"of {checked.schema}, which this version has no schema for: not checked"] += 1
        return
    if checked.path.name.endswith(".damaged.json"):  # in a history, since it was no record then
        others["kept as damaged before they were measured again: not checked"] += 1
        return
    found.findings += checked.findings
    found.records += 1
    found.sealed += checked.sealed
    if not planned:
        others["that are not the plan's (stale, history or another plan's): checked, in no table here"] += 1
    if checked.known and not checked.sealed:
        others[f"of {checked.schema}, which has no seal: checked without one"] += 1
    rows = checked.record["rows"] if checked.record else []
    found.rows += len(rows)
    found.values += sum(len(row["values"] or ()) for row in rows)


def _words_of(others: Counter[str]) -> Iterator[str]:
    for what, count in others.items():
        yield f"{count} {'record' if count == 1 else 'records'} {what}"


# --- order -------------------------------------------------------------------------------------------


def _order(
    plan: Plan, good: dict[Path, Record], probes: list[dict[str, Any]], prefix: str, found: Verification
) -> None:
    records = list(good.values())
    for finding in order_problems(records, plan.content, probes):
        kind = "probes" if "/probe." in finding.file else "records"
        found.findings.append(replace(finding, file=f"{prefix}{kind}/{finding.file}"))
    folder = plan.output / "records"
    known = {path.relative_to(folder).as_posix(): record for path, record in good.items()}
    for block, sessions in sorted(torn_blocks(plan.cells(), known).items()):
        if len(sessions) > 1:  # a cell that is missing has been named
            *place, repeat = block
            found.notes.append(
                f"torn block: repeat {repeat} of {' '.join(map(str, place))} is of {len(sessions)} sessions; "
                "libraries of different ones are compared unpaired (refresh=blocks measures it again, whole)"
            )


# --- products ----------------------------------------------------------------------------------------


def _products(plan: Plan, good: dict[Path, Record], prefix: str, found: Verification) -> None:
    shown = f"{prefix}{plan.products.relative_to(plan.output).as_posix()}/".replace("/./", "/")
    published = plan.products / CLASSES
    with tempfile.TemporaryDirectory(prefix="augmark-verify-") as folder:
        out, samples = Path(folder), has_samples(plan)
        try:
            sources = gathered(
                plan, out, list(good), None if samples or not published.exists() else published
            )
            _records_file(plan, sources, prefix, found)
            if not (plan.products / "tables").exists():
                what = "no table or figure has been made"
                found.findings.append(Finding(f"{shown}tables", "published-file", what, BUILD))
                return
            made = [path.relative_to(out).as_posix() for path in make(sources)]
            claims = refused_claims(sources, "config/claims.yaml")
            stages, notes = topup_problems(plan, good, sources.known, out, prefix)
        except AugmarkError as error:
            what = f"the records give no tables: {error.where}: {error.what}"
            found.findings.append(Finding(f"{shown}tables", "published-file", what, error.remedy or RESTORE))
            return
        compared = compare(made, plan.products, out, prefix=shown)
    found.compared.add(compared)
    found.findings += stages
    found.notes += notes
    if len(good) == len(plan.cells()):
        found.findings += [*compared.findings, *claims]
    else:
        found.findings += _on_broken_ground(plan, good, compared, shown)
    if not samples:
        found.unverified.append(
            f"which libraries do the same work: no samples of the probes are here, so {shown}{CLASSES} was "
            "taken as it is, and contact sheets were not compared"
        )
    found.notes += _strays(plan, shown)


def _on_broken_ground(
    plan: Plan, good: dict[Path, Record], compared: Compared, shown: str
) -> Iterator[Finding]:
    """Where records are missing or damaged, what rests on them differs everywhere: one line says so.

    The tables and figures of other scenarios and modes, and what is made from samples, rest on none of them.
    """
    lost = [cell for cell in plan.cells() if plan.output / "records" / cell["path"] not in good]
    broken = {(cell["scenario"], cell["mode"]) for cell in lost}
    sound = {
        f"{shown}{name}"
        for product in products(plan)
        for name in product.files
        if product.rule in FROM_SAMPLES or (product.table and _place(plan, product.table) not in broken)
    }
    yield from (finding for finding in compared.findings if finding.file in sound)
    if others := [finding for finding in compared.findings if finding.file not in sound]:
        first, count = others[0], len({finding.file for finding in others})
        what = (
            f"{count} of {compared.files} files are not what the records that hold give, such as "
            f"{first.file}: {first.what}"
        )
        yield Finding(f"{shown}tables", "published-file", what, FIRST)


def _place(plan: Plan, table: str) -> tuple[str, str]:
    stanza = plan.content["tables"][table]
    return stanza["scenario"], stanza["mode"]


def _records_file(plan: Plan, sources: Sources, prefix: str, found: Verification) -> None:
    name = f"{prefix}{plan.records_file.relative_to(plan.output).as_posix()}"
    if plan.records_file.exists() or (plan.products / "tables").exists():
        compared = compare_records_file(plan.records_file, sources.out / RECORDS_FILE, name)
        found.compared.add(compared)
        found.findings += compared.findings


def _strays(plan: Plan, shown: str) -> Iterator[str]:
    """Files beside the products: of another plan, perhaps; nothing here says whether they hold."""
    known = {name for product in products(plan) for name in product.files}
    there = [
        path.relative_to(plan.products).as_posix()
        for folder in ("tables", "figures")
        for path in sorted((plan.products / folder).rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    ]
    if strays := [f"{shown}{name}" for name in there if name not in known]:
        yield f"{len(strays)} files are not products of this plan and were not compared: {_some(strays)}"
