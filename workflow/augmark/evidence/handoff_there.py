"""A handoff on the machine that it is for: is it that machine and plan, what to make, and what comes back."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from augmark.errors import AugmarkError
from augmark.evidence import private
from augmark.evidence.archive import Member, write_archive
from augmark.evidence.handoff_content import Content, require_same_plan
from augmark.evidence.package import may_be_given
from augmark.evidence.source import source_files
from augmark.files import human_bytes
from augmark.plan import Plan
from augmark.planning import plan_now, read_json
from augmark.record import read_record, replace_json
from augmark.worker import described
from augmark.worker.job import git_state

RESULT = "augmark/handoff-result/1"
MANIFEST, HANDOFF = "manifest.json", "handoff.json"


def check(handoff: Content, root: Path, args: argparse.Namespace) -> None:
    """Is this the plan, the code, the data and the machine of a handoff? Nothing is measured.

    Raises:
        AugmarkError: Says which part is another.
    """
    commit, dirty = git_state(root)
    if commit != handoff["commit"]:
        raise AugmarkError(
            f"commit: this checkout is at {commit or '(not known)'}, the handoff is of {handoff['commit']}",
            where=f"handoff {handoff['digest']}",
            remedy=f"git checkout {handoff['commit']}" if handoff["commit"] else "use a copy without git",
        )
    if dirty and not handoff["stamp"]:
        raise AugmarkError(
            "code: this checkout has changes that are not committed",
            where=f"handoff {handoff['digest']}",
            remedy="use a clean clone (`git status` shows them)",
        )
    plan = plan_of_handoff(handoff, root, args)
    described.check_machine(plan)
    for name, content in handoff["probes"].items():
        # What is left of a block is measured from the probe that its first cells were measured from.
        _put(plan.output / name, content, "probe")


def plan_of_handoff(handoff: Content, root: Path, args: argparse.Namespace) -> Plan:
    """The plan here of what a handoff asks for, with the keys that the command line adds (where data lie).

    Raises:
        AugmarkError: It is another plan, or the data that it needs are not named.
    """
    plan = plan_here(handoff, root, args)
    for number, stage in enumerate(handoff["stages"], start=1):
        _put(plan.topup_file(number), stage, "stage of topup")
    if handoff["stages"]:
        plan = plan_here(handoff, root, args)
    require_same_plan(handoff, plan)
    return plan


def plan_here(handoff: Content, root: Path, args: argparse.Namespace) -> Plan:
    """The plan that a handoff's keys give here, whether it is the handoff's or not."""
    from augmark.cli import said

    own, _, python = said(args)
    named = {key: about for key, about in handoff["datasets"].items() if not about["declared"]}
    for key, about in named.items():
        if key not in own:
            raise AugmarkError(
                f"{key}: data that are in no datasets.yaml: {about['name']} (sha256 {about['digest']})",
                where=f"handoff {handoff['digest']}",
                remedy=f"say where they lie: {key}=/path/of/{about['name']}.tar",
            )
    keys = {key: value for key, value in handoff["config"].items() if key not in named}
    return plan_now(root, {**keys, **own}, machine=handoff["machine"]["id"], python=python)


def _put(path: Path, content: Content, what: str) -> None:
    if not path.exists():
        replace_json(path, content)  # the same bytes as where it was written first
    elif read_json(path) != content:
        raise AugmarkError(
            f"another {what} is there than the handoff's",
            where=str(path),
            remedy="give this run an output folder of its own: output=FOLDER",
        )


def targets(handoff: Content, plan: Plan) -> list[Path]:
    """What `snakemake` has to make: the records, and the samples that say what is the same work."""
    records = [plan.output / "records" / cell["path"] for cell in handoff["cells"]]
    return [*records, *(plan.output / name for name in handoff["samples"])]


def pack(handoff: Content, plan: Plan, root: Path, folder: Path, *, samples: bool) -> int:
    """Pack what was measured, the same files to the same bytes; 1 where cells of the handoff are missing.

    Args:
        folder: Where the archive goes.
        samples: Also those of data that may not be given away.

    Raises:
        AugmarkError: There is no record, one is damaged, or something says who measured or where.
    """
    there = [cell for cell in handoff["cells"] if (plan.output / "records" / cell["path"]).exists()]
    missing = [cell["path"] for cell in handoff["cells"] if cell not in there]
    if not there:
        raise AugmarkError(
            f"none of the {len(missing)} cells has a record",
            where=str(plan.output / "records"),
            remedy="run the handoff's script: it measures them",
        )
    ends = [datetime.fromisoformat(_record(plan, cell)["ended"]).timestamp() for cell in there]
    given = samples or may_be_given(plan)
    files = [plan.output / "records" / cell["path"] for cell in there]
    files += [path for path in probe_files(plan) if path.exists() and (given or path.suffix == ".json")]
    members = [Member(path.relative_to(plan.output).as_posix(), path) for path in files]
    members.append(Member(HANDOFF, (json.dumps(handoff, indent=1) + "\n").encode()))
    manifest = {
        "schema": RESULT,
        "handoff": handoff["digest"],
        "plan": plan.digest,
        "files": {
            each.name: {"sha256": each.sha256, "bytes": each.size} for each in sorted(members, key=_name)
        },
        "missing": missing,
    }
    members.append(Member(MANIFEST, (json.dumps(manifest, indent=1) + "\n").encode()))
    source = [Member(path.relative_to(root).as_posix(), path) for path in source_files(root)]
    private.check_private(members, private.of_this_machine([root, plan.output], source))
    name = f"handoff.{plan.machine}.{handoff['digest']}"
    out = folder / f"{name}.tar.gz"
    write_archive(out, name, members, int(max(ends)))
    print(f"{out}: {human_bytes(out.stat().st_size)}, {len(there)} records of {len(handoff['cells'])} cells")
    if not given:
        print(
            "  without samples, which show data that may not be given away: --samples packs them all the same"
        )
    for path in missing:
        print(f"  missing: {path}")
    print(f"  send it back; there: augmark import {out.name}")
    return 1 if missing else 0


def _name(member: Member) -> str:
    return member.name


def _record(plan: Plan, cell: Content) -> dict[str, Any]:
    return read_record(plan.output / "records" / cell["path"])


def probe_files(plan: Plan) -> Iterator[Path]:
    """Every probe of a plan, and its samples."""
    for key in plan.content["definitions"]:
        yield plan.probe_path(*key.split("/"))
        yield plan.samples_path(*key.split("/"))
