"""Load the configuration: every file, checked against its schema, with what the command line says on top.

Workflow side: PyYAML and jsonschema.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from augmark.config import questions
from augmark.config.again import with_again
from augmark.config.check import check
from augmark.config.check_questions import check_chosen
from augmark.config.files import check_schema, read_yaml
from augmark.config.problems import Anything, ConfigErrors, Problem, unknown
from augmark.config.settings import COMMAND_LINE, KEYS, LIST_KEYS, NUMBER_KEYS, TEXT_KEYS, Draft, Settings

__all__ = ["Settings", "load"]

FILES = ("libraries", "transforms", "scenarios", "machines", "datasets", "tables", "policy", "claims")
SECTIONS = {"tables": ("campaigns", "tables"), "scenarios": ("scenarios", "announced")}


def load(root: Path, overrides: Mapping[str, Any] | None = None) -> Settings:
    """Read and check the whole configuration.

    Args:
        root: The folder that holds ``config/``, ``envs/`` and ``workflow/``.
        overrides: Keys of config.yaml as the command line gave them; lists may be ``a,b`` strings.

    Raises:
        ConfigErrors: Something is wrong; the error lists all that was found, numbered.
    """
    draft = read(Path(root), overrides or {})
    settings = _settings(draft)
    problems = [*draft.problems, *check(draft, settings)]
    if not problems and settings.config["plan"] is not None:
        settings = questions.apply(settings, settings.questions[settings.config["plan"]])
        problems = list(check_chosen(draft, settings))
    if problems:
        raise ConfigErrors(list(dict.fromkeys(problems)))
    return with_again(settings)


def read(root: Path, overrides: Mapping[str, Any]) -> Draft:
    """Read every file and the overrides; what is wrong is in the draft, not raised."""
    draft = Draft(root)
    for name in FILES:
        _read_stanzas(draft, name)
    draft.depths = _read_folder(draft, "depths", "depth")
    draft.plans = _read_folder(draft, "plans", "plan")
    _read_config(draft, overrides)
    return draft


def _settings(draft: Draft) -> Settings:
    """Put the draft together; names that lead nowhere give an empty dict (the check reports them)."""
    files, config = draft.files, dict(draft.files["config"])
    campaigns = files["tables"]["campaigns"]
    config["depth"] = config["depth"] or campaigns.get(config["campaign"], {}).get("depth")
    return Settings(
        root=draft.root,
        config=config,
        overrides=draft.overrides,
        libraries={name: stanza for name, stanza in files["libraries"].items() if "again" not in stanza},
        transforms=files["transforms"],
        scenarios=files["scenarios"]["scenarios"],
        machines=files["machines"],
        datasets=files["datasets"],
        tables=files["tables"]["tables"],
        campaigns=campaigns,
        policy=files["policy"],
        depth=draft.depths.get(config["depth"], {}),
        depths=draft.depths,
        announced=files["scenarios"]["announced"],
        claims=files["claims"],
        again={name: stanza for name, stanza in files["libraries"].items() if "again" in stanza},
        questions={
            name: questions.normalise(name, stanza, files["libraries"])
            for name, stanza in draft.plans.items()
        },
    )


def _read_stanzas(draft: Draft, name: str) -> None:
    """Read one file; leave out the stanzas that its schema refuses, and remember that they were there."""
    place = f"config/{name}.yaml"
    value, found = read_yaml(draft.root / "config" / f"{name}.yaml", place)
    draft.problems += found
    if found and value is None:
        draft.broken.add(name)
        draft.declared.update(dict.fromkeys(SECTIONS.get(name, (name,)), Anything()))
    else:
        _drop_refused(draft, name, value)
    value = value if isinstance(value, dict) else {}
    for section in SECTIONS.get(name, ()):
        part = value.get(section)
        value[section] = part if isinstance(part, dict) else {}
    draft.files[name] = value


def _drop_refused(draft: Draft, name: str, value: Any) -> None:
    """Hold a file against its schema and take the stanzas that it refuses out of ``value``."""
    readable = value if isinstance(value, dict) else {}
    holders = {section: readable.get(section) for section in SECTIONS.get(name, ())} or {name: value}
    for section, stanzas in holders.items():
        names = [str(key) for key in stanzas] if isinstance(stanzas, dict) else Anything()
        draft.declared[section] = names
    for path, problem in check_schema(value, name, f"config/{name}.yaml"):
        draft.problems.append(problem)
        if problem.rule == "unknown-key":
            continue
        draft.broken.add(name)
        inside = name in SECTIONS and len(path) > 1
        section, stanza = path[:2] if inside else (name, path[0] if path else None)
        if isinstance(holders.get(section), dict):
            holders[section].pop(stanza, None)


def _read_folder(draft: Draft, folder: str, schema: str) -> dict[str, Any]:
    """Every file of a folder of ``config/`` by its stem, without those that the schema refuses."""
    held: dict[str, Any] = {}
    draft.declared[folder] = names = []
    for path in sorted((draft.root / "config" / folder).glob("*.yaml")):
        place = f"config/{folder}/{path.name}"
        value, found = read_yaml(path, place)
        told = check_schema(value, schema, place) if value is not None or not found else []
        refused = [problem for _, problem in told]
        draft.problems += [*found, *refused]
        names.append(path.stem)
        if value is None or any(problem.rule == "schema" for problem in refused):
            draft.broken.add(folder)
        else:
            held[path.stem] = {"name": path.stem, **value}
    return held


def _read_config(draft: Draft, overrides: Mapping[str, Any]) -> None:
    """Read config.yaml, put the overrides on top, and hold the result against the schema of the file."""
    value, found = read_yaml(draft.root / "config" / "config.yaml", "config/config.yaml")
    draft.problems += found
    if isinstance(value, dict):
        value = {key: _typed(str(key), item) for key, item in value.items()}
    given = {str(key): _typed(str(key), item) for key, item in overrides.items()}
    for key in sorted(set(given) - set(KEYS)):
        draft.problems.append(unknown("key", COMMAND_LINE, key, key, KEYS))
    given = {key: item for key, item in given.items() if key in KEYS}
    if isinstance(value, dict):
        # Beside a plan file, what is given stands against the plan file and not against config.yaml.
        asked = questions.KEYS if given.get("plan", value.get("plan")) is not None else ()
        draft.overrides = {
            key: item for key, item in given.items() if key in asked or value.get(key, KEYS) != item
        }
    merged = {**value, **given} if isinstance(value, dict) else value
    if not found or value is not None:
        for path, problem in check_schema(merged, "config", "config/config.yaml"):
            _refuse_key(draft, merged, path, problem, given)
    merged = merged if isinstance(merged, dict) else {}
    draft.files["config"] = {key: merged.get(key) for key in KEYS}


def _refuse_key(draft: Draft, merged: Any, path: tuple[Any, ...], problem: Problem, given: Mapping) -> None:
    """Keep a problem of config.yaml, said of the command line where it comes from there; null the key."""
    key = path[0] if path else ""
    if key in given:
        problem = Problem(problem.rule, COMMAND_LINE, problem.key, problem.message, problem.hint)
    draft.problems.append(problem)
    draft.broken.add("config")
    if key:
        merged[key] = None


def _typed(key: str, value: Any) -> Any:
    """A value as the file would hold it: ``a,b`` -> a list, ``"3"`` -> 3, ``null`` and nothing -> None."""
    if isinstance(value, str) and value.strip().casefold() in ("", "null", "none") and key != "refresh":
        return None
    if key in LIST_KEYS and value != "all":
        if isinstance(value, str):
            return [part.strip() for part in value.split(",") if part.strip()]
        return list(value) if isinstance(value, tuple) else value
    if key in NUMBER_KEYS and isinstance(value, str) and value.strip().removeprefix("-").isdigit():
        return int(value)
    if key in TEXT_KEYS and isinstance(value, (int, Path)) and not isinstance(value, bool):
        return str(value)
    return value
