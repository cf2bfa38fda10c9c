"""What readers are given against what the records give: byte for byte, and named where it is not."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from augmark.cell import file_sha256
from augmark.evidence.findings import Finding
from augmark.evidence.verify_files import differences, numbers_in
from augmark.evidence.verify_records import Record
from augmark.record import row_name

SHOWN = 3  # differences of one file; of more, their number
AGAIN = "make it again: delete it and run `snakemake paper_tables`"


@dataclass
class Compared:
    """What came of comparing files.

    Attributes:
        findings: One or more per file that is not what it should be.
        files, numbers: How many files were compared, and how many figures in those that are text.
    """

    findings: list[Finding] = field(default_factory=list)
    files: int = 0
    numbers: int = 0

    @property
    def said(self) -> str:
        differ = len({finding.file for finding in self.findings})
        same = "all are the same, byte for byte" if not differ else f"{differ} are not the same"
        return f"{self.files} files with {self.numbers:,} figures compared: {same}"

    def add(self, other: Compared) -> None:
        self.findings += other.findings
        self.files += other.files
        self.numbers += other.numbers


def compare(
    names: Iterable[str], published: Path, rebuilt: Path, *, prefix: str = "", remedy: str = AGAIN
) -> Compared:
    """Compare published files with rebuilt ones.

    Args:
        names: Of files below both folders.
        published, rebuilt: The folders.
        prefix: Of the file's name in findings.
        remedy: What to do about a file that differs.
    """
    compared, names = Compared(), list(names)
    of_content = {file_sha256(rebuilt / name): name for name in names}
    for name in names:
        path, shown = published / name, f"{prefix}{name}"
        if not path.is_file():
            compared.findings.append(Finding(shown, "published-file", "is not there", remedy))
            continue
        compared.files += 1
        compared.numbers += numbers_in(rebuilt / name)
        holds = of_content.get(file_sha256(path), name)
        if holds != name and file_sha256(path) != file_sha256(rebuilt / name):
            what = f"holds what belongs into {prefix}{holds}"
            compared.findings.append(Finding(shown, "published-file", what, remedy))
            continue
        compared.findings += _one(path, rebuilt / name, shown, remedy)
    return compared


def _one(path: Path, rebuilt: Path, shown: str, remedy: str) -> Iterator[Finding]:
    found = list(differences(path, rebuilt))
    for difference in found[:SHOWN]:
        where = f"{difference.where}: " if difference.where else ""
        rule = "published-number" if difference.number else "published-file"
        yield Finding(shown, rule, f"{where}{difference.what}", remedy)
    if len(found) > SHOWN:
        yield Finding(shown, "published-file", f"differs in {len(found) - SHOWN} more places", remedy)


def compare_records_file(published: Path, rebuilt: Path, shown: str) -> Compared:
    """Compare records.parquet; a difference is named by row and column."""
    compared = Compared(files=1)
    remedy = "gather the records again: delete it and run `snakemake paper_tables`"
    if not published.is_file():
        compared.findings.append(Finding(shown, "records-parquet", "is not there", remedy))
    elif published.read_bytes() != rebuilt.read_bytes():
        what = list(_table_differences(published, rebuilt))
        compared.findings += [Finding(shown, "records-parquet", each, remedy) for each in what[:SHOWN]]
        if len(what) > SHOWN:
            more = f"differs in {len(what) - SHOWN} more fields"
            compared.findings.append(Finding(shown, "records-parquet", more, remedy))
    return compared


def _table_differences(published: Path, rebuilt: Path) -> Iterator[str]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        found = pq.ParquetFile(published).read()
    except (OSError, pa.ArrowException) as error:
        yield f"cannot be read: {error}"
        return
    wanted = pq.ParquetFile(rebuilt).read()
    if found.schema.names != wanted.schema.names:
        odd = sorted(set(found.schema.names) ^ set(wanted.schema.names))
        yield f"has other columns: {', '.join(odd) or 'in another order'}"
        return
    if found.schema.metadata != wanted.schema.metadata:
        yield "says other things of machine, plan, cells or host than the records"
    has, should = ([_row_name(row) for row in table.to_pylist()] for table in (found, wanted))
    if has != should:
        odd = sorted(set(has) ^ set(should))
        which = f"such as {odd[0]}" if odd else "or in another order"
        yield f"has {found.num_rows} rows, the records give {wanted.num_rows}: other rows, {which}"
        return
    any_field = False
    for number, (own, other) in enumerate(zip(found.to_pylist(), wanted.to_pylist(), strict=False), 1):
        for column in found.schema.names:
            if own[column] != other[column]:
                any_field = True
                row = f"row {number} ({_row_name(other)}), column {column}"
                yield f"{row}: is {own[column]}, the record gives {other[column]}"
    if not any_field and found.schema.equals(wanted.schema, check_metadata=True):
        yield "holds the same fields, and was not written like this by `collect`"


def _row_name(row: Mapping[str, Any]) -> str:
    return f"{row['record_path']} {row_name(row)}"


def compare_pyperf(records: Mapping[Path, Record], output: Path, prefix: str) -> Compared:
    """Every record's pyperf file, derived again.

    Args:
        records: Record file -> record, of the plan's cells.
        output: The output folder: ``records`` and ``pyperf`` lie below it.
        prefix: Of the file's name in findings.
    """
    from augmark.analysis.pyperf_export import export

    compared = Compared()
    with tempfile.TemporaryDirectory() as folder:
        for path, record in records.items():
            name = path.relative_to(output / "records").as_posix()
            made, lies, shown = Path(folder, name), output / "pyperf" / name, f"{prefix}pyperf/{name}"
            if not export(record, made):  # no row has a number
                continue
            compared.files += 1
            if not lies.is_file():
                compared.findings.append(Finding(shown, "pyperf-file", "is not there", _pyperf_remedy(shown)))
            for difference in list(differences(lies, made))[:SHOWN] if lies.is_file() else []:
                what = f"{difference.where}: {difference.what}" if difference.where else difference.what
                compared.findings.append(Finding(shown, "pyperf-file", what, _pyperf_remedy(shown)))
    return compared


def _pyperf_remedy(shown: str) -> str:
    return "delete records.parquet and run `snakemake paper_tables`: both are made from the records again"


def refused_claims(sources: Any, shown: str) -> list[Finding]:
    """Claims that the records do not carry.

    Args:
        sources: ``rebuild.Sources``.
        shown: The file of the claims, as findings name it.
    """
    from augmark.analysis.claims import judge, refused

    claims = sources.plan.content.get("claims") or {}
    remedy = "take the claim back, or state what was found; measure more repeats where they are too few"
    return [
        Finding(shown, "claim", f"{_named(verdict)}: {verdict.reason}", remedy)
        for verdict in refused(judge(claims, sources.compared))
    ]


def _named(verdict: Any) -> str:
    of = f", {verdict.transform}" if verdict.transform else ""
    return f"{verdict.claim}{of}: {verdict.claim_in_words}"
