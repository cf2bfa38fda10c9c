"""Plans of copies of the project, and records of them as if everything had been measured: in no time."""

import json
import platform
import subprocess
import sys

from augmark.record import replace_json
from tests.analysis.synthetic import DATASET, make_record, measured

COMMIT = "c0ffee0123456789c0ffee0123456789c0ffee01"
SESSION = "20261130T100000Z-1"
_PRINT = """
import json, sys
from pathlib import Path
from augmark.cli import parse_overrides
from augmark.planning import plan_now
plan = plan_now(Path("."), parse_overrides(sys.argv[2:]))
files = [str(plan.topup_file(stage)) for stage in (1, 2)]
Path(sys.argv[1]).write_text(json.dumps({"content": plan.content, "topup": files}))
"""


def plan_of(project, *keys, topup=False):
    """The plan of a copy as its own code makes it; with ``topup``, where two stages of it are looked for."""
    out = project.root / "plan-of-a-test.json"
    words = [sys.executable, "-c", _PRINT, str(out), *keys]
    done = subprocess.run(
        words, cwd=project.root, env=project.environment(), capture_output=True, text=True, check=False
    )
    assert 0 == done.returncode, done.stderr
    told = json.loads(out.read_text())
    out.unlink()
    return (told["content"], told["topup"]) if topup else told["content"]


def records_of(plan, session=SESSION):
    """Path below ``records`` -> a whole record, for every cell of a plan: each row took a millisecond."""
    dataset = {**DATASET, **{name: plan["datasets"]["images"][name] for name in ("name", "digest")}}
    found = {}
    for cell in plan["cells"]:
        key = "/".join(cell[part] for part in ("scenario", "mode", "library", "device"))
        definition = plan["definitions"][key]
        record = make_record(
            {**plan, "cells": [cell]},
            cell["library"],
            cell["repeat"],
            {row["transform"]: measured(0.001) for row in definition["rows"]},
            session=session,
            config=plan["config"],
            code={"digest": definition["code_digest"], "git_commit": COMMIT, "git_dirty": False},
            dataset={
                **dataset,
                "manifest_digest": "m" * 64,
                "common_items": 256,
                "items_digest": definition["items_digest"],
                "items": 48,
                "bytes": 1,
                "widths": [1, 1, 1],
                "heights": [1, 1, 1],
            },
            environment={
                "lock_digest": definition["lock_digest"],
                "python": platform.python_version(),
                "packages": {"numpy": "2.4.6"},
                "variables": {},
                "build": None,
            },
        )
        found[cell["path"]] = record
    return found


def write_records(project, records):
    """Put records into a copy's results."""
    for path, record in records.items():
        place = project.results / "records" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        replace_json(place, record)
