"""Plan files: a question as a file of ``config/plans``, in one normal form, and what it makes of settings.

The conditions of a question take the place of the libraries: a condition is the library's stanza under the
condition's id, with another lock, setting or variables. So a plan, its jobs, records and tables are made by
what makes a campaign's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from augmark.cell import short_digest
from augmark.config.settings import LIST_KEYS, NUMBER_KEYS, Settings
from augmark.sweeps import AXES

Question = Mapping[str, Any]

BASELINE, CANDIDATE, CONDITION = "baseline", "candidate", "condition"
ROLES = (BASELINE, CANDIDATE, CONDITION)
DEFAULTS = {"items": None, "depth": "max", "margin": None, "energy": False, "fail_on": ["blocked", "slower"]}
# What says of an axis that nothing is otherwise.
NOTHING = {"compile": False, "batched": 1}
# Keys of config.yaml that may be given beside `plan=`, and then hold above the plan file; those that may not.
GIVEN = ("depth", "transforms", "items", "repeats")
DECIDED = ("campaign", "scenarios", "modes", "libraries", "devices", "batch_size", "workers", "threads")
KEYS = (*GIVEN, *DECIDED)


def normalise(name: str, stanza: Mapping[str, Any], libraries: Mapping[str, Any]) -> dict[str, Any]:
    """A plan file in its normal form: everything said, in one order, whatever the order in the file.

    Args:
        name: Of the file.
        stanza: Its content, as its schema allows it.
        libraries: Stanzas of libraries.yaml: what a condition's environment is where it names none.

    Returns:
        Its keys with their defaults; ``groups``: by name, each ``{"name", "conditions"}``, the baseline
        first; ``name`` and ``digest`` (of all the rest).
    """
    plain = {key: stanza[key] for key in ("title", "question", "scenario", "mode", "device", "repeats")}
    chosen = {key: stanza.get(key, default) for key, default in DEFAULTS.items()}
    transforms = stanza["transforms"]
    content = {
        "name": name,
        **plain,
        **chosen,
        "fail_on": sorted(chosen["fail_on"]),
        "transforms": transforms if transforms == "all" else sorted(transforms),
        "groups": [
            {"name": group, "conditions": _conditions(conditions, libraries)}
            for group, conditions in sorted(stanza["groups"].items())
        ],
    }
    return {**content, "digest": short_digest(content)}


def _conditions(stanzas: Mapping[str, Any], libraries: Mapping[str, Any]) -> list[dict[str, Any]]:
    found = [
        {
            "id": name,
            "role": stanza["role"],
            "library": stanza["library"],
            "environment": stanza.get("environment")
            or libraries.get(stanza["library"], {}).get("environment"),
            "setting": {
                axis: stanza[axis]
                for axis in AXES
                if axis in stanza and not (axis in NOTHING and stanza[axis] == NOTHING[axis])
            },
            "variables": {key: str(value) for key, value in sorted(stanza.get("variables", {}).items())},
        }
        for name, stanza in stanzas.items()
    ]
    return sorted(found, key=lambda each: (ROLES.index(each["role"]), each["id"]))


def conditions_of(question: Question) -> Iterator[tuple[str, dict[str, Any]]]:
    """Group and condition, of a question in its normal form."""
    for group in question["groups"]:
        for condition in group["conditions"]:
            yield group["name"], condition


def plain_values(settings: Settings, question: Question) -> dict[str, Any]:
    """Axis -> its value where a condition says nothing of it."""
    loader = settings.depths[question["depth"]]["loader"]
    of_scenario = settings.scenarios[question["scenario"]].get("loader", {})
    batches = {
        axis: of_scenario.get(axis) if loader[axis] is None else loader[axis]
        for axis in ("batch_size", "workers")
    }
    policy = {"threads": settings.policy["threads"], "policy": settings.policy["loader"]["thread_policy"]}
    return {**NOTHING, **batches, **policy}


def apply(settings: Settings, question: Question) -> Settings:
    """The settings that carry a question out; what the command line says holds above the plan file.

    Args:
        settings: A checked configuration.
        question: In its normal form, checked (``check_questions``).
    """
    name = f"plan-{question['name']}"
    said = {key: settings.overrides.get(key) or question[key] for key in GIVEN}
    depth = settings.depths[said["depth"]]
    config = {
        **settings.config,
        **dict.fromkeys((*LIST_KEYS, *NUMBER_KEYS)),
        "campaign": name,
        **said,
        "scenarios": [question["scenario"]],
        "modes": [question["mode"]],
        "devices": [question["device"]],
    }
    campaign = {
        "title": question["title"],
        "machines": [name for name, its in settings.machines.items() if question["device"] in its["devices"]],
        "depth": said["depth"],
        "records": "measure",
    }
    table = {key: question[key] for key in ("title", "scenario", "mode")}
    table.update(devices=[question["device"]], campaigns=[name])
    statistics = dict(settings.policy["statistics"])
    if question["margin"] is not None:
        statistics["margin"] = question["margin"]
    controls = {key: its for key, its in settings.libraries.items() if its["kind"] == "control"}
    return replace(
        settings,
        config=config,
        libraries={**_stanzas(settings, question), **controls},
        again=_controls(settings, question),
        tables={question["name"]: table},
        campaigns={name: campaign},
        policy={**settings.policy, "statistics": statistics},
        # Its conditions are the plan file's, and no sweep of the depth stands beside them.
        depth={key: value for key, value in depth.items() if key != "sweeps"},
        question=dict(question),
    )


def _controls(settings: Settings, question: Question) -> dict[str, Any]:
    """What measures each group's baseline a second time: a noise floor is of what was measured twice.

    The first group's has the name that libraries.yaml gives, by which tables know it; the others' end with
    their group.
    """
    found = {}
    for key, its in settings.again.items():
        for number, group in enumerate(question["groups"]):
            name, title = (f"{key}-{group['name']}", f"{its['title']} ({group['name']})")
            stanza = {**its, "again": [group["conditions"][0]["id"]]}
            found.update({name: {**stanza, "title": title}} if number else {key: stanza})
    return found


def _stanzas(settings: Settings, question: Question) -> dict[str, Any]:
    """Condition -> its library's stanza, with what the condition has otherwise."""
    return {
        condition["id"]: {
            **settings.libraries[condition["library"]],
            "title": condition["id"],
            "of": condition["library"],
            **{key: condition[key] for key in ("environment", "setting", "variables")},
        }
        for _, condition in conditions_of(question)
    }
