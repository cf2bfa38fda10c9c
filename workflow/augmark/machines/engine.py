"""Whether an engine can be reached from here, and has hosts that are the profile's machine."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from augmark.machines.checks import FAIL, OK, WARN, Check
from augmark.worker import described

SQUEUE = ("squeue", "--noheader", "--me")
# What sinfo writes behind a state: not responding, powered down and the like.
_STATE_MARKS = "*~#!%$@^-+"
_AWAY = ("down", "drain", "drng", "drained", "fail", "failg", "maint", "unk", "inval", "boot", "futr")


@dataclass(frozen=True)
class Nodes:
    """Nodes of one partition that are alike.

    Attributes:
        count: How many.
        state: As ``sinfo`` writes it (``idle``, ``mix``, ``down*``).
        gres: Generic resources, ``gpu:l4:1``; empty where there are none.
        default: Whether jobs that name no partition come here.
    """

    partition: str
    count: int
    state: str
    cpus: int
    memory_mib: int
    gres: str
    default: bool

    @property
    def away(self) -> bool:
        """Whether no job can be started there until somebody sees to it."""
        return self.state.rstrip(_STATE_MARKS) in _AWAY or self.state.endswith("*")


def read_nodes(text: str) -> list[Nodes]:
    """What ``sinfo`` says, asked as in ``engines.SINFO``.

    Raises:
        ValueError: It is something else.
    """
    found = []
    for line in filter(None, map(str.strip, text.splitlines())):
        name, count, state, cpus, memory, gres = line.split("|")
        default = name.endswith("*")
        known = "" if gres == "(null)" else gres
        found.append(
            Nodes(name.rstrip("*"), int(count), state, int(cpus), int(memory.rstrip("+")), known, default)
        )
    return found


def plugin(executor: str, found: bool) -> Check:
    """Whether Snakemake's plugin for an engine is installed."""
    name = f"snakemake-executor-plugin-{executor}"
    if found:
        return Check("engine plugin", OK, f"{name} is installed")
    return Check("engine plugin", FAIL, f"{name} is not installed", "make setup (envs/workflow.txt has it)")


def plugin_installed(executor: str) -> bool:
    """Whether this interpreter finds the plugin."""
    return importlib.util.find_spec(f"snakemake_executor_plugin_{executor.replace('-', '_')}") is not None


def reachable(name: str, answered: tuple[bool, str]) -> Check:
    """Whether a command of the engine got an answer; of one that did not, its last words."""
    if answered[0]:
        return Check(name, OK, "answers")
    remedy = "ask from a host that submits to the cluster; `scontrol ping` says whether the controller is up"
    return Check(name, FAIL, answered[1], remedy)


def partition(nodes: Sequence[Nodes], asked: str | None, profile: str) -> Check:
    """Whether the partition is there, and has nodes that are up."""
    there = _of_partition(nodes, asked)
    known = ", ".join(dict.fromkeys(each.partition for each in nodes)) or "none"
    remedy = f"name one as `partition` in {profile}; the cluster has: {known}"
    if not there:
        what = f"there is no partition {asked!r}" if asked else "no partition is the cluster's default"
        return Check("partition", FAIL, what, remedy)
    up = sum(each.count for each in there if not each.away)
    total = sum(each.count for each in there)
    found = f"{there[0].partition}: {up} of {total} nodes up"
    if not up:
        return Check("partition", FAIL, found, f"`sinfo -R` says why they are not; or {remedy}")
    return Check(
        "partition", OK if up == total else WARN, found, "" if up == total else "`sinfo -R` says why"
    )


def nodes_are(nodes: Sequence[Nodes], asked: str | None, stanza: Mapping[str, Any]) -> Check:
    """Whether nodes of the partition are what the machine's stanza declares, as far as the cluster tells."""
    there = _of_partition(nodes, asked)
    fit = [each for each in there if not list(node_differences(each, stanza))]
    named = f"machine {stanza['id']} ({described.describe(stanza)})"
    if not fit:
        why = dict.fromkeys(what for each in there for what in node_differences(each, stanza))
        remedy = "choose another partition or profile, or declare these nodes as a machine of their own"
        return Check("nodes", FAIL, f"none is {named}: {'; '.join(why) or 'there is none'}", remedy)
    total = sum(each.count for each in there)
    found = f"{sum(each.count for each in fit)} of {total} are as {named} says; each job looks at its own"
    if open_keys := described.undeclared(stanza):
        remedy = "declare it in config/machines.yaml: `srun augmark doctor --describe` prints it"
        return Check("nodes", WARN, f"{found}, and any passes in {', '.join(open_keys)}", remedy)
    return Check("nodes", OK, found)


def node_differences(node: Nodes, stanza: Mapping[str, Any]) -> Iterator[str]:
    """In words, where nodes are not the machine; the processor's model is for the job to look at."""
    if stanza["vcpus"] is not None and node.cpus < stanza["vcpus"]:
        yield f"nodes have {node.cpus} processors, not {stanza['vcpus']}"
    if (
        stanza["memory_gb"] is not None
        and node.memory_mib < stanza["memory_gb"] * 1024 * described.MEMORY_SHARE[0]
    ):
        yield f"nodes have {node.memory_mib / 1024:.1f} GiB of memory, not {stanza['memory_gb']} GiB"
    if "cuda" in stanza["devices"] and not re.search(r"(^|,)gpu:", node.gres):
        yield f"nodes have no gres gpu (they have: {node.gres or 'none'})"


def _of_partition(nodes: Iterable[Nodes], asked: str | None) -> list[Nodes]:
    return [each for each in nodes if (each.partition == asked if asked else each.default)]
