"""``probe``: does every transform of a library build, keep its contract, and how fast is it warm?"""

from __future__ import annotations

import errno
import shutil
import zipfile
from pathlib import Path
from typing import Any

from augmark import record
from augmark.cell import file_sha256
from augmark.errors import AugmarkError
from augmark.files import whole_file
from augmark.worker import job as jobs
from augmark.worker import timing

SCHEMA = "augmark/probe/3"


def probe(job: jobs.Job) -> None:
    """Probe the planned rows and write the probe, with the samples beside it."""
    planned = [row for row in job.definition["rows"] if row["planned"] == "run"]
    rules = job.definition["timing"]
    job.out.parent.mkdir(parents=True, exist_ok=True)
    samples = job.out.parent / f".samples.{job.definition['probe_digest']}"
    shutil.rmtree(samples, ignore_errors=True)  # of a probe that was killed
    samples.mkdir()
    try:
        settings = {
            **rules,
            "items": min(_items(job, planned), len(job.items["names"])),
            "probe_items": job.definition["probe_items"],
            "samples_dir": str(samples.resolve()),
            **job.definition["probe"],
        }
        with jobs.machine_to_itself(f"probe {job.cell.label}", job):
            outcome = jobs.run_rows(job, "probe", planned, settings)
        _check_samples(job, outcome.rows)
        items = len(job.items["names"])
        for row in outcome.rows:
            warm = row.get("warm_seconds_per_item")
            row["loops"] = None if warm is None else timing.loops_for(warm, items, rules["min_value_seconds"])
        archive = job.out.with_suffix(".samples.zip")
        _zip_samples(samples, archive)
        content = {
            "schema": SCHEMA,
            "cell": {key: value for key, value in job.cell.as_dict().items() if key != "repeat"},
            "digest": job.definition["probe_digest"],
            "session": job.session,
            "samples_sha256": file_sha256(archive),
            "processes": outcome.processes,
            "rows": {row["id"]: row for row in outcome.rows},
        }
        content["seal"] = record.seal_of(content)
        record.replace_json(job.out, content)
        tally(job.cell.label.rpartition(" ")[0], outcome.rows)
    finally:
        shutil.rmtree(samples, ignore_errors=True)


def problem(content: Any) -> str | None:
    """What is wrong with a probe that was read, whatever it is of; None where it is what was written."""
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        found = content.get("schema") if isinstance(content, dict) else None
        return f"has the schema {found!r}, not {SCHEMA!r}"
    if content.get("seal") != (seal := record.seal_of(content)):
        return f"its seal is {content.get('seal')}, its content gives {seal}: it is not what was probed"
    return None


def _items(job: jobs.Job, rows: list[dict[str, Any]]) -> int:
    """Items to try rows on: the declared few, or a batch of them where rows are timed in batches."""
    return max([job.definition["probe_items"], *(row["setting"].get("batched", 0) for row in rows)])


def tally(label: str, rows: list[dict[str, Any]]) -> None:
    """Say in one line of the log how the rows came out, and each that has no number."""
    counts: dict[str, int] = {}
    for row in rows:
        counts[row["status"]] = counts.get(row["status"], 0) + 1
    print(f"{label}: " + ", ".join(f"{count} {status}" for status, count in sorted(counts.items())))
    for row in rows:
        if row["status"] not in ("ok", "unsupported", "excluded"):
            print(f"  {record.row_name(row)}: {row['status']}: {row['reason']}")


def _check_samples(job: jobs.Job, rows: list[dict[str, Any]]) -> None:
    """A pin that fails costs a row its samples for good; a disk that is full must not.

    Raises:
        AugmarkError: The disk was full when samples were kept.
    """
    full = [f"[Errno {number}]" for number in (errno.ENOSPC, errno.EDQUOT)]
    for row in rows:
        if any(words in (row.get("sample_problem") or "") for words in full):
            raise AugmarkError(
                f"the disk was full when samples of {row['id']} were kept",
                where=str(job.out.parent),
                remedy="free some space and run the same command again: the library is probed again",
            )


def _zip_samples(folder: Path, archive: Path) -> None:
    with whole_file(archive) as part, zipfile.ZipFile(part, "w", zipfile.ZIP_STORED) as bundle:
        for path in sorted(folder.iterdir()):
            # A fixed date: the same outputs make the same archive.
            bundle.writestr(zipfile.ZipInfo(path.name), path.read_bytes())
