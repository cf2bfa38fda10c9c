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

from augmark.config.select import NO_OPERATION, is_control, lacking, scenario_transforms
from augmark.config.settings import Settings
from augmark.definition import stanza_in
from augmark.errors import AugmarkError
from augmark.modes import MODES

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
    """One table per scenario (name, meaning, parameters, who offers it), and the rows of one mode alone."""
    parts = []
    for scenario, stanza in settings.scenarios.items():
        names = scenario_transforms(settings, scenario)
        asked = [name for name in compared(settings) if scenario in settings.libraries[name]["scenarios"]]
        offered = {name: _offered(settings, name, scenario) for name in asked}
        counts = ", ".join(f"{settings.libraries[name]['title']} {len(has)}" for name, has in offered.items())
        rows = [
            [name, about["family"], about["meaning"], _all_params(about)]
            + [_offer(settings, library, scenario, name) for library in offered]
            for name, about in ((name, stanza_in(settings.transforms[name], scenario)) for name in names)
        ]
        titles = [settings.libraries[name]["title"] for name in offered]
        head = f"### {stanza['title']} (`{scenario}`): {len(names)} transforms\n\nOffered: {counts}.\n\n"
        parts.append(head + table(["transform", "family", "what it does", "parameters", *titles], rows))
    alone = [[f"`{about['mode']}`", name, about["meaning"]] for name, about in _of_one_mode(settings)]
    heads = ["mode", "row", "what it does"]
    return "\n\n".join(
        [*parts, "### Rows of one mode\n\nThey are in no transform set.\n\n" + table(heads, alone)]
    )


def scenario_list(settings: Settings) -> str:
    """What is measured in this version, and what is announced."""
    rows = [
        [
            f"`{name}`",
            about["title"],
            str(about["channels"]) + (f" ({', '.join(about['views'])})" if "views" in about else ""),
            _code(about["modes"]),
            _code(_devices(settings, name)),
            f"{about['loader']['batch_size']} x {about['loader']['workers']}" if "loader" in about else "–",
        ]
        for name, about in settings.scenarios.items()
    ]
    heads = ["scenario", "items", "channels (views)", "modes", "devices", "batch size x workers"]
    later = table(["scenario", "items"], [[f"`{name}`", what] for name, what in settings.announced.items()])
    return f"{table(heads, rows)}\n\nAnnounced, and not measured by this version:\n\n{later}"


def mode_list(settings: Settings) -> str:
    """What each mode times, and which machines measure it where machines.yaml narrows that."""
    rows = [[f"`{name}`", mode.title] for name, mode in MODES.items()]
    narrowed = [
        [f"`{name}`", *(_code(about["measures"].get(key, ["all"])) for key in ("scenarios", "modes"))]
        for name, about in settings.machines.items()
        if "measures" in about
    ]
    only = table(["machine", "scenarios", "modes"], narrowed)
    return f"{table(['mode', 'what is timed'], rows)}\n\nMachines that measure these only:\n\n{only}"


def library_list(settings: Settings) -> str:
    rows = [
        [f"`{name}`", about["title"], about["form"], f"`{about['distribution']}`", about["licence"]]
        for name, about in settings.libraries.items()
    ]
    return table(["library", "title", "native form of an item", "distribution", "licence"], rows)


def gaps(settings: Settings) -> str:
    """Per library and scenario, the transforms that it lacks, joined where the reason is the same."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for scenario in settings.scenarios:
        for name in compared(settings):
            about = settings.libraries[name]
            if scenario not in about["scenarios"]:
                continue
            reasons: dict[str, list[str]] = {}
            for transform in scenario_transforms(settings, scenario):
                if transform not in _offered(settings, name, scenario):
                    reason = lacking(settings, name, scenario).get(transform, NO_OPERATION)
                    reasons.setdefault(reason, []).append(transform)
            for reason, names in reasons.items():
                rows.setdefault((about["title"], ", ".join(names), reason), []).append(scenario)
    lines = [[title, _code(where), names, why] for (title, names, why), where in rows.items()]
    return table(["library", "scenarios", "transforms", "why"], lines)


def not_asked(settings: Settings) -> str:
    """Scenarios and modes in which a library has no rows at all."""
    rows = []
    for scenario, about in settings.scenarios.items():
        for name in compared(settings):
            offer = settings.libraries[name]["scenarios"].get(scenario, {"modes": []})
            missing = [mode for mode in about["modes"] if mode not in offer["modes"]]
            if missing:
                which = "all" if missing == about["modes"] else _code(missing)
                rows.append([settings.libraries[name]["title"], f"`{scenario}`", which])
    return table(["library", "scenario", "modes"], rows)


def chunked(settings: Settings) -> str:
    """Rows that run on chunks of three channels, and why."""
    rows = [
        [settings.libraries[name]["title"], f"`{scenario}`", transform, why]
        for name in compared(settings)
        for scenario, offer in settings.libraries[name]["scenarios"].items()
        for transform, why in offer.get("chunked", {}).items()
    ]
    return table(["library", "scenario", "transform", "why"], rows)


def exclusions(settings: Settings) -> str:
    rows = []
    for about in settings.libraries.values():
        for stanza in about.get("exclusions", []):
            where = [", ".join(stanza.get(key, ["all"])) for key in ("scenarios", "modes", "devices")]
            reason = stanza["reason"] + (f" ({stanza['issue']})" if "issue" in stanza else "")
            rows.append([about["title"], ", ".join(stanza["transforms"]), *where, reason])
    return table(["library", "transforms", "scenarios", "modes", "devices", "why"], rows)


def differences(settings: Settings) -> str:
    """Declared differences; those of one scenario alone name it."""
    rows = []
    for name, about in settings.transforms.items():
        said = [("all", about.get("differences", {}))]
        said += [
            (f"`{key}`", more.get("differences", {})) for key, more in about.get("by_scenario", {}).items()
        ]
        rows += [
            [name, where, settings.libraries[library]["title"], words]
            for where, by_library in said
            for library, words in by_library.items()
        ]
    return table(["transform", "scenarios", "library", "what it does instead"], rows)


def unpinnable(settings: Settings) -> str:
    rows = [
        [name, about["unpinnable"]] for name, about in settings.transforms.items() if "unpinnable" in about
    ]
    return table(["transform", "why"], rows)


def depth_list(settings: Settings) -> str:
    """What each depth asks for: of the transform alone, of the DataLoader modes, and its sweeps."""
    keys = ("repeats", "values", "min_value_seconds", "warmup_seconds", "probe_items")
    alone = [
        [f"`{name}`", _depth_transforms(about["transforms"]), _items(about["items"])]
        + [str(about[key]) for key in keys]
        + [about["stamp"] or "none"]
        for name, about in settings.depths.items()
    ]
    loaders = [
        [f"`{name}`", _depth_transforms(about["loader"]["transforms"])]
        + [
            _or(about["loader"][key], "the scenario's")
            for key in ("items", "batch_size", "workers", "epochs")
        ]
        for name, about in settings.depths.items()
    ]
    sweeps = [
        [f"`{name}`", sweep["axis"], _values(sweep["values"]), _libraries(sweep), _code(sweep["modes"])]
        for name, about in settings.depths.items()
        for sweep in about.get("sweeps", [])
    ]
    heads = ["depth", "transforms", "items", *(f"`{key}`" for key in keys), "stamp"]
    loader_heads = ["depth", "transforms", "items", "batch size", "workers", "timed epochs"]
    return "\n\n".join(
        [
            table(heads, alone),
            "In DataLoader modes:",
            table(loader_heads, loaders),
            "Sweeps, one axis at a time; each value but that of the plain rows is a condition of its own:",
            table(["depth", "axis", "values", "libraries", "modes"], sweeps),
        ]
    )


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
        "modes": mode_list,
        "transform-sets": transform_sets,
    },
    "docs/methodology.md": {
        "depths": depth_list,
        "policy": policy_list,
    },
    "docs/limitations.md": {
        "gaps": gaps,
        "not-asked": not_asked,
        "chunked": chunked,
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


def _offer(settings: Settings, library: str, scenario: str, transform: str) -> str:
    """Whether a library offers a transform: yes, in chunks of three channels, or a dash."""
    offer = settings.libraries[library]["scenarios"][scenario]
    if transform not in offer["transforms"]:
        return "–"
    return "in chunks" if transform in offer.get("chunked", {}) else "yes"


def _of_one_mode(settings: Settings) -> list[tuple[str, Mapping[str, Any]]]:
    return [(name, about) for name, about in settings.transforms.items() if "mode" in about]


def _or(value: Any, otherwise: str) -> str:
    return otherwise if value is None else str(value)


def _values(values: Any) -> str:
    return values if isinstance(values, str) else ", ".join(json.dumps(value).strip('"') for value in values)


def _libraries(sweep: Mapping[str, Any]) -> str:
    named = sweep.get("libraries", "all")
    return named if named == "all" else _code(named)


def _devices(settings: Settings, scenario: str) -> list[str]:
    """The devices on which any library is asked for the scenario."""
    offers = [about["scenarios"].get(scenario, {}) for about in settings.libraries.values()]
    return sorted({device for offer in offers for device in offer.get("devices", [])})


def _code(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _all_params(about: Mapping[str, Any]) -> str:
    """A transform's parameters, and what is otherwise in recipes."""
    otherwise = f"; in recipes {_params(about['in_recipe'])}" if about.get("in_recipe") else ""
    return _params(about["params"]) + otherwise


def _params(params: Mapping[str, Any]) -> str:
    """Parameters as ``name value`` pairs; a null is drawn by the library."""
    shown = {key: "drawn" if value is None else json.dumps(value).strip('"') for key, value in params.items()}
    return ", ".join(f"`{key}` {value}" for key, value in shown.items()) or "none"
