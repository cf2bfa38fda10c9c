"""What the hosts of an engine are, as it says itself, and what a job asks of one. Standard library only."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from typing import Any

from augmark.errors import AugmarkError

SLURM = "slurm"
KNOWN = (SLURM,)
# Key of a completed stanza: which of its figures are the engine's, and nobody's description of the host.
TOLD = "told_by_engine"
SINFO_SECONDS = 30
# Nodes of a partition that are alike: partition, how many, state, processors, MiB, generic resources.
SINFO = ("sinfo", "--noheader", "--exact", "--format=%P|%D|%t|%c|%m|%G")
LIMITS = ("sinfo", "--noheader", "--format=%P|%l")
# What the system of a node keeps for itself: who asks for all that is declared gets no node.
MEMORY_SHARE = 0.9
MIB_PER_GIB = 1024


def check_engine(engine: str, machine: str) -> None:
    """Refuse an engine that is none, and a machine that cannot be on one.

    Raises:
        AugmarkError: See above.
    """
    where = "profiles: configfile"
    if engine not in KNOWN:
        raise AugmarkError(f"unknown engine {engine!r}", where=where, remedy=f"known: {', '.join(KNOWN)}")
    if machine == "local":
        raise AugmarkError(
            f"the machine is {machine}, and the engine {engine} measures on others",
            where=where,
            remedy="name the machine of its hosts (machine: slurm-node); --configfile drops a profile's own",
        )


def completed(stanza: Mapping[str, Any], engine: str | None, partition: str | None) -> dict[str, Any]:
    """A machine's stanza with what its engine knows of its hosts, where the stanza leaves it open.

    Args:
        stanza: Of machines.yaml, with its ``id``.
        engine: The engine in use, or None.
        partition: Of SLURM; None for the cluster's default.

    Raises:
        AugmarkError: The engine does not answer, or its hosts are not alike.
    """
    if engine != SLURM or None not in (stanza["vcpus"], stanza["memory_gb"]):
        return dict(stanza)
    cpus, memory_mib = _slurm_node(partition, stanza["id"])
    known = {"vcpus": cpus, "memory_gb": round(memory_mib / MIB_PER_GIB, 1)}
    told = {key: value for key, value in known.items() if stanza[key] is None}
    # What an engine gives of a host is often less than the host has: no description to hold one against.
    return {**stanza, **told, TOLD: sorted(told)}


def _slurm_node(partition: str | None, machine: str) -> tuple[int, int]:
    """Processors and MiB of memory of each node of a partition."""
    declare = f"declare vcpus, memory_gb and cpu_model of {machine} (`augmark doctor --describe` on a node)"
    lines = _sinfo(SINFO, f"run it where sinfo answers; or {declare}")
    found = {
        (int(cpus.rstrip("+")), int(memory.rstrip("+")))
        for name, _, _, cpus, memory, _ in lines
        if _is_of(name, partition)
    }
    named = f"partition {partition}" if partition else "the default partition"
    if not found:
        others = sorted({name.rstrip("*") for name, *_ in lines})
        remedy = f"name one in profiles/slurm/machine.yaml: partition (there: {', '.join(others)})"
        raise AugmarkError(f"{named} has no node", where="sinfo", remedy=remedy)
    if len(counts := sorted({cpus for cpus, _ in found})) > 1:
        shown = ", ".join(map(str, counts))
        what = f"the nodes of {named} are not alike: they have {shown} processors"
        raise AugmarkError(what, where="sinfo", remedy=declare)
    return min(found)


def _is_of(name: str, partition: str | None) -> bool:
    """Whether ``sinfo`` names a partition that is asked for: one, several (``a,b``), the default (None)."""
    return name.rstrip("*") in partition.split(",") if partition else name.endswith("*")


def _sinfo(words: tuple[str, ...], remedy: str) -> list[list[str]]:
    """What SLURM says, as cells of the columns asked for.

    Raises:
        AugmarkError: It does not answer.
    """
    try:
        answer = subprocess.run(words, capture_output=True, text=True, check=False, timeout=SINFO_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise AugmarkError(f"SLURM does not answer: {error}", where="sinfo", remedy=remedy) from None
    if answer.returncode:
        raise AugmarkError(f"SLURM does not answer: {answer.stderr.strip()}", where="sinfo", remedy=remedy)
    return [line.split("|") for line in answer.stdout.split()]


def time_limit_minutes(partition: str | None) -> int | None:
    """How long a job may take in a partition of SLURM; None where there is no limit, or none is told.

    From ``sinfo``: ``30:00``, ``1:00:00``, ``2-00:00:00``, ``infinite``.
    """
    try:
        lines = _sinfo(LIMITS, "")
    except AugmarkError:
        return None
    for name, text in lines:
        if _is_of(name, partition):
            match = re.fullmatch(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)", text)
            if match:
                days, hours, minutes = (int(part or 0) for part in match.groups()[:3])
                return (days * 24 + hours) * 60 + minutes
    return None


def request(stanza: Mapping[str, Any], engine: str | None, partition: str | None) -> dict[str, int | str]:
    """What one measuring job asks for, as Snakemake's resources: quotas, and on an engine a whole host.

    A session is one submission: its jobs run one after the other, and ask together for what one asks for.
    """
    asked: dict[str, int | str] = dict(stanza.get("host", {}))
    if engine is None:
        return asked
    if partition:
        asked["slurm_partition"] = partition
    asked["cpus_per_task"] = stanza["vcpus"]
    asked["mem_mb"] = int(stanza["memory_gb"] * MIB_PER_GIB * MEMORY_SHARE)
    if engine == SLURM and "cuda" in stanza["devices"]:
        asked["gres"] = "gpu:1"
    return asked
