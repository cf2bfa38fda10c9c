"""The plan: which rows of which cells there are, in which order, and what each depends on.

A pure function of the configuration and of digests. Standard library only. The workflow, the measured
job and every question of the ``augmark`` command read this one plan.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from augmark.cell import Cell, short_digest
from augmark.config import claims, select
from augmark.definition import definition, of_transforms
from augmark.modes import mode_facts

SCHEMA = "augmark/plan/3"

Place = tuple[str, str, str, str]  # scenario, mode, library, device
# Keys of the command line that leave what is measured as it is, or are in a plan's names anyway.
NOT_NARROWING = ("campaign", "depth", "output", "refresh")


def public(content: Mapping[str, Any]) -> dict[str, Any]:
    """A plan without what says where somebody's files lie: output folder, sources of the data."""
    datasets = content["datasets"]

    def named(config: Mapping[str, Any]) -> dict[str, Any]:
        kept = {key: value for key, value in config.items() if key != "output"}
        return {key: datasets[key]["name"] if key in datasets else value for key, value in kept.items()}

    return {
        **content,
        "config": named(content["config"]),
        "overrides": named(content["overrides"]),
        "datasets": {
            key: {fact: value for fact, value in about.items() if fact != "source"}
            for key, about in datasets.items()
        },
    }


def plan_digest(content: Mapping[str, Any]) -> str:
    """The digest of a plan, and of what is public in it: wherever the files lie it is the same plan."""
    return short_digest(public(content))


@dataclass(frozen=True)
class Sources:
    """What the plan depends on beside the configuration, by digest.

    Attributes:
        machine: Id of the machine, complete (``local-3f9a``).
        machine_kind: Its stanza in ``machines.yaml`` (``local``).
        python: Implementation and minor version that the libraries run on (``cpython-3.11``).
        datasets: Config key (``images``) -> ``{"name", "kind", "source", "size", "digest"}`` and its terms
            (``augmark.data.dossier``).
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


def cell_definition(content: Mapping[str, Any], cell: Mapping[str, Any]) -> dict[str, Any]:
    """The rows of one cell of a plan: of its definition, or of the transforms that got another repeat."""
    whole = content["definitions"]["/".join(cell[name] for name in ("scenario", "mode", "library", "device"))]
    return of_transforms(whole, cell["transforms"]) if cell.get("transforms") else whole


@dataclass(frozen=True)
class Plan:
    """The resolved plan and the paths of all that it makes, below ``output``."""

    content: dict[str, Any]
    output: Path

    @property
    def digest(self) -> str:
        return plan_digest(self.content)

    @property
    def path(self) -> Path:
        """The plan itself, for jobs that must not read the configuration again."""
        return self.output / "plan" / f"{self.digest}.json"

    @property
    def machine(self) -> str:
        return self.content["machine"]

    @property
    def name(self) -> str:
        """What files of this plan alone are called: after the machine, and the plan file if there is one."""
        question = self.content["question"]
        return f"{self.machine}.{question['name']}" if question else self.machine

    @property
    def asked(self) -> str:
        """What is measured for, in words: a campaign, or a plan file's question."""
        question = self.content["question"]
        return f"plan {question['name']}" if question else f"campaign {self.content['campaign']}"

    @property
    def products(self) -> Path:
        """Where ``tables`` and ``figures`` go: a plan file's answers stand apart from a campaign's."""
        question = self.content["question"]
        return self.output / "plans" / question["name"] if question else self.output

    @property
    def records_file(self) -> Path:
        """All records of the plan in one file: the seam."""
        if self.content["question"]:
            return self.products / "records.parquet"
        return self.output / "records" / self.machine / "records.parquet"

    def topup_file(self, stage: int) -> Path:
        """Where it is written which rows get more repeats, for good.

        What the command line narrows or changes is part of the name: a decision on a part of the rows, or on
        other data, says nothing of the whole campaign.
        """
        said = public(self.content)["overrides"]
        narrowed = {key: value for key, value in said.items() if key not in NOT_NARROWING}
        stem = f"{self.machine}.{self.content['campaign']}.{self.content['depth']}"
        stem += f".{short_digest(narrowed)}" if narrowed else ""
        return self.output / "plan" / f"{stem}.topup-{stage}.json"

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

    def cell_definition(self, cell: Mapping[str, Any]) -> dict[str, Any]:
        """The rows of one cell: those of its definition, or of the transforms that got another repeat."""
        return cell_definition(self.content, cell)

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


def make_plan(settings: Any, sources: Sources, decided: Sequence[Mapping[str, Any]] = ()) -> Plan:
    """Resolve a checked configuration into a plan.

    Args:
        settings: ``augmark.config.load.Settings`` (plain dicts).
        sources: Digests of what the plan depends on.
        decided: Stages of ``topup``, in their order: which rows get more repeats.
    """
    depth = settings.depth
    judged_by = [settings.policy["audit"], sources.audit_code]
    datasets = {
        key: {**about, "audit_digest": short_digest([about["digest"], *judged_by])}
        for key, about in sources.datasets.items()
    }
    asked, places = _places(settings, sources)
    scenarios = _scenarios(settings, places, datasets, sources)
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
        "question": settings.question,
        # Of the libraries: the conditions of a plan file are others.
        "claims": {} if settings.question else claims.resolved(settings),
        "repeats": {**schedule(settings), "decided": list(decided)},
        "cells": _cells(settings, sources.machine, measured, decided),
        "tables": _tables(settings, {tuple(key.split("/"))[:2] for key in measured}),
    }
    return Plan(content, Path(settings.config["output"]))


def _places(settings: Any, sources: Sources) -> tuple[list[Place], list[Place]]:
    """What is measured on this machine, and what is probed: that, and what tells if it is the same work."""
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
    return asked, list(dict.fromkeys([*asked, *sampling]))


def _samples(settings: Any, scenario: str, library: str, device: str) -> bool:
    """Whether a library can be asked for the transform alone."""
    stanza = settings.libraries[library]
    offer = stanza["scenarios"][scenario]
    # What is measured again does what the first does: nobody asks whether it is the same work.
    return "micro" in offer["modes"] and device in offer["devices"] and "again" not in stanza


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
    facts = ("title", "kind", "distribution", "form", "again", "of")
    return {
        name: {fact: stanza.get(fact) for fact in facts}
        for name, stanza in settings.libraries.items()
        if name in planned
    }


def _scenarios(
    settings: Any, places: Iterable[Place], datasets: Mapping[str, Any], sources: Sources
) -> dict[str, Any]:
    """The planned scenarios, each with the items of its planned modes."""
    modes: dict[str, dict[str, None]] = {}
    for scenario, mode, *_ in places:
        modes.setdefault(scenario, {})[mode] = None
    return {
        name: _scenario(settings, name, list(its_modes), datasets, sources)
        for name, its_modes in modes.items()
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


def schedule(settings: Any) -> dict[str, Any]:
    """How many repeats: with how many a cell starts, and how many there may be after each ``topup``.

    Returns:
        ``first``, ``schedule`` (the first and what follows) and ``fixed``: whether somebody gave the number.
    """
    config, campaign = settings.config, settings.campaigns[settings.config["campaign"]]
    first = config["repeats"] or campaign.get("first_repeats") or settings.depth["repeats"]
    fixed = config["repeats"] is not None
    more = [] if fixed else [number for number in settings.policy["repeats"]["then"] if number > first]
    return {"first": first, "schedule": [first, *more], "fixed": fixed}


def _cells(
    settings: Any,
    machine: str,
    definitions: Mapping[str, Mapping[str, Any]],
    decided: Sequence[Mapping[str, Any]],
) -> list[dict[str, Any]]:
    """Blocks in order of repeat; inside a block the libraries in a seeded order of their own."""
    blocks: dict[tuple[str, str, str], list[str]] = {}
    for key in definitions:
        scenario, mode, library, device = key.split("/")
        blocks.setdefault((scenario, mode, device), []).append(library)
    cells = []
    for (scenario, mode, device), libraries in blocks.items():
        for repeat, transforms in enumerate(_repeats(settings, decided, (scenario, mode, device))):
            place = f"{settings.policy['seed']}/{scenario}/{mode}/{device}/{repeat}"
            for library in in_drawn_order(libraries, place):
                whole = definitions[f"{scenario}/{mode}/{library}/{device}"]
                made = whole if transforms is None else of_transforms(whole, transforms)
                if made["rows"]:
                    cell = Cell(machine, scenario, mode, library, device, repeat)
                    path = str(cell.record_path(made["digest"]))
                    some = {} if transforms is None else {"transforms": transforms}
                    cells.append({**cell.as_dict(), **some, "digest": made["digest"], "path": path})
    return [{**cell, "priority": len(cells) - position} for position, cell in enumerate(cells)]


def in_drawn_order(libraries: Iterable[str], place: str) -> list[str]:
    """The libraries of a block in an order of its own, which stays the same for any selection of them."""
    return sorted(libraries, key=lambda library: hashlib.sha256(f"{place}/{library}".encode()).digest())


def _repeats(
    settings: Any, decided: Sequence[Mapping[str, Any]], block: tuple[str, str, str]
) -> list[list[str] | None]:
    """The transforms of each repeat of a block; None for all of them."""
    found: list[list[str] | None] = [None] * schedule(settings)["first"]
    for stage in decided:
        more = stage["repeats"] - len(found)
        if stage["where"] == "all":
            found += [None] * more
        else:
            named = [
                field["transform"]
                for field in stage["where"]
                if (field["scenario"], field["mode"], field["device"]) == block
            ]
            found += [sorted(named)] * more if named else []
    return found
