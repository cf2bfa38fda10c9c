"""The parts of the documentation that are generated from the configuration, so that they cannot drift.

A generated part stands between ``<!-- generated: NAME -->`` and ``<!-- end: NAME -->``; all around it is
written by hand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from augmark.config.select import NO_OPERATION, is_control, scenario_transforms
from augmark.config.settings import Settings
from augmark.errors import AugmarkError

NONE = "None."


def replace_section(text: str, name: str, content: str, where: str = "") -> str:
    """Put ``content`` between the markers of one generated part.

    Raises:
        AugmarkError: The markers do not stand in the text exactly once, in order.
    """
    start, end = f"<!-- generated: {name} -->", f"<!-- end: {name} -->"
    if text.count(start) != 1 or text.count(end) != 1 or text.index(start) > text.index(end):
        remedy = f"have {start} and {end} once each, in this order"
        raise AugmarkError(f"no place for the generated part {name}", where=where, remedy=remedy)
    before, rest = text.split(start)
    return f"{before}{start}\n{content.strip()}\n{end}{rest.split(end)[1]}"


def table(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table; ``None.`` if it has no rows."""
    if not rows:
        return NONE
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def compared(settings: Settings) -> list[str]:
    """The libraries, controls left out."""
    return [name for name in settings.libraries if not is_control(settings, name)]


def transform_sets(settings: Settings) -> str:
    """One table per scenario: name, meaning, parameters and who offers it."""
    parts = []
    for scenario, stanza in settings.scenarios.items():
        names = scenario_transforms(settings, scenario)
        offered = {name: _offered(settings, name, scenario) for name in compared(settings)}
        counts = ", ".join(f"{settings.libraries[name]['title']} {len(has)}" for name, has in offered.items())
        rows = [
            [name, about["family"], about["meaning"], _params(about["params"])]
            + ["yes" if name in has else "–" for has in offered.values()]
            for name, about in ((name, settings.transforms[name]) for name in names)
        ]
        titles = [settings.libraries[name]["title"] for name in offered]
        head = f"### {stanza['title']} (`{scenario}`): {len(names)} transforms\n\nOffered: {counts}.\n\n"
        parts.append(head + table(["transform", "family", "what it does", "parameters", *titles], rows))
    return "\n\n".join(parts)


def scenario_list(settings: Settings) -> str:
    """What is measured in this version, and what is announced."""
    rows = [
        [f"`{name}`", about["title"], _code(about["modes"]), _code(_devices(settings, name))]
        for name, about in settings.scenarios.items()
    ]
    measured = table(["scenario", "items", "modes", "devices"], rows)
    later = table(["scenario", "items"], [[f"`{name}`", what] for name, what in settings.announced.items()])
    return f"{measured}\n\nAnnounced, and not measured by this version:\n\n{later}"


def library_list(settings: Settings) -> str:
    rows = [
        [f"`{name}`", about["title"], about["form"], f"`{about['distribution']}`", about["licence"]]
        for name, about in settings.libraries.items()
    ]
    return table(["library", "title", "native form of an item", "distribution", "licence"], rows)


def gaps(settings: Settings) -> str:
    """Per library, the transforms that it lacks, joined where the reason is the same."""
    rows = []
    for scenario in settings.scenarios:
        for name in compared(settings):
            about = settings.libraries[name]
            reasons: dict[str, list[str]] = {}
            for transform in scenario_transforms(settings, scenario):
                if scenario in about["scenarios"] and transform not in _offered(settings, name, scenario):
                    reason = about.get("unsupported", {}).get(transform, NO_OPERATION)
                    reasons.setdefault(reason, []).append(transform)
            rows += [[about["title"], ", ".join(names), reason] for reason, names in reasons.items()]
    return table(["library", "transforms", "why"], list(dict.fromkeys(map(tuple, rows))))


def exclusions(settings: Settings) -> str:
    rows = []
    for about in settings.libraries.values():
        for stanza in about.get("exclusions", []):
            where = [", ".join(stanza.get(key, ["all"])) for key in ("scenarios", "modes", "devices")]
            reason = stanza["reason"] + (f" ({stanza['issue']})" if "issue" in stanza else "")
            rows.append([about["title"], ", ".join(stanza["transforms"]), *where, reason])
    return table(["library", "transforms", "scenarios", "modes", "devices", "why"], rows)


def differences(settings: Settings) -> str:
    rows = [
        [name, settings.libraries[library]["title"], words]
        for name, about in settings.transforms.items()
        for library, words in about.get("differences", {}).items()
    ]
    return table(["transform", "library", "what it does instead"], rows)


def unpinnable(settings: Settings) -> str:
    rows = [
        [name, about["unpinnable"]] for name, about in settings.transforms.items() if "unpinnable" in about
    ]
    return table(["transform", "why"], rows)


def depth_list(settings: Settings) -> str:
    """What each depth asks for."""
    keys = ("repeats", "values", "min_value_seconds", "warmup_seconds", "probe_items")
    rows = [
        [f"`{name}`", _depth_transforms(about["transforms"]), _items(about["items"])]
        + [str(about[key]) for key in keys]
        + [about["stamp"] or "none"]
        for name, about in settings.depths.items()
    ]
    return table(["depth", "transforms", "items", *(f"`{key}`" for key in keys), "stamp"], rows)


def policy_list(settings: Settings) -> str:
    """Every value of policy.yaml, by its key."""
    return table(["key of `config/policy.yaml`", "value"], _flat(settings.policy))


def _flat(value: Any, key: str = "") -> list[list[str]]:
    if isinstance(value, dict):
        return [
            row for name, inner in value.items() for row in _flat(inner, f"{key}.{name}" if key else name)
        ]
    return [[f"`{key}`", ", ".join(map(str, value)) if isinstance(value, list) else str(value)]]


def _depth_transforms(wanted: Any) -> str:
    if wanted == "all":
        return "all"
    return "; ".join(f"{key}: {'all' if names == 'all' else len(names)}" for key, names in wanted.items())


def _items(items: Mapping[str, int]) -> str:
    return ", ".join(f"{count} ({medium})" for medium, count in items.items())


# Page -> generated part -> what makes it.
PAGES: dict[str, dict[str, Callable[[Settings], str]]] = {
    "docs/scope.md": {
        "scenarios": scenario_list,
        "libraries": library_list,
        "transform-sets": transform_sets,
    },
    "docs/methodology.md": {
        "depths": depth_list,
        "policy": policy_list,
    },
    "docs/limitations.md": {
        "gaps": gaps,
        "exclusions": exclusions,
        "differences": differences,
        "unpinnable": unpinnable,
    },
}


def generate(root: Path, settings: Settings) -> dict[str, str]:
    """Every page of ``PAGES`` as it should be: path relative to the root -> text.

    Raises:
        AugmarkError: A page is not there, or has no place for a generated part.
    """
    pages = {}
    for page, parts in PAGES.items():
        text = _read(root, page)
        for name, make in parts.items():
            text = replace_section(text, name, make(settings), where=page)
        pages[page] = text
    return pages


def with_rule_graph(root: Path, graph: str, page: str = "docs/architecture.md") -> dict[str, str]:
    """The architecture page with the rule graph in it.

    Args:
        graph: Output of ``snakemake --rulegraph mermaid-js`` or ``--rulegraph dot``. Both lose what differs
            between two runs and not between two workflows: the order of lines and the colours.
    """
    rules, edges = _mermaid_graph(graph) if "flowchart" in graph else _dot_graph(graph)
    lines = [f"    {source} --> {target}" for source, target in sorted(edges)]
    alone = sorted(rules - {rule for edge in edges for rule in edge})
    content = "\n".join(["```mermaid", "flowchart TB", *(f"    {rule}" for rule in alone), *lines, "```"])
    return {page: replace_section(_read(root, page), "rule-graph", content, where=page)}


def stale(root: Path, pages: Mapping[str, str]) -> list[str]:
    """The pages whose text on disk is not what it should be."""
    return [page for page, text in pages.items() if _read(root, page) != text]


def _dot_graph(graph: str) -> tuple[set[str], set[tuple[str, str]]]:
    labels = dict(re.findall(r'(\d+)\s*\[\s*label\s*=\s*"(\w+)', graph))
    edges = re.findall(r"(\d+)\s*->\s*(\d+)", graph)
    return set(labels.values()), {(labels[source], labels[target]) for source, target in edges}


def _mermaid_graph(graph: str) -> tuple[set[str], set[tuple[str, str]]]:
    labels = dict(re.findall(r'(\w+)[\[({]+"?(\w+)"?[\])}]+', graph))
    edges = re.findall(r"(\w+)\s*-+>\s*(\w+)", graph)
    return set(labels.values()), {(labels[source], labels[target]) for source, target in edges}


def _read(root: Path, page: str) -> str:
    try:
        return (root / page).read_text(encoding="utf-8")
    except OSError as error:
        raise AugmarkError("the page cannot be read", where=page, remedy=str(error)) from error


def _offered(settings: Settings, library: str, scenario: str) -> list[str]:
    return settings.libraries[library]["scenarios"].get(scenario, {}).get("transforms", [])


def _devices(settings: Settings, scenario: str) -> list[str]:
    """The devices on which any library is asked for the scenario."""
    offers = [about["scenarios"].get(scenario, {}) for about in settings.libraries.values()]
    return sorted({device for offer in offers for device in offer.get("devices", [])})


def _code(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _params(params: Mapping[str, Any]) -> str:
    """Parameters as ``name value`` pairs; a null is drawn by the library."""
    shown = {key: "drawn" if value is None else json.dumps(value).strip('"') for key, value in params.items()}
    return ", ".join(f"`{key}` {value}" for key, value in shown.items()) or "none"
