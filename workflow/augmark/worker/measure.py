"""``measure``: one cell -> one record. Succeeds whatever its rows' statuses are."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

import psutil

from augmark import fingerprint, host, locks, record
from augmark.data.dossier import dossier
from augmark.errors import AugmarkError
from augmark.modes import PLAIN
from augmark.plan import public
from augmark.worker import described, supervise, variables
from augmark.worker import job as jobs
from augmark.worker.probe import problem, tally

Row = dict[str, Any]


def measure(job: jobs.Job) -> None:
    """Measure what is not carried over from an earlier record, and write the record once."""
    if is_there(job):
        return
    started, load_before = time.time() - _seconds_running(), host.load()
    probe = read_probe(job)
    probed = probe["rows"]
    carried = {} if job.fresh else carried_rows(job)
    todo = jobs.in_seeded_order(job, rows_to_time(job, probed, carried))
    with jobs.machine_to_itself(job.cell.label, job) as waited_seconds:
        if is_there(job):
            return
        outcome = jobs.run_rows(job, "measure", todo, dict(_settings(job))) if todo else supervise.Outcome()
    rows = [_final_row(job, planned, probed, carried, outcome) for planned in job.definition["rows"]]
    content = _content(job, rows, outcome, [row["id"] for row in outcome.rows])
    content.update(
        probe_seal=probe["seal"],
        started=record.iso(started),
        ended=record.iso(time.time()),
        # From the start of the interpreter on; waiting for the machine is nobody's measuring time.
        wall_seconds=_seconds_running() - waited_seconds,
        timed_seconds=sum(row["timed_seconds"] for row in rows if not row["carried"]),
        load_before=load_before,
        load_after=host.load(),
    )
    content["seal"] = record.seal_of(content)
    wrong = record.problems(content)
    if wrong:
        raise AugmarkError(f"the record is not whole: {'; '.join(wrong[:5])}", where=str(job.out))
    if not record.write_once(job.out, content):
        print(f"{job.cell.label}: a record was there already and stays", flush=True)
    tally(job.cell.label, rows)


def is_there(job: jobs.Job) -> bool:
    """Whether somebody else has measured the cell meanwhile: a job that an engine had still, or another run.

    Raises:
        AugmarkError: What is there is no whole record.
    """
    if job.fresh or not job.out.exists():
        return False
    record.read_record(job.out)
    print(f"{job.cell.label}: a record is there already and stays", flush=True)
    return True


def _seconds_running() -> float:
    """Since this process was started, its interpreter's own start included."""
    known = host.seconds_running()
    return time.time() - psutil.Process().create_time() if known is None else known


def read_probe(job: jobs.Job) -> Row:
    """What the probe of a cell says: its ``rows``, by id, and its ``seal``.

    Raises:
        AugmarkError: It cannot be read, or is not what was written.
    """
    cell = job.cell
    path = job.plan.probe_path(cell.scenario, cell.mode, cell.library, cell.device)
    try:
        probe = json.loads(path.read_text(encoding="utf-8"))
        wrong = problem(probe)
    except (OSError, ValueError) as error:
        wrong = str(error)
    if wrong:
        remedy = "delete it and run the same command again: the library is probed again"
        raise AugmarkError(f"the probe cannot be read: {wrong}", where=str(path), remedy=remedy)
    return probe


def carried_rows(job: jobs.Job) -> dict[str, Row]:
    """Rows of earlier records of this cell that are still what is planned, by digest, newest first."""
    found: dict[str, tuple[str, Row]] = {}
    for path in sorted(job.out.parent.glob(f"r{job.cell.repeat}.*.json")):
        if path == job.out:
            continue
        try:
            earlier = record.read_record(path)
        except AugmarkError as error:
            # History of another schema, or damaged: its rows are measured again, and the file stays.
            print(f"{job.cell.label}: nothing is carried over from {error}", file=sys.stderr)
            continue
        for row in earlier["rows"]:
            key = row["digest"]
            if row["status"] in record.MEASURED and (key not in found or found[key][0] < row["started"]):
                origin = row["carried_from"] or provenance(earlier)
                found[key] = (row["started"], {**row, "carried": True, "carried_from": origin})
    return {key: row for key, (_, row) in found.items()}


def provenance(earlier: Row) -> Row:
    """What a row takes with it when it is carried into another record: where and by what it was measured."""
    known = {key: earlier[key] for key in ("digest", "started", "host", "machine", "code", "load_before")}
    environment = {key: earlier["environment"][key] for key in ("lock_digest", "python", "variables")}
    return {**known, "environment": environment}


def rows_to_time(job: jobs.Job, probed: dict[str, Row], carried: dict[str, Row]) -> list[Row]:
    """The rows that this process has to time, with what the probe said of each."""
    rows = []
    for planned in job.definition["rows"]:
        if planned["planned"] != "run" or planned["digest"] in carried or planned["id"] in job.too_large:
            continue
        seen = probed[planned["id"]]
        if seen["status"] in record.MEASURED:
            told = {key: seen[key] for key in ("loops", "shape", "dtype")}
            rows.append(
                {
                    **planned,
                    **told,
                    "probed": seen["status"],
                    "probe_reason": seen["reason"],
                    # The same for every library and condition: they draw the same, where they can.
                    "seed": jobs.row_seed(job, planned["transform"]),
                }
            )
    return rows


def _settings(job: jobs.Job) -> Row:
    """What the worker is told of the whole cell: how many items, and the timing rules."""
    return {
        **job.definition["timing"],
        "items": len(job.items["names"]),
        "device": job.cell.device,
        # Of the order of items in each epoch: the same for every library and row.
        "order_seed": jobs.row_seed(job, "epochs"),
    }


def _final_row(
    job: jobs.Job, planned: Row, probed: dict[str, Row], carried: dict[str, Row], outcome: supervise.Outcome
) -> Row:
    digest = planned["digest"]
    if planned["planned"] == "run" and digest in carried:
        return carried[digest]
    row = record.blank_row(planned, job.session)
    if planned["planned"] != "run":
        return {**row, "status": planned["planned"], "reason": planned["reason"]}
    timed = next((result for result in outcome.rows if result["id"] == planned["id"]), None)
    if timed is None:
        seen = probed[planned["id"]]
        if seen["status"] in record.MEASURED and planned["id"] in job.too_large:
            return {**row, "status": "oom", "reason": f"not started: {job.too_large[planned['id']]}"}
        where = "" if seen["status"] == "unsupported" else "in the probe: "
        return {**row, "status": seen["status"], "reason": f"{where}{seen['reason']}"}
    row.update(
        {key: timed[key] for key in record.ROW_FIELDS if key in timed and key not in ("started", "ended")}
    )
    row.update(started=record.iso(timed["started"]), ended=record.iso(timed["ended"]))
    row["flags"] = _flags(job, planned, timed, outcome)
    return row


def _flags(job: jobs.Job, planned: Row, timed: Row, outcome: supervise.Outcome) -> list[str]:
    flags = list(timed.get("flags", []))
    loader, declared = timed.get("loader"), planned["threads"]
    read = loader["threads_in_workers"] if loader else [timed.get("threads_read") or {}]
    if declared is not None and any(count != declared for pools in read for count in pools.values()):
        flags.append("threads")
    if loader and loader["oversubscribed"]:
        flags.append("oversubscribed")
    if timed["status"] == "ok" and timed["items"] < len(job.items["names"]):
        flags.append("reduced-items")
    resident = outcome.processes[timed["process"]]["resident"]
    if resident is not None and resident < 1.0:  # None: the kernel cannot be asked, as the record says
        flags.append("not-resident")
    return flags


def _content(job: jobs.Job, rows: list[Row], outcome: supervise.Outcome, order: list[str]) -> Row:
    plan, about = public(job.plan.content), job.plan.content["scenarios"][job.cell.scenario]
    dataset = plan["datasets"][about["dataset"]]
    commit, dirty = jobs.git_state()
    packages = {name: versions[0] for name, versions in locks.installed().items()}
    distribution = plan["libraries"][job.cell.library]["distribution"]
    return {
        "schema": record.SCHEMA,
        "cell": job.cell.as_dict(),
        "digest": job.definition["digest"],
        "depth": plan["depth"],
        "campaign": plan["campaign"],
        "question": plan["question"],
        "config": plan["config"],
        "overrides": plan["overrides"],
        "repeats": plan["repeats"],
        "session": job.session,
        "order": order,
        "seed": job.definition["timing"]["seed"],
        "threads": _threads(job, rows),
        "environment": {
            "lock_digest": job.definition["lock_digest"],
            "python": ".".join(map(str, sys.version_info[:3])),
            "packages": packages,
            "variables": variables.of_plain_rows(os.environ, job.definition),
            "build": _build(outcome.processes),
        },
        "dataset": dossier(dataset, job.items, job.plan.manifest(about["dataset"])),
        "host": fingerprint.fingerprint(),
        "machine": described.machine_facts(job.plan),
        "code": {"digest": job.definition["code_digest"], "git_commit": commit, "git_dirty": dirty},
        "library_version": packages.get(locks.normalise(distribution)) if distribution else None,
        "processes": outcome.processes,
        "probe": job.definition["probe_digest"],
        "plan": job.plan.digest,
        "definition": job.definition,
        "rows": rows,
    }


def _build(processes: list[Row]) -> Row | None:
    """How the libraries were built, of the first process that lived to tell it: all run the same ones."""
    told = [process.pop("build", None) for process in processes]
    return next((build for build in told if build is not None), None)


def _threads(job: jobs.Job, rows: list[Row]) -> Row:
    """Threads of the plain rows: what was declared (None: as the library leaves them) and what was found."""
    plain = [planned["threads"] for planned in job.definition["rows"] if planned["condition"] == PLAIN]
    read = [row for row in rows if row["condition"] == PLAIN and row["threads_read"] and not row["carried"]]
    loaders = [row["loader"]["threads_in_workers"] for row in read if row["loader"]]
    found = loaders[-1][:1] if loaders else [row["threads_read"] for row in read[-1:]]
    return {"declared": plain[0] if plain else None, "read": found[0] if found else {}}
