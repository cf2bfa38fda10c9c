"""Snakemake profiles as files: which machine, which engine, which quotas. Snakemake is not imported."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from augmark.errors import AugmarkError

FOLDER = "profiles"
DEFAULT = "default"


@dataclass(frozen=True)
class Profile:
    """One machine profile.

    Attributes:
        name: Of its folder in ``profiles/``.
        file: Its ``profile.yaml``, relative to the project's root.
        machine: The stanza of machines.yaml that rows are labelled with.
        overrides: Keys of config.yaml that its configfile sets (``campaign``).
        engine: What runs its jobs on other hosts (``slurm``); None where this host does.
        partition: Of SLURM; None for the cluster's default.
        limits: The quotas, by name: no more at once than these.
        jobs: How many submissions at once; None: no limit.
        content: The whole profile.
    """

    name: str
    file: Path
    machine: str
    overrides: dict[str, Any] = field(default_factory=dict)
    engine: str | None = None
    partition: str | None = None
    limits: dict[str, int] = field(default_factory=dict)
    jobs: int | None = None
    content: dict[str, Any] = field(default_factory=dict)


def names(root: Path) -> list[str]:
    """The machine profiles of a project, sorted: every one but the default."""
    found = (path.parent.name for path in (root / FOLDER).glob("*/profile.yaml"))
    return sorted(name for name in found if name != DEFAULT)


def read_profile(root: Path, name: str) -> Profile:
    """Read a machine profile.

    Args:
        root: The project's root.
        name: As after ``snakemake --profile``; a path of the folder will do.

    Raises:
        AugmarkError: There is none of this name, or it names no machine.
    """
    known, name = names(root), Path(name).name
    if name not in known:
        nearest = difflib.get_close_matches(name, known, n=1)
        raise AugmarkError(
            f"unknown profile {name!r}",
            where=FOLDER,
            remedy=f"did you mean {nearest[0]}?" if nearest else f"known: {', '.join(known)}",
        )
    file = Path(FOLDER, name, "profile.yaml")
    content = _yaml(root, file)
    said: dict[str, Any] = {}
    for each in content.get("configfile", []):
        said |= _yaml(root, Path(each))
    if "machine" not in said:
        remedy = "name one in its configfile: machine: c4-standard-16"
        raise AugmarkError("names no machine", where=str(file), remedy=remedy)
    machine, engine, partition = (said.pop(key, None) for key in ("machine", "engine", "partition"))
    if engine != content.get("executor"):
        what = f"executor {content.get('executor')}, and its configfile says engine {engine}"
        raise AugmarkError(what, where=str(file), remedy="give both the same name")
    limits = _limits(content.get("resources", []), file)
    return Profile(name, file, machine, said, engine, partition, limits, content.get("jobs"), content)


def another_machine(machine: str, profile: str) -> AugmarkError:
    """What is said where the command line names a machine beside a profile, whose quotas are of its own."""
    return AugmarkError(
        f"machine={machine} is given beside {profile}, which has its own",
        where="--config",
        remedy="leave one of them out",
    )


def _limits(given: Any, file: Path) -> dict[str, int]:
    """``[vcpus=128]`` or ``{vcpus: 128}`` as names and whole numbers."""
    pairs = given.items() if isinstance(given, Mapping) else (str(each).split("=", 1) for each in given)
    found = {}
    for name, value, *_ in ((*pair, "") for pair in pairs):
        if not str(value).isdigit():
            what = f"resources: {name}={value} is no whole number"
            raise AugmarkError(what, where=str(file), remedy="write resources: [vcpus=128]")
        found[name] = int(value)
    return found


def _yaml(root: Path, file: Path) -> dict[str, Any]:
    import yaml

    try:
        content = yaml.safe_load((root / file).read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise AugmarkError(f"cannot be read: {error}", where=str(file)) from error
    return content if isinstance(content, dict) else {}
