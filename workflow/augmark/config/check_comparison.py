"""Rules about what may differ between rows that are compared: a declaration of nothing would pass for one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from augmark import fingerprint
from augmark.config.problems import Problem, unknown_names
from augmark.config.settings import Draft, Settings

POLICY = "config/policy.yaml"
WHOLE = ("host", "variables", "dataset", "timing", "setting", "python", "numpy", "depth")
# Their facts are as many as there are variables, rules and axes: only the group is checked.
OPEN = ("variables", "timing", "setting")
DATASET = ("digest", "manifest_digest", "items_digest")


@cache
def facts() -> tuple[str, ...]:
    """The names of what has to be alike (``augmark.analysis.alike``): groups, and facts of closed ones."""
    # No host has this root: the names are there, and nothing is read.
    host = dict.fromkeys(fingerprint.facts(Path("/nowhere"), ""))
    del host["memory_bytes"]
    named = [f"host.{name}" for name in (*host, "memory_gib")]
    return (*WHOLE, *named, *(f"dataset.{name}" for name in DATASET))


def check_comparison(draft: Draft, settings: Settings) -> Iterator[Problem]:
    """Each name of ``comparison.may_differ`` is a fact that rows have, or a group of them."""
    for name in settings.policy.get("comparison", {}).get("may_differ", []):
        group, _, rest = name.partition(".")
        if (group in OPEN and rest) or ".".join(name.split(".")[:2]) in facts():
            continue
        yield from unknown_names("fact", POLICY, "comparison.may_differ", [name], facts())
