"""Claims as they stand in the plan: with every name that they are about, and in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from augmark.config.select import is_control, mode_transforms, scenario_transforms
from augmark.config.settings import Settings


def whole_set(settings: Settings, scenario: str, mode: str) -> list[str]:
    """Every transform of a scenario in a mode, whatever config.yaml or the depth narrow."""
    return mode_transforms(settings, mode) or scenario_transforms(settings, scenario)


def compared_libraries(settings: Settings, scenario: str, mode: str, device: str) -> list[str]:
    """The libraries, controls left out, that are asked for a scenario in a mode on a device."""
    return [
        name
        for name, stanza in settings.libraries.items()
        if not is_control(settings, name)
        and (offer := stanza["scenarios"].get(scenario))
        and mode in offer["modes"]
        and device in offer["devices"]
    ]


def resolved(settings: Settings) -> dict[str, dict[str, Any]]:
    """The claims for the plan: a count is over the whole set and ``against`` every other library."""
    found = {}
    for claim, stanza in settings.claims.items():
        place = stanza["scenario"], stanza["mode"]
        if stanza["kind"] == "count":
            libraries = compared_libraries(settings, *place, stanza["device"])
            others = [name for name in libraries if name != stanza["library"]]
            stanza = {**stanza, "transforms": whole_set(settings, *place), "against": others}
        found[claim] = stanza
    return found


def in_words(claim: Mapping[str, Any]) -> str:
    """What a claim says; printed words and what is checked cannot differ."""
    names = "each of " if len(claim.get("transforms", ())) > 1 else ""
    where = f"({', '.join(claim[key] for key in ('scenario', 'mode', 'device', 'machine'))})"
    if claim["kind"] == "count":
        number = f"at least {claim['at_least']:g} of {claim['of']} rows compared"
        return f"{claim['library']} is the fastest in {number} {where}"
    names += ", ".join(claim["transforms"])
    if claim["kind"] == "no-slower":
        return f"{claim['library']} is no slower than {claim['than']} on {names} {where}"
    times = f"at least {claim['at_least']:g} times as fast as"
    return f"{claim['library']} is {times} {claim['than']} on {names} {where}"
