"""Record files become one parquet: checked, sorted, the same bytes for the same records."""

import copy
import hashlib
import json

import pandas as pd
import pytest

from augmark import record as written
from augmark.analysis.frame import COLUMNS, read_records
from augmark.analysis.gather import check_record, collect
from augmark.analysis.pyperf_export import suite_of
from augmark.errors import AugmarkError
from augmark.plan import plan_digest
from tests.analysis.synthetic import (
    HOST,
    MACHINE,
    ORIGIN,
    carried,
    make_plan,
    make_record,
    measured,
    plan_row,
    sealed,
    unmeasured,
)

PLAN = make_plan(
    {"kornia": ["Flip", "Blur"], "pillow": ["Flip", plan_row("Blur", "unsupported", "no blur")]}, repeats=2
)
FOUND = {"Flip": measured([0.5, 1.0]), "Blur": unmeasured("timeout", "took more than 300 s")}


def write_all(folder, **more):
    """Every record of the plan below ``folder``; returns their paths."""
    paths = []
    for cell in PLAN["cells"]:
        path = folder / "records" / cell["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(make_record(PLAN, cell["library"], cell["repeat"], FOUND, **more)))
        paths.append(path)
    return paths


def test_the_factory_writes_what_the_worker_writes():
    """The synthetic record is whole by the worker's own check, so that these tests mean something."""
    assert written.problems(make_record(PLAN, "kornia", 0, FOUND)) == []


def test_columns_and_figures(tmp_path):
    """One line per cell and row; a process's one mean; nothing where there is no number."""
    out = tmp_path / "records.parquet"
    assert collect(write_all(tmp_path), PLAN, out) == 8
    records = read_records(out)
    assert list(records.frame.columns) == COLUMNS
    assert records.machine == MACHINE
    assert records.host == HOST
    assert records.plan_digest == plan_digest(PLAN)
    assert records.cells == tuple(sorted(cell["path"] for cell in PLAN["cells"]))
    lines = records.frame.set_index(["library", "repeat", "transform"])
    flip = lines.loc[("kornia", 0, "Flip")]
    assert (flip["seconds_per_item"], list(flip["values"])) == (0.75, [0.5, 1.0])
    assert (flip["threads_declared"], flip["threads_read"], flip["items"], flip["carried"]) == (
        1,
        1,
        32,
        False,
    )
    blur = lines.loc[("kornia", 1, "Blur")]
    assert (blur["status"], blur["reason"], blur["values"]) == ("timeout", "took more than 300 s", None)
    assert lines["seconds_per_item"].isna().to_list() == [True, False] * 4


def test_same_records_same_bytes(tmp_path):
    """In whatever order the files are named."""
    paths = write_all(tmp_path)
    first, second = tmp_path / "a.parquet", tmp_path / "b.parquet"
    collect(paths, PLAN, first)
    collect(reversed(paths), PLAN, second)
    assert hashlib.sha256(first.read_bytes()).digest() == hashlib.sha256(second.read_bytes()).digest()
    assert not list(tmp_path.glob("*.part"))


def test_host_facts_that_differ_are_left_out(tmp_path):
    """Two hosts of one kind: what they share is the machine's."""
    paths = write_all(tmp_path)
    one = json.loads(paths[0].read_text())
    paths[0].write_text(json.dumps(sealed({**one, "host": {**HOST, "kernel": "6.2"}})))
    collect(paths, PLAN, tmp_path / "records.parquet")
    found = read_records(tmp_path / "records.parquet").host
    assert found == {name: fact for name, fact in HOST.items() if name != "kernel"}


def test_two_processors_under_one_machine_are_refused(tmp_path):
    """Another CPU model is another machine."""
    paths = write_all(tmp_path)
    one = json.loads(paths[0].read_text())
    paths[0].write_text(json.dumps(sealed({**one, "host": {**HOST, "cpu_model": "Other CPU"}})))
    with pytest.raises(AugmarkError, match="Other CPU and Test CPU"):
        collect(paths, PLAN, tmp_path / "records.parquet")
    assert not (tmp_path / "records.parquet").exists()


def carried_from(**changed):
    """Findings whose first row was carried from a record with these fields."""
    return {**FOUND, "Flip": carried(0.5, carried_from={**ORIGIN, **changed})}


def test_a_carried_row_tells_what_measured_it(tmp_path):
    """Python, lock, commit and code are those of its own record; the row beside it has this record's."""
    paths = write_all(tmp_path)
    lock = {"lock_digest": "lockcarry0", "python": "3.10.2", "variables": {}}
    record = make_record(PLAN, "kornia", 0, carried_from(environment=lock))
    paths[0].write_text(json.dumps(record))
    collect(paths, PLAN, tmp_path / "records.parquet")
    frame = read_records(tmp_path / "records.parquet").frame
    columns = ["lock_digest", "python_version", "code_digest", "git_commit", "git_dirty", "carried"]
    kornia = frame[(frame["library"] == "kornia") & (frame["repeat"] == 0)].set_index("transform")
    assert kornia.loc["Flip", columns].to_list() == [
        "lockcarry0",
        "3.10.2",
        "codecarry0",
        "c0ffee",
        True,
        True,
    ]
    here = kornia.loc["Blur", columns].to_list()
    assert here[:3] == ["lock000000", "3.11.7", "code000000"]
    assert pd.isna(here[3:5]).tolist() == [True, True]
    metadata = suite_of(record).get_benchmark("Flip").get_metadata()
    assert (metadata["python_version"], metadata["lock_digest"]) == ("3.10.2", "lockcarry0")


def test_a_row_carried_from_another_processor_is_refused(tmp_path):
    """The record was written here, the row was measured there."""
    paths = write_all(tmp_path)
    record = make_record(PLAN, "kornia", 0, carried_from(host={**HOST, "cpu_model": "Other CPU"}))
    paths[0].write_text(json.dumps(record))
    with pytest.raises(AugmarkError, match=r"cpu_model differs .*: Other CPU and Test CPU"):
        collect(paths, PLAN, tmp_path / "records.parquet")


def test_a_stale_record_is_refused(tmp_path):
    """A file that the plan does not name is never mixed in."""
    paths = write_all(tmp_path)
    newer = make_plan({"kornia": ["Flip", "Blur"], "pillow": ["Flip"]}, repeats=2, salt="new lock")
    with pytest.raises(AugmarkError, match="not a cell of the plan"):
        collect(paths, newer, tmp_path / "records.parquet")


def _set(record, path, value):
    for key in path[:-1]:
        record = record[key]
    record[path[-1]] = value


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["surprise"], 1, "top level: .*'surprise'"),
        (["rows", 0, "surprise"], 1, r"rows/0 \(row Flip\): .*'surprise'"),
        (["rows", 0, "values"], [0.1, -0.1], r"rows/0/values/1 \(row Flip\)"),
        (["rows", 0, "values"], [0.0], "rows/0/values/0"),
        (["rows", 0, "values"], [], "rows/0/values"),
        (["rows", 0, "values"], None, "rows/0/values"),
        (["rows", 1, "values"], [0.1], r"rows/1/values \(row Blur\)"),
        (["rows", 1, "reason"], None, "rows/1/reason"),
        (["rows", 1, "status"], "not-run", "rows/1/status"),
        (["rows", 0, "started"], "yesterday", "rows/0/started"),
        (["rows", 0, "carried"], True, "rows/0/carried_from"),
        (["rows", 0, "carried_from"], ORIGIN, "rows/0/carried_from"),
        (["plan"], None, "plan"),
        (["definition"], {}, "definition"),
        (["wall_seconds"], -1.0, "wall_seconds"),
        (["dataset", "digest"], None, "dataset/digest"),
        (["cell", "repeat"], 1, "cell: is not the cell that the path names"),
        (["rows", 1, "transform"], "Flip", "rows: Flip is there twice"),
    ],
)
def test_a_wrong_record_is_refused_with_file_and_field(path, value, message):
    """The message names the file, the field and the row."""
    where = PLAN["cells"][0]["path"]
    record = copy.deepcopy(make_record(PLAN, "kornia", 0, FOUND))
    check_record(record, where)
    _set(record, path, value)
    with pytest.raises(AugmarkError, match=message) as caught:
        check_record(record, where)
    assert caught.value.where == where


def test_a_file_that_is_no_json_is_named(tmp_path):
    """A truncated record."""
    paths = write_all(tmp_path)
    paths[0].write_text("{")
    with pytest.raises(AugmarkError, match="cannot be read") as caught:
        collect(paths, PLAN, tmp_path / "records.parquet")
    assert caught.value.where == str(paths[0])


def test_reading_what_is_no_records_file(tmp_path):
    """A missing file and a foreign parquet are named."""
    with pytest.raises(AugmarkError, match="cannot be read as records"):
        read_records(tmp_path / "none.parquet")
