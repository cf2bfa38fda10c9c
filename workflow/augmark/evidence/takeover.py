"""What a handoff brought back is verified as a whole, and only then taken in: all of it, or nothing."""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from augmark.cell import file_sha256
from augmark.errors import AugmarkError
from augmark.evidence.handoff_content import Content, differing
from augmark.evidence.handoff_there import plan_here, probe_files
from augmark.evidence.takeover_archive import Unpacked, unpack
from augmark.evidence.verify_records import check_file
from augmark.evidence.verify_samples import probe_problems, record_problems
from augmark.files import alone, whole_file
from augmark.machines.abilities import counted, left, not_run_lines
from augmark.plan import Plan
from augmark.record import read_record
from augmark.worker import described

SHOWN = 6
STAGED = ".import"  # below <output>/handoff, of an import that is at work or was killed


@dataclass(frozen=True)
class Taken:
    """Names below the output folder: what came in, and what was here already, the same to the byte."""

    new: list[str]
    here: list[str]


def take_in(file: Path, root: Path, args: argparse.Namespace) -> int:
    """Verify an archive of `augmark handoff --pack` and take it in; say what came, and what is left.

    Returns:
        0 where every cell of that machine's plan now has a record, else 1.

    Raises:
        AugmarkError: Something does not hold. Nothing was taken in then.
    """
    from augmark.cli import said

    output = _output(root, said(args)[0])
    folder = output / "handoff" / f"{STAGED}.{file_sha256(_there(file))[:10]}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with alone(folder.with_name("import.lock"), lambda: print("waiting for another import")):
        shutil.rmtree(folder, ignore_errors=True)  # of an import that was killed
        try:
            unpacked = unpack(file, folder)
            plan = plan_here(unpacked.handoff, root, args)
            verify(unpacked, plan, folder, file.name)
            taken = _link(unpacked, folder, plan)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return _say(taken, plan, unpacked.handoff, root)


def _there(file: Path) -> Path:
    if file.is_file():
        return file
    raise AugmarkError("is not there", where=str(file), remedy="give the path of the handoff's .tar.gz")


def _output(root: Path, overrides: Mapping[str, Any]) -> Path:
    """The output folder: of the same disk as where the files will lie, so that they can be linked there."""
    from augmark.config.load import load

    given = {"output": overrides["output"]} if "output" in overrides else {}
    return Path(load(root, given).config["output"])


def verify(unpacked: Unpacked, plan: Plan, folder: Path, named: str) -> None:
    """Hold everything in an archive against the plan of this checkout.

    Raises:
        AugmarkError: Names what does not hold, file by file.
    """
    handoff = unpacked.handoff
    found = [*_foreign(unpacked, plan)]
    if not found:
        staged = replace(plan, output=folder)
        found = [*_records(unpacked, staged, handoff), *_probes(unpacked, staged)]
    if found:
        more = f"\n  and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        raise AugmarkError(
            "nothing is taken in:\n  " + "\n  ".join(found[:SHOWN]) + more,
            where=named,
            remedy="have the archive packed and sent again; what is not of this plan is not wanted here",
        )


def _foreign(unpacked: Unpacked, plan: Plan) -> Iterator[str]:
    """Files that are of no cell that was handed over, or of none that is planned here now."""
    handed = {f"records/{cell['path']}" for cell in unpacked.handoff["cells"]}
    planned = {f"records/{cell['path']}" for cell in plan.cells()}
    probes = {path.relative_to(plan.output).as_posix() for path in probe_files(plan)}
    other = differing(unpacked.handoff, plan) if plan.digest != unpacked.handoff["plan"]["digest"] else []
    since = f" (the plan here differs from the handoff's in {', '.join(other[:SHOWN])})" if other else ""
    for name in [*unpacked.records, *(name for name in unpacked.files if name not in unpacked.records)]:
        if name.startswith("records/"):
            if name not in handed:
                yield f"{name}: a foreign cell: the handoff did not ask for it"
            elif name not in planned:
                yield f"{name}: not planned here{since}"
        elif name not in probes:
            yield f"{name}: neither a record nor a probe of the plan{since}"


def _records(unpacked: Unpacked, staged: Plan, handoff: Content) -> Iterator[str]:
    stanza = staged.content["machine_stanza"]
    for name in unpacked.records:
        checked = check_file(staged.output / name, name)
        if checked.findings:
            yield from (f"{name}: {finding.rule}: {finding.what}" for finding in checked.findings[:2])
            continue
        try:
            record = read_record(staged.output / name)  # of the version that is written now
        except AugmarkError as error:
            yield f"{name}: {error.what}"
            continue
        yield from (f"{name}: {what}" for what in _strange(record, stanza, handoff))


def _strange(record: Mapping[str, Any], stanza: Mapping[str, Any], handoff: Content) -> Iterator[str]:
    """Where a record is not of the handoff's commit, plan and machine."""
    code = record["code"]
    if code["git_commit"] != handoff["commit"]:
        yield f"commit: measured at {code['git_commit']}, the handoff is of {handoff['commit']}"
    if code["git_dirty"] and not handoff["stamp"]:
        yield "code: measured in a tree with changes that are not committed"
    if record["plan"] != handoff["plan"]["digest"]:
        yield f"plan: measured by the plan {record['plan']}, the handoff has {handoff['plan']['digest']}"
    origins = [record, *(row["carried_from"] for row in record["rows"] if row["carried_from"])]
    hosts = (found_of(origin) for origin in origins)
    wrong = dict.fromkeys(what for found in hosts for what in described.differences(stanza, found))
    if wrong:
        yield f"host: not a {stanza['id']}: {'; '.join(wrong)}"


def found_of(origin: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of the host that measured: what the record's fingerprint says, not what it was called."""
    host = origin["host"]
    gpus = [gpu["name"] for gpu in host.get("gpus") or ()]
    return {**{name: host.get(name) for name in described.TOLD_BY}, "gpus": gpus or None}


def _probes(unpacked: Unpacked, staged: Plan) -> Iterator[str]:
    probes, findings = probe_problems(staged, "")
    records = [
        read_record(staged.output / name) for name in unpacked.records if _readable(staged.output / name)
    ]
    findings += record_problems(records, probes, "")[0]
    yield from (f"{finding.file}: {finding.rule}: {finding.what}" for finding in findings)
    there = {(*probe["cell"].values(), probe["digest"]) for probe in probes}
    for record in records:
        place = [record["cell"][name] for name in ("machine", "scenario", "mode", "library", "device")]
        if (*place, record["probe"]) not in there and not findings:
            yield f"{'/'.join(place)}: its probe is not in the archive"


def _readable(path: Path) -> bool:
    try:
        read_record(path)
    except AugmarkError:
        return False
    return True


def _link(unpacked: Unpacked, folder: Path, plan: Plan) -> Taken:
    """Link everything into its place, records last; what is there and the same stays, nothing is replaced.

    A kill in the middle leaves whole files, and the same command links the others.

    Raises:
        AugmarkError: Something else is in the place of a file. Then nothing is linked.
    """
    names = sorted(
        unpacked.files, key=lambda name: (name.startswith("records/"), name.endswith(".json"), name)
    )
    here = [name for name in names if (plan.output / name).exists()]
    other = [name for name in here if file_sha256(plan.output / name) != unpacked.files[name]]
    if other:
        listed = "\n  ".join(other[:SHOWN])
        raise AugmarkError(
            f"nothing is taken in: {len(other)} of its files are here with another content:\n  {listed}",
            where=str(plan.output),
            remedy="see which one is wanted; move the one here away to take in the other",
        )
    new = [name for name in names if name not in here]
    for name in new:
        target = plan.output / name
        target.parent.mkdir(parents=True, exist_ok=True)
        _put(folder / name, target)
    return Taken(new, here)


def _put(source: Path, target: Path) -> None:
    """Give a file its place, write-once; copied where the file system has no links."""
    try:
        os.link(source, target)
    except FileExistsError:
        raise
    except OSError:
        with whole_file(target) as part:
            shutil.copyfile(source, part)


def _say(taken: Taken, plan: Plan, handoff: Content, root: Path) -> int:
    for what, names in (("taken in", taken.new), ("here already, the same", taken.here)):
        if names or what == "taken in":
            records = sum(name.startswith("records/") for name in names)
            files = len(names) - records
            print(f"{what}: {counted(records, 'record')}, {counted(files, 'file')} of probes")
    for name in taken.new:
        if name.startswith("records/"):
            print(f"  {name}")
    cells = left(plan)
    if cells:
        print(f"left of {plan.machine}: {counted(len(cells), 'cell')}")
        for cell in cells[:SHOWN]:
            print(f"  {cell['path']}")
        if len(cells) > SHOWN:
            print(f"  and {len(cells) - SHOWN} more")
        for line in not_run_lines(plan, root):
            print(line)
    else:
        print(f"nothing is left of {plan.machine}; the tables: {handoff['afterwards']['make']}")
    for machine, told in handoff["afterwards"]["not_run"].items():
        print(f"left when this was handed over: {machine}: {counted(told['cells'], 'cell')}")
    return 1 if cells else 0
