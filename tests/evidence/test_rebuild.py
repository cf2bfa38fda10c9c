"""Every product again, from records alone: the bytes of the workflow's own."""

import shutil
import subprocess
import sys

import pytest

from augmark.analysis.sampled import sheet_paths
from augmark.errors import AugmarkError
from augmark.evidence.rebuild import MAKERS, maker_of, rebuild
from augmark.plan import Plan
from augmark.products import Product, product_paths, products


def files_below(folder, *parts):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for part in parts
        for path in (folder / part).rglob("*")
        if path.is_file()
    }


@pytest.fixture
def plan(measured):
    return Plan(measured.plan.content, measured.results)


def test_the_list_of_products_is_what_the_workflow_made(measured, plan):
    """Everything in tables/ and figures/, and nothing else."""
    made = {measured.results / name for name in files_below(measured.results, "tables", "figures")}
    assert made == set(product_paths(plan))


def test_every_rule_of_a_product_has_something_that_makes_it(plan):
    """No product of the fake plan, nor one of a plan with sweeps and loaders, is without a maker."""
    assert {product.rule for product in products(plan)} <= MAKERS.keys()
    assert {"bounds", "regimes", "regimes_figure"} <= MAKERS.keys()
    with pytest.raises(AugmarkError, match="no way to rebuild what rule astrology makes"):
        maker_of(Product("astrology", ("tables/stars.csv",)))


def test_the_products_are_rebuilt_byte_for_byte(measured, plan, tmp_path):
    """Tables, figures, contact sheets and records.parquet, in another folder."""
    made = rebuild(plan, tmp_path / "out", records=measured.results / "records", samples=True)
    assert files_below(measured.results, "tables", "figures") == files_below(
        tmp_path / "out", "tables", "figures"
    )
    assert plan.records_file.read_bytes() == (tmp_path / "out" / "records.parquet").read_bytes()
    assert {path.relative_to(tmp_path / "out").as_posix() for path in made} == {
        "records.parquet",
        *(path.relative_to(measured.results).as_posix() for path in product_paths(plan)),
    }


def test_without_samples_equivalence_is_taken_and_there_are_no_sheets(measured, plan, tmp_path):
    """Records and equivalence.csv alone give everything that shows no image, byte for byte."""
    shutil.copytree(measured.results / "records", tmp_path / "records")
    classes = shutil.copy2(measured.results / "tables" / "equivalence.csv", tmp_path)
    elsewhere = Plan(plan.content, tmp_path / "nowhere")
    rebuild(elsewhere, tmp_path / "out", records=tmp_path / "records", samples=False, classes=classes)
    wanted = files_below(measured.results, "tables", "figures")
    for path in sheet_paths(plan):
        del wanted[path.relative_to(measured.results).as_posix()]
    assert wanted == files_below(tmp_path / "out", "tables", "figures")


def test_without_samples_and_without_equivalence_nothing_is_made_up(measured, plan, tmp_path):
    """It is said which file is missing."""
    elsewhere = Plan(plan.content, tmp_path / "nowhere")
    with pytest.raises(AugmarkError, match=r"nowhere/tables/equivalence\.csv: cannot be read"):
        rebuild(elsewhere, tmp_path / "out", records=measured.results / "records", samples=False)


def test_the_script_rebuilds_a_package_and_compares(measured, plan, tmp_path):
    """0 where every byte is the same; 1, with the file, line and both numbers, after an edit."""
    package = tmp_path / "package"
    for name in ("records", "tables", "figures", "probes"):
        shutil.copytree(measured.results / name, package / name)
    shutil.copy2(plan.records_file, package / "records.parquet")
    shutil.copy2(plan.path, package / "plan.json")

    def run(*words):
        command = [sys.executable, measured.root / "scripts" / "rebuild.py", "--package", package, *words]
        return subprocess.run(
            command, env=measured.environment(), capture_output=True, text=True, check=False
        )

    same = run("--out", tmp_path / "one", "--check")
    assert (0, "all are the same, byte for byte") == (same.returncode, same.stdout.strip().split(": ")[-1])
    table = package / "tables" / "coverage.txt"
    table.write_text(table.read_text().replace("16 of 16", "16 of 17"))
    other = run("--out", tmp_path / "two", "--check")
    assert 1 == other.returncode
    assert "tables/coverage.txt: published-number: line " in other.stdout
    assert "says 17, the records give 16" in other.stdout
    (package / "plan.json").unlink()
    none = run("--out", tmp_path / "three")
    assert 1 == none.returncode
    assert "the plan cannot be read" in none.stderr
