"""REBUILD.md: what a package holds, what it does not, and how its tables are made again."""

from __future__ import annotations

from augmark import __version__
from augmark.evidence.facts import Facts, licence_of, way_to

NAME = "REBUILD.md"
COMMANDS = """\
```sh
sha256sum -c SHA256SUMS   # every file is the one that was packed
make setup                # .venv from envs/workflow.txt, hashed: Python 3.11 or newer, the package registry
.venv/bin/python scripts/rebuild.py --package . --out rebuilt --check
```
"""
_MADE_AGAIN = (
    "The last command makes every table and figure from `records/` into `rebuilt/`, compares each with the "
    "one that was published here, and ends with 1 where a byte differs. It needs no library that was "
    "measured, no data and no git."
)


def render(facts: Facts) -> str:
    """The page, as Markdown."""
    plan = facts.plan
    asked = f"plan {plan['question']['name']}, " if plan["question"] else ""
    stamp = f"\n\nAt depth {plan['depth']} the numbers are a **{plan['stamp']}**." if plan["stamp"] else ""
    parts = [
        f"# {facts.name}\n\nMade by augmark {__version__}: {asked}campaign {plan['campaign']}, "
        f"depth {plan['depth']}, machine {plan['machine']}, {len(facts.records)} records, "
        f"plan {facts.plan_digest}.{stamp}",
        f"## Make the tables again\n\nIn this folder:\n\n{COMMANDS}\n{_MADE_AGAIN}",
        _not_packed(facts),
        _said_of_itself(facts),
        _doubts(facts),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _not_packed(facts: Facts) -> str:
    lines = [
        f"* `{about['name']}`: sha256 `{about['digest']}`, licence {licence_of(about)}. How to get it: "
        f"{way_to(about)}."
        for about in facts.datasets.values()
    ]
    if not facts.samples:
        lines.append(
            "* The samples that the probes kept and the contact sheets: they show images that may not be "
            "given away. `tables/equivalence.csv` (which libraries do the same work) stands as it was "
            "published and **cannot be verified here**; the rest is made with it."
        )
    return "## Not in here\n\n" + "\n".join(lines)


def _said_of_itself(facts: Facts) -> str:
    commits = ", ".join(f"`{commit}`" for commit in facts.commits) or "unknown"
    packed = f"`{facts.commit}`" if facts.commit else "unknown"
    return (
        "## What it says of itself\n\n"
        f"* measured at commit {commits}; packed at {packed}\n"
        f"* `provenance.json`: an in-toto statement (SLSA provenance) over every file, **not signed**\n"
        "* `ro-crate-metadata.json`: what each file is, as RO-Crate\n"
        "* `SHA256SUMS`: the digest of every other file"
    )


def _doubts(facts: Facts) -> str:
    if not facts.doubts:
        return ""
    lines = "\n".join(f"* {doubt}" for doubt in facts.doubts)
    return (
        f"## Warnings\n\nA package of depth `max` would have been refused for these; depth "
        f"{facts.plan['depth']} claims nothing.\n\n{lines}"
    )
