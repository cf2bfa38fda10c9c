"""The plan: which rows of which cells there are, in which order, and what each depends on.

A pure function of the configuration and of digests. Standard library only. The workflow, the measured
job and every question of the ``augmark`` command read this one plan.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from augmark.cell import Cell, short_digest
from augmark.config import select

SCHEMA = "augmark/plan/1"


@dataclass(frozen=True)
class Sources:
    """What the plan depends on beside the configuration, by digest.

    Attributes:
        machine: Id of the machine, complete (``local-3f9a``).
        machine_kind: Its stanza in ``machines.yaml`` (``local``).
        python: Implementation and minor version that the libraries run on (``cpython-3.11``).
        datasets: Config key (``images``) -> ``{"name", "kind", "source", "digest"}``.
        locks: Environment -> digest of its lock.
        adapter_code: Adapter -> digest of the code that decides its rows.
        audit_code, items_code: Digests of the code that makes manifests and items.
    """

    machine: str
    machine_kind: str
    python: str
    datasets: Mapping[str, Mapping[str, Any]]
    locks: Mapping[str, str]
    adapter_code: Mapping[str, str]
    audit_code: str
    items_code: str


@dataclass(frozen=True)
class Plan:
    """The resolved plan and the paths of all that it makes, below ``output``."""

    content: dict[str, Any]
    output: Path

    @property
    def digest(self) -> str:
        return short_digest(self.content)

    @property
    def path(self) -> Path:
        """The plan itself, for jobs that must not read the configuration again."""
        return self.output / "plan" / f"{self.digest}.json"

    @property
    def machine(self) -> str:
        return self.content["machine"]

    def cells(self) -> list[dict[str, Any]]:
        """Every cell with its digest, record path and priority, in planned order."""
        return self.content["cells"]

    def record_paths(self) -> list[Path]:
        return [self.output / "records" / cell["path"] for cell in self.cells()]

    def definition(self, scenario: str, mode: str, library: str, device: str) -> dict[str, Any]:
        """What one library does in one scenario, mode and device, whatever the repeat.

        Raises:
            KeyError: It is not planned.
        """
        return self.content["definitions"]["/".join((scenario, mode, library, device))]

    def environment_marker(self, environment: str) -> Path:
        lock, python = self.content["locks"][environment], self.content["python"]
        return self.output / "envs" / f"{environment}.{lock}.{python}" / "env.json"

    def staged(self, dataset: str) -> Path:
        """The marker of a staged dataset; its tarball lies beside it."""
        about = self.content["datasets"][dataset]
        return self.output / "datasets" / f"{about['name']}.{about['digest'][:10]}" / "staged.json"

    def manifest(self, dataset: str) -> Path:
        digest = self.content["datasets"][dataset]["audit_digest"]
        return self.staged(dataset).parent / f"manifest.{digest}.json"

    def items_index(self, scenario: str) -> Path:
        digest = self.content["scenarios"][scenario]["items_digest"]
        return self.output / "items" / f"{scenario}.{digest}" / "index.json"

    def probe_path(self, scenario: str, mode: str, library: str, device: str) -> Path:
        digest = self.definition(scenario, mode, library, device)["probe_digest"]
        place = self.output / "probes" / self.machine / scenario / mode / library / device
        return place / f"probe.{digest}.json"

    def block_probes(self, scenario: str, mode: str, device: str) -> list[Path]:
        """The probes of every library of a block: all precede its first cell."""
        found = []
        for key in self.content["definitions"]:
            its_scenario, its_mode, library, its_device = key.split("/")
            if (its_scenario, its_mode, its_device) == (scenario, mode, device):
                found.append(self.probe_path(scenario, mode, library, device))
        return found


def make_plan(settings: Any, sources: Sources) -> Plan:
    """Resolve a checked configuration into a plan.

    Args:
        settings: ``augmark.config.load.Settings`` (plain dicts).
        sources: Digests of what the plan depends on.
    """
    depth = settings.depth
    judged_by = [settings.policy["audit"], sources.audit_code]
    datasets = {
        key: {**about, "audit_digest": short_digest([about["digest"], *judged_by])}
        for key, about in sources.datasets.items()
    }
    places = [place[1:] for place in select.combinations(settings) if place[0] == sources.machine_kind]
    scenarios = {
        name: _scenario(settings, name, datasets, sources)
        for name in dict.fromkeys(place[0] for place in places)
    }
    definitions = {
        "/".join(place): _definition(settings, sources, scenarios[place[0]], place) for place in places
    }
    content = {
        "schema": SCHEMA,
        "campaign": settings.config["campaign"],
        "depth": depth["name"],
        "stamp": depth["stamp"],
        "machine": sources.machine,
        "machine_stanza": {"id": sources.machine_kind, **settings.machines[sources.machine_kind]},
        "python": sources.python,
        "config": dict(settings.config),
        # In one order, whatever the order on the command line: the same plan is the same file.
        "overrides": dict(sorted(settings.overrides.items())),
        "datasets": datasets,
        "locks": {each["environment"]: each["lock_digest"] for each in definitions.values()},
        "policy": settings.policy,
        "scenarios": scenarios,
        "libraries": _libraries(settings, {place[2] for place in places}),
        "definitions": definitions,
        "cells": _cells(settings, sources.machine, definitions),
        "tables": {
            name: dict(settings.tables[name])
            for name in select.campaign_tables(settings, settings.config["campaign"])
        },
    }
    return Plan(content, Path(settings.config["output"]))


def _libraries(settings: Any, planned: set[str]) -> dict[str, Any]:
    """What tables say of the planned libraries, in the order in which they are declared."""
    facts = ("title", "kind", "distribution", "form")
    return {
        name: {fact: stanza.get(fact) for fact in facts}
        for name, stanza in settings.libraries.items()
        if name in planned
    }


def _scenario(settings: Any, name: str, datasets: Mapping[str, Any], sources: Sources) -> dict[str, Any]:
    stanza = settings.scenarios[name]
    items = settings.config["items"] or settings.depth["items"][stanza["medium"]]
    about = {
        "title": stanza["title"],
        "medium": stanza["medium"],
        "dataset": stanza["dataset"],
        "channels": stanza["channels"],
        "items": items,
        # What the user asked for must be there; what a depth suggests is cut to what there is.
        "items_exact": settings.config["items"] is not None,
        "seed": settings.policy["seed"],
        "transforms": select.wanted_transforms(settings, name),
    }
    audit = datasets[stanza["dataset"]]["audit_digest"]
    made_of = {key: about[key] for key in ("channels", "items", "seed")}
    return {**about, "items_digest": short_digest([audit, made_of, sources.items_code])}


def timing_rules(settings: Any, medium: str) -> dict[str, Any]:
    """The part of policy and depth that changes what a number means. Limits are not in it."""
    depth, policy = settings.depth, settings.policy
    return {
        "depth": depth["name"],
        "values": depth["values"],
        "min_value_seconds": depth["min_value_seconds"],
        "warmup_seconds": depth["warmup_seconds"],
        "threads": settings.config["threads"] or policy["threads"],
        "seed": policy["seed"],
        "resident_share": policy["limits"]["resident_share"],
        **policy[medium],
    }


def _definition(
    settings: Any, sources: Sources, scenario: Mapping[str, Any], key: tuple[str, str, str, str]
) -> dict[str, Any]:
    name, mode, library, device = key
    stanza = settings.libraries[library]
    timing = timing_rules(settings, scenario["medium"])
    depends = {
        "library": library,
        "scenario": name,
        "mode": mode,
        "device": device,
        "timing": timing,
        "items": scenario["items_digest"],
        "lock": sources.locks[stanza["environment"]],
        "python": sources.python,
        "code": sources.adapter_code[stanza["adapter"]],
    }
    planned = select.planned_rows(settings, library, name, mode, device)
    rows = [_row(settings, library, row, depends) for row in planned]
    probing = [[row["pinned"] for row in rows], settings.depth["probe_items"], settings.policy["probe"]]
    identity = [[row["transform"], row["planned"], row["digest"]] for row in rows]
    return {
        # Of everything that the rows depend on, so the plan of a cell and its rows cannot disagree.
        "digest": short_digest(identity),
        "probe_digest": short_digest([identity, *probing]),
        "probe_items": settings.depth["probe_items"],
        "environment": stanza["environment"],
        "adapter": stanza["adapter"],
        "lock_digest": depends["lock"],
        "items_digest": depends["items"],
        "code_digest": depends["code"],
        "timing": timing,
        "limits": settings.policy["limits"],
        "probe": settings.policy["probe"],
        "rows": rows,
    }


def _row(
    settings: Any, library: str, planned_row: tuple[str, str, str | None], depends: dict[str, Any]
) -> dict[str, Any]:
    transform, planned, reason = planned_row
    about = settings.transforms[transform]
    row = {
        "transform": transform,
        "planned": planned,
        "reason": reason,
        "params": about["params"],
        "pinned": None if "unpinnable" in about else about.get("pinned", {}),
        "random": about["random"],
        "control": about.get("control", False),
        "output": about["output"],
        # In words, why this library's work is not that of the others: for readers, not part of the digest.
        "different": about.get("differences", {}).get(library),
    }
    if planned != "run":
        return {**row, "digest": short_digest([depends["library"], transform, planned, reason])}
    does = {field: row[field] for field in ("transform", "params", "random", "output")}
    return {**row, "digest": short_digest({**depends, **does})}


def _cells(settings: Any, machine: str, definitions: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Blocks in order of repeat; inside a block the libraries in a seeded order of their own."""
    blocks: dict[tuple[str, str, str], list[str]] = {}
    for key in definitions:
        scenario, mode, library, device = key.split("/")
        blocks.setdefault((scenario, mode, device), []).append(library)
    repeats = settings.config["repeats"] or settings.depth["repeats"]
    ordered = []
    for (scenario, mode, device), libraries in blocks.items():
        for repeat in range(repeats):
            shuffled = sorted(libraries)
            random.Random(f"{settings.policy['seed']}/{scenario}/{mode}/{device}/{repeat}").shuffle(shuffled)
            ordered += [Cell(machine, scenario, mode, library, device, repeat) for library in shuffled]
    cells = []
    for position, cell in enumerate(ordered):
        digest = definitions[f"{cell.scenario}/{cell.mode}/{cell.library}/{cell.device}"]["digest"]
        path = str(cell.record_path(digest))
        cells.append({**cell.as_dict(), "digest": digest, "path": path, "priority": len(ordered) - position})
    return cells
