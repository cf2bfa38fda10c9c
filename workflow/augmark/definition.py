"""One library in one scenario, mode and device: its rows, and the digests of all that they depend on.

The middle of the plan (``augmark.plan``). Pure functions, standard library only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from augmark.cell import short_digest
from augmark.config import select
from augmark.modes import PLAIN, accelerator, mode_facts
from augmark.record import row_id
from augmark.sweeps import CODED, conditions

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
    place = _Place(settings, sources, name, mode, library, depends)
    rows = list(_rows(place, device))
    pins = [row["pinned"] for row in rows]
    probing = [pins, settings.depth["probe_items"], settings.policy["probe"], sources.samples_code]
    identity = [[row["transform"], row["condition"], row["planned"], row["digest"]] for row in rows]
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
        "regimes_digest": place.code("regimes"),
        "timing": depends["timing"],
        "limits": settings.policy["limits"],
        "probe": settings.policy["probe"],
        "rows": rows,
    }


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
    settings, plain = place.settings, _plain_values(place)
    swept: list[tuple[str, dict[str, Any]]] = []
    if not select.is_control(settings, place.library):
        swept = list(conditions(settings.depth, place.mode, place.library, plain, place.sources.cpus))
    for planned in select.planned_rows(settings, place.library, place.scenario, place.mode, device):
        for condition, setting in [(PLAIN, {}), *(swept if planned[1] == "run" else [])]:
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
    if planned != "run":
        return {**row, "digest": short_digest([place.library, transform, planned, reason])}
    return {**row, "digest": short_digest({**place.depends, **_does(place, row)})}


def _does(place: _Place, row: Mapping[str, Any]) -> dict[str, Any]:
    """What of a row changes its number."""
    does = {field: row[field] for field in ("transform", "params", "random", "output", "crops", "setting")}
    does["chunked"] = bool(row["chunked"])
    if row["loader"] is not None:
        does["loader"] = {name: value for name, value in row["loader"].items() if name != "timeout_seconds"}
    if set(row["setting"]) & set(CODED):
        does["regimes"] = place.code("regimes")
    return does


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
