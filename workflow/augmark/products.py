"""What a reader is given: every table and figure of a plan, and the rule that makes it.

Standard library only: the workflow asks for these paths when it is parsed. What the rules ask for and what
``evidence.rebuild`` makes is this one list.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from augmark.analysis import sampled
from augmark.modes import mode_facts
from augmark.plan import Plan
from augmark.sweeps import has_conditions

WRITTEN = ("md", "csv", "tex")
DRAWN = ("pdf", "png")
ANSWER = "plan_verdicts"


@dataclass(frozen=True)
class Product:
    """The files that one job makes.

    Attributes:
        rule: That makes them.
        files: Below the plan's folder of products, in the order in which the rule names them.
        table: The id of the table that they are of, or empty: of the whole plan.
        kind: Of a figure of that table (``throughput``), or empty.
    """

    rule: str
    files: tuple[str, ...]
    table: str = ""
    kind: str = ""


def products(plan: Plan) -> list[Product]:
    """Every product of a plan, what others are made from first."""
    return [
        Product("equivalence", ("tables/equivalence.csv", "tables/equivalence.md")),
        Product("check_coverage", ("tables/coverage.txt",)),
        Product("summarize", ("tables/summary.csv",)),
        *([] if plan.content["question"] else [Product("claims", ("tables/claims.md", "tables/claims.csv"))]),
        Product("efficiency", ("tables/efficiency.csv",)),
        Product("energy_table", ("tables/energy.csv", "tables/energy.md")),
        Product("efficiency_figure", _drawn("efficiency")),
        *_of_tables(plan),
        *_swept(plan),
        *_sheets(plan),
        *_answer(plan),
    ]


def product_paths(plan: Plan) -> list[Path]:
    """Every file that a reader is given."""
    return [plan.products / name for product in products(plan) for name in product.files]


def _written(stem: str) -> tuple[str, ...]:
    return tuple(f"tables/{stem}.{ending}" for ending in WRITTEN)


def _drawn(stem: str) -> tuple[str, ...]:
    return tuple(f"figures/{stem}.{ending}" for ending in DRAWN)


def _of_tables(plan: Plan) -> Iterator[Product]:
    named = plan.content["tables"]
    batched = [name for name, stanza in named.items() if mode_facts(stanza["mode"]).batched]
    for name in named:
        yield Product("tables", _written(name), name)
        for kind in ("throughput", "coverage", *(["bounds"] if name in batched else [])):
            yield Product("figures", _drawn(f"{name}.{kind}"), name, kind)
    if batched:
        yield Product("bounds", ("tables/bounds.csv",))


def _swept(plan: Plan) -> Iterator[Product]:
    if has_conditions(plan.content):
        yield Product("regimes", _written("regimes"))
        yield Product("regimes_figure", _drawn("regimes"))


def _sheets(plan: Plan) -> Iterator[Product]:
    if sheets := sampled.sheet_paths(plan):
        yield Product("contact_sheets", tuple(str(path.relative_to(plan.products)) for path in sheets))


def _answer(plan: Plan) -> Iterator[Product]:
    """The report on a plan file."""
    if plan.content["question"]:
        yield Product(ANSWER, ("report.md", "report.json", "report.csv"))
