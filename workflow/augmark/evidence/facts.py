"""What a package says of itself, gathered once for its statement, its crate and its page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from augmark.plan import plan_digest
from augmark.record import MEASURED

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Session:
    """A stretch of work on one host: its id, first start and last end (ISO 8601, UTC)."""

    name: str
    started: str
    ended: str


@dataclass(frozen=True)
class Facts:
    """One package.

    Attributes:
        name: Of the archive, without its endings.
        plan: The plan's public content.
        records: Path below ``<output>/records`` -> record, of every cell.
        commit, dirty: Of the tree that is packed; None where git does not know it.
        lock_files: ``envs/<environment>.txt`` -> sha256, of what measured and of the workflow.
        samples: Whether the probes' samples and contact sheets are in it.
        doubts: What speaks against it, in words; none at a depth that claims something.
    """

    name: str
    plan: Mapping[str, Any]
    records: Mapping[str, Record]
    commit: str | None
    dirty: bool | None
    lock_files: Mapping[str, str]
    samples: bool
    doubts: Sequence[str]

    @property
    def plan_digest(self) -> str:
        return plan_digest(self.plan)

    @cached_property
    def datasets(self) -> dict[str, Mapping[str, Any]]:
        """The datasets that the plan's scenarios are made of, by config key (``images``)."""
        used = {scenario["dataset"] for scenario in self.plan["scenarios"].values()}
        return {key: about for key, about in self.plan["datasets"].items() if key in used}

    @cached_property
    def commits(self) -> list[str]:
        """Every commit that measured a row, sorted."""
        known = [record["code"]["git_commit"] for record in self.records.values()]
        known += [row["carried_from"]["code"]["git_commit"] for row in self._rows() if row["carried_from"]]
        return sorted({commit for commit in known if commit})

    @cached_property
    def sessions(self) -> list[Session]:
        """Every session that measured a row, in order of time."""
        times: dict[str, list[str]] = {}
        for record in self.records.values():
            times.setdefault(record["session"], []).extend([record["started"], record["ended"]])
        for row in self._rows():
            if row["status"] in MEASURED and row["started"]:
                times.setdefault(row["session"], []).extend([row["started"], row["ended"]])
        found = [Session(name, _at(min(known)), _at(max(known))) for name, known in times.items()]
        return sorted(found, key=lambda session: (session.started, session.name))

    @cached_property
    def versions(self) -> dict[str, str]:
        """Library -> its version, of those that have one."""
        known = {record["cell"]["library"]: record["library_version"] for record in self.records.values()}
        return {library: version for library, version in sorted(known.items()) if version}

    @cached_property
    def pythons(self) -> list[str]:
        return sorted({record["environment"]["python"] for record in self.records.values()})

    @cached_property
    def ended(self) -> datetime:
        """When the last record was whole: the date of everything in the archive."""
        return max(datetime.fromisoformat(record["ended"]) for record in self.records.values())

    def _rows(self) -> list[Mapping[str, Any]]:
        return [row for record in self.records.values() for row in record["rows"]]


def _at(time: str) -> str:
    """A time of a record (`record.iso`: UTC, one layout: texts are in the order of times) with a Z."""
    return time.replace("+00:00", "Z")


def licence_of(about: Mapping[str, Any]) -> str:
    """A dataset's licence in words."""
    return str(about.get("licence") or "not stated")


def way_to(about: Mapping[str, Any]) -> str:
    """How to get a dataset that is not in the package, in words."""
    if about["kind"] == "demo":
        return (
            "`snakemake` builds it from the photographs of installed packages, the same bytes every time; "
            "config/datasets.yaml names their authors and licences"
        )
    origin = f"from {about['origin']}" if about.get("origin") else "ask whoever measured"
    return (
        f"{origin}: the tarball of this sha256, given with `--config images=FILE` "
        "(or clips=FILE): one of another digest is refused"
    )
