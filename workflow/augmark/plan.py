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
from augmark.definition import definition
from augmark.modes import mode_facts

SCHEMA = "augmark/plan/2"


@dataclass(frozen=True)
class Sources:
    """What the plan depends on beside the configuration, by digest.

    Attributes:
        machine: Id of the machine, complete (``local-3f9a``).
        machine_kind: Its stanza in ``machines.yaml`` (``local``).
        python: Implementation and minor version that the libraries run on (``cpython-3.11``).
        datasets: Config key (``images``) -> ``{"name", "kind", "source", "digest"}``.
        locks: Environment -> digest of its lock.
        cpus: Processors of the machine: where sweeps end.
        row_code: ``<adapter>/<mode>`` -> digest of the code that decides rows of that mode; and
            ``<adapter>/regimes`` of the other ways of doing the same that sweeps time.
        samples_code, audit_code, items_code: Digests of the code that makes samples, manifests and items.
    """

    machine: str
    machine_kind: str
    python: str
    datasets: Mapping[str, Mapping[str, Any]]
    locks: Mapping[str, str]
    cpus: int
    row_code: Mapping[str, str]
    samples_code: str
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

    def item_set(self, scenario: str, mode: str) -> dict[str, Any]:
        """How many items a mode takes, whether exactly so many, and the digest of their preparation."""
        return self.content["scenarios"][scenario]["item_sets"][mode]

    def items_index(self, scenario: str, mode: str) -> Path:
        digest = self.item_set(scenario, mode)["digest"]
        return self.output / "items" / f"{scenario}.{digest}" / "index.json"

    def probe_path(self, scenario: str, mode: str, library: str, device: str) -> Path:
        digest = self.definition(scenario, mode, library, device)["probe_digest"]
        place = self.output / "probes" / self.machine / scenario / mode / library / device
        return place / f"probe.{digest}.json"

    def samples_path(self, scenario: str, mode: str, library: str, device: str) -> Path:
        """Where the pinned outputs of a probe lie."""
        return self.probe_path(scenario, mode, library, device).with_suffix(".samples.zip")

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
    asked = [
        place[1:]
        for place in select.combinations(settings)
        if place[0] == sources.machine_kind and select.wanted_transforms(settings, place[1], place[2])
    ]
    # What is the same work is told by the transform alone: a mode around it needs the probe of that one too.
    sampling = dict.fromkeys(
        (scenario, "micro", library, device)
        for scenario, mode, library, device in asked
        if mode_facts(mode).batched and _samples(settings, scenario, library, device)
    )
    places = list(dict.fromkeys([*asked, *sampling]))
    modes: dict[str, dict[str, None]] = {}
    for scenario, mode, *_ in places:
        modes.setdefault(scenario, {})[mode] = None
    scenarios = {
        name: _scenario(settings, name, list(its_modes), datasets, sources)
        for name, its_modes in modes.items()
    }
    definitions = {
        "/".join(place): definition(settings, sources, scenarios[place[0]], place) for place in places
    }
    measured = {key: definitions[key] for key in map("/".join, asked)}
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
        "cells": _cells(settings, sources.machine, measured),
        "tables": _tables(settings, {tuple(key.split("/"))[:2] for key in measured}),
    }
    return Plan(content, Path(settings.config["output"]))


def _samples(settings: Any, scenario: str, library: str, device: str) -> bool:
    """Whether a library can be asked for the transform alone."""
    offer = settings.libraries[library]["scenarios"][scenario]
    return "micro" in offer["modes"] and device in offer["devices"]


def _tables(settings: Any, planned: set[tuple[str, ...]]) -> dict[str, Any]:
    """The campaign's tables that have cells on this machine (one of a device may have none)."""
    named = {
        name: settings.tables[name] for name in select.campaign_tables(settings, settings.config["campaign"])
    }
    return {
        name: dict(stanza)
        for name, stanza in named.items()
        if (stanza["scenario"], stanza["mode"]) in planned
    }


def _libraries(settings: Any, planned: set[str]) -> dict[str, Any]:
    """What tables say of the planned libraries, in the order in which they are declared."""
    facts = ("title", "kind", "distribution", "form")
    return {
        name: {fact: stanza.get(fact) for fact in facts}
        for name, stanza in settings.libraries.items()
        if name in planned
    }


def _scenario(
    settings: Any, name: str, modes: list[str], datasets: Mapping[str, Any], sources: Sources
) -> dict[str, Any]:
    stanza = settings.scenarios[name]
    audit = datasets[stanza["dataset"]]["audit_digest"]
    about = {
        "title": stanza["title"],
        "medium": stanza["medium"],
        "dataset": stanza["dataset"],
        "channels": stanza["channels"],
        "views": stanza.get("views", []),
        "seed": settings.policy["seed"],
    }
    item_sets = {}
    for mode in modes:
        loader = settings.depth["loader"]["items"] if mode_facts(mode).batched else None
        items = settings.config["items"] or loader or settings.depth["items"][stanza["medium"]]
        made_of = [about["channels"], about["views"], about["seed"], items]
        item_sets[mode] = {
            "items": items,
            # What the user asked for must be there; what a depth suggests is cut to what there is.
            "exact": settings.config["items"] is not None,
            "digest": short_digest([audit, made_of, sources.items_code]),
        }
    return {**about, "item_sets": item_sets}


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
