"""What speaks against packing records: a dirty tree, an unknown commit, packages that no lock names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from augmark.analysis.gather import origin
from augmark.errors import AugmarkError
from augmark.locks import compare_installed, lock_text_digest, parse_lock
from augmark.plan import Plan
from augmark.worker.job import git_state

SHOWN = 5
_AGAIN = (
    "commit, move these records away and run `snakemake paper_tables`: "
    "their cells are measured again from a clean tree"
)
Record = Mapping[str, Any]


@dataclass(frozen=True)
class Doubt:
    """One reason: where, what, and what to do."""

    where: str
    what: str
    remedy: str


def doubts(records: Mapping[str, Record], plan: Plan, root: Path, dirty: bool | None) -> list[Doubt]:
    """Everything that speaks against records.

    Args:
        records: Path below ``<output>/records`` -> record.
        root: The checkout, whose ``envs`` hold the locks.
        dirty: Whether the checkout has changes now; None where there is no git.
    """
    found = of_tree(dirty)
    said: dict[str, list[str]] = {}
    for name, record in records.items():
        for what in (*_of_code(record), *_of_environment(record, plan, root)):
            said.setdefault(what, []).append(name)
    for what, names in said.items():
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        found.append(Doubt(f"records/{names[0]}{more}", what, _AGAIN))
    return found


def of_tree(dirty: bool | None) -> list[Doubt]:
    """What speaks against packing from a checkout, whatever the records are."""
    if dirty is False:
        return []
    what = "the tree has changes that are not committed" if dirty else "git does not know this tree"
    return [Doubt("the checkout", what, "commit first, in a git checkout, then measure and pack")]


def check_tree(depth: str) -> None:
    """Refuse to pack from this checkout as it is now.

    Raises:
        AugmarkError: It has changes, or is none.
    """
    refuse(of_tree(git_state()[1]), depth)


def _of_code(record: Record) -> Iterator[str]:
    for code in _alternatives(record, "code"):
        if code["git_dirty"] is not False:
            what = "measured from a dirty tree" if code["git_dirty"] else "the tree is not known to be clean"
            yield f"{what} (git_dirty is {code['git_dirty']})"
        if code["git_commit"] is None:
            yield "the commit that measured is not known (git_commit is None)"


def _of_environment(record: Record, plan: Plan, root: Path) -> Iterator[str]:
    cell = record["cell"]
    definition = plan.definition(*(cell[part] for part in ("scenario", "mode", "library", "device")))
    lock = root / "envs" / f"{definition['environment']}.txt"
    try:
        text = lock.read_text(encoding="utf-8")
    except FileNotFoundError:
        yield f"its environment has no lock: envs/{lock.name} is not there"
        return
    digest = lock_text_digest(text)
    for environment in _alternatives(record, "environment"):
        if environment["lock_digest"] != digest:
            yield f"its environment has the lock {environment['lock_digest']}, envs/{lock.name} is {digest}"
    installed = {name: [version] for name, version in record["environment"]["packages"].items()}
    if problems := compare_installed(parse_lock(text), installed):
        yield f"its packages are not those of envs/{lock.name}: {'; '.join(problems[:3])}"


def _alternatives(record: Record, part: str) -> list[Mapping[str, Any]]:
    """A part of a record, and of those that its rows were carried from, each once."""
    found = [record[part]]
    for row in record["rows"]:
        if (its := origin(row, record)[part]) not in found:
            found.append(its)
    return found


def refuse(found: Sequence[Doubt], depth: str) -> None:
    """Refuse to pack for these reasons.

    Raises:
        AugmarkError: Names the first of them, each with its file.
    """
    if found:
        more = f"\n  and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        lines = "".join(f"\n  {doubt.where}: {doubt.what}" for doubt in found[:SHOWN])
        raise AugmarkError(
            f"records of depth {depth} are not packed:{lines}{more}", where="package", remedy=found[0].remedy
        )
