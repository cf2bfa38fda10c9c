"""Target ``fetch``: everything that a plan needs before it measures, and how much of it is downloaded."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from augmark import cache, planning
from augmark.caching import wheels
from augmark.data.stage import is_url
from augmark.files import human_bytes
from augmark.locks import Pin
from augmark.plan import Plan

THERE = "is there"
UNKNOWN = "unknown"
CONDA = "  then, for conda's: snakemake paper_tables --sdm conda --conda-create-envs-only"


class Need(NamedTuple):
    """One thing that a plan needs.

    Attributes:
        what: Its kind and name.
        path: What it is complete with; None for what another command makes.
        known_bytes: To be downloaded, as far as that is known.
        unknown: How many files of unknown size are to be downloaded beside that.
        note: Where it comes from.
    """

    what: str
    path: Path | None
    known_bytes: int
    unknown: int
    note: str


def needs(plan: Plan, envs: Path, *, conda: bool) -> list[Need]:
    """What a plan needs before it measures, in the order in which it is made. No network.

    Args:
        envs: The folder of the locks.
        conda: Conda makes the environments.

    Raises:
        AugmarkError: ``sizes.json`` cannot be read, or there is no uv.
    """
    return [*_data(plan), *(_conda(plan) if conda else _environments(plan, envs))]


def _data(plan: Plan) -> Iterator[Need]:
    scenarios = plan.content["scenarios"]
    for key in dict.fromkeys(about["dataset"] for about in scenarios.values()):
        name, manifest = plan.content["datasets"][key]["name"], plan.manifest(key)
        yield _dataset(plan, key)
        yield _made(f"manifest of {name}", manifest)
    for scenario, about in scenarios.items():
        sets = {plan.items_index(scenario, mode): each["items"] for mode, each in about["item_sets"].items()}
        yield from (_made(f"items {scenario} ({count or 'all'})", index) for index, count in sets.items())


def _made(what: str, path: Path) -> Need:
    return Need(what, path, 0, 0, THERE if path.exists() else "made here")


def _dataset(plan: Plan, key: str) -> Need:
    about, path = plan.content["datasets"][key], plan.staged(key)
    what = f"dataset {about['name']}"
    if path.exists():
        return Need(what, path, 0, 0, THERE)
    if about["kind"] == "demo":
        return Need(what, path, 0, 0, "built here")
    if not is_url(about["source"]):
        return Need(what, path, 0, 0, "copied from this machine")
    kept = cache.download_path(about["name"], about["digest"])
    if kept.exists():
        return Need(what, path, 0, 0, "downloaded before")
    part = kept.with_name(f"{kept.name}.part")
    came = part.stat().st_size if part.exists() else 0
    # What the server said when the download began; before that only the declaration knows.
    begun = planning.read_json(kept.with_name(f"{part.name}.json")) or {}
    size = about["size"] or begun.get("total")
    note = f"from the web; {human_bytes(came)} came before" if came else "from the web"
    return Need(what, path, max(size - came, 0), 0, note) if size else Need(what, path, 0, 1, note)


def _conda(plan: Plan) -> Iterator[Need]:
    for name in plan.content["locks"]:
        yield Need(f"environment {name}", None, 0, 1, "made by conda")


def _environments(plan: Plan, envs: Path) -> Iterator[Need]:
    """Environments with what each must download; a package that several need counts with the first."""
    sizes, counted = wheels.read_sizes(envs), set[Pin]()
    for name in plan.content["locks"]:
        marker, lock = plan.environment_marker(name), envs / f"{name}.txt"
        if marker.exists():
            yield Need(f"environment {name}", marker, 0, 0, THERE)
            continue
        here = wheels.needed(lock.read_text(encoding="utf-8"), sizes)
        missing = wheels.not_cached(lock, set(here) - counted)
        counted |= set(here)
        known = [here[pin].bytes for pin in missing]
        note = f"{len(here)} packages, {len(missing)} to download"
        yield Need(f"environment {name}", marker, sum(size or 0 for size in known), known.count(None), note)


def render(plan: Plan, found: list[Need]) -> str:
    """A line per thing with its bytes, and the total; as narrow as a terminal."""
    known, unknown = sum(need.known_bytes for need in found), sum(need.unknown for need in found)
    later = f"{unknown} of a size that is not known before" if unknown else ""
    lines = [
        ("", "download", ""),
        *((need.what, amount(need.known_bytes, need.unknown), need.note) for need in found),
        ("in total", amount(known, unknown), later),
    ]
    wide, size_wide = (max(len(line[column]) for line in lines) for column in (0, 1))
    body = [f"  {what:<{wide}}  {size:>{size_wide}}  {note}".rstrip() for what, size, note in lines]
    others = [CONDA] if any(need.path is None for need in found) else []
    return "\n".join([f"fetch: {plan.asked}, depth {plan.content['depth']}, {plan.machine}", *body, *others])


def amount(known_bytes: int, unknown: int) -> str:
    """Bytes of which some may not be known: never less than is known, never a guess."""
    if not unknown:
        return human_bytes(known_bytes)
    return f">= {human_bytes(known_bytes)}" if known_bytes else UNKNOWN


class Fetch:
    """The inputs of rule ``fetch``.

    Snakemake asks for them when the rule is a target, in a dry run too, and then the table is printed, once:
    the log of a dry run shows no messages of rules.
    """

    def __init__(self, plan: Plan, envs: Path, *, conda: bool) -> None:
        self._plan, self._envs, self._conda = plan, envs, conda
        self._paths: list[str] | None = None

    def __call__(self, wildcards: object) -> list[str]:
        if self._paths is None:
            found = needs(self._plan, self._envs, conda=self._conda)
            print(render(self._plan, found), file=sys.stderr)
            self._paths = [str(need.path) for need in found if need.path is not None]
        return self._paths
