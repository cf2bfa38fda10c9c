"""Rules about plan files: every one of them can be carried out, and asks something."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from augmark.cell import ID
from augmark.config.check_choice import idle_transforms, no_effect
from augmark.config.check_stanzas import known_devices, known_modes
from augmark.config.check_sweeps import code_problems, value_problems
from augmark.config.check_tables import has_runnable_row
from augmark.config.check_tree import missing_files
from augmark.config.problems import Problem, duplicates, nearest, unknown, unknown_names
from augmark.config.questions import BASELINE, CANDIDATE, DECIDED, Question, conditions_of, plain_values
from augmark.config.settings import COMMAND_LINE, Draft, Settings
from augmark.sweeps import CODED, has_axis
from augmark.worker.threads import ALLOCATOR, POOL_VARIABLES, QUIET
from augmark.worker.variables import may_hold_secret, steers_process

CONFIG, POLICY = "config/config.yaml", "config/policy.yaml"
# Files that have to be whole before anything can be said of what conditions come to.
WHOLE = {"libraries", "scenarios", "depths", "policy"}


def file_of(name: str) -> str:
    """A plan file from the root."""
    return f"config/plans/{name}.yaml"


def check_variables(draft: Draft, settings: Settings) -> Iterator[Problem]:
    """What policy.yaml allows plan files to set is no secret, and nothing that the workflow sets itself."""
    ours = {*POOL_VARIABLES, *QUIET, *ALLOCATOR}
    for name in settings.policy.get("plans", {}).get("variables", []):
        if may_hold_secret(name):
            what = f"{name} may hold a secret, and every record would have it"
            yield Problem("plan-variable", POLICY, "plans.variables", what)
        elif steers_process(name):
            what = f"{name} says where a process finds its code, files or devices"
            hint = "a condition says `environment:` for other code"
            yield Problem("plan-variable", POLICY, "plans.variables", what, hint)
        elif name in ours:
            what = f"{name} is set by the workflow"
            hint = "a condition says `threads: n`" if name in POOL_VARIABLES else ""
            yield Problem("plan-variable", POLICY, "plans.variables", what, hint)


def check_questions(draft: Draft, settings: Settings) -> Iterator[Problem]:
    """Every plan file: its names, its groups, and each of its conditions."""
    for name, question in settings.questions.items():
        if not re.fullmatch(ID, name):
            hint = "rename it: small letters, digits and dashes"
            yield Problem("plan-name", file_of(name), "", f"not an id: {name}", hint)
        problems = [*_names(draft, settings, question), *_numbers(settings, question)]
        yield from problems
        yield from _roles(question)
        yield from _ids(draft, settings, question)
        for group, condition in conditions_of(question):
            place = f"groups.{group}.{condition['id']}"
            yield from _library(draft, settings, question, condition, place)
            yield from _setting(draft, settings, question, condition, place)
            yield from _variables(draft, settings, question, condition, place)
        if not problems and not draft.broken & WHOLE:
            yield from _alike(settings, question)


def check_plan_choice(draft: Draft, settings: Settings) -> Iterator[Problem]:
    """A plan file that is chosen is there, and what it decides is not given beside it."""
    chosen = settings.config["plan"]
    if chosen is None:
        return
    file = COMMAND_LINE if "plan" in draft.overrides else CONFIG
    if chosen not in draft.declared["plans"]:
        yield unknown("plan", file, "plan", chosen, draft.declared["plans"])
        return
    for key in DECIDED:
        if key in draft.overrides:
            what = f"the plan file {chosen} decides it"
            yield Problem(
                "plan-key", COMMAND_LINE, key, what, f"change {file_of(chosen)}, or leave the key out"
            )


def check_chosen(draft: Draft, settings: Settings) -> Iterator[Problem]:
    """What the chosen plan file and the command line select together is not empty.

    Args:
        settings: With the plan file applied (``questions.apply``).
    """
    (table,), campaign = settings.tables, settings.config["campaign"]
    if has_runnable_row(settings, table, campaign):
        yield from idle_transforms(draft, settings, settings.config["scenarios"])
    else:
        given = settings.config["transforms"]
        named = given if isinstance(given, str) else ",".join(given)
        file = COMMAND_LINE if "transforms" in draft.overrides else file_of(settings.config["plan"])
        what = f"no condition of {settings.config['plan']} has a row to measure: {named}"
        yield Problem("selects-nothing", file, "transforms", what)
    yield from no_effect(draft, settings)


def _names(draft: Draft, settings: Settings, question: Question) -> Iterator[Problem]:
    """Scenario, mode, device, depth and transforms are there, and go together."""
    file, scenario = file_of(question["name"]), question["scenario"]
    yield from unknown_names("scenario", file, "scenario", [scenario], draft.declared["scenarios"])
    modes = settings.scenarios.get(scenario, {}).get("modes", known_modes(draft, settings))
    yield from unknown_names("mode", file, "mode", [question["mode"]], modes)
    yield from unknown_names("device", file, "device", [question["device"]], known_devices(draft, settings))
    yield from unknown_names("depth", file, "depth", [question["depth"]], draft.declared["depths"])
    if question["transforms"] == "all":
        return
    yield from duplicates(file, "transforms", question["transforms"])
    names = draft.declared["transforms"]
    yield from unknown_names("transform", file, "transforms", question["transforms"], names)
    for name in question["transforms"]:
        about = settings.transforms.get(name, {"scenarios": [scenario]})
        if about.get("control"):
            what = f"{name} is a control's: the controls run with every plan file"
            yield Problem("control-transform", file, "transforms", what)
        elif scenario in settings.scenarios and scenario not in about["scenarios"]:
            what = f"{name} is not in the transform set of {scenario}"
            yield Problem("outside-scenario", file, "transforms", what)


def _numbers(settings: Settings, question: Question) -> Iterator[Problem]:
    file = file_of(question["name"])
    least = settings.policy.get("statistics", {}).get("interval_from_repeats", 1)
    if question["repeats"] < least:
        what = f"at least {least} (policy.yaml: interval_from_repeats): {question['repeats']}"
        yield Problem("out-of-range", file, "repeats", what, "a verdict needs an interval")


def _roles(question: Question) -> Iterator[Problem]:
    for group in question["groups"]:
        baselines = [each["id"] for each in group["conditions"] if each["role"] == BASELINE]
        file, place = file_of(question["name"]), f"groups.{group['name']}"
        if len(baselines) > 1:
            what = f"has {len(baselines)} baselines: {', '.join(baselines)}"
            yield Problem("plan-roles", file, place, what, "one, or a group for each")
        if not baselines:
            what = "has no baseline to hold the others against"
            yield Problem("plan-roles", file, place, what, "give one condition `role: baseline`")
    if all(condition["role"] != CANDIDATE for _, condition in conditions_of(question)):
        what = "no group has a candidate, so that nothing would be decided"
        hint = "give one condition `role: candidate`"
        yield Problem("plan-roles", file_of(question["name"]), "groups", what, hint)


def _ids(draft: Draft, settings: Settings, question: Question) -> Iterator[Problem]:
    """Records lie under the id: it is one condition's, and no library's own rows lie there."""
    seen: dict[str, str] = {}
    for group, condition in conditions_of(question):
        name, place = condition["id"], f"groups.{group}.{condition['id']}"
        if name in seen:
            what = f"{name} is in the group {seen[name]} too"
            yield Problem(
                "plan-condition", file_of(question["name"]), place, what, "each has an id of its own"
            )
        elif name in list(draft.declared["libraries"]):
            what = f"{name} is a library, whose own records lie under this id"
            yield Problem(
                "plan-condition", file_of(question["name"]), place, what, "say what is special about it"
            )
        elif any(name.startswith(f"{control}-") for control in settings.again):
            what = f"{name} is named like what measures a group's baseline a second time"
            yield Problem("plan-condition", file_of(question["name"]), place, what, "name it otherwise")
        seen[name] = group


def _library(
    draft: Draft, settings: Settings, question: Question, condition: Mapping[str, Any], place: str
) -> Iterator[Problem]:
    """The library can be asked what the plan file asks, and its environment is locked."""
    file, library = file_of(question["name"]), condition["library"]
    yield from unknown_names("library", file, f"{place}.library", [library], draft.declared["libraries"])
    if library in settings.again:
        yield Problem("plan-library", file, f"{place}.library", f"{library} is a control")
    if library not in settings.libraries:
        return
    stanza = settings.libraries[library]
    offer = stanza["scenarios"].get(question["scenario"], {"modes": [], "devices": []})
    if stanza["kind"] == "control":
        what = f"{library} is a control: it runs with every plan file"
        yield Problem("plan-library", file, f"{place}.library", what)
    elif question["mode"] not in offer["modes"] or question["device"] not in offer["devices"]:
        asked = f"{question['scenario']}, {question['mode']}, {question['device']}"
        yield Problem("plan-library", file, f"{place}.library", f"{library} does not have {asked}")
    missing = missing_files(draft.root, condition["environment"])
    if missing and condition["environment"] != stanza["environment"]:
        had = {path.stem for path in (draft.root / "envs").glob("*.txt")} - {"workflow"}
        what = f"missing: {', '.join(missing)}"
        hint = f"{nearest(condition['environment'], had)}; `python scripts/lock_envs.py` makes .txt and .yaml"
        yield Problem("missing-environment", file, f"{place}.environment", what, hint)


def _setting(
    draft: Draft, settings: Settings, question: Question, condition: Mapping[str, Any], place: str
) -> Iterator[Problem]:
    file, setting = file_of(question["name"]), condition["setting"]
    for axis, value in setting.items():
        if not has_axis(axis, question["mode"]):
            what = f"mode {question['mode']} has no {axis}"
            yield Problem("plan-setting", file, f"{place}.{axis}", what)
        yield from value_problems(file, f"{place}.{axis}", axis, value)
        if axis in CODED:
            yield from code_problems(draft, settings, file, f"{place}.{axis}", [condition["library"]])
    if len(coded := [axis for axis in setting if axis in CODED]) > 1:
        what = f"sets {' and '.join(coded)} at once, which no library has code for"
        yield Problem("plan-setting", file, place, what, "one of them, in conditions of their own")


def _variables(
    draft: Draft, settings: Settings, question: Question, condition: Mapping[str, Any], place: str
) -> Iterator[Problem]:
    allowed = settings.policy.get("plans", {}).get("variables", [])
    if "policy" in draft.broken:
        return
    for name in condition["variables"]:
        if name not in allowed:
            hint = "a condition says `threads: n`" if name in POOL_VARIABLES else nearest(name, allowed)
            what = f"{name} is none of policy.yaml's plans.variables"
            yield Problem("plan-variable", file_of(question["name"]), f"{place}.variables.{name}", what, hint)


def _alike(settings: Settings, question: Question) -> Iterator[Problem]:
    """Two conditions that come to the same would be compared with themselves: control-aa does that."""
    plain = plain_values(settings, question)
    seen: dict[str, str] = {}
    for group, condition in conditions_of(question):
        setting = sorted({**plain, **condition["setting"]}.items())
        told = repr([condition["library"], condition["environment"], setting, condition["variables"]])
        if told in seen:
            what = f"is like {seen[told]} in everything"
            hint = "say what is otherwise; control-aa measures a condition against itself"
            place = f"groups.{group}.{condition['id']}"
            yield Problem("plan-alike", file_of(question["name"]), place, what, hint)
        seen.setdefault(told, condition["id"])
