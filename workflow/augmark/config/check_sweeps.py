"""Rules about the sweeps of a depth: every one of them has rows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from augmark.config.check_stanzas import known_modes
from augmark.config.problems import Problem, duplicates, unknown_names
from augmark.config.settings import Draft, Settings
from augmark.modes import MODES, regimes_module
from augmark.sweeps import CODED, has_axis

LEAST = {"threads": 1, "batched": 2, "workers": 0, "batch_size": 1}
# Not compiled, and the library's own type, are the plain rows.
VALUES = {
    "compile": [True],
    "dtype": ["uint8", "float32"],
    "policy": ["pipeline-default", "pipeline-single-worker"],
}


def check_sweeps(draft: Draft, settings: Settings, file: str, depth: dict[str, Any]) -> Iterator[Problem]:
    """Modes have the axis, libraries are asked for it, and values can be had."""
    seen: set[str] = set()
    for number, sweep in enumerate(depth.get("sweeps", [])):
        place, axis = f"sweeps[{number}]", sweep["axis"]
        if axis in seen:
            yield Problem("sweep", file, place, f"{axis} is swept twice")
        seen.add(axis)
        yield from duplicates(file, f"{place}.modes", sweep["modes"])
        yield from unknown_names("mode", file, f"{place}.modes", sweep["modes"], known_modes(draft, settings))
        for mode in sweep["modes"]:
            if mode in MODES and not has_axis(axis, mode):
                yield Problem("sweep", file, f"{place}.modes", f"mode {mode} has no {axis}")
        libraries = sweep.get("libraries", "all")
        names = list(settings.libraries) if libraries == "all" else libraries
        yield from unknown_names("library", file, f"{place}.libraries", names, draft.declared["libraries"])
        if axis in CODED:
            yield from code_problems(draft, settings, file, f"{place}.libraries", names)
        yield from _values(file, f"{place}.values", axis, sweep["values"])


def code_problems(
    draft: Draft, settings: Settings, file: str, place: str, names: list[str]
) -> Iterator[Problem]:
    """Libraries that have no module of other ways of doing their transforms."""
    for name in names:
        if name in settings.libraries:
            module = regimes_module(settings.libraries[name]["adapter"])
            if not (draft.root / "workflow" / (module.replace(".", "/") + ".py")).is_file():
                what = f"{name} has no other way of doing its transforms: no {module}"
                yield Problem("sweep", file, place, what)


def _values(file: str, place: str, axis: str, values: Any) -> Iterator[Problem]:
    if not isinstance(values, list):
        if axis not in ("threads", "workers"):
            yield Problem("sweep", file, place, f"{axis} is no number of processors: {values}")
        return
    yield from duplicates(file, place, values)
    for value in values:
        yield from value_problems(file, place, axis, value)


def value_problems(file: str, place: str, axis: str, value: Any) -> Iterator[Problem]:
    """What is wrong with one value of an axis."""
    if axis in LEAST and (type(value) is not int or value < LEAST[axis]):
        yield Problem("out-of-range", file, place, f"{axis} is at least {LEAST[axis]}: {value}")
    # With the type, since 1 is true to Python.
    elif axis in VALUES and (type(value), value) not in [(type(each), each) for each in VALUES[axis]]:
        shown = ", ".join(json.dumps(each).strip('"') for each in VALUES[axis])
        yield Problem("sweep", file, place, f"{axis} cannot be {json.dumps(value)}", f"valid: {shown}")
