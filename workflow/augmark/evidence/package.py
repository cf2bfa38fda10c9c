"""One archive of a plan: records, what was made from them, and all that makes it again elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from augmark.cell import file_sha256
from augmark.errors import AugmarkError
from augmark.evidence import crate, page, private, provenance
from augmark.evidence.archive import Member, sums, write_archive
from augmark.evidence.doubts import Doubt, doubts, refuse
from augmark.evidence.facts import Facts, Record
from augmark.evidence.source import source_files
from augmark.files import human_bytes
from augmark.plan import Plan, public
from augmark.products import products
from augmark.record import read_record
from augmark.worker.job import git_state

SHOWN = 5
ENDING = ".tar.gz"
# Of datasets that may not be given away: these show their images.
SHOWING = "contact_sheets"


def package(plan: Plan, root: Path, out: Path) -> Path:
    """Pack a plan whose records and products are all there.

    Args:
        plan: With its ``output`` as it lies on this machine.
        root: The checkout.
        out: The archive to write, ``<name>.tar.gz``; all its files lie in the folder ``<name>``.

    Raises:
        AugmarkError: A record is missing; at a depth that claims something, the tree or a record's tree is
            dirty, its commit unknown or its packages not those of a lock; ``verify`` finds something; what
            would be packed says who measured or where.
    """
    records = read_cells(plan)
    commit, dirty = git_state(root)
    found = doubts(records, plan, root, dirty)
    if not plan.content["stamp"]:
        refuse(found, plan.content["depth"])
    refuse_unverified(plan, root)
    facts = _facts(plan, root, out, records, (commit, dirty), found)
    source = list(_source(root))
    made = [*_evidence(plan), *_products(plan, facts.samples), *_texts(facts)]
    members = [*source, *made]
    members.append(Member(provenance.NAME, provenance.render(provenance.statement(facts, members))))
    members.append(Member(crate.NAME, crate.metadata(facts, members)))
    crate.check_metadata(members[-1].read())
    names = private.of_this_machine([root, plan.output], source)
    private.check_private(members, names)
    write_archive(out, facts.name, [*members, sums(members)], int(facts.ended.timestamp()))
    return out


def read_cells(plan: Plan) -> dict[str, Record]:
    """The record of every cell, by its path below ``<output>/records``.

    Raises:
        AugmarkError: One is missing, or damaged.
    """
    folder = plan.output / "records"
    missing = [cell["path"] for cell in plan.cells() if not (folder / cell["path"]).exists()]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise AugmarkError(
            f"no record of a planned cell is there{more}",
            where=str(folder / missing[0]),
            remedy="measure it with `snakemake paper_tables`, then pack",
        )
    return {cell["path"]: read_record(folder / cell["path"]) for cell in plan.cells()}


def refuse_unverified(plan: Plan, root: Path) -> None:
    """Refuse what ``augmark verify`` finds fault with, claims that the records do not carry included.

    Raises:
        AugmarkError: Names the first findings.
    """
    from augmark.evidence.verify import verify

    if found := verify(plan, root):
        lines = "".join(f"\n  {finding.file}: {finding.rule}: {finding.what}" for finding in found[:SHOWN])
        more = f"\n  and {len(found) - SHOWN} more: `augmark verify` lists them" if len(found) > SHOWN else ""
        raise AugmarkError(
            f"`augmark verify` finds fault with what would be packed:{lines}{more}",
            where="package",
            remedy=found[0].remedy,
        )


def _facts(
    plan: Plan,
    root: Path,
    out: Path,
    records: dict[str, Record],
    state: tuple[str | None, bool | None],
    found: Iterable[Doubt],
) -> Facts:
    environments = sorted({*plan.content["locks"], "workflow"})
    locks = [name for name in (f"envs/{each}.txt" for each in environments) if (root / name).exists()]
    return Facts(
        name=out.name.removesuffix(ENDING),
        plan=public(plan.content),
        records=records,
        commit=state[0],
        dirty=state[1],
        lock_files={name: file_sha256(root / name) for name in locks},
        samples=may_be_given(plan),
        doubts=[f"{doubt.where}: {doubt.what}" for doubt in found],
    )


def may_be_given(plan: Plan) -> bool:
    """Whether every dataset of the plan may be given away, so that what shows its images may be packed."""
    used = {scenario["dataset"] for scenario in plan.content["scenarios"].values()}
    return all(plan.content["datasets"][key].get("redistribute") is True for key in used)


def _source(root: Path) -> Iterator[Member]:
    for path in source_files(root):
        name = path.relative_to(root).as_posix()
        yield Member(name, path, pathless=name.startswith("config/"))


def _evidence(plan: Plan) -> Iterator[Member]:
    """Records, their pyperf files, and what the probes said."""
    yield Member("records.parquet", plan.records_file)
    for cell in plan.cells():
        for folder in ("records", "pyperf"):  # a cell without a number has no pyperf file
            path = plan.output / folder / cell["path"]
            if path.exists():
                yield Member(f"{folder}/{cell['path']}", path)
    for key in plan.content["definitions"]:
        paths = [plan.probe_path(*key.split("/"))]
        paths += [plan.samples_path(*key.split("/"))] if may_be_given(plan) else []
        yield from (Member(path.relative_to(plan.output).as_posix(), path) for path in paths if path.exists())


def _products(plan: Plan, samples: bool) -> Iterator[Member]:
    """Tables and figures as published."""
    for product in products(plan):
        for name in product.files if samples or product.rule != SHOWING else ():
            path = plan.products / name
            if not path.exists():
                raise AugmarkError(
                    "is not there", where=str(path), remedy="run `snakemake package`, which makes it"
                )
            yield Member(name, path)


def _texts(facts: Facts) -> Iterator[Member]:
    yield Member("plan.json", (json.dumps(facts.plan, indent=1) + "\n").encode())
    yield Member(page.NAME, page.render(facts).encode())


def said(path: Path) -> str:
    """The archive in one line: where it is, its size, how many files it holds, its sha256."""
    import tarfile

    with tarfile.open(path) as archive:
        files = sum(member.isfile() for member in archive)
    return f"{path}: {human_bytes(path.stat().st_size)}, {files} files, sha256 {file_sha256(path)}"
