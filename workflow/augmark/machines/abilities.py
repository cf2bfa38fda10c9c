"""What a machine is not for, and why this host cannot run what is planned for one: reasons of ``not-run``.

Every question that shows such cells has its words from here. Standard library only, but for profiles.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from augmark import fingerprint, profiles
from augmark.modes import accelerator, mode_facts
from augmark.plan import Plan
from augmark.worker import described

Stanza = Mapping[str, Any]


def not_for(stanza: Stanza, scenario: str, mode: str, device: str = "cpu") -> str | None:
    """Why nothing of a scenario, mode and device is planned on a machine; None where something may be.

    Args:
        stanza: Of ``machines.yaml``, with its ``id`` where it has one.
    """
    name, devices = stanza.get("id", "this machine"), stanza["devices"]
    if mode_facts(mode).copies and accelerator(devices) is None:
        return f"needs a device to copy to (cuda or mps), and machine {name} has {', '.join(devices)} alone"
    if device not in devices:
        return f"needs a {device} device, and machine {name} has {', '.join(devices)} alone"
    only = stanza.get("measures", {})
    for kind, value in (("scenarios", scenario), ("modes", mode)):
        if value not in only.get(kind, [value]):
            return f"machines.yaml: {name} measures {', '.join(only[kind])} alone"
    return None


def why_not_here(stanza: Stanza, machine: str, root: Path) -> str | None:
    """Why this host cannot run what is planned for a machine; None where it can.

    Args:
        stanza: Of ``machines.yaml`` with its ``id``.
        machine: Its complete id (``local-3f9a``).
        root: The project's root, for its profiles.
    """
    if stanza["id"] == described.LOCAL:
        here = fingerprint.local_machine()
        return None if here == machine else f"needs the host {machine}; this one is {here}"
    if engine := engine_of(root, stanza["id"]):
        return f"needs an engine: `snakemake --profile {engine}` submits to it"
    wrong = list(described.differences(stanza, described.identity(stanza)))
    if not wrong:
        return None
    device = accelerator(stanza["devices"])
    needs = f"needs a {device} device: " if device else "needs "
    return f"{needs}machine {machine} ({described.describe(stanza)}); of this host: {'; '.join(wrong)}"


def engine_of(root: Path, machine: str) -> str | None:
    """The profile by which a machine is reached through an engine, None where a host is used directly."""
    for name in profiles.names(root):
        profile = profiles.read_profile(root, name)
        if profile.machine == machine and profile.engine:
            return name
    return None


def left(plan: Plan) -> list[dict[str, Any]]:
    """The cells of a plan that have no record here."""
    return [cell for cell in plan.cells() if not (plan.output / "records" / cell["path"]).exists()]


def not_run_lines(plan: Plan, root: Path) -> Iterator[str]:
    """In words, the cells of a plan that are left and that this host cannot run; nothing where it can."""
    cells = left(plan)
    reason = why_not_here(plan.content["machine_stanza"], plan.machine, root) if cells else None
    if reason is None:
        return
    yield f"{plan.machine}: {counted(len(cells), 'cell')} not-run: {reason}"
    for place, count in Counter((cell["scenario"], cell["mode"], cell["device"]) for cell in cells).items():
        yield f"  {' '.join(place)}: {counted(count, 'cell')}"
    if plan.content["machine_stanza"]["cpu_model"] is not None:
        yield f"  `augmark handoff --machine {plan.machine}` writes what runs them there"


def counted(count: int, word: str) -> str:
    """``1 cell``, ``3 cells``."""
    return f"{count} {word}{'s' if count != 1 else ''}"
