"""``augmark handoff`` and ``augmark import``: cells for another machine, and what comes back from it."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

from augmark.errors import AugmarkError
from augmark.plan import Plan

FOLDER = "handoff"  # below the output folder


def add_command(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the two commands."""
    words = "cells that this machine cannot run, as a JSON and a script for a machine that can"
    handoff = commands.add_parser("handoff", parents=[common], help=words)
    handoff.add_argument(
        "--machine", metavar="NAME", help="of machines.yaml; default: all that are not this host"
    )
    handoff.add_argument("--out", type=Path, metavar="FOLDER", help="default: OUTPUT/handoff")
    there = handoff.add_mutually_exclusive_group()
    there.add_argument(
        "--check", type=Path, metavar="FILE", help="there: is this the machine, plan and data?"
    )
    there.add_argument("--targets", type=Path, metavar="FILE", help="there: what snakemake has to make")
    there.add_argument(
        "--pack", type=Path, metavar="FILE", help="there: pack the records for `augmark import`"
    )
    handoff.add_argument(
        "--samples", action="store_true", help="pack samples of data that may not be given away"
    )
    handoff.set_defaults(answer=handoff_command, without_plan=True)
    words = "take in what a handoff brought back, once all of it is verified; 1 where cells are left"
    taken = commands.add_parser("import", parents=[common], help=words)
    taken.add_argument(
        "file", type=Path, metavar="FILE", help="the archive that `augmark handoff --pack` made"
    )
    taken.set_defaults(answer=import_command, without_plan=True)


def handoff_command(root: Path, args: argparse.Namespace) -> int:
    """Write handoffs; or, on the other machine, check one, name its targets, pack what was measured."""
    from augmark.evidence import handoff_there as there
    from augmark.evidence.handoff_content import read_handoff

    given = args.check or args.targets or args.pack
    if given is None:
        return _write(root, args)
    handoff = read_handoff(given)
    if args.check:
        there.check(handoff, root, args)
        print(f"handoff {handoff['digest']}: plan, locks, code, data and this host are those of the handoff")
        return 0
    plan = there.plan_of_handoff(handoff, root, args)
    if args.targets:
        print("\n".join(str(path) for path in there.targets(handoff, plan)))
        return 0
    return there.pack(handoff, plan, root, args.out or plan.output / FOLDER, samples=args.samples)


def import_command(root: Path, args: argparse.Namespace) -> int:
    """Take in the result of a handoff; 0 where nothing is left of that machine's plan, 1 where cells are."""
    from augmark.evidence.takeover import take_in

    return take_in(args.file, root, args)


def _write(root: Path, args: argparse.Namespace) -> int:
    from augmark.machines.abilities import left, why_not_here
    from augmark.worker.job import git_state

    plans = _plans(root, args)
    wanted = args.machine or (args.selected.machine if args.selected else None)
    if wanted:
        chosen = [plan for plan in plans if plan.content["machine_stanza"]["id"] == wanted]
    else:
        # What declares no processor is whatever an engine gives: its own profile measures there.
        declared = [plan for plan in plans if plan.content["machine_stanza"]["cpu_model"] is not None]
        chosen = [
            plan for plan in declared if why_not_here(plan.content["machine_stanza"], plan.machine, root)
        ]
    state = git_state(root)
    for plan in chosen:
        if not left(plan):
            print(f"{plan.machine}: every planned cell has a record here: nothing to hand over")
            continue
        others = [other for other in plans if other.machine != plan.machine]
        _write_one(plan, others, state, root, args.out or plan.output / FOLDER)
    if not chosen:
        raise AugmarkError(
            "no machine of this campaign is another one than this host",
            where="augmark handoff",
            remedy="name one, and a campaign that has it: --machine c4-standard-16 --config campaign=paper",
        )
    return 0


def _plans(root: Path, args: argparse.Namespace) -> list[Plan]:
    """The plans of the campaign's machines but `local`: the named one first is refused where it has none."""
    from augmark.cli import said
    from augmark.config.load import load
    from augmark.config.select import combinations
    from augmark.planning import plan_now
    from augmark.worker.described import LOCAL

    overrides, machine, python = said(args)
    named = args.machine = args.machine or machine
    if named == LOCAL:
        raise AugmarkError(
            "machine local is this host, whichever it is",
            where="--machine",
            remedy="measure here with `snakemake paper_tables`, or name a machine of machines.yaml",
        )
    if named:
        plan_now(root, overrides, machine=named, python=python)  # says what is wrong with the name
    places = combinations(load(root, overrides))
    machines = [name for name in dict.fromkeys(place[0] for place in places) if name != LOCAL]
    return [plan_now(root, overrides, machine=name, python=python) for name in machines]


def _write_one(
    plan: Plan, others: list[Plan], state: tuple[str | None, bool | None], root: Path, folder: Path
) -> None:
    """Write JSON and script, and say what to do with them; where files lie is said here, and not in them."""
    from augmark.estimate import duration
    from augmark.evidence import handoff_content, private
    from augmark.evidence.archive import Member
    from augmark.evidence.handoff_script import script
    from augmark.evidence.source import source_files
    from augmark.files import human_bytes, whole_file

    _refuse(plan, state)
    made = handoff_content.make_handoff(plan, others, state, root)
    name = f"handoff.{plan.machine}.{made['digest']}"
    expected, given = made["expected"], plan.content["overrides"]
    own = " ".join(
        f"{key}={given[key]}" for key in ("output", *made["datasets"]) if _is_path(key, given, made)
    )
    time = f"{'about' if expected['known'] else 'at least'} {duration(expected['seconds'])}"
    texts = {
        f"{name}.json": json.dumps(made, indent=1) + "\n",
        f"{name}.sh": script(made, name, handoff_content.words(plan), time),
    }
    source = [Member(path.relative_to(root).as_posix(), path) for path in source_files(root)]
    names = private.of_this_machine([root, plan.output], source)
    # A script names `/usr/bin/env`; whatever is private in it stands in the JSON, too.
    private.check_private([Member(f"{name}.json", texts[f"{name}.json"].encode())], names)
    for file, text in texts.items():
        with whole_file(folder / file) as part:
            part.write_text(text, encoding="utf-8")
            os.chmod(part, 0o755 if file.endswith(".sh") else 0o644)
    needs = made["needs"]
    disk = f"{human_bytes(needs['disk_bytes'])} of disk{'' if needs['disk_known'] else ' or more'}"
    print(f"{plan.machine}: {len(made['cells'])} cells, {time}, {disk}; needs {made['interface']}")
    if made["dirty"]:
        print("  the tree is dirty: a clone of the commit alone will not have the same plan, and says so")
    for line in (
        f"{folder / name}.json",
        f"{folder / name}.sh: run it there, in the root of a clean clone: bash {name}.sh",
        f"then, here: augmark import {name}.tar.gz{f' --config {own}' if own else ''}",
        f"and: {made['afterwards']['make']}{f' {own}' if own else ''}",
    ):
        print(f"  {line}")
    for machine, told in made["afterwards"]["not_run"].items():
        print(
            f"  left all the same: {machine}: {told['cells']} cells"
            + (f", {told['why']}" if told["why"] else "")
        )


def _is_path(key: str, given: dict[str, Any], made: dict[str, Any]) -> bool:
    return key in given and not made["datasets"].get(key, {"declared": False})["declared"]


def _refuse(plan: Plan, state: tuple[str | None, bool | None]) -> None:
    """Refuse a handoff that nobody could obey.

    Raises:
        AugmarkError: The machine is not described; at a depth that claims something, the commit is not known
            or the tree is dirty.
    """
    commit, dirty = state
    if plan.content["machine_stanza"]["cpu_model"] is None:
        raise AugmarkError(
            f"machine {plan.machine} declares no processor: any host would pass for it",
            where="config/machines.yaml",
            remedy="describe it (`augmark doctor --describe` prints a stanza), or use its own profile",
        )
    if not plan.content["stamp"] and (commit is None or dirty):
        raise AugmarkError(
            "the tree is dirty" if dirty else "the commit is not known",
            where="augmark handoff",
            remedy=f"commit first: at depth {plan.content['depth']} both machines run the same commit",
        )
