"""Rules about campaigns, tables and depths: that what is promised can be filled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from augmark.config import check_sweeps
from augmark.config.check_stanzas import known_devices, known_modes
from augmark.config.problems import Problem, duplicates, unknown_names
from augmark.config.select import measures, planned_rows, table_combinations
from augmark.config.settings import LIST_KEYS, Draft, Settings
from augmark.modes import mode_facts

TABLES = "config/tables.yaml"


def check_campaigns(draft: Draft, settings: Settings) -> Iterator[Problem]:
    for campaign, stanza in settings.campaigns.items():
        place = f"campaigns.{campaign}"
        yield from duplicates(TABLES, f"{place}.machines", stanza["machines"])
        yield from unknown_names(
            "machine", TABLES, f"{place}.machines", stanza["machines"], draft.declared["machines"]
        )
        yield from unknown_names(
            "depth", TABLES, f"{place}.depth", [stanza["depth"]], draft.declared["depths"]
        )
        if "tables" in draft.broken:
            continue
        fed = [table for table in settings.tables.values() if campaign in table["campaigns"]]
        if not fed:
            yield Problem("idle-campaign", TABLES, place, "no table names this campaign")
            continue
        for machine in stanza["machines"]:
            devices = settings.machines.get(machine, {}).get("devices")
            if devices is not None and not any(set(devices) & set(table["devices"]) for table in fed):
                what = f"{machine} has none of the devices of this campaign's tables"
                yield Problem("idle-machine", TABLES, f"{place}.machines", what)


def check_tables(draft: Draft, settings: Settings) -> Iterator[Problem]:
    for table, stanza in settings.tables.items():
        place = f"tables.{table}"
        for key in ("devices", "campaigns"):
            yield from duplicates(TABLES, f"{place}.{key}", stanza[key])
        scenario = settings.scenarios.get(stanza["scenario"], {})
        named = [
            ("scenario", "scenario", [stanza["scenario"]], draft.declared["scenarios"]),
            ("campaign", "campaigns", stanza["campaigns"], draft.declared["campaigns"]),
            ("mode", "mode", [stanza["mode"]], scenario.get("modes", known_modes(draft, settings))),
            ("device", "devices", stanza["devices"], known_devices(draft, settings)),
        ]
        found = [
            problem
            for kind, key, values, valid in named
            for problem in unknown_names(kind, TABLES, f"{place}.{key}", values, valid)
        ]
        yield from found
        if not found:
            yield from _empty_table(draft, settings, table)


def _empty_table(draft: Draft, settings: Settings, table: str) -> Iterator[Problem]:
    """A table has a runnable row in every campaign that it names, whatever config.yaml narrows."""
    if draft.broken & {"libraries", "transforms", "scenarios", "machines", "depths", "tables"}:
        return
    wide = {**settings.config, **dict.fromkeys(LIST_KEYS)}
    for campaign in settings.tables[table]["campaigns"]:
        stanza = settings.campaigns[campaign]
        if set(stanza["machines"]) - set(settings.machines) or stanza["depth"] not in settings.depths:
            continue
        scenario, mode = settings.tables[table]["scenario"], settings.tables[table]["mode"]
        able = any(measures(settings, each, scenario, mode) for each in stanza["machines"])
        if mode_facts(mode).copies and not able:
            continue  # a campaign of machines without a device: such a table is for others
        whole = replace(settings, config=wide, depth=settings.depths[stanza["depth"]])
        if not has_runnable_row(whole, table, campaign):
            what = f"no library has a row for it in the campaign {campaign}"
            yield Problem("empty-table", TABLES, f"tables.{table}", what)


def has_runnable_row(settings: Settings, table: str, campaign: str, controls: bool = False) -> bool:
    """Whether any library (a control only where ``controls`` says so) runs a row for a table."""
    return any(
        planned == "run"
        for _, scenario, mode, library, device in table_combinations(settings, table, campaign)
        if controls or settings.libraries[library]["kind"] == "library"
        for _, planned, _ in planned_rows(settings, library, scenario, mode, device)
    )


def check_depths(draft: Draft, settings: Settings) -> Iterator[Problem]:
    for depth, stanza in settings.depths.items():
        file = f"config/depths/{depth}.yaml"
        for key, chosen in (
            ("transforms", stanza["transforms"]),
            ("loader.transforms", stanza["loader"]["transforms"]),
        ):
            if chosen != "all":
                for scenario, names in chosen.items():
                    declared = draft.declared["scenarios"]
                    yield from unknown_names("scenario", file, key, [scenario], declared)
                    if names != "all":
                        yield from _depth_transforms(draft, settings, file, f"{key}.{scenario}", names)
        for key, least in (("items", 1), ("batch_size", 1), ("workers", 0)):
            value = stanza["loader"][key]
            if value is not None and value < least:
                yield Problem("out-of-range", file, f"loader.{key}", f"at least {least}: {value}")
        yield from check_sweeps.check_sweeps(draft, settings, file, stanza)
        for medium, items in stanza["items"].items():
            if items < 1:
                yield Problem("out-of-range", file, f"items.{medium}", f"at least 1: {items}")
        if stanza["repeats"] < 1:
            yield Problem("out-of-range", file, "repeats", f"at least 1: {stanza['repeats']}")
        for scenario, about in settings.scenarios.items():
            if about["medium"] not in stanza["items"]:
                what = f"says nothing for {about['medium']}, of which {scenario} is made"
                yield Problem("missing-items", file, "items", what)
    loader, limits = settings.policy.get("loader"), settings.policy.get("limits")
    if loader and limits and loader["timeout_seconds"] >= limits["row_timeout_seconds"]:
        what = f"{loader['timeout_seconds']} is not below limits.row_timeout_seconds, which would come first"
        yield Problem("out-of-range", "config/policy.yaml", "loader.timeout_seconds", what)
    threads = settings.policy.get("threads", 1)
    if threads < 1:
        yield Problem("out-of-range", "config/policy.yaml", "threads", f"at least 1: {threads}")


def _depth_transforms(
    draft: Draft, settings: Settings, file: str, place: str, names: list[str]
) -> Iterator[Problem]:
    scenario = place.rpartition(".")[2]
    yield from duplicates(file, place, names)
    yield from unknown_names("transform", file, place, names, draft.declared["transforms"])
    for name in names:
        about = settings.transforms.get(name)
        if about and scenario in settings.scenarios and scenario not in about["scenarios"]:
            what = f"{name} is not in the transform set of {scenario}"
            yield Problem("outside-scenario", file, place, what)
        elif about and about.get("control"):
            what = f"{name} is a control's: controls run at every depth"
            yield Problem("control-transform", file, place, what)
