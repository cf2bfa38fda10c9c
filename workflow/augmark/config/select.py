"""What a configuration selects: tables, combinations and rows. Pure functions over loaded settings."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Any

from augmark.config.settings import Settings
from augmark.modes import accelerator, mode_facts

NO_OPERATION = "no native operation of this kind"


def chosen(value: Any, names: Iterable[str]) -> list[str]:
    """The names that a list key of config.yaml selects (None and ``"all"``: every one), in declared order."""
    return [name for name in names if value is None or value == "all" or name in value]


def is_control(settings: Settings, library: str) -> bool:
    return settings.libraries[library]["kind"] == "control"


def chosen_libraries(settings: Settings) -> list[str]:
    """The libraries to measure: those selected, and every control."""
    named = set(chosen(settings.config["libraries"], settings.libraries))
    return [name for name in settings.libraries if name in named or is_control(settings, name)]


def scenario_transforms(settings: Settings, scenario: str) -> list[str]:
    """The transform set of a scenario, without the controls' and the rows of one mode."""
    return [
        name
        for name, stanza in settings.transforms.items()
        if scenario in stanza["scenarios"] and not stanza.get("control") and "mode" not in stanza
    ]


def mode_transforms(settings: Settings, mode: str) -> list[str]:
    """The rows that a mode has of its own (``decode``: Decode); none where it takes the scenario's set."""
    return [name for name, stanza in settings.transforms.items() if stanza.get("mode") == mode]


def wanted_transforms(settings: Settings, scenario: str, mode: str = "micro") -> list[str]:
    """The transforms that rows are planned for: those that config.yaml names, or else those of the depth."""
    if own := mode_transforms(settings, mode):
        return own
    names = scenario_transforms(settings, scenario)
    named = settings.config["transforms"]
    if named is not None and named != "all":
        return chosen(named, names)
    stanza = settings.depth.get("loader", {}) if mode_facts(mode).batched else settings.depth
    of_depth = stanza.get("transforms", "all")
    return chosen(of_depth if of_depth == "all" else of_depth.get(scenario, []), names)


def offered_transforms(settings: Settings, library: str, scenario: str, mode: str) -> list[str]:
    """What a library does in a mode that it is asked for: its transforms, or the mode's own rows."""
    return mode_transforms(settings, mode) or settings.libraries[library]["scenarios"][scenario]["transforms"]


def lacking(settings: Settings, library: str, scenario: str) -> dict[str, str]:
    """Transform -> why the library does not offer it in a scenario."""
    stanza = settings.libraries[library]
    return {**stanza.get("unsupported", {}), **stanza["scenarios"][scenario].get("unsupported", {})}


def exclusion(
    settings: Settings, library: str, scenario: str, mode: str, device: str, transform: str
) -> dict[str, Any] | None:
    """The first exclusion of ``libraries.yaml`` that takes this row out, or None."""
    for stanza in settings.libraries[library].get("exclusions", []):
        if transform in stanza["transforms"] and all(
            value in stanza.get(key, [value])
            for key, value in (("scenarios", scenario), ("modes", mode), ("devices", device))
        ):
            return stanza
    return None


def planned_rows(
    settings: Settings, library: str, scenario: str, mode: str, device: str
) -> list[tuple[str, str, str | None]]:
    """The rows of one cell: (transform, ``run`` | ``unsupported`` | ``excluded``, reason or None).

    A control has its own transforms and no others; what measures a library again, some of those that it runs.
    """
    if again := settings.libraries[library].get("again"):
        rows = planned_rows(settings, again, scenario, mode, device)
        return _some([row for row in rows if row[1] == "run"], settings, f"{scenario}/{mode}/{device}")
    offered = offered_transforms(settings, library, scenario, mode)
    if is_control(settings, library):
        return [(name, "run", None) for name in offered]
    reasons = lacking(settings, library, scenario)
    rows: list[tuple[str, str, str | None]] = []
    for name in wanted_transforms(settings, scenario, mode):
        if name not in offered:
            rows.append((name, "unsupported", reasons.get(name, NO_OPERATION)))
        elif taken_out := exclusion(settings, library, scenario, mode, device, name):
            issue = f" ({taken_out['issue']})" if "issue" in taken_out else ""
            rows.append((name, "excluded", taken_out["reason"] + issue))
        else:
            rows.append((name, "run", None))
    return rows


def _some(
    rows: list[tuple[str, str, str | None]], settings: Settings, place: str
) -> list[tuple[str, str, str | None]]:
    """As many rows as the noise floor takes, drawn by the seed and not by us, in their order."""
    count = min(settings.policy["statistics"]["control_rows"], len(rows))
    drawn = random.Random(f"{settings.policy['seed']}/control/{place}").sample(range(len(rows)), count)
    return [rows[index] for index in sorted(drawn)]


def campaign_tables(settings: Settings, campaign: str) -> list[str]:
    """The tables that a campaign feeds, narrowed to the selected scenarios, modes and devices."""
    config = settings.config
    return [
        name
        for name, table in settings.tables.items()
        if campaign in table["campaigns"]
        and chosen(config["scenarios"], [table["scenario"]])
        and chosen(config["modes"], [table["mode"]])
        and chosen(config["devices"], table["devices"])
    ]


def measures(settings: Settings, machine: str, scenario: str, mode: str) -> bool:
    """Whether a machine measures a scenario in a mode: machines.yaml lets it, and has what is copied to."""
    stanza = settings.machines[machine]
    if mode_facts(mode).copies and accelerator(stanza["devices"]) is None:
        return False
    only = stanza.get("measures", {})
    return scenario in only.get("scenarios", [scenario]) and mode in only.get("modes", [mode])


def table_combinations(
    settings: Settings, table: str, campaign: str
) -> Iterator[tuple[str, str, str, str, str]]:
    """What a table's cells are made of: (machine, scenario, mode, library, device), without repeats.

    A library takes part where its stanza has the scenario with this mode and device, on machines that have
    the device and measure the mode; the controls take part where a library does.
    """
    stanza = settings.tables[table]
    scenario, mode = stanza["scenario"], stanza["mode"]
    if not wanted_transforms(settings, scenario, mode):
        return  # nothing is asked of it at this depth: a cell would have no row, or controls beside none
    named = set(settings.config["libraries"] or ()) if settings.config["libraries"] != "all" else set()
    for machine in settings.campaigns[campaign]["machines"]:
        if not measures(settings, machine, scenario, mode):
            continue
        for device in chosen(settings.config["devices"], stanza["devices"]):
            if device not in settings.machines[machine]["devices"]:
                continue
            taking = [
                library
                for library in chosen_libraries(settings)
                if (offer := settings.libraries[library]["scenarios"].get(scenario))
                and mode in offer["modes"]
                and device in offer["devices"]
            ]
            # Controls go with the libraries: alone they are measured only where one is asked for by name.
            if any(not is_control(settings, library) or library in named for library in taking):
                yield from ((machine, scenario, mode, library, device) for library in taking)


def combinations(settings: Settings, campaign: str | None = None) -> list[tuple[str, str, str, str, str]]:
    """Every (machine, scenario, mode, library, device) of a campaign once (default: the configured one)."""
    campaign = campaign or settings.config["campaign"]
    tables = campaign_tables(settings, campaign)
    found = [each for table in tables for each in table_combinations(settings, table, campaign)]
    return list(dict.fromkeys(found))
