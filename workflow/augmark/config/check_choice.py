"""Rules about config.yaml and the command line: that the names exist and that they select something."""

from __future__ import annotations

from collections.abc import Iterator

from augmark.config.check_datasets import MEDIA, source_problems
from augmark.config.check_stanzas import known_devices, known_modes
from augmark.config.check_tables import has_runnable_row
from augmark.config.problems import Problem, duplicates, nearest, unknown, unknown_names
from augmark.config.select import campaign_tables, mode_transforms, scenario_transforms
from augmark.config.settings import COMMAND_LINE, LIST_KEYS, Draft, Settings
from augmark.modes import mode_facts

FILE = "config/config.yaml"
MINIMUM = {"items": 1, "repeats": 1, "batch_size": 1, "workers": 0, "threads": 1}
ARCHIVES = (".tar", ".tar.gz", ".tgz")
WHOLE = {"libraries", "transforms", "scenarios", "machines", "depths", "tables", "config"}


def _file(draft: Draft, key: str) -> str:
    """Where a key's value comes from, as problems name it."""
    return COMMAND_LINE if key in draft.overrides else FILE


def _named(settings: Settings, key: str) -> list[str]:
    """The names that a list key gives; none where it takes all."""
    value = settings.config[key]
    return value if isinstance(value, list) else []


def check_names(draft: Draft, settings: Settings) -> Iterator[Problem]:
    valid = {
        "scenarios": ("scenario", draft.declared["scenarios"]),
        "modes": ("mode", known_modes(draft, settings)),
        "libraries": ("library", draft.declared["libraries"]),
        "transforms": ("transform", draft.declared["transforms"]),
        "devices": ("device", known_devices(draft, settings)),
    }
    for key, (kind, names) in valid.items():
        yield from duplicates(_file(draft, key), key, settings.config[key])
        yield from unknown_names(kind, _file(draft, key), key, _named(settings, key), names)
    campaign = settings.config["campaign"]
    if campaign is not None and campaign not in draft.declared["campaigns"]:
        yield unknown("campaign", _file(draft, "campaign"), "campaign", campaign, draft.declared["campaigns"])
    depth, depths = draft.files["config"]["depth"], draft.declared["depths"]
    if depth is not None and depth not in depths:
        yield unknown("depth", _file(draft, "depth"), "depth", depth, depths)


def check_dataset_choice(draft: Draft, settings: Settings) -> Iterator[Problem]:
    """A dataset key holds a declared name of the right medium, or a path that is there."""
    for key, medium in MEDIA.items():
        value = settings.config[key]
        if value is None or value in settings.datasets:
            stanza = settings.datasets.get(value)
            if stanza and stanza["medium"] != medium:
                what = f"{value} holds {stanza['medium']} data, {key} are {medium} data"
                yield Problem("wrong-medium", _file(draft, key), key, what)
            if value is None and "config" not in draft.broken and _needs(settings, key):
                what = f"null, but {', '.join(_needs(settings, key))} is made of it"
                hint = nearest("", [n for n, s in settings.datasets.items() if s["medium"] == medium])
                yield Problem("unknown-dataset", _file(draft, key), key, what, hint)
        elif "/" in value or value.endswith(ARCHIVES) or (draft.root / value).exists():
            yield from source_problems(draft.root, _file(draft, key), key, value)
        elif value not in draft.declared["datasets"]:
            yield unknown("dataset", _file(draft, key), key, value, draft.declared["datasets"])


def _needs(settings: Settings, key: str) -> list[str]:
    """The selected scenarios that are made of a dataset key."""
    named = _named(settings, "scenarios") or list(settings.scenarios)
    return [name for name, stanza in settings.scenarios.items() if name in named and stanza["dataset"] == key]


def check_numbers(draft: Draft, settings: Settings) -> Iterator[Problem]:
    for key, least in MINIMUM.items():
        value = settings.config[key]
        if value is not None and value < least:
            yield Problem("out-of-range", _file(draft, key), key, f"at least {least}: {value}")
    items, dataset = settings.config["items"], settings.datasets.get(settings.config["images"] or "", {})
    if items is not None and items > dataset.get("items", items):
        what = f"{items}, but {settings.config['images']} has {dataset['items']}"
        yield Problem("out-of-range", _file(draft, "items"), "items", what)
    threads = settings.config["threads"]
    for machine in settings.campaigns.get(settings.config["campaign"] or "", {}).get("machines", []):
        vcpus = settings.machines.get(machine, {}).get("vcpus")
        if threads is not None and vcpus is not None and threads > vcpus:
            what = f"{threads}, but {machine} has {vcpus} processors"
            yield Problem("out-of-range", _file(draft, "threads"), "threads", what)


def check_selection(draft: Draft, settings: Settings) -> Iterator[Problem]:
    """Every name selects something, and all of them together do. Needs everything else to be right."""
    config = settings.config
    known = {
        "scenarios": settings.scenarios,
        "libraries": settings.libraries,
        "transforms": settings.transforms,
        "modes": known_modes(draft, settings),
        "devices": known_devices(draft, settings),
    }
    if config["plan"] is not None:
        return  # check_questions.check_chosen sees what the plan file and the command line select together
    if draft.broken & WHOLE or config["campaign"] not in settings.campaigns or not settings.depth:
        return
    machines = settings.campaigns[config["campaign"]]["machines"]
    if set(machines) - set(settings.machines) or any(
        set(_named(settings, key)) - set(names) for key, names in known.items()
    ):
        return
    tables = campaign_tables(settings, config["campaign"])
    controls = any(settings.libraries[name]["kind"] == "control" for name in _named(settings, "libraries"))
    # Where transforms are named, a mode that has rows of its own (decode) is not what was asked for.
    asked = [
        table
        for table in tables
        if not (_named(settings, "transforms") and mode_transforms(settings, settings.tables[table]["mode"]))
    ]
    if not any(has_runnable_row(settings, table, config["campaign"], controls) for table in asked):
        keys = [key for key in LIST_KEYS if _named(settings, key)]
        given = " ".join(f"{key}={','.join(_named(settings, key))}" for key in keys)
        what = f"nothing is left to measure: {given or 'all'} in the campaign {config['campaign']}"
        file = COMMAND_LINE if set(keys) & set(draft.overrides) else FILE
        yield Problem("selects-nothing", file, " ".join(keys), what, _why(settings))
    else:
        yield from idle_transforms(draft, settings, [settings.tables[table]["scenario"] for table in tables])
    yield from no_effect(draft, settings)


def _why(settings: Settings) -> str:
    """Who offers the named transforms, where some are named: the usual reason why nothing is left."""
    offers = {
        name: sorted(
            library
            for library, stanza in settings.libraries.items()
            if any(name in offer["transforms"] for offer in stanza["scenarios"].values())
        )
        for name in _named(settings, "transforms")
    }
    return "; ".join(f"{name}: {', '.join(libraries) or 'no library'}" for name, libraries in offers.items())


def idle_transforms(draft: Draft, settings: Settings, scenarios: list[str]) -> Iterator[Problem]:
    """Transforms that are named and are in no set of the scenarios."""
    sets = {name for scenario in scenarios for name in scenario_transforms(settings, scenario)}
    for name in _named(settings, "transforms"):
        if name not in sets and not settings.transforms[name].get("control"):
            what = f"{name} is in the transform set of no selected scenario"
            yield Problem(
                "selects-nothing", _file(draft, "transforms"), "transforms", what, nearest(name, sets)
            )


def no_effect(draft: Draft, settings: Settings) -> Iterator[Problem]:
    """Keys that are given and that nothing selected has."""
    modes = _named(settings, "modes") or sorted(known_modes(draft, settings))
    batched = [mode for mode in modes if mode_facts(mode).batched]
    for key, modes_with_it, what in (
        ("batch_size", batched, "has batches or workers"),
        ("workers", batched, "has batches or workers"),
        ("threads", set(modes) - set(batched), "takes threads: those of loader processes are the policy's"),
    ):
        if settings.config.get(key) is not None and not modes_with_it:
            problem = f"no selected mode {what}: {', '.join(modes)}"
            yield Problem("no-effect", _file(draft, key), key, problem)
    for key, medium in MEDIA.items():
        if draft.overrides.get(key) is not None and not _needs(settings, key):
            yield Problem("no-effect", COMMAND_LINE, key, f"no selected scenario is made of {medium} data")
