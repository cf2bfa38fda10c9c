"""What a configuration selects: tables, combinations and rows. Pure functions over loaded settings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from augmark.config.settings import Settings

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
    """The transform set of a scenario, without the controls'."""
    return [
        name
        for name, stanza in settings.transforms.items()
        if scenario in stanza["scenarios"] and not stanza.get("control")
    ]


def wanted_transforms(settings: Settings, scenario: str) -> list[str]:
    """The transforms that rows are planned for: those that config.yaml names, or else those of the depth."""
    names = scenario_transforms(settings, scenario)
    named = settings.config["transforms"]
    if named is not None and named != "all":
        return chosen(named, names)
    of_depth = settings.depth.get("transforms", "all")
    return chosen(of_depth if of_depth == "all" else of_depth.get(scenario, []), names)


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

    A control has its own transforms and no others.
    """
    stanza = settings.libraries[library]
    offered = stanza["scenarios"][scenario]["transforms"]
    if is_control(settings, library):
        return [(name, "run", None) for name in offered]
    rows: list[tuple[str, str, str | None]] = []
    for name in wanted_transforms(settings, scenario):
        if name not in offered:
            rows.append((name, "unsupported", stanza.get("unsupported", {}).get(name, NO_OPERATION)))
        elif taken_out := exclusion(settings, library, scenario, mode, device, name):
            issue = f" ({taken_out['issue']})" if "issue" in taken_out else ""
            rows.append((name, "excluded", taken_out["reason"] + issue))
        else:
            rows.append((name, "run", None))
    return rows


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


def table_combinations(
    settings: Settings, table: str, campaign: str
) -> Iterator[tuple[str, str, str, str, str]]:
    """What a table's cells are made of: (machine, scenario, mode, library, device), without repeats.

    A library takes part where its stanza has the scenario with this mode and device, on machines that have
    the device.
    """
    stanza = settings.tables[table]
    scenario, mode = stanza["scenario"], stanza["mode"]
    for machine in settings.campaigns[campaign]["machines"]:
        for device in chosen(settings.config["devices"], stanza["devices"]):
            if device not in settings.machines[machine]["devices"]:
                continue
            for library in chosen_libraries(settings):
                offer = settings.libraries[library]["scenarios"].get(scenario)
                if offer and mode in offer["modes"] and device in offer["devices"]:
                    yield machine, scenario, mode, library, device


def combinations(settings: Settings, campaign: str | None = None) -> list[tuple[str, str, str, str, str]]:
    """Every (machine, scenario, mode, library, device) of a campaign once (default: the configured one)."""
    campaign = campaign or settings.config["campaign"]
    tables = campaign_tables(settings, campaign)
    found = [each for table in tables for each in table_combinations(settings, table, campaign)]
    return list(dict.fromkeys(found))
