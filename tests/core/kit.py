"""What the tests of the plan share: sources that need no file, and short ways to what a plan holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from augmark.config.load import load
from augmark.plan import Plan, Sources, make_plan

ROOT = Path(__file__).resolve().parents[2]
DEMO = {"images": {"name": "demo", "kind": "demo", "source": "demo", "digest": "d" * 64}}
MICRO = {"scenarios": "image-rgb", "modes": "micro"}  # the transform alone, on RGB images
LIBRARIES = ("albumentationsx", "torchvision", "kornia", "pillow")
CONTROLS = ("control-copy", "control-slow", "control-aa")


def sources(chosen: Any, **changed: Any) -> Sources:
    """Sources in which every digest is the name of what it is of."""
    stanzas = chosen.libraries.values()
    code = {
        f"{stanza['adapter']}/{mode}"
        for stanza in stanzas
        for offer in stanza["scenarios"].values()
        for mode in offer["modes"]
    }
    code |= {f"{stanza['adapter']}/regimes" for stanza in stanzas}
    known = {
        "machine": "local-0000",
        "machine_kind": "local",
        "python": "cpython-3.11",
        "datasets": DEMO,
        "locks": {stanza["environment"]: stanza["environment"] for stanza in stanzas},
        "cpus": 2,
        "row_code": {name: name for name in code},
        "samples_code": "samples",
        "audit_code": "audit",
        "items_code": "items",
    }
    return Sources(**{**known, **changed})


def plan_of(chosen: Any = None, **changed: Any) -> Plan:
    """The plan of settings, or of overrides of the shipped configuration."""
    settings = chosen if hasattr(chosen, "libraries") else load(ROOT, chosen or {})
    return make_plan(settings, sources(settings, **changed))


def rows_of(plan: Plan, place: str) -> dict[str, dict[str, Any]]:
    """The rows of ``scenario/mode/library``, on the CPU, by id."""
    return {row["id"]: row for row in plan.definition(*place.split("/"), "cpu")["rows"]}


def digests(plan: Plan) -> dict[tuple[str, str], str]:
    """(scenario/mode/library/device, row id) -> digest, of every row of the plan."""
    return {
        (place, row["id"]): row["digest"]
        for place, definition in plan.content["definitions"].items()
        for row in definition["rows"]
    }


def moved(before: Plan, after: Plan) -> set[tuple[str, str]]:
    """The rows that are in both plans under another digest."""
    earlier, later = digests(before), digests(after)
    return {key for key in earlier.keys() & later.keys() if earlier[key] != later[key]}
