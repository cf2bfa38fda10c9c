"""What a machine is declared to be, what this host is found to be, and whether the two agree.

Standard library only: it is asked by the measuring job, in a library's interpreter on the machine itself.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from augmark import fingerprint
from augmark.engines import TOLD
from augmark.errors import AugmarkError
from augmark.plan import Plan

Stanza = Mapping[str, Any]
Found = Mapping[str, Any]

LOCAL = "local"
GIB = 1 << 30
# Facts of a host's fingerprint by which a machine is told, and that its label names.
TOLD_BY = ("cpu_model", "cpus", "memory_bytes", "architecture", "hardware", "hypervisor", "virtual")
# What is left open of these, any host of an engine passes for.
MUST_DECLARE = ("vcpus", "cpu_model", "memory_gb")
# What the system and the hypervisor keep for themselves is missing from the figure.
# And a figure is declared to a place or two.
MEMORY_SHARE = (0.85, 1.02)


def check_machine(plan: Plan) -> None:
    """This host is the machine that rows will be labelled with.

    Raises:
        AugmarkError: It is another, or what it is cannot be read. Both descriptions are in the message.
    """
    stanza = plan.content["machine_stanza"]
    found = identity(stanza)
    if stanza["id"] == LOCAL:
        here = fingerprint.local_machine()
        wrong = [] if here == plan.machine else [f"this host is {here}"]
    else:
        wrong = list(differences(stanza, found))
    if wrong:
        raise AugmarkError(
            f"the plan is for {plan.machine}, and {'; '.join(wrong)}\n"
            f"  declared: {describe(stanza)}\n  found: {described(found)}",
            where="machines.yaml",
            remedy="run it on that machine, or plan for this one (machine local; for another machine add the "
            "stanza that `augmark doctor --describe` prints on it)",
        )


def machine_facts(plan: Plan) -> dict[str, Any]:
    """What goes into a record: ``label``, as a reader is told it, and the facts ``found`` behind it."""
    stanza = plan.content["machine_stanza"]
    found = identity(stanza)
    title = plan.machine if stanza["id"] == LOCAL else stanza["title"]
    return {"label": label(title, found), "found": found}


def identity(stanza: Stanza | None = None) -> dict[str, Any]:
    """The facts by which this host is told, unknown ones None.

    Args:
        stanza: The machine that it should be; ``gpus`` are looked at where that has any, or without one.
    """
    facts = fingerprint.fingerprint()
    gpus = facts["gpus"] if stanza is None or "cuda" in stanza["devices"] else None
    return {**{name: facts[name] for name in TOLD_BY}, "gpus": [gpu["name"] for gpu in gpus or ()] or None}


def label(title: str, found: Found) -> str:
    """``Google Cloud c4-standard-16: INTEL(R) XEON(R) PLATINUM 8581C, 16 processors, 58.9 GiB``."""
    return f"{title}: {', '.join(_figures(found))}"


def describe(stanza: Stanza | None) -> str:
    """In words, what a stanza of ``machines.yaml`` declares; without one, what this host is found to be."""
    if stanza is None:
        return described(identity())
    parts = [
        "any processor" if stanza["cpu_model"] is None else f"processor matching {stanza['cpu_model']!r}",
        "any number of processors" if stanza["vcpus"] is None else f"{stanza['vcpus']} processors",
        "any memory" if stanza["memory_gb"] is None else f"{stanza['memory_gb']} GiB",
    ]
    if "cuda" in stanza["devices"]:
        pattern = stanza.get("gpu_model")
        parts.append("an NVIDIA GPU" if pattern is None else f"GPU matching {pattern!r}")
    return f"{stanza['title']}: {', '.join(parts)}"


def described(found: Found) -> str:
    """In words, what a host was found to be, its firmware's and its hypervisor's own words included."""
    virtual = {True: "a virtual machine", False: "no virtual machine", None: None}[found["virtual"]]
    if virtual and found["hypervisor"]:
        virtual += f" ({found['hypervisor']})"
    said = found["hardware"]
    parts = [*_figures(found), found["architecture"], f"firmware says {said!r}" if said else None, virtual]
    return ", ".join(part for part in parts if part)


def _figures(found: Found) -> Iterator[str]:
    yield found["cpu_model"] or "processor unknown"
    count = found["cpus"]
    yield "number of processors unknown" if count is None else f"{count} processor{'s' if count != 1 else ''}"
    memory = found["memory_bytes"]
    yield "memory unknown" if memory is None else f"{memory / GIB:.1f} GiB"
    gpus = found.get("gpus") or ()
    for name in dict.fromkeys(gpus):
        count = gpus.count(name)
        yield name if count == 1 else f"{count} x {name}"


def undeclared(stanza: Stanza) -> list[str]:
    """The keys of a stanza that say nothing, so that any host passes in them."""
    return [name for name in MUST_DECLARE if stanza[name] is None]


def differences(stanza: Stanza, found: Found) -> Iterator[str]:
    """In words, where a host is not the machine of a stanza."""
    pattern, model = stanza["cpu_model"], found["cpu_model"]
    # Where none is declared (a cluster's nodes) any will do: rows are labelled with what was found, and rows
    # of different processors are never compared.
    if pattern is not None and (model is None or not re.search(pattern, model)):
        yield f"its processor is {model!r}, which does not match {pattern!r}"
    told = stanza.get(TOLD, ())  # what an engine tells is the least that its host has
    count = found["cpus"]
    fewer = count is None or count < (stanza["vcpus"] or 0)
    if fewer if "vcpus" in told else stanza["vcpus"] is not None and count != stanza["vcpus"]:
        yield f"it has {found['cpus']} processors, not {stanza['vcpus']}"
    declared, memory = stanza["memory_gb"], found["memory_bytes"]
    low, high = MEMORY_SHARE
    high = math.inf if "memory_gb" in told else high
    if declared is not None and (memory is None or not low <= memory / (declared * GIB) <= high):
        shown = "an unknown amount" if memory is None else f"{memory / GIB:.1f} GiB"
        yield f"it has {shown} of memory, not {declared} GiB"
    if "cuda" in stanza["devices"]:
        yield from _other_gpus(stanza.get("gpu_model"), found["gpus"] or ())


def _other_gpus(pattern: str | None, names: Iterable[str]) -> Iterator[str]:
    names = list(names)
    if not names:
        yield "it has no NVIDIA GPU, or its driver does not answer"
    if pattern is not None:
        for name in dict.fromkeys(names):
            if not re.search(pattern, name):
                yield f"its GPU is {name!r}, which does not match {pattern!r}"
