"""Every product of a plan, made again from its records by the functions that the rules call."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from augmark.analysis import (
    bounds,
    claims_files,
    coverage,
    efficiency,
    energy,
    publish,
    question_report,
    same_work,
)
from augmark.analysis.classes import read_classes
from augmark.analysis.equivalence_summary import render as render_summary
from augmark.analysis.frame import Records, read_records, write_text
from augmark.analysis.gather import collect
from augmark.analysis.sampled import archives
from augmark.analysis.tables import Analysis, analyse
from augmark.errors import AugmarkError
from augmark.plan import Plan
from augmark.products import Product, products
from augmark.progress import progress

RECORDS_FILE = "records.parquet"
SHEETS = "contact_sheets"  # show what libraries make of images: from samples alone


@dataclass(frozen=True)
class Sources:
    """What products are made from, each read and worked out once.

    Attributes:
        plan: Whose products.
        out: The folder that gets ``records.parquet``, ``tables`` and ``figures``.
        classes: An equivalence.csv to take, or None: it is made from the samples of the plan's probes.
    """

    plan: Plan
    out: Path
    classes: Path | None

    @cached_property
    def records(self) -> Records:
        return read_records(self.out / RECORDS_FILE)

    @cached_property
    def known(self) -> pd.DataFrame:
        return read_classes(self.out / "tables" / "equivalence.csv")

    @cached_property
    def compared(self) -> Analysis:
        """Libraries held against each other, where their work is the same."""
        return analyse(self.records, self.plan.content, self.known)

    @cached_property
    def alone(self) -> Analysis:
        """Each library by itself: what needs no sample."""
        return analyse(self.records, self.plan.content)


def rebuild(
    plan: Plan, out: Path, *, records: Path, samples: bool, classes: Path | None = None
) -> list[Path]:
    """Make every product of a plan that can be made from what is there.

    Args:
        plan: With ``samples``, its ``output`` is where the probes lie.
        out: The folder for ``records.parquet``, ``tables`` and ``figures``.
        records: The folder of the record files, laid out as ``<output>/records``. Cells without a file there
            are shown as not run, as the workflow would.
        samples: Whether the probes' samples are there: then equivalence.csv and the contact sheets are made
            from them, else equivalence.csv is taken from ``classes``, and there are no sheets.
        classes: An equivalence.csv; by default that of ``plan.products``.

    Returns:
        The files that were made, ``records.parquet`` first.

    Raises:
        AugmarkError: A record is damaged, or records are not alike (``gather.collect``, ``tables.analyse``);
            there is no equivalence.csv and there are no samples.
    """
    paths = [path for cell in plan.cells() if (path := records / cell["path"]).exists()]
    given = None if samples else (classes or plan.products / "tables" / "equivalence.csv")
    sources = gathered(plan, out, paths, given)
    return [out / RECORDS_FILE, *make(sources)]


def rebuild_package(folder: Path, out: Path) -> list[Path]:
    """Make every product of an unpacked package (``package.package``) again; it holds its plan.

    Raises:
        AugmarkError: As ``rebuild``; or there is no plan in it.
    """
    try:
        plan = Plan(json.loads((folder / "plan.json").read_text(encoding="utf-8")), folder)
    except (OSError, ValueError) as error:
        raise AugmarkError(
            f"the plan cannot be read: {error}",
            where=str(folder / "plan.json"),
            remedy="unpack the package again, and name its folder",
        ) from error
    classes = folder / "tables" / "equivalence.csv"
    return rebuild(plan, out, records=folder / "records", samples=has_samples(plan), classes=classes)


def has_samples(plan: Plan) -> bool:
    """Whether any sample archive of a plan is there."""
    return any(path.exists() for paths in archives(plan).values() for path in paths.values())


def gathered(plan: Plan, out: Path, records: Collection[Path], classes: Path | None) -> Sources:
    """Gather record files into ``out/records.parquet``, and say what products are made from."""
    collect(records, plan.content, out / RECORDS_FILE)
    return Sources(plan, out, classes)


def make(sources: Sources) -> list[Path]:
    """Make the products; contact sheets only from samples. Returns their files."""
    samples = sources.classes is None
    wanted = [product for product in products(sources.plan) if samples or product.rule != SHEETS]
    made = []
    with progress(label="rebuild", total=len(wanted), unit="product") as bar:
        for product in wanted:
            files = [sources.out / name for name in product.files]
            maker_of(product)(sources, product, files)
            made += files
            bar.update(1, note=product.files[0])
    return made


Maker = Callable[[Sources, Product, list[Path]], None]


def maker_of(product: Product) -> Maker:
    """What makes a product.

    Raises:
        AugmarkError: Nothing here does.
    """
    if product.rule not in MAKERS:
        raise AugmarkError(f"no way to rebuild what rule {product.rule} makes", where=product.files[0])
    return MAKERS[product.rule]


def _equivalence(sources: Sources, product: Product, files: list[Path]) -> None:
    csv, summary = files
    if sources.classes is None:
        same_work.write_equivalence(sources.plan, csv, summary)
        return
    known = read_classes(sources.classes)  # and refuse here what is no such file
    csv.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(sources.classes, csv)
    write_text(summary, render_summary(known, sources.plan.content))


def _contact_sheets(sources: Sources, product: Product, files: list[Path]) -> None:
    same_work.draw_sheets(sources.plan, sources.known, sources.out)


def _check_coverage(sources: Sources, product: Product, files: list[Path]) -> None:
    records = sources.records
    covered = coverage.cover(sources.plan.content, records.frame, machine=records.machine)
    write_text(files[0], f"{coverage.render(covered)}\n")


def _summarize(sources: Sources, product: Product, files: list[Path]) -> None:
    publish.write_summary(sources.compared, files[0])


def _claims(sources: Sources, product: Product, files: list[Path]) -> None:
    claims_files.write_claims(sources.compared, files)


def _plan_verdicts(sources: Sources, product: Product, files: list[Path]) -> None:
    question_report.write_report(sources.compared, files)


def _tables(sources: Sources, product: Product, files: list[Path]) -> None:
    publish.write_table(sources.compared, product.table, files)


def _figures(sources: Sources, product: Product, files: list[Path]) -> None:
    publish.draw_figure(sources.compared, product.kind, product.table, files)


def _efficiency(sources: Sources, product: Product, files: list[Path]) -> None:
    write_text(files[0], efficiency.render(efficiency.timed_shares(sources.records.frame)))


def _efficiency_figure(sources: Sources, product: Product, files: list[Path]) -> None:
    from augmark.analysis.figures import efficiency as draw

    draw(efficiency.timed_shares(sources.records.frame), sources.plan.content, files)


def _energy_table(sources: Sources, product: Product, files: list[Path]) -> None:
    energy.write_energy(sources.alone, files)


def _bounds(sources: Sources, product: Product, files: list[Path]) -> None:
    write_text(files[0], bounds.render(bounds.bounds(sources.alone)))


def _regimes(sources: Sources, product: Product, files: list[Path]) -> None:
    from augmark.analysis.regimes import write_regimes

    write_regimes(sources.alone, files)


def _regimes_figure(sources: Sources, product: Product, files: list[Path]) -> None:
    from augmark.analysis.regimes_figure import draw

    draw(sources.alone, files)


# Rule -> what its script calls.
MAKERS: Mapping[str, Maker] = {
    "equivalence": _equivalence,
    SHEETS: _contact_sheets,
    "check_coverage": _check_coverage,
    "summarize": _summarize,
    "claims": _claims,
    "tables": _tables,
    "figures": _figures,
    "efficiency": _efficiency,
    "efficiency_figure": _efficiency_figure,
    "energy_table": _energy_table,
    "bounds": _bounds,
    "regimes": _regimes,
    "regimes_figure": _regimes_figure,
    "plan_verdicts": _plan_verdicts,
}
