"""What a handoff says: the cells, what they are made of by digest, where they can run, and what follows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from augmark.analysis import sampled
from augmark.cell import short_digest
from augmark.config.files import check_schema
from augmark.errors import AugmarkError
from augmark.estimate import cell_estimate
from augmark.machines import plan_needs
from augmark.machines.abilities import left, why_not_here
from augmark.plan import Plan, public
from augmark.planning import decided_stages
from augmark.worker import described

SCHEMA = "augmark/handoff/1"
STANZA = ("id", "title", "vcpus", "cpu_model", "memory_gb", "devices", "gpu_model")
CELL = ("path", "scenario", "mode", "library", "device", "repeat", "digest")
SHOWN = 6
AGAIN = "have it sent again, as `augmark handoff` wrote it"
# Of a plan, what is told as a whole -> as the file that it comes from; other parts are told one by one.
WHOLE = {
    "policy": "policy.yaml",
    "scenarios": "items and scenarios.yaml",
    "libraries": "titles in libraries.yaml",
    "definitions": "rows (transforms.yaml, libraries.yaml, depths)",
    "tables": "tables.yaml",
    "claims": "claims.yaml",
    "repeats": "repeats and topup",
    "question": "plan file",
}
Content = dict[str, Any]


def parts(plan: Plan) -> dict[str, str]:
    """Label -> digest of everything that a plan is made of, so that it can be said which part is another."""
    content = public(plan.content)
    told = {"python": content["python"], "machine": content["machine_stanza"]}
    told |= {f"dataset {key}": about for key, about in content["datasets"].items()}
    told |= {f"lock {name}": lock for name, lock in content["locks"].items()}
    for key, its in content["definitions"].items():
        told[f"code {key}"] = [its["code_digest"], its["regimes_digest"]]
    told |= {f"config {key}": value for key, value in content["config"].items()}
    told |= {f"--config {key}": value for key, value in content["overrides"].items()}
    told |= {words: content[name] for name, words in WHOLE.items()}
    return {label: short_digest(value) for label, value in told.items()}


def differing(handoff: Content, plan: Plan) -> list[str]:
    """Labels of the parts in which a plan is not that of a handoff; what rests on others comes last."""
    here, there = parts(plan), handoff["plan"]["parts"]
    return [label for label in {**there, **here} if here.get(label) != there.get(label)]


def require_same_plan(handoff: Content, plan: Plan) -> None:
    """Refuse a plan that is not that of the handoff.

    Raises:
        AugmarkError: Names the parts that differ.
    """
    if plan.digest == handoff["plan"]["digest"]:
        return
    found = differing(handoff, plan)
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    raise AugmarkError(
        f"the plan here is {plan.digest}, the handoff's {handoff['plan']['digest']}; what differs: "
        f"{', '.join(found[:SHOWN]) or 'the cells'}{more}",
        where=f"handoff {handoff['digest']}",
        remedy=f"use a clean clone at commit {handoff['commit'] or '(not known)'}, with the Python that the "
        f"handoff names ({handoff['python']}) and the same data",
    )


def make_handoff(
    plan: Plan, others: Iterable[Plan], state: tuple[str | None, bool | None], root: Path
) -> Content:
    """The handoff of what a plan has left here.

    Args:
        plan: Of the other machine.
        others: Plans of the campaign's further machines.
        state: Commit, and whether the tree is dirty.
        root: The checkout.
    """
    content, cells = public(plan.content), left(plan)
    stanza = plan.content["machine_stanza"]
    seconds = [cell_estimate(plan, cell) for cell in cells]
    said = {
        "schema": SCHEMA,
        "campaign": content["campaign"],
        "depth": content["depth"],
        "stamp": content["stamp"],
        "commit": state[0],
        "dirty": state[1],
        "machine": {key: stanza[key] for key in STANZA if key in stanza},
        "interface": " ".join(described.describe(stanza).split()),  # one line, whatever its title
        "why": why_not_here(stanza, plan.machine, root),
        "python": content["python"],
        "config": content["overrides"],
        "plan": {"digest": plan.digest, "parts": parts(plan)},
        "locks": content["locks"],
        "code": {key: its["code_digest"] for key, its in content["definitions"].items()},
        "datasets": dict(_datasets(plan)),
        "cells": [{key: cell[key] for key in CELL} for cell in cells],
        "samples": _samples(plan, cells),
        "probes": dict(_probes(plan, cells)),
        "stages": decided_stages(plan),
        "needs": _needs(plan, root),
        "expected": {
            "seconds": round(sum(each.seconds for each in seconds)),
            "known": all(each.known for each in seconds),
        },
        "preflight": f"augmark doctor --config {' '.join(words(plan))}",
        "run": f"snakemake --config {' '.join(words(plan))} -- RECORDS",
        "afterwards": {
            "tables": list(content["tables"]),
            "make": f"snakemake paper_tables --config {' '.join(words(plan))}",
            "not_run": _not_run(others, root),
        },
    }
    return {**said, "digest": short_digest(said)}


def words(plan: Plan) -> list[str]:
    """What stands after ``--config`` so that this plan is meant: the machine, and every key that was given.

    But data that were named by a path: where they lie is each machine's own matter.
    """
    own = {key for key, about in _datasets(plan) if not about["declared"]}
    given = {key: value for key, value in public(plan.content)["overrides"].items() if key not in own}
    return [
        f"machine={plan.content['machine_stanza']['id']}",
        *(f"{key}={_word(given[key])}" for key in given),
    ]


def _word(value: Any) -> str:
    if value is None:
        return "null"
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _datasets(plan: Plan) -> Iterator[tuple[str, Content]]:
    """What a plan's data are called and where they come from; never where they lie on this machine."""
    facts = ("name", "kind", "digest", "origin", "licence", "redistribute")
    for key, about in plan.content["datasets"].items():
        # One that was named by its path is told by its digest alone: whoever measures says where it lies.
        declared = about["name"] == plan.content["config"][key]
        yield key, {**{fact: about[fact] for fact in facts}, "declared": declared}


def _samples(plan: Plan, cells: Iterable[Mapping[str, Any]]) -> list[str]:
    """Sample archives that say what is the same work, of the handed cells and not here: tables need them."""
    wanted = {(cell["scenario"], cell["library"]) for cell in cells}
    return [
        path.relative_to(plan.output).as_posix()
        for scenario, libraries in sampled.archives(plan).items()
        for library, path in libraries.items()
        # With a probe that is here its samples were taken, or left out: nothing is probed anew for them.
        if (scenario, library) in wanted and not path.with_suffix("").with_suffix(".json").exists()
    ]


def _probes(plan: Plan, cells: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, Content]]:
    """Probes of the handed cells' blocks that are here: further cells are measured from the same ones."""
    for block in dict.fromkeys((cell["scenario"], cell["mode"], cell["device"]) for cell in cells):
        for path in plan.block_probes(*block):
            if path.exists():
                yield path.relative_to(plan.output).as_posix(), json.loads(path.read_text(encoding="utf-8"))


def _needs(plan: Plan, root: Path) -> Content:
    """What a host has to have on which nothing is there, in bytes; ``disk_known``: no part is left out."""
    bare = replace(plan, output=plan.output / "nothing-is-here")
    parts_of_disk = plan_needs.wanted(bare, root, downloads={}, conda=False).output
    rows = plan_needs.run_needs(plan)
    return {
        "memory_bytes": max(rows.memory_bytes.values(), default=0),
        "shared_memory_bytes": max(rows.shared_memory_bytes.values(), default=0),
        "disk_bytes": sum(size or 0 for _, size in parts_of_disk),
        "disk_known": all(size is not None for _, size in parts_of_disk),
    }


def _not_run(others: Iterable[Plan], root: Path) -> dict[str, Content]:
    found = {}
    for plan in others:
        if cells := left(plan):
            why = why_not_here(plan.content["machine_stanza"], plan.machine, root)
            found[plan.machine] = {"cells": len(cells), "why": why}
    return found


def read_handoff(path: Path) -> Content:
    """Read a handoff and check that it is as it was written.

    Raises:
        AugmarkError: It cannot be read, does not follow its schema, or was changed.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise AugmarkError(f"cannot be read: {error}", where=str(path), remedy=AGAIN) from error
    return checked(content, str(path))


def checked(content: Any, where: str) -> Content:
    """A handoff that follows its schema and has its digest.

    Raises:
        AugmarkError: It does not.
    """
    wrong = [f"{problem.key}: {problem.message}" for _, problem in check_schema(content, "handoff", where)]
    if not wrong:
        found = short_digest({key: value for key, value in content.items() if key != "digest"})
        wrong = (
            []
            if found == content["digest"]
            else [f"its digest is {content['digest']}, its content's {found}"]
        )
    if wrong:
        raise AugmarkError(f"is no handoff: {'; '.join(wrong[:3])}", where=where, remedy=AGAIN)
    return content
