"""Refuse to mix what was not measured alike."""

from __future__ import annotations

import pandas as pd

from augmark.analysis.frame import NAME, PLACE, Records
from augmark.analysis.planned import PlanContent, planned_cells, record_key
from augmark.errors import AugmarkError


def _one(frame: pd.DataFrame, column: str, what: str, where: str, remedy: str) -> str | None:
    """The one value of a column, None in an empty frame."""
    found = sorted(frame[column].dropna().unique())
    if len(found) > 1:
        raise AugmarkError(f"{what} are mixed: {', '.join(map(str, found))}", where=where, remedy=remedy)
    return found[0] if found else None


def check_records(records: Records, plan: PlanContent, *, target: str = "paper_tables") -> None:
    """Make sure that records are those of a plan, and alike.

    Args:
        records: As read from ``records.parquet``.
        plan: The plan that tables are to be made for.
        target: The Snakemake target that makes the records what they should be.

    Raises:
        AugmarkError: The cells are not the plan's cells of that machine; machines, depths, datasets or items
            are mixed or not the plan's; repeats of one row are of different Pythons. The remedy names
            ``snakemake <target>``.
    """
    remedy, where = f"snakemake {target}", f"records of {records.machine}"
    frame = records.frame
    if (machine := _one(frame, "machine", "machines", where, remedy)) not in (None, records.machine):
        raise AugmarkError(f"rows are of machine {machine}", where=where, remedy=remedy)
    planned, held = set(planned_cells(plan, records.machine)), {record_key(path) for path in records.cells}
    if not planned:
        raise AugmarkError("the plan has no cell on this machine", where=where, remedy=remedy)
    strangers = sorted((held | set(frame["record_path"].unique())) - planned)
    if planned - held or strangers:
        sample = (strangers or sorted(planned - held))[0]
        raise AugmarkError(
            f"cells are not those of the plan: {len(planned - held)} planned ones are missing, "
            f"{len(strangers)} are of another plan (such as {sample})",
            where=where,
            remedy=remedy,
        )
    depth = _one(frame, "depth", "depths", where, remedy)
    if depth not in (None, plan["depth"]):
        raise AugmarkError(f"depth is {depth}, the plan's is {plan['depth']}", where=where, remedy=remedy)
    _check_datasets(frame, plan, where, remedy)
    _check_pooled(frame, where, target)


def _check_datasets(frame: pd.DataFrame, plan: PlanContent, where: str, remedy: str) -> None:
    known = {dataset["digest"] for dataset in plan["datasets"].values()}
    for (scenario, mode), rows in frame.groupby(["scenario", "mode"], sort=True):
        # A mode may take more items of a scenario than another, so that these are a set of its own.
        _one(rows, "items_digest", f"prepared items of {scenario} {mode}", where, remedy)
    for scenario, rows in frame.groupby("scenario", sort=True):
        for column, what in (("dataset_digest", "datasets"), ("manifest_digest", "item manifests")):
            digest = _one(rows, column, f"{what} of {scenario}", where, remedy)
            if column == "dataset_digest" and digest is not None and digest not in known:
                raise AugmarkError(
                    f"dataset of {scenario} is {digest}, which is not in the plan", where=where, remedy=remedy
                )


def _check_pooled(frame: pd.DataFrame, where: str, target: str) -> None:
    """The repeats of a row make one figure: they have to be of one minor version of Python.

    That they are of one processor is seen to when records are collected.
    """
    timed = frame[frame["seconds_per_item"].notna()]
    minor = timed["python_version"].str.split(".").str[:2].str.join(".")
    rows = minor.groupby([timed[name] for name in [*PLACE, *NAME]], sort=True)
    for (*_, library, device, transform, _condition), versions in rows:
        if len(found := sorted(versions.unique())) > 1:
            raise AugmarkError(
                f"python_version differs over the repeats of {library} {transform} ({device}): "
                f"{', '.join(found)}",
                where=where,
                remedy=f"delete the records of the version that is not wanted and run `snakemake {target}`",
            )
