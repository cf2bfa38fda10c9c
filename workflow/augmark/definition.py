"""One library in one scenario, mode and device: its rows, and the digests of all that they depend on.

The middle of the plan (``augmark.plan``). Pure functions, standard library only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from augmark.cell import short_digest
from augmark.config import select
from augmark.modes import PLAIN, accelerator, mode_facts
from augmark.record import row_id
from augmark.sweeps import CODED, conditions, has_axis

CROP = "RandomCrop224"  # what a recipe cuts with, where the transform does not cut itself
SINGLE_WORKER = "pipeline-single-worker"


@dataclass(frozen=True)
class _Place:
    """Where rows are planned, and what all of them depend on.

    Attributes:
        settings: ``augmark.config.load.Settings``.
        sources: ``augmark.plan.Sources``.
        depends: Digests and timing rules that stand behind every row.
    """

    settings: Any
    sources: Any
    scenario: str
    mode: str
    library: str
    depends: dict[str, Any]

    @property
    def batched(self) -> bool:
        return mode_facts(self.mode).batched

    @property
    def stanza(self) -> dict[str, Any]:
        return self.settings.libraries[self.library]

    def code(self, of: str) -> str | None:
        """Digest of the code of a mode, or of ``regimes`` (None where the library has none)."""
        return self.sources.row_code.get(f"{self.stanza['adapter']}/{of}")


def definition(
    settings: Any, sources: Any, scenario: Mapping[str, Any], key: tuple[str, str, str, str]
) -> dict[str, Any]:
    """What one library does in one scenario, mode and device, whatever the repeat.

    Args:
        settings: ``augmark.config.load.Settings``.
        sources: ``augmark.plan.Sources``.
        scenario: The plan's own stanza of the scenario.
        key: Scenario, mode, library, device.
    """
    name, mode, library, device = key
    stanza = settings.libraries[library]
    depends = {
        "library": library,
        "scenario": name,
        "mode": mode,
        "device": device,
        "timing": timing_rules(settings, scenario, mode),
        "items": scenario["item_sets"][mode]["digest"],
        "lock": sources.locks[stanza["environment"]],
        "python": sources.python,
        "code": sources.row_code[f"{stanza['adapter']}/{mode}"],
    }
    if variables := stanza.get("variables"):
        depends["variables"] = variables
    if again := stanza.get("again"):
        depends["again"] = again  # it is a control of what is measured beside it
    place = _Place(settings, sources, name, mode, library, depends)
    rows = list(_rows(place, device))
    pins = [row["pinned"] for row in rows]
    probing = [pins, settings.depth["probe_items"], settings.policy["probe"], sources.samples_code]
    return {
        "digest": rows_digest(rows),
        "probe_digest": short_digest([_identity(rows), *probing]),
        "probe_items": settings.depth["probe_items"],
        "environment": stanza["environment"],
        "adapter": stanza["adapter"],
        "lock_digest": depends["lock"],
        "items_digest": depends["items"],
        "code_digest": depends["code"],
        "regimes_digest": place.code("regimes"),
        "timing": depends["timing"],
        # Of a plan file's condition: what its worker finds in its environment.
        "variables": stanza.get("variables", {}),
        "again": stanza.get("again"),
        "limits": settings.policy["limits"],
        "probe": settings.policy["probe"],
        "rows": rows,
    }


def _identity(rows: Iterable[Mapping[str, Any]]) -> list[list[str]]:
    return [[row[field] for field in ("transform", "condition", "planned", "digest")] for row in rows]


def rows_digest(rows: Iterable[Mapping[str, Any]]) -> str:
    """The digest of a cell: of everything that its rows depend on, so that the two cannot disagree."""
    return short_digest(_identity(rows))


def of_transforms(whole: Mapping[str, Any], transforms: Iterable[str]) -> dict[str, Any]:
    """A definition with those of its rows alone that run one of the transforms."""
    wanted = set(transforms)
    rows = [row for row in whole["rows"] if row["transform"] in wanted and row["planned"] == "run"]
    return {**whole, "rows": rows, "digest": rows_digest(rows)}


def timing_rules(settings: Any, scenario: Mapping[str, Any], mode: str) -> dict[str, Any]:
    """The part of policy and depth that changes what a number means. Limits are not in it."""
    depth, policy, facts = settings.depth, settings.policy, mode_facts(mode)
    rules = {
        "depth": depth["name"],
        "values": depth["values"],
        "min_value_seconds": depth["min_value_seconds"],
        "warmup_seconds": depth["warmup_seconds"],
        "threads": settings.config["threads"] or policy["threads"],
        "seed": policy["seed"],
        "resident_share": policy["limits"]["resident_share"],
        **policy[scenario["medium"]],
    }
    if mode == "decode":
        rules["tolerance_mean_levels"] = policy["decode"]["tolerance_mean_levels"]
    if facts.batched:
        del rules["threads"]  # a row's own: the thread policy says
        loader = policy["loader"]
        chunks = scenario["channels"] // 3
        rules.update(
            values=depth["loader"]["epochs"],  # an epoch is a value, however short
            min_value_seconds=0,
            mean=loader["mean"] * chunks,
            std=loader["std"] * chunks,
            split_items=loader["split_items"],
            crop=settings.transforms[CROP]["params"],
            views=scenario["views"],
        )
    return rules


def _rows(place: _Place, device: str) -> Iterator[dict[str, Any]]:
    """The plain row of every transform, and one for each condition of the depth's sweeps."""
    settings, asked = place.settings, place.stanza.get("setting", {})  # of a plan file's condition
    # Beside a recipe the transform alone is probed too, which has no workers.
    own = {axis: value for axis, value in asked.items() if has_axis(axis, place.mode)}
    plain = {**_plain_values(place), **own}
    swept: list[tuple[str, dict[str, Any]]] = []
    if not select.is_control(settings, place.library):
        swept = list(conditions(settings.depth, place.mode, place.library, plain, place.sources.cpus))
    for planned in select.planned_rows(settings, place.library, place.scenario, place.mode, device):
        for condition, setting in [(PLAIN, own), *(swept if planned[1] == "run" else [])]:
            yield _row(place, planned, condition, setting, {**plain, **setting})


def _plain_values(place: _Place) -> dict[str, Any]:
    """Axis -> value of the plain rows of a mode."""
    settings = place.settings
    if not place.batched:
        return {"threads": place.depends["timing"]["threads"]}
    chosen = {}
    for axis in ("batch_size", "workers"):
        given = settings.config[axis]
        if given is None:
            given = settings.depth["loader"][axis]
        chosen[axis] = settings.scenarios[place.scenario]["loader"][axis] if given is None else given
    return {**chosen, "policy": settings.policy["loader"]["thread_policy"]}


def _row(
    place: _Place,
    planned_row: tuple[str, str, str | None],
    condition: str,
    setting: Mapping[str, Any],
    values: Mapping[str, Any],
) -> dict[str, Any]:
    """One row: what it is, and the digest of all that its number depends on.

    Args:
        setting: What is otherwise than in the plain row.
        values: Axis -> value as it holds for this row.
    """
    transform, planned, reason = planned_row
    about = stanza_in(place.settings.transforms[transform], place.scenario)
    chunked = place.stanza["scenarios"][place.scenario].get("chunked", {})
    row = {
        "id": row_id(transform, condition),
        "transform": transform,
        "condition": condition,
        "setting": dict(setting),
        "planned": planned,
        "reason": reason,
        "params": {**about["params"], **(about.get("in_recipe", {}) if place.batched else {})},
        "pinned": None if "unpinnable" in about else about.get("pinned", {}),
        "unpinnable": about.get("unpinnable"),
        "random": about["random"],
        "control": about.get("control", False),
        "output": about["output"],
        "crops": about.get("crops", False),
        "chunked": chunked.get(transform) if planned == "run" else None,
        "threads": _threads(values),
        "loader": _loader(place, values) if place.batched else None,
        # In words, what makes a library's work another: for readers, not part of the digest.
        "differences": about.get("differences", {}),
    }
    return {**row, "digest": row_digest(place.depends, row, place.code("regimes"))}


def row_digest(depends: Mapping[str, Any], row: Mapping[str, Any], regimes: str | None) -> str:
    """The digest of a row: of all that its number depends on, or of why there is none.

    Args:
        depends: What stands behind every row of its definition: library, scenario, mode, device, timing
            rules, digests of items, lock and code, Python, and the variables where there are any.
        row: As planned.
        regimes: Digest of the code of the other ways of doing the same.
    """
    if row["planned"] != "run":
        return short_digest([depends["library"], row["transform"], row["planned"], row["reason"]])
    does = {field: row[field] for field in ("transform", "params", "random", "output", "crops", "setting")}
    does["chunked"] = bool(row["chunked"])
    if row["loader"] is not None:
        does["loader"] = {name: value for name, value in row["loader"].items() if name != "timeout_seconds"}
    if set(row["setting"]) & set(CODED):
        does["regimes"] = regimes
    return short_digest({**depends, **does})


def stanza_in(about: Mapping[str, Any], scenario: str) -> dict[str, Any]:
    """A transform's stanza as it holds in one scenario."""
    return {**about, **about.get("by_scenario", {}).get(scenario, {})}


def _threads(values: Mapping[str, Any]) -> int | None:
    """Threads of every pool of the process that times a row; None: as the library leaves them."""
    if "policy" in values:
        return 1 if values["policy"] == SINGLE_WORKER else None
    return values["threads"]


def _loader(place: _Place, values: Mapping[str, Any]) -> dict[str, Any]:
    """How the batches of a row are loaded."""
    policy = place.settings.policy["loader"]
    devices = place.settings.machines[place.sources.machine_kind]["devices"]
    return {
        "batch_size": values["batch_size"],
        "workers": values["workers"],
        "policy": values["policy"],
        "prefetch_factor": policy["prefetch_factor"],
        "start_method": policy["start_method"],
        "timeout_seconds": policy["timeout_seconds"],
        "copy_to": accelerator(devices) if mode_facts(place.mode).copies else None,
    }
