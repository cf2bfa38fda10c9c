"""What must be alike for rows to be compared with one another, and which of it is not.

A row's *contract* is one text (``contract`` in the frame): the facts of its host, its data, its Python,
depth, timing rules, setting and environment variables. The library is no part of it: it is
what is compared.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any

from augmark.cell import canonical_json
from augmark.worker.threads import POOL_VARIABLES

UNKNOWN = "unknown"  # could not be read where it was measured
NOT_STATED = "not set"
# Two virtual machines of one kind differ by some kilobytes, and so do two kernels on one: the share of the
# larger value by which such facts may differ and be alike.
TOLERANCES = {"host.memory_gib": 0.02}


def contract(facts: Mapping[str, Any]) -> str:
    """One text for what has to be alike.

    Args:
        facts: As a record has them: ``host``, ``variables``, ``python`` and others. Of Python the patch
            release is left out. ``variables`` may be unknown (None): records of schema 2 do not say.
    """
    host = dict(facts["host"])
    memory = host.pop("memory_bytes", None)
    host["memory_gib"] = None if memory is None else round(memory / (1 << 30), 2)
    variables = facts["variables"]
    if variables is not None:
        # Sizes of pools are the setting's: ``setting.threads``.
        variables = {name: text for name, text in variables.items() if name not in POOL_VARIABLES}
    minor = ".".join(facts["python"].split(".")[:2])
    return canonical_json({**facts, "host": host, "variables": variables, "python": minor})


@lru_cache(maxsize=1024)
def fields(contract: str) -> dict[str, Any]:
    """Dotted name -> value of every fact in a contract: ``host.governor``, ``setting.workers``."""
    return dict(_flat(json.loads(contract)))


def _flat(facts: Mapping[str, Any], before: str = "") -> Iterable[tuple[str, Any]]:
    for name, value in facts.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def differing(first: str, second: str, may_differ: Collection[str] = ()) -> list[str]:
    """Say in which facts two rows were measured differently.

    Args:
        first: A row's contract.
        second: Another's.
        may_differ: Names of facts that may differ (``host.kernel``); of a group, all of it (``host.caches``).

    Returns:
        One text per fact, sorted: ``host.governor: performance and powersave``. Empty when they are alike.
    """
    return mixed((first, second), may_differ)


def mixed(contracts: Iterable[str], may_differ: Collection[str] = ()) -> list[str]:
    """As ``differing``, over any number of rows: what is not the same in all, with every value found."""
    distinct = dict.fromkeys(contracts)
    if len(distinct) < 2:
        return []
    known = [fields(contract) for contract in distinct]
    found = []
    for name in sorted(set().union(*known)):
        values = dict.fromkeys(_words(name, facts) for facts in known)
        if len(values) > 1 and not _declared(name, may_differ) and not _near(name, known):
            found.append(f"{name}: {' and '.join(values)}")
    return found


def _declared(name: str, may_differ: Collection[str]) -> bool:
    return any(name == declared or name.startswith(f"{declared}.") for declared in may_differ)


def _near(name: str, known: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a fact that is measured is the same but for what two readings of it differ by."""
    values = [facts.get(name) for facts in known]
    if name not in TOLERANCES or not all(isinstance(value, int | float) for value in values):
        return False
    return max(values) - min(values) <= TOLERANCES[name] * max(values)


def _words(name: str, facts: Mapping[str, Any]) -> str:
    if name not in facts:
        return NOT_STATED
    value = facts[name]
    if value is None:
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    return str(value) if isinstance(value, str | int) else canonical_json(value)
