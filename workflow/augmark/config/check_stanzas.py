"""Rules about libraries, transforms, scenarios and machines: each stanza against the others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from augmark import profiles
from augmark.config.problems import Anything, Problem, duplicates, nearest, unknown_names
from augmark.config.select import lacking, scenario_transforms
from augmark.config.settings import Draft, Settings
from augmark.data.views import VIEWS
from augmark.errors import AugmarkError
from augmark.modes import MODES, mode_facts

LIBRARIES, TRANSFORMS = "config/libraries.yaml", "config/transforms.yaml"
SCENARIOS, MACHINES = "config/scenarios.yaml", "config/machines.yaml"

# What the last word of a numeric parameter's name may be: a unit, or a quantity that has none.
UNITS = {"degrees", "pixels", "level", "levels", "fraction", "factor", "ratio", "kelvin", "seconds", "turns"}
QUANTITIES = {"bits", "channels", "direction", "gamma", "grid", "limit", "quality", "roughness"}


def known_devices(draft: Draft, settings: Settings) -> Anything | set[str]:
    if "machines" in draft.broken:
        return Anything()
    return {device for machine in settings.machines.values() for device in machine["devices"]}


def known_modes(draft: Draft, settings: Settings) -> Anything | set[str]:
    if "scenarios" in draft.broken:
        return Anything()
    return {mode for scenario in settings.scenarios.values() for mode in scenario["modes"]}


def check_libraries(draft: Draft, settings: Settings) -> Iterator[Problem]:
    """Names in each library's stanza, and its exclusions."""
    for library, stanza in settings.libraries.items():
        for scenario, offer in stanza["scenarios"].items():
            place = f"{library}.scenarios.{scenario}"
            yield from unknown_names("scenario", LIBRARIES, place, [scenario], draft.declared["scenarios"])
            for key in ("modes", "devices", "transforms"):
                yield from duplicates(LIBRARIES, f"{place}.{key}", offer[key])
            if scenario in settings.scenarios:
                modes = settings.scenarios[scenario]["modes"]
                yield from unknown_names("mode", LIBRARIES, f"{place}.modes", offer["modes"], modes)
            devices = known_devices(draft, settings)
            yield from unknown_names("device", LIBRARIES, f"{place}.devices", offer["devices"], devices)
            yield from _offered_names(draft, settings, library, scenario)
        names = draft.declared["transforms"]
        lacking = stanza.get("unsupported", {})
        yield from unknown_names("transform", LIBRARIES, f"{library}.unsupported", lacking, names)
        for number, exclusion in enumerate(stanza.get("exclusions", [])):
            yield from _exclusion(draft, stanza, f"{library}.exclusions[{number}]", exclusion)


def _offered_names(draft: Draft, settings: Settings, library: str, scenario: str) -> Iterator[Problem]:
    stanza = settings.libraries[library]
    place = f"{library}.scenarios.{scenario}.transforms"
    control = stanza["kind"] == "control"
    offered = stanza["scenarios"][scenario]["transforms"]
    yield from unknown_names("transform", LIBRARIES, place, offered, draft.declared["transforms"])
    for key in ("unsupported", "chunked"):
        named = stanza["scenarios"][scenario].get(key, {})
        where = f"{library}.scenarios.{scenario}.{key}"
        yield from unknown_names("transform", LIBRARIES, where, named, draft.declared["transforms"])
    yield from _chunked_names(settings, library, scenario)
    for name in offered:
        if name in lacking(settings, library, scenario):
            what = f"{name} is offered here and listed as unsupported"
            yield Problem("offered-and-unsupported", LIBRARIES, place, what)
        about = settings.transforms.get(name)
        if about is None:
            continue
        if about.get("control", False) is not control:
            what = f"{name} is {'no' if control else 'a'} control's transform"
            yield Problem("control-transform", LIBRARIES, place, what, f"{library} is a {stanza['kind']}")
        if scenario in settings.scenarios and scenario not in about["scenarios"]:
            yield Problem(
                "outside-scenario",
                LIBRARIES,
                place,
                f"{name} is not in the transform set of {scenario}",
                f"its scenarios in transforms.yaml: {', '.join(about['scenarios']) or 'none'}",
            )


def _chunked_names(settings: Settings, library: str, scenario: str) -> Iterator[Problem]:
    """What is said to run in chunks is offered, and there are chunks of three channels."""
    offer = settings.libraries[library]["scenarios"][scenario]
    place = f"{library}.scenarios.{scenario}.chunked"
    for name in offer.get("chunked", {}):
        if name not in offer["transforms"]:
            yield Problem("chunked-nothing", LIBRARIES, place, f"{name} is not offered here")
    channels = settings.scenarios.get(scenario, {}).get("channels", 9)
    if offer.get("chunked") and (channels <= 3 or channels % 3):
        what = f"{scenario} has {channels} channels, which are no chunks of three"
        yield Problem("chunked-nothing", LIBRARIES, place, what)


def _exclusion(
    draft: Draft, stanza: dict[str, Any], place: str, exclusion: dict[str, Any]
) -> Iterator[Problem]:
    """An exclusion names what is declared, and takes out something that the library offers."""
    offers, known = stanza["scenarios"], draft.declared
    for key in ("transforms", "scenarios", "modes", "devices"):
        yield from duplicates(LIBRARIES, f"{place}.{key}", exclusion.get(key))
    for kind in ("transform", "scenario"):
        key = f"{kind}s"
        yield from unknown_names(kind, LIBRARIES, f"{place}.{key}", exclusion.get(key, []), known[key])
    reached = [
        offer
        for scenario, offer in offers.items()
        if scenario in exclusion.get("scenarios", [scenario])
        and set(offer["modes"]) & set(exclusion.get("modes", offer["modes"]))
        and set(offer["devices"]) & set(exclusion.get("devices", offer["devices"]))
    ]
    for name in exclusion["transforms"]:
        if name in known["transforms"] and not any(name in offer["transforms"] for offer in reached):
            what = f"{name} is not offered where this exclusion would take it out"
            yield Problem("exclusion-of-nothing", LIBRARIES, place, what)
    for key in ("modes", "devices"):
        had = {value for offer in offers.values() for value in offer[key]}
        for value in exclusion.get(key, []):
            if reached and value not in had:
                what = f"the library is asked for nothing with {value}"
                yield Problem("exclusion-of-nothing", LIBRARIES, f"{place}.{key}", what, nearest(value, had))


def check_offers(draft: Draft, settings: Settings) -> Iterator[Problem]:
    """Who offers what, seen from the transforms: needs both files whole."""
    if draft.broken & {"libraries", "transforms", "scenarios"}:
        return
    for scenario in settings.scenarios:
        for name, about in settings.transforms.items():
            if scenario not in about["scenarios"] or about.get("control") or "mode" in about:
                continue
            offering = sorted(offering_libraries(settings, name, scenario))
            if len(offering) < 2:
                what = f"only {offering[0]} offers it" if offering else "no library offers it"
                hint = "a comparison needs two: take it out of the set, or offer it in another library"
                yield Problem("lonely-transform", TRANSFORMS, name, f"{what} in {scenario}", hint)


def offering_libraries(settings: Settings, transform: str, scenario: str | None = None) -> set[str]:
    """The libraries, controls left out, that offer a transform (in one scenario or anywhere)."""
    return {
        library
        for library, stanza in settings.libraries.items()
        if stanza["kind"] == "library"
        for its_scenario, offer in stanza["scenarios"].items()
        if scenario in (None, its_scenario) and transform in offer["transforms"]
    }


def check_transforms(draft: Draft, settings: Settings) -> Iterator[Problem]:
    readable = not isinstance(draft.declared["scenarios"], Anything)
    scenarios = {*draft.declared["scenarios"], *draft.declared["announced"]} if readable else Anything()
    for name, about in settings.transforms.items():
        changed = about.get("by_scenario", {})
        for key, named in (("scenarios", about["scenarios"]), ("by_scenario", changed)):
            yield from duplicates(TRANSFORMS, f"{name}.{key}", named)
            yield from unknown_names("scenario", TRANSFORMS, f"{name}.{key}", named, scenarios)
        yield from unknown_names("mode", TRANSFORMS, f"{name}.mode", [about.get("mode", "micro")], MODES)
        yield from _transform(draft, settings, name, about)
        for scenario, more in changed.items():
            place = f"{name}.by_scenario.{scenario}"
            if scenario not in about["scenarios"] and scenario in scenarios:
                what = f"{name} is not in the transform set of {scenario}"
                yield Problem("outside-scenario", TRANSFORMS, place, what)
            yield from _transform(draft, settings, place, {**about, **more})


def _transform(draft: Draft, settings: Settings, place: str, about: dict[str, Any]) -> Iterator[Problem]:
    """What the parameters and words of a stanza are of, as it stands or as it is in one scenario."""
    yield from _pinning(place, about)
    for key in about.get("in_recipe", {}):
        if key not in about["params"]:
            hint = nearest(key, about["params"])
            yield Problem(
                "pinned-not-param", TRANSFORMS, f"{place}.in_recipe", f"{key} is not in params", hint
            )
    for key, value in about["params"].items():
        if _numeric(value) and key.split("_")[-1] not in UNITS | QUANTITIES:
            hint = f"units: {', '.join(sorted(UNITS))}; quantities: {', '.join(sorted(QUANTITIES))}"
            what = f"{key} is a number whose name does not end with its unit"
            yield Problem("param-unit", TRANSFORMS, f"{place}.params.{key}", what, hint)
    name = place.partition(".")[0]
    for library in about.get("differences", {}):
        where = f"{place}.differences"
        yield from unknown_names("library", TRANSFORMS, where, [library], draft.declared["libraries"])
        if library in settings.libraries and library not in offering_libraries(settings, name):
            what = f"{library} does not offer {name}"
            yield Problem("difference-of-nothing", TRANSFORMS, where, what)


def _numeric(value: Any) -> bool:
    """Whether a parameter is a number or a list with one in it."""
    if isinstance(value, list):
        return any(_numeric(item) for item in value)
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _pinning(name: str, about: dict[str, Any]) -> Iterator[Problem]:
    for key in about.get("pinned", {}):
        if key not in about["params"]:
            hint = nearest(key, about["params"])
            yield Problem("pinned-not-param", TRANSFORMS, f"{name}.pinned", f"{key} is not in params", hint)
    if about["random"] and not about.get("pinned") and "unpinnable" not in about:
        what = "random, but neither pinned nor unpinnable: <why> is given"
        yield Problem("not-pinned", TRANSFORMS, name, what)
    if about.get("pinned") and "unpinnable" in about:
        yield Problem("not-pinned", TRANSFORMS, name, "both pinned and unpinnable are given")


def check_scenarios(draft: Draft, settings: Settings) -> Iterator[Problem]:
    for scenario, stanza in settings.scenarios.items():
        place = f"scenarios.{scenario}"
        yield from duplicates(SCENARIOS, f"{place}.modes", stanza["modes"])
        yield from unknown_names("mode", SCENARIOS, f"{place}.modes", stanza["modes"], MODES)
        if "loader" not in stanza and any(mode_facts(mode).batched for mode in stanza["modes"]):
            yield Problem(
                "missing-loader", SCENARIOS, place, "a DataLoader mode, but no batch size and workers"
            )
        yield from _views(scenario, stanza)
        if scenario in settings.announced:
            what = f"{scenario} is declared above and announced for later"
            yield Problem("announced-and-declared", SCENARIOS, f"announced.{scenario}", what)
        if "transforms" not in draft.broken and not scenario_transforms(settings, scenario):
            what = "no stanza of transforms.yaml names this scenario"
            yield Problem("empty-scenario", SCENARIOS, f"scenarios.{scenario}", what)


def _views(scenario: str, stanza: dict[str, Any]) -> Iterator[Problem]:
    """More than three channels are views of an RGB image: three each, none twice."""
    place, views = f"scenarios.{scenario}.views", stanza.get("views", [])
    yield from unknown_names("view", SCENARIOS, place, views, VIEWS)
    yield from duplicates(SCENARIOS, place, views)
    if stanza["channels"] != 3 * max(1, len(views)):
        what = f"{stanza['channels']} channels, but {max(1, len(views))} views of three"
        yield Problem("wrong-channels", SCENARIOS, place, what)


def check_machines(draft: Draft, settings: Settings) -> Iterator[Problem]:
    quotas = _quotas(draft.root)
    for machine, stanza in settings.machines.items():
        yield from duplicates(MACHINES, f"{machine}.devices", stanza["devices"])
        only = stanza.get("measures", {})
        known = {"mode": MODES, "scenario": draft.declared["scenarios"]}
        for kind, names in known.items():
            place = f"{machine}.measures.{kind}s"
            yield from unknown_names(kind, MACHINES, place, only.get(f"{kind}s", []), names)
        for name in sorted(stanza.get("host", {})):
            yield from unknown_names("quota", MACHINES, f"{machine}.host.{name}", [name], quotas)
        for key in ("cpu_model", "gpu_model"):
            try:
                re.compile(stanza.get(key) or "")
            except re.error as error:
                what = f"not a regular expression: {stanza[key]!r} ({error})"
                yield Problem("bad-pattern", MACHINES, f"{machine}.{key}", what)


def _quotas(root: Path) -> Anything | set[str]:
    """What the profiles limit; where there are none, or they cannot be read, any name may be meant."""
    try:
        limited = [profiles.read_profile(root, name).limits for name in profiles.names(root)]
    except AugmarkError:
        return Anything()
    return {quota for limits in limited for quota in limits} if limited else Anything()
