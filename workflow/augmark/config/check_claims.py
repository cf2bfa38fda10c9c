"""Rules about claims: that there could be records which carry them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from augmark.config.check_stanzas import known_devices, known_modes
from augmark.config.claims import compared_libraries, in_words, whole_set
from augmark.config.problems import Problem, duplicates, nearest, unknown_names
from augmark.config.select import exclusion, is_control, measures, offered_transforms
from augmark.config.settings import Draft, Settings

CLAIMS = "config/claims.yaml"
NEEDED = {"libraries", "transforms", "scenarios", "machines"}
# Key -> the kinds that have it; the schema says which of them must.
KEYS = {
    "than": ("faster", "no-slower"),
    "transforms": ("faster", "no-slower"),
    "at_least": ("faster", "count"),
    "of": ("count",),
}


def check_claims(draft: Draft, settings: Settings) -> Iterator[Problem]:
    """Every name is declared, what is compared can be, and the numbers claim something."""
    said: dict[str, str] = {}
    for claim, stanza in settings.claims.items():
        found = [*_names(draft, settings, claim, stanza), *_kind(claim, stanza)]
        yield from found
        if found or draft.broken & NEEDED:
            continue
        place_found = list(_place(settings, claim, stanza))
        yield from place_found
        if not place_found:
            yield from _offered(settings, claim, stanza)
            yield from _count(settings, claim, stanza)
        words = in_words(stanza)
        if words in said:
            yield Problem("duplicate", CLAIMS, claim, f"says what {said[words]} says")
        said.setdefault(words, claim)


def _names(draft: Draft, settings: Settings, claim: str, stanza: dict[str, Any]) -> Iterator[Problem]:
    scenario = settings.scenarios.get(stanza["scenario"], {})
    machine = settings.machines.get(stanza["machine"], {})
    declared = draft.declared
    named = [
        ("library", "library", [stanza["library"]], declared["libraries"]),
        ("library", "than", [stanza["than"]] if "than" in stanza else [], declared["libraries"]),
        ("transform", "transforms", stanza.get("transforms", []), declared["transforms"]),
        ("scenario", "scenario", [stanza["scenario"]], declared["scenarios"]),
        ("mode", "mode", [stanza["mode"]], scenario.get("modes", known_modes(draft, settings))),
        ("device", "device", [stanza["device"]], machine.get("devices", known_devices(draft, settings))),
        ("machine", "machine", [stanza["machine"]], declared["machines"]),
    ]
    for kind, key, values, valid in named:
        yield from unknown_names(kind, CLAIMS, f"{claim}.{key}", values, valid)
    yield from duplicates(CLAIMS, f"{claim}.transforms", stanza.get("transforms"))


def _kind(claim: str, stanza: dict[str, Any]) -> Iterator[Problem]:
    """Each kind has its own keys, and numbers that claim something."""
    kind, least = stanza["kind"], stanza.get("at_least")
    for key, kinds in KEYS.items():
        if key in stanza and kind not in kinds:
            what = f"a claim of the kind {kind} has no {key}"
            yield Problem("claim", CLAIMS, f"{claim}.{key}", what, f"it is for: {', '.join(kinds)}")
    place = f"{claim}.at_least"
    if kind == "faster" and least is not None and least <= 1:
        what, hint = f"a ratio of throughputs above 1: {least}", "kind: no-slower claims less"
        yield Problem("claim", CLAIMS, place, what, hint)
    if kind == "count" and least is not None:
        if least != int(least):
            yield Problem("claim", CLAIMS, place, f"a number of rows: {least}")
        elif least > stanza["of"]:
            yield Problem("claim", CLAIMS, place, f"{least:g} rows of {stanza['of']}")


def _place(settings: Settings, claim: str, stanza: dict[str, Any]) -> Iterator[Problem]:
    """Two libraries, none of them a control, on a machine that measures the mode."""
    library, than = stanza["library"], stanza.get("than")
    if library == than:
        yield Problem("claim", CLAIMS, f"{claim}.than", f"{library} is compared with itself")
    for key in ("library", "than"):
        name = stanza.get(key)
        if name in settings.again or (name is not None and is_control(settings, name)):
            libraries = [each for each in settings.libraries if not is_control(settings, each)]
            hint = f"libraries: {', '.join(libraries)}"
            yield Problem("claim", CLAIMS, f"{claim}.{key}", f"{name} is a control", hint)
    machine, scenario = stanza["machine"], stanza["scenario"]
    if not measures(settings, machine, scenario, stanza["mode"]):
        modes = settings.scenarios[scenario]["modes"]
        does = [mode for mode in modes if measures(settings, machine, scenario, mode)]
        what = f"{stanza['machine']} does not measure {stanza['mode']}"
        yield Problem("claim-of-nothing", CLAIMS, f"{claim}.mode", what, nearest(stanza["mode"], does))


def _offered(settings: Settings, claim: str, stanza: dict[str, Any]) -> Iterator[Problem]:
    """Every library of the claim is asked for its transforms there."""
    scenario, mode, device = (stanza[key] for key in ("scenario", "mode", "device"))
    for key in ("library", "than"):
        name, place = stanza.get(key), f"{claim}.{key}"
        if name is None:
            continue
        having = compared_libraries(settings, scenario, mode, device)
        if name not in having:
            what = f"{name} is not asked for {scenario} {mode} on {device}"
            yield Problem("claim-of-nothing", CLAIMS, place, what, nearest(name, having))
            continue
        offered = [
            transform
            for transform in offered_transforms(settings, name, scenario, mode)
            if exclusion(settings, name, scenario, mode, device, transform) is None
        ]
        for transform in stanza.get("transforms", []):
            if transform not in offered:
                what = f"{name} has no {transform} in {scenario} {mode} on {device}"
                hint = nearest(transform, offered)
                yield Problem("claim-of-nothing", CLAIMS, f"{claim}.transforms", what, hint)


def _count(settings: Settings, claim: str, stanza: dict[str, Any]) -> Iterator[Problem]:
    there = len(whole_set(settings, stanza["scenario"], stanza["mode"]))
    if stanza.get("of", 0) > there:
        what = f"{stanza['of']} rows, and {stanza['scenario']} {stanza['mode']} has {there}"
        yield Problem("claim-of-nothing", CLAIMS, f"{claim}.of", what)
