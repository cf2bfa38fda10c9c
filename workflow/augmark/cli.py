"""The ``augmark`` command: questions about the plan and its records. Only handoff and import write files."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from augmark import __version__, cache, standing, topup
from augmark.errors import AugmarkError
from augmark.estimate import cell_estimate, duration
from augmark.evidence import handoff
from augmark.machines import doctor, quota
from augmark.plan import Plan
from augmark.profiles import Profile, another_machine, read_profile

# Modules that add a command of their own (`add_command`); what is heavy they import when they answer.
QUESTIONS: tuple[Any, ...] = (cache, doctor, handoff, quota, standing)
SHOWN_LEFT_OUT = 3  # records of an earlier schema are many, and all alike


def project_root() -> Path:
    """The checkout that the command was installed from, or the one that it is called in.

    Raises:
        AugmarkError: Neither holds a Snakefile.
    """
    for folder in (Path.cwd(), Path(__file__).resolve().parents[2]):
        if (folder / "Snakefile").is_file() and (folder / "config").is_dir():
            return folder
    raise AugmarkError(
        "no augmark project here", where=str(Path.cwd()), remedy="change into the project's root"
    )


def parse_overrides(pairs: Sequence[str]) -> dict[str, Any]:
    """``key=value`` pairs as ``snakemake --config`` reads them (values are YAML).

    Raises:
        AugmarkError: A pair has no ``=``, or its value is no YAML.
    """
    import yaml

    found = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise AugmarkError(
                f"{pair!r} is not key=value", where="--config", remedy="write for example depth=max"
            )
        try:
            found[key] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise AugmarkError(f"{pair!r} cannot be read: {error}", where="--config") from error
    return found


def said(args: argparse.Namespace) -> tuple[dict[str, Any], str | None, str | None]:
    """Keys of config.yaml, machine (None: none is named) and Python that the arguments of a question give.

    Raises:
        AugmarkError: They name a machine beside a profile, which has its own.
    """
    from augmark.locking import OLDEST_PYTHON

    profile: Profile | None = args.selected
    given = parse_overrides(args.config)
    if profile and "machine" in given:
        raise another_machine(given["machine"], str(profile.file))
    overrides = {**(profile.overrides if profile else {}), **given}
    machine = overrides.pop("machine", profile.machine if profile else None)
    return overrides, machine, f"cpython-{OLDEST_PYTHON}" if args.sdm else None


def plan_of(root: Path, args: argparse.Namespace) -> Plan:
    """The plan that the arguments of a question speak of.

    Raises:
        AugmarkError: There is none.
    """
    from augmark.planning import plan_now

    overrides, machine, python = said(args)
    profile: Profile | None = args.selected
    engine, partition = (profile.engine, profile.partition) if profile else (None, None)
    machine = machine or "local"
    return plan_now(root, overrides, machine=machine, python=python, engine=engine, partition=partition)


def plans_of(root: Path, args: argparse.Namespace) -> list[Plan]:
    """The plan of the machine that is named, or else of this one; where a campaign is of others, theirs."""
    from augmark.config.load import load
    from augmark.config.select import combinations
    from augmark.planning import plan_now

    overrides, machine, python = said(args)
    settings = load(root, overrides)
    if machine or settings.campaigns[settings.config["campaign"]]["records"] != "fetch":
        return [plan_of(root, args)]
    machines = dict.fromkeys(place[0] for place in combinations(settings))
    return [plan_now(root, overrides, machine=name, python=python) for name in machines]


def plan_command(plan: Plan, args: argparse.Namespace) -> int:
    """Print cells, files and time."""
    content = plan.content
    print(f"{plan.asked}, depth {content['depth']}, machine {content['machine']}")
    if content["stamp"]:
        print(f"depth {content['depth']} is a {content['stamp']}")
    for key, about in content["datasets"].items():
        print(f"{key}: {about['name']} (sha256 {about['digest'][:10]}...)")
    print("\n".join(topup.schedule_lines(content, content["repeats"]["decided"])))
    counts: Counter[str] = Counter()
    total, known = 0.0, True
    print(f"\n{'cell':<58} {'rows':>5}  {'time':>9}  record")
    for cell in plan.cells():
        key = "/".join(cell[name] for name in ("scenario", "mode", "library", "device"))
        rows = [row["planned"] for row in plan.cell_definition(cell)["rows"]]
        counts.update(rows)
        there = (plan.output / "records" / cell["path"]).exists()
        estimate = cell_estimate(plan, cell)
        total, known = total + estimate.seconds, known and estimate.known
        time = "there" if there else ("" if estimate.known else ">= ") + duration(estimate.seconds)
        print(f"{key + ' r' + str(cell['repeat']):<58} {rows.count('run'):>5}  {time:>9}  {cell['path']}")
    cells = plan.cells()
    left = sum(not (plan.output / "records" / cell["path"]).exists() for cell in cells)
    print(f"\n{len(cells)} cells, {left} to measure; rows: " + _counted(counts))
    print(
        f"time left: {'about' if known else 'at least'} {duration(total)}"
        + ("" if known else " (no probe yet)")
    )
    print(f"files: {len(cells)} records below {plan.output / 'records'}")
    if args.files:
        print("\n".join(str(path) for path in plan.record_paths()))
    return 0


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))


def coverage_command(root: Path, args: argparse.Namespace) -> int:
    """Print planned rows against records; 1 where a planned row has none."""
    from augmark.analysis.coverage import render
    from augmark.analysis.matrix import without_cells
    from augmark.config.load import load
    from augmark.machines.abilities import not_run_lines

    status, plans = 0, plans_of(root, args)
    for plan in plans:
        coverage = _covered(plan)
        print(render(coverage, grid=not args.short))
        for line in not_run_lines(plan, root):
            print(line)
        status = max(status, coverage.exit_status)
    for line in without_cells(load(root, plans[0].content["overrides"]), plans):
        print(line)
    return status


def matrix_command(root: Path, args: argparse.Namespace) -> int:
    """Print rows planned and of each status per scenario, mode, library and device; 0."""
    from augmark.analysis import matrix
    from augmark.config.load import load
    from augmark.config.select import chosen
    from augmark.machines.abilities import not_run_lines

    for number, plan in enumerate(plans_of(root, args)):
        settings, lines = load(root, plan.content["overrides"]), matrix.matrix(_covered(plan))
        selected = {
            key: {name: stanzas[name] for name in chosen(settings.config[key], stanzas)}
            for key, stanzas in (("scenarios", settings.scenarios), ("libraries", settings.libraries))
        }
        print("\n" * bool(number) + f"{plan.asked}, depth {plan.content['depth']}, machine {plan.machine}\n")
        print(matrix.render(lines))
        absent = matrix.not_planned(**selected, machine=plan.content["machine_stanza"], lines=lines)
        for line in (*absent, *not_run_lines(plan, root)):
            print(line)
    return 0


def claims_command(plan: Plan, args: argparse.Namespace) -> int:
    """Print the verdict on every claim of claims.yaml; 1 where one is refused."""
    from augmark.analysis.claims import judge, refused
    from augmark.analysis.claims_files import printed
    from augmark.analysis.classes import read_classes
    from augmark.analysis.frame import read_records
    from augmark.analysis.tables import analyse

    classes = read_classes(plan.products / "tables" / "equivalence.csv")
    verdicts = judge(plan.content["claims"], analyse(read_records(plan.records_file), plan.content, classes))
    print(printed(verdicts))
    return 1 if refused(verdicts) else 0


def _covered(plan: Plan) -> Any:
    """The plan held against every record of its machine; a damaged record that is not planned is left out."""
    from augmark.analysis.coverage import cover
    from augmark.record import read_record

    folder = plan.output / "records" / plan.machine
    planned, found, left_out = set(plan.record_paths()), [], []
    for path in sorted(folder.glob("*/*/*/*/r*.json")):
        try:
            found.append(read_record(path))
        except AugmarkError as error:
            if path in planned:
                raise
            left_out.append(str(error).partition("\n")[0])
    for line in left_out[:SHOWN_LEFT_OUT]:
        print(f"augmark: left out, and not planned: {line}", file=sys.stderr)
    if len(left_out) > SHOWN_LEFT_OUT:
        print(f"augmark: and {len(left_out) - SHOWN_LEFT_OUT} more such records", file=sys.stderr)
    return cover(plan.content, found, machine=plan.machine)


def verify_command(plan: Plan, args: argparse.Namespace) -> int:
    """Recompute digests, products and claims from the raw seconds; 1 where something does not hold."""
    from augmark.evidence import answer
    from augmark.evidence.verify import examine

    found = examine(plan, Path.cwd())
    print(answer.render_json(found) if args.json else answer.render(found))
    return 1 if found.findings else 0


def parser() -> argparse.ArgumentParser:
    """The command's words. Every question takes the same keys as ``snakemake --config``."""
    top = argparse.ArgumentParser(prog="augmark", description=__doc__)
    top.add_argument("--version", action="version", version=f"augmark {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--config", nargs="+", default=[], metavar="KEY=VALUE", help="as for snakemake")
    common.add_argument("--profile", metavar="NAME", help="as for snakemake: the machine of profiles/NAME")
    common.add_argument("--sdm", choices=["conda"], help="as for snakemake: environments of envs/*.yaml")
    plan = commands.add_parser("plan", parents=[common], help="cells, expected files and time")
    plan.add_argument("--files", action="store_true", help="list every record's path")
    plan.set_defaults(answer=plan_command)
    coverage = commands.add_parser("coverage", parents=[common], help="planned rows against records")
    coverage.add_argument("--short", action="store_true", help="counts only, no grid")
    coverage.set_defaults(answer=coverage_command, without_plan=True)
    words = "rows planned and of each status, by scenario, mode, library and device"
    matrix = commands.add_parser("matrix", parents=[common], help=words)
    matrix.set_defaults(answer=matrix_command, without_plan=True)
    words = "what claims.yaml says, held against the records; 1 where a claim is refused"
    commands.add_parser("claims", parents=[common], help=words).set_defaults(answer=claims_command)
    words = "digests, order, every published number and every claim, recomputed; 1 where one does not hold"
    verify = commands.add_parser("verify", parents=[common], help=words)
    verify.add_argument("--json", action="store_true", help="findings and counts as JSON")
    verify.set_defaults(answer=verify_command)
    for module in QUESTIONS:
        module.add_command(commands, common)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Answer one question; the exit status means something (see each)."""
    args = parser().parse_args(arguments)
    try:
        root = project_root()
        os.chdir(root)  # paths of the configuration start at the root, wherever the question is asked
        args.selected = read_profile(root, args.profile) if args.profile else None
        if getattr(args, "without_plan", False):
            return args.answer(root, args)
        return args.answer(plan_of(root, args), args)
    except AugmarkError as error:
        print(f"augmark: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return 0


if __name__ == "__main__":
    sys.exit(main())
