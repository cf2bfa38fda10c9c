"""A library a second time under another name: the control that gives the noise floor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from augmark.config.problems import Problem, unknown_names
from augmark.config.select import chosen
from augmark.config.settings import Draft, Settings

LIBRARIES = "config/libraries.yaml"


def check_again(draft: Draft, settings: Settings) -> Iterator[Problem]:
    """What is measured again is a library: no control, and declared."""
    for name, stanza in settings.again.items():
        place = f"{name}.again"
        yield from unknown_names("library", LIBRARIES, place, stanza["again"], draft.declared["libraries"])
        controls = {library for library, its in settings.libraries.items() if its["kind"] == "control"}
        for library in stanza["again"]:
            if library in {*controls, *settings.again}:
                what = f"{library} is a control"
                yield Problem("again-of-control", LIBRARIES, place, what, "name libraries that are compared")


def with_again(settings: Settings) -> Settings:
    """Settings whose ``libraries`` have each stanza of ``again`` in full: a copy of the library's own.

    It is that of the first library of its list that is measured; where none is, nothing is measured again.
    """
    measured = chosen(settings.config["libraries"], settings.libraries)
    found = {}
    for name, stanza in settings.again.items():
        for library in stanza["again"]:
            if library in measured:
                its = settings.libraries[library]
                found[name] = {**its, "title": stanza["title"], "kind": "control", "again": library}
                break
    return replace(settings, libraries={**settings.libraries, **found})
