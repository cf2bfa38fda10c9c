"""Read the YAML files and hold them against their JSON Schemas: problems are collected, not raised."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator

from augmark.config.problems import Problem, nearest

SCHEMAS = Path(__file__).parents[2] / "schemas"
_Base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _StrictLoader(_Base):  # type: ignore[misc, valid-type]
    """The safe loader, which would silently keep the last of two equal keys, made to tell."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            line = key_node.start_mark.line + 1
            if not isinstance(key, str):
                self.found.append(
                    ("yaml-key", key_node.value, f"line {line}: YAML reads this key as {key!r}")
                )
            elif key in seen:
                self.found.append(("yaml-duplicate", key, f"line {line}: the key stands twice"))
            seen.add(key)
        return super().construct_mapping(node, deep)


def read_yaml(path: Path, name: str) -> tuple[Any, list[Problem]]:
    """Read one YAML file.

    Args:
        path: The file.
        name: What problems call it.

    Returns:
        Its value (None where it cannot be read) and what is wrong: ``missing-file``, ``yaml-syntax``,
        ``yaml-key`` (a key such as ``on`` that YAML takes for a boolean), ``yaml-duplicate``.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        return None, [Problem("missing-file", name, "", f"cannot be read: {error}")]
    loader = _StrictLoader(text)
    loader.found = []
    try:
        value = loader.get_single_data()
    except yaml.YAMLError as error:
        return None, [Problem("yaml-syntax", name, "", " ".join(str(error).split()))]
    finally:
        loader.dispose()
    hints = {"yaml-key": "put it in quotes"}
    return value, [Problem(rule, name, key, what, hints.get(rule, "")) for rule, key, what in loader.found]


@cache
def _validator(schema: str) -> Draft202012Validator:
    return Draft202012Validator(json.loads((SCHEMAS / f"{schema}.schema.json").read_text(encoding="utf-8")))


def check_schema(value: Any, schema: str, name: str) -> list[tuple[tuple[Any, ...], Problem]]:
    """Hold a value against ``workflow/schemas/<schema>.schema.json``.

    Returns:
        Path inside the value and problem: ``unknown-key`` (the rest of the stanza can still be used) or
        ``schema`` (the stanza cannot).
    """
    found = []
    for error in sorted(_validator(schema).iter_errors(value), key=lambda error: list(map(str, error.path))):
        path = tuple(error.absolute_path)
        key = ".".join(str(part) for part in path)
        if error.validator == "additionalProperties":
            known = error.schema.get("properties", {})
            for extra in sorted(set(map(str, error.instance)) - set(known)):
                inner = f"{key}.{extra}" if key else extra
                hint = nearest(extra, known)
                found.append((path, Problem("unknown-key", name, inner, f"no such key: {extra}", hint)))
        else:
            found.append((path, Problem("schema", name, key, _message(error), _expected(error.schema))))
    return found


def _message(error: Any) -> str:
    """The schema's complaint in plain words, with the value in it, cut where it is long."""
    shown = json.dumps(error.instance, ensure_ascii=False, default=str)
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    if error.validator == "required":
        missing = sorted(set(error.validator_value) - set(error.instance))
        return f"required and missing: {', '.join(missing)}"
    if error.validator in ("anyOf", "enum", "const", "type", "pattern"):
        boolean = isinstance(error.instance, bool)
        trap = " (YAML reads yes, no, on and off as booleans: quote them)" if boolean else ""
        return f"not valid here: {shown}{trap}"
    return error.message if len(error.message) <= 120 else f"not valid here: {shown}"


def _expected(schema: Any) -> str:
    """What would be valid, in words, where the schema says so shortly."""
    if not isinstance(schema, dict):
        return ""
    saying = {"description": "", "enum": "one of ", "const": "only ", "pattern": "matching "}
    for keyword, words in saying.items():
        if keyword in schema:
            given = schema[keyword]
            return words + (", ".join(map(str, given)) if isinstance(given, list) else str(given))
    kinds = schema.get("type")
    if isinstance(kinds, str) and kinds not in ("object", "array"):
        return f"expected: {kinds}"
    return f"expected: {' or '.join(kinds)}" if isinstance(kinds, list) else ""
