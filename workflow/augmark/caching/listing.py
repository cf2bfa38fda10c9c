"""``augmark cache list``: what is kept, how large it is, what for, and whether the configuration uses it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from augmark import cache
from augmark.caching import places, wheels
from augmark.errors import AugmarkError
from augmark.files import human_bytes
from augmark.plan import Plan

SCHEMA = "augmark/cache-list/1"
_USED = {True: "yes", False: "no", None: "-"}


def listed(root: Path, args: argparse.Namespace) -> dict[str, Any]:
    """What is kept, as it is printed.

    Returns:
        ``schema``, ``cache`` and ``output`` (folders), ``no_plan`` (why it is not known what is used, or
        None), ``things`` (of each ``kind path bytes readable for used``) and ``bytes_together``: a file that
        is in several of them by hard links counts once.

    Raises:
        AugmarkError: A folder cannot be read.
    """
    output = places.output_folder(root, args)
    used, no_plan = _used(root, args)
    every: dict[tuple[int, int], int] = {}
    found = [_about(thing, used, every) for thing in places.things(output)]
    found += [_facts("cache", folder, purpose, None, every) for folder, purpose in _tools()]
    return {
        "schema": SCHEMA,
        "cache": str(cache.cache_folder()),
        "output": str(output),
        "no_plan": no_plan,
        "things": found,
        "bytes_together": sum(every.values()),
    }


def _tools() -> Iterator[tuple[Path, str]]:
    folder = wheels.uv_cache()
    if folder is not None and folder.is_dir():
        yield folder, "uv, packages"
    if (folder := cache.cache_folder() / "pip").is_dir():
        yield folder, "pip, make setup"


def _about(thing: places.Thing, used: set[Path] | None, every: dict[tuple[int, int], int]) -> dict[str, Any]:
    # A download that is under way belongs to the file that it becomes.
    path = thing.path.with_suffix("") if thing.kind == places.UNFINISHED else thing.path
    is_used = None if used is None else path.resolve() in used
    return _facts(thing.kind, thing.path, thing.name, is_used, every)


def _facts(
    kind: str, path: Path, purpose: str, used: bool | None, every: dict[tuple[int, int], int]
) -> dict[str, Any]:
    sizes, whole = places.sizes_below(path)
    every |= sizes
    size = sum(sizes.values())
    return {"kind": kind, "path": str(path), "bytes": size, "readable": whole, "for": purpose, "used": used}


def _used(root: Path, args: argparse.Namespace) -> tuple[set[Path] | None, str | None]:
    """What the plan of the configuration uses; None and the reason where there is no plan."""
    from augmark.cli import plan_of

    try:
        plan = plan_of(root, args)
    except AugmarkError as error:
        return None, str(error)
    return {(root / path).resolve() for path in _paths(plan)}, None


def _paths(plan: Plan) -> list[Path]:
    scenarios, datasets = plan.content["scenarios"], plan.content["datasets"]
    found = [plan.environment_marker(name).parent for name in plan.content["locks"]]
    for scenario, about in scenarios.items():
        found += [plan.items_index(scenario, mode).parent for mode in about["item_sets"]]
        found.append(plan.staged(about["dataset"]).parent)
        dataset = datasets[about["dataset"]]
        found.append(cache.download_path(dataset["name"], dataset["digest"]))
    return found


def render(found: dict[str, Any]) -> str:
    """A line per thing, with its size first: paths may be long."""
    lines = [("size", "used", "kind", "for", "path"), *map(_line, found["things"])]
    widths = [max(len(line[column]) for line in lines) for column in range(4)]
    table = [
        f"{size:>{widths[0]}}  {used:<{widths[1]}}  {kind:<{widths[2]}}  {purpose:<{widths[3]}}  {path}"
        for size, used, kind, purpose, path in lines
    ]
    notes = [
        f"{human_bytes(found['bytes_together'])} together: what is in several of them by links counts once"
    ]
    if not all(thing["readable"] for thing in found["things"]):
        notes.append("a size with >= is that of what could be read")
    if found["no_plan"]:
        notes.append(f"what is used is not known, because there is no plan: {found['no_plan']}")
    return "\n".join([f"cache   {found['cache']}", f"output  {found['output']}", "", *table, *notes])


def _line(thing: dict[str, Any]) -> tuple[str, str, str, str, str]:
    size = ("" if thing["readable"] else ">= ") + human_bytes(thing["bytes"])
    return size, _USED[thing["used"]], thing["kind"], thing["for"], thing["path"]


def as_json(found: dict[str, Any]) -> str:
    return json.dumps(found, indent=1)
