"""Which probes hold the samples that classes are made from, and which sheets are drawn of them.

Standard library only: the workflow asks for these paths when it is parsed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from augmark.modes import PLAIN
from augmark.plan import Plan

PlanContent = Mapping[str, Any]
DEVICES = ("cpu", "cuda", "mps")


def sampled_probes(plan: PlanContent) -> dict[str, dict[str, tuple[str, str]]]:
    """Scenario -> library -> mode and device of the probe whose samples speak for it, in planned order.

    The probe of the mode that times the transform alone speaks for every mode: what stands around it in a
    recipe is the same for all libraries, and the plan has that probe wherever a recipe is timed.
    """
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for key in plan["definitions"]:
        scenario, mode, library, device = key.split("/")
        if plan.get("libraries", {}).get(library, {}).get("again"):
            continue
        if mode != "micro" or not any(map(_sampled, plan["definitions"][key]["rows"])):
            continue
        best = found.setdefault(scenario, {}).get(library)
        if best is None or _rank(device) < _rank(best[1]):
            found[scenario][library] = (mode, device)
    return found


def _sampled(row: Mapping[str, Any]) -> bool:
    return row["planned"] == "run" and row["condition"] == PLAIN and not row["control"]


def _rank(device: str) -> int:
    return DEVICES.index(device) if device in DEVICES else len(DEVICES)


def archives(plan: Plan) -> dict[str, dict[str, Path]]:
    """Scenario -> library -> sample archive."""
    return {
        scenario: {
            library: plan.samples_path(scenario, mode, library, device)
            for library, (mode, device) in libraries.items()
        }
        for scenario, libraries in sampled_probes(plan.content).items()
    }


def archive_paths(plan: Plan) -> list[Path]:
    """The sample archives that equivalence.csv is made from: those that are there, or will be.

    Whoever was given records alone, or with probes of data that may not be given away, has no samples of that
    machine, and nothing is probed for them while nothing is to be measured: their tables show figures, and
    that nothing shows the work to be the same.
    """
    probed = any((plan.output / "probes" / plan.machine).glob("*/*/*/*/*.samples.zip"))
    left = {
        (cell["scenario"], cell["library"])
        for cell in plan.cells()
        if not (plan.output / "records" / cell["path"]).exists()
    }
    return [
        path
        for scenario, libraries in archives(plan).items()
        for library, path in libraries.items()
        if probed or (scenario, library) in left or path.exists()
    ]


def rows_of(plan: PlanContent, scenario: str) -> list[Mapping[str, Any]]:
    """The transforms of a scenario that any sampled library runs, one row each, in the order of the plan."""
    # Each library has a row for every transform of the plan, so that any of them tells the order.
    rows: dict[str, Mapping[str, Any] | None] = {}
    for library, (mode, device) in sampled_probes(plan).get(scenario, {}).items():
        for row in plan["definitions"]["/".join((scenario, mode, library, device))]["rows"]:
            rows[row["transform"]] = rows.get(row["transform"]) or (row if _sampled(row) else None)
    return [row for row in rows.values() if row is not None]


def sheet_path(products: Path, scenario: str, transform: str) -> Path:
    """Where the contact sheet of a transform lies."""
    return products / "figures" / "equivalence" / f"{scenario}.{transform}.png"


def sheet_paths(plan: Plan) -> list[Path]:
    """Every contact sheet of a plan."""
    return [
        sheet_path(plan.products, scenario, row["transform"])
        for scenario in sampled_probes(plan.content)
        for row in rows_of(plan.content, scenario)
    ]
