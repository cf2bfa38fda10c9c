"""Every way to fail ends as its status with a reason, and never as a number or a gap."""

import csv
import json
import subprocess

import psutil
import pytest

from tests.conftest import copy_project, make_fake

EXPECTED = {
    "Works": ("ok", ""),
    "WorksAtRandom": ("ok", ""),
    "SlowFirstCall": ("ok", ""),
    "SlowEveryCall": ("slow", "s per item, floor 0.05 s"),
    "SleepsForEver": ("timeout", "no sign of life within 6 s"),
    "Aborts": ("crashed", "signal 6 (SIGABRT)"),
    "ExitsThePython": ("crashed", "exit status 3"),
    "AllocatesWithoutEnd": ("oom", "resident memory"),
    "RaisesOneInSeven": ("failed", "of 50 calls: ValueError: the seventh call"),
    "WarnsWhenBuilt": ("failed", "argument 'sigma' is not known"),
    "WrongShape": ("invalid", "shape 374x500x3, expected 375x500x3"),
    "ReturnsNaN": ("invalid", "NaN"),
    "ReturnsItsInput": ("invalid", "no-op"),
    "ChangesItsInput": ("invalid", "changed its input"),
    "NeverRandom": ("invalid", "not random"),
    "DiesWhenMeasured": ("crashed", "signal 6 (SIGABRT)"),
}


@pytest.fixture(scope="module")
def ran(tmp_path_factory, environments):
    """One whole run of the fake libraries: probes, records, tables."""
    project = copy_project(tmp_path_factory.mktemp("failures") / "project")
    project.results.mkdir()
    (project.results / "envs").symlink_to(environments)
    make_fake(project)
    project.run("snakemake", "paper_tables")
    return project


@pytest.fixture(scope="module")
def rows(ran):
    path = next(path for path in ran.records() if "/fake/cpu/r0." in str(path))
    return {row["transform"]: row for row in json.loads(path.read_text())["rows"]}


def test_the_list_is_whole(rows):
    """Every transform of the fake library has a row and an expectation."""
    assert EXPECTED.keys() == rows.keys()


@pytest.mark.parametrize("transform", EXPECTED)
def test_a_failure_is_a_status_and_a_reason(rows, transform):
    """The status is the one of the design; the reason says what was seen."""
    status, reason = EXPECTED[transform]
    row = rows[transform]
    assert status == row["status"], row["reason"]
    assert reason in (row["reason"] or "")
    assert (row["values"] is not None) == (status in ("ok", "slow"))


def test_a_death_while_measuring_costs_one_row(rows):
    """After the row that died, another process takes the rest of the cell."""
    dead = rows["DiesWhenMeasured"]
    assert "in the probe" not in dead["reason"]
    assert {row["process"] for row in rows.values() if row["status"] == "ok"} <= {0, 1}
    assert 0 == dead["process"]


def test_a_slow_row_keeps_its_figure_and_few_items(rows):
    """Slow is judged warm and measured on few items; a slow first call is not slow."""
    slow = rows["SlowEveryCall"]
    assert 8 == slow["items"]
    assert 0.08 <= slow["values"][0] < 0.16
    assert rows["SlowFirstCall"]["values"][0] < 0.05


def test_threads_were_set_and_read_back(rows):
    """The row says how many threads the process really had."""
    assert rows["Works"]["threads_read"]
    assert {1} == set(rows["Works"]["threads_read"].values())
    assert "threads" not in rows["Works"]["flags"]


def test_the_tables_have_no_number_for_what_failed(ran):
    """A row without a measurement has a status in the table, never a number."""
    with open(ran.results / "tables" / "image-rgb-micro.csv", newline="") as stream:
        lines = {line["transform"]: line for line in csv.DictReader(stream) if line["library"] == "fake"}
    assert EXPECTED.keys() == lines.keys()
    for transform, (status, _) in EXPECTED.items():
        assert status == lines[transform]["status"]
        has_number = bool(lines[transform]["seconds_median"])
        assert has_number == (status in ("ok", "slow"))


def test_nothing_of_it_still_runs(ran):
    """No worker and no parent of one outlives its run: none works in its folder any more."""
    places = [process.info["cwd"] for process in psutil.process_iter(["cwd"])]
    assert str(ran.root) not in places


def test_a_second_run_does_nothing_and_says_so(ran):
    """Rows that failed have their status: that is a result, and it stays."""
    again = ran.run("snakemake", "paper_tables")
    assert "Nothing to be done" in again.stdout + again.stderr


def test_the_pyperf_file_is_read_by_pyperf(ran):
    """pyperf shows the rows with a number, under their names."""
    path = next((ran.results / "pyperf").glob("*/image-rgb/micro/fake/cpu/r0.*.json"))
    shown = ran.run("pyperf", "show", "--quiet", str(path)).stdout
    assert {"Works", "WorksAtRandom", "SlowFirstCall", "SlowEveryCall"} == {
        name for name in EXPECTED if f"{name}: " in shown
    }


def test_coverage_is_whole_and_says_what_became_of_each_row(ran):
    """Every planned row has a record: exit status 0, with the statuses in the grid."""
    done = ran.run("augmark", "coverage")
    for status in {status for status, _ in EXPECTED.values()}:
        assert status in done.stdout


def test_coverage_fails_where_a_record_is_missing(ran, tmp_path):
    """One record less: exit status 1 and the reason."""
    path = next(path for path in ran.records() if "/fake-too/cpu/r1." in str(path))
    path.rename(tmp_path / path.name)
    try:
        done = ran.run("augmark", "coverage", check=False)
        assert 1 == done.returncode
        assert "not-run" in done.stdout
    finally:
        (tmp_path / path.name).rename(path)


def test_the_coverage_of_a_truncated_record_names_it(ran):
    """Half a record is an error that names the file and the remedy."""
    path = ran.records()[0]
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    try:
        done = ran.run("augmark", "coverage", check=False)
        assert 2 == done.returncode
        assert path.name in done.stderr
        assert "delete the file" in done.stderr
    finally:
        path.write_bytes(whole)


def test_the_summary_goes_through_latex(ran, tmp_path):
    """The table compiles in a minimal document."""
    table = (ran.results / "tables" / "image-rgb-micro.tex").resolve()
    document = (
        "\\documentclass{article}\\usepackage{booktabs,longtable}\\begin{document}\\input{%s}\\end{document}"
    )
    (tmp_path / "paper.tex").write_text(document % table)
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stdout[-3000:]
