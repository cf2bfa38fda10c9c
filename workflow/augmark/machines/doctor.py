"""``augmark doctor``: what a run needs of this machine, of its engine and of this checkout."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from augmark.machines.checks import Check
    from augmark.plan import Plan
    from augmark.profiles import Profile

SCHEMA = "augmark/doctor/1"
MEND = "mend what is named here, and look again"
REPORT = "this check itself failed, and the others went on; report it with the command that you gave"


@dataclass(frozen=True)
class Case:
    """What the doctor was asked about.

    Attributes:
        root: The project's root.
        plan: What is planned; None where that could not be made.
        profile: The machine profile that was named.
        conda: Whether conda makes the environments.
        host: Below which the kernel's files are read.
    """

    root: Path
    plan: Plan | None
    profile: Profile | None = None
    conda: bool = False
    host: Path = field(default=Path("/"))

    @property
    def engine(self) -> str | None:
        """The engine whose hosts measure, where this is none of them."""
        return self.profile.engine if self.profile and "SLURM_JOB_ID" not in os.environ else None

    @cached_property
    def facts(self) -> dict[str, Any]:
        from augmark import fingerprint

        return fingerprint.facts(self.host)

    @property
    def planned(self) -> Plan:
        """The plan, for checks that are made only where there is one."""
        assert self.plan is not None
        return self.plan


Look = Callable[[Case], "Check | Iterable[Check]"]


def add_command(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add ``augmark doctor``. It makes its plan itself: one that cannot be made is one of its findings."""
    words = "what a run needs of this machine, its engine and this checkout: ok, warn, fail, and the remedy"
    doctor = commands.add_parser("doctor", parents=[common], help=words, description=words)
    doctor.add_argument("--json", action="store_true", help="the same as JSON")
    doctor.add_argument(
        "--describe",
        action="store_true",
        help="print the stanza of machines.yaml for the machine this runs on",
    )
    doctor.set_defaults(answer=answer, without_plan=True)


def answer(root: Path, args: argparse.Namespace) -> int:
    """Print what was found; 1 where something fails, else 0."""
    if args.describe:
        print(describe())
        return 0
    found = examine(root, args)
    print(render_json(found) if args.json else render(found))
    return 1 if worst(found) == "fail" else 0


def describe() -> str:
    """The stanza of ``machines.yaml`` for this machine."""
    import platform

    from augmark.machines import stanza
    from augmark.worker import described

    found = described.identity()
    return stanza.render(found, stanza.devices_of(found, platform.system()))


def examine(root: Path, args: argparse.Namespace) -> list[Check]:
    """Make the plan, if it can be made, and look at everything that it needs."""
    from augmark.cli import plan_of
    from augmark.machines.checks import FAIL, OK, Check

    plan = None
    try:
        plan = plan_of(root, args)
        cells = len(plan.cells())
        made = Check(
            "plan", OK, f"{plan.asked}, depth {plan.content['depth']}, {plan.machine}: {cells} cells"
        )
    except Exception as error:  # whatever is broken in this checkout: that is what was asked
        made = _broken("plan", FAIL, error)
    return [made, *look(Case(root, plan, args.selected, bool(args.sdm)))]


def look(case: Case) -> list[Check]:
    """Every check of a case, in order; one that breaks is a fail, and the others still run."""
    from augmark.machines.checks import FAIL
    from augmark.machines.looks import LOOKS

    found: list[Check] = []
    for each in LOOKS:
        if (
            (each.plan and case.plan is None)
            or (each.here and case.engine)
            or (each.there and not case.engine)
        ):
            continue
        try:
            made = each.look(case)
            found.extend(made if isinstance(made, Iterable) else [made])
        except Exception as error:  # one check that breaks must not hide what the others find
            found.append(_broken(each.name, FAIL, error))
    return found


def _broken(name: str, status: str, error: Exception) -> Check:
    from augmark.errors import AugmarkError
    from augmark.machines.checks import Check

    if isinstance(error, AugmarkError):
        where = f"{error.where}: " if error.where else ""
        return Check(name, status, f"{where}{error.what}", error.remedy or MEND)
    return Check(name, status, f"{type(error).__name__}: {error}", REPORT)


def worst(found: Iterable[Check]) -> str:
    """``fail`` where one fails, else ``warn`` where one warns, else ``ok``."""
    statuses = {check.status for check in found}
    return next((status for status in ("fail", "warn") if status in statuses), "ok")


def render(found: list[Check]) -> str:
    """A line per check, columns aligned, a remedy below what is not ok; and how many there are of each."""
    width = max(len(check.name) for check in found)
    lines = []
    for check in found:
        first, *more = check.found.splitlines() or [""]
        lines.append(f"{check.status:<4}  {check.name:<{width}}  {first}".rstrip())
        lines += [f"{'':<{width + 8}}{line}".rstrip() for line in more]
        if check.remedy:
            lines.append(f"{'':<{width + 8}}remedy: {check.remedy}")
    counts = {status: sum(check.status == status for check in found) for status in ("ok", "warn", "fail")}
    return "\n".join([*lines, "", ", ".join(f"{count} {status}" for status, count in counts.items())])


def render_json(found: list[Check]) -> str:
    """The same for programs."""
    content = {"schema": SCHEMA, "status": worst(found), "checks": [check.as_dict() for check in found]}
    return json.dumps(content, indent=1, ensure_ascii=False)
