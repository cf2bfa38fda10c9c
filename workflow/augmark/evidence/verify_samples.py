"""Probes and their sample archives: as they were written, of the plan, and those that records rest on."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from augmark.analysis.samples import read_scenario
from augmark.cell import file_sha256
from augmark.errors import AugmarkError
from augmark.evidence.findings import Finding
from augmark.evidence.order import path_of, seconds_of
from augmark.plan import Plan
from augmark.worker.probe import problem
from augmark.worker.samples import INPUTS, inputs_digest

REMEDY = (
    "bring the probe and its samples back from where they were published; or delete both and run "
    "`snakemake paper_tables`, which probes again where something is left to measure"
)
MEASURE = (
    "bring back the probe that the record was measured from; or delete the record and run "
    "`snakemake paper_tables`: the cell is measured again from the probe that is there"
)
Content = dict[str, Any]


def probe_problems(plan: Plan, prefix: str) -> tuple[list[dict[str, Any]], list[Finding]]:
    """Check the probes of a plan that are there, and their sample archives.

    Args:
        plan: Its ``output`` holds them.
        prefix: Of file names in findings.

    Returns:
        The probes that can be read, and what does not hold.
    """
    probes, findings = [], []
    for key, definition in plan.content["definitions"].items():
        path, archive = plan.probe_path(*key.split("/")), plan.samples_path(*key.split("/"))
        shown = f"{prefix}{path.relative_to(plan.output).as_posix()}"
        if not path.exists():
            continue
        try:
            text = path.read_bytes().decode("utf-8")
            probe = json.loads(text)
            what = list(_probe(probe, text, plan, key, definition))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            findings.append(Finding(shown, "probe-file", f"cannot be read: {error}", REMEDY))
            continue
        if what:
            findings += [Finding(shown, "probe-file", each, REMEDY) for each in what]
            continue
        probes.append(probe)
        if archive.exists():
            name = f"{prefix}{archive.relative_to(plan.output).as_posix()}"
            findings += [Finding(name, "sample-file", each, REMEDY) for each in _archive(archive, probe)]
    return probes, findings


def record_problems(
    records: Iterable[Mapping[str, Any]], probes: Iterable[Content], prefix: str
) -> tuple[list[Finding], list[str]]:
    """Whether records were measured from the probes that are there.

    A record names its probe by digest and seal. A probe of that digest with another seal is another one. It
    may have been made later, where somebody deleted the first: then the record says nothing of it.

    Args:
        records: Each as it is on disk.
        probes: Those that hold.
        prefix: Of file names in findings.

    Returns:
        Records of another probe, and a note of those whose probe was made anew since.
    """
    known = {(*probe["cell"].values(), probe["digest"]): probe for probe in probes}
    findings, later = [], 0
    for record in records:
        place = [record["cell"][name] for name in ("machine", "scenario", "mode", "library", "device")]
        probe = known.get((*place, record["probe"]))
        if not probe or not probe["rows"] or record.get("probe_seal", probe["seal"]) == probe["seal"]:
            continue
        began = [row["started"] for row in probe["rows"].values() if row.get("started") is not None]
        if began and min(began) > seconds_of(record["ended"]):
            later += 1
            continue
        what = f"the seal of its probe is {record['probe_seal']}, that of the probe here {probe['seal']}"
        findings.append(Finding(f"{prefix}records/{path_of(record)}", "probe-record", what, MEASURE))
    who = "1 record was measured from a probe" if later == 1 else f"{later} records were measured from probes"
    note = f"{who} that somebody has made anew since, and not held against it"
    return findings, [note] if later else []


def _probe(probe: Content, text: str, plan: Plan, key: str, definition: Mapping[str, Any]) -> Iterator[str]:
    if wrong := problem(probe):
        yield wrong
        return
    if text != json.dumps(probe, indent=1) + "\n":
        yield "says what a probe says, but was not written like this by `probe`"
    place = dict(zip(("scenario", "mode", "library", "device"), key.split("/"), strict=True))
    if probe["cell"] != {"machine": plan.machine, **place}:
        yield f"its content is that of {'/'.join(map(str, probe['cell'].values()))}"
    if probe["digest"] != definition["probe_digest"]:
        yield f"its digest is {probe['digest']}, the plan has {definition['probe_digest']}"
    ids = {row["id"] for row in definition["rows"] if row["planned"] == "run"}
    if odd := sorted(ids ^ set(probe["rows"])):
        yield f"its rows are not the planned ones: {', '.join(odd[:3])}"


def _archive(path: Path, probe: Content) -> Iterator[str]:
    found = list(_inside(path, probe))
    if not found and (digest := file_sha256(path)) != probe["samples_sha256"]:
        found = [f"its sha256 is {digest}, its probe kept {probe['samples_sha256']}"]
    yield from found


def _inside(path: Path, probe: Content) -> Iterator[str]:
    try:
        with zipfile.ZipFile(path) as bundle:
            names = bundle.namelist()
            if damaged := bundle.testzip():
                yield f"{damaged} is damaged"
                return
        samples = read_scenario({probe["cell"]["library"]: path})[probe["cell"]["library"]]
    except (OSError, zipfile.BadZipFile, KeyError, AugmarkError) as error:
        yield f"cannot be read: {str(error).partition(chr(10))[0]}"
        return
    told = {row["sample"] for row in probe["rows"].values() if row.get("sample")}
    kept = {name for name in names if not name.startswith(INPUTS)}
    yield from (f"{name} is missing, its probe has it" for name in sorted(told - kept))
    yield from (f"{name} is in it, its probe says nothing of it" for name in sorted(kept - told))
    for transform, sample in samples.items():
        found = inputs_digest([sample.inputs[f"item{index}"] for index in range(len(sample.inputs))])
        if found != sample.inputs_digest:
            yield f"{transform}: its inputs have the digest {found}, not {sample.inputs_digest}"
            return
