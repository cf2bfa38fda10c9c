"""Records are checked when written, written once, and whole or not there."""

import json
import os
import resource
import signal

import pytest

from augmark import record
from augmark.errors import AugmarkError


def make(**row):
    """A whole record of one row."""
    planned = {"transform": "Blur", "condition": "plain", "digest": "0" * 10, "chunked": None}
    base = record.blank_row(planned, "s1")
    base.update({"status": "ok", "values": [1e-3, 2e-3], "energy": {"unavailable": "no counter"}, **row})
    content = dict.fromkeys(record.RECORD_FIELDS)
    cell = {"machine": "m", "scenario": "s", "mode": "micro", "library": "l", "device": "cpu", "repeat": 0}
    content.update(schema=record.SCHEMA, cell=cell, digest="0123456789", rows=[base])
    try:
        return {**content, "seal": record.seal_of(content)}
    except ValueError:  # not a number: no JSON
        return content


def test_a_whole_record_has_no_problems():
    """The check lets a good record through."""
    assert [] == record.problems(make())


def test_a_changed_digit_breaks_the_seal():
    """Whatever is changed afterwards, however small, is no longer what was sealed."""
    whole = make()
    whole["rows"][0]["values"][1] = 2.1e-3
    assert [problem.partition(":")[0] for problem in record.problems(whole)] == ["seal"]


def test_the_seal_is_that_of_the_text_on_disk():
    """Written and read again it holds, in whatever order the keys stand."""
    read = json.loads(json.dumps(dict(reversed(make().items()))))
    assert [] == record.problems(read)


@pytest.mark.parametrize("status", [s for s in record.STATUSES if s not in record.MEASURED])
def test_only_ok_and_slow_carry_numbers(status):
    """A number beside any other status is refused."""
    assert record.problems(make(status=status, reason="why", energy=None)) == [
        f"row Blur: status {status} carries no numbers, found [0.001, 0.002]"
    ]


@pytest.mark.parametrize("values", [None, [], [0.0], [-1.0], [float("nan")], [float("inf")], [1]])
def test_values_are_positive_and_finite(values):
    """Zero is never a measured time."""
    assert len(record.problems(make(values=values))) == 1


def test_a_status_without_number_needs_a_reason():
    """Never a silent gap."""
    assert record.problems(make(status="failed", values=None, energy=None)) == [
        "row Blur: status failed has no reason"
    ]


TOOK = {
    "source": "rapl",
    "joules": 3.0,
    "window_seconds": 0.5,
    "items": 6,
    "joules_per_item": 0.5,
    "coarse": False,
    "parts": {"package": 2.0, "dram": 1.0},
    "missing": {},
}


def test_a_row_has_its_energy():
    """2 J of the package and 1 J of the memory over six items are half a joule each."""
    assert [] == record.problems(make(energy=TOOK))


@pytest.mark.parametrize(
    ("energy", "what"),
    [
        (None, "energy is None, of a row with numbers"),
        ({"unavailable": " "}, "energy is unavailable without a reason"),
        (
            {**TOOK, "joules": 0.0, "joules_per_item": 0.0, "parts": {"package": 0.0}},
            "energy is not positive: 0.0 J",
        ),
        ({**TOOK, "joules": 4.0, "items": 8}, "energy is 4.0 J, its parts make 3.0 J"),
        ({**TOOK, "items": 7}, "energy is 3.0 J of 7 items, and 0.5 J per item"),
    ],
)
def test_energy_that_does_not_hold_is_refused(energy, what):
    """Never zero joules, never without a reason, and nothing that its own parts do not make."""
    assert [f"row Blur: {what}"] == record.problems(make(energy=energy))


def test_a_row_without_a_number_has_no_energy():
    """Nothing was counted for it."""
    (problem,) = record.problems(make(status="failed", values=None, reason="why", energy=TOOK))
    assert problem.endswith("of a row without numbers")


def test_a_row_of_an_earlier_schema_has_no_energy():
    """Rows of record/3 are held against what they could say."""
    row = make()["rows"][0]
    del row["energy"]
    assert [] == list(record.row_problems(row, "augmark/record/3"))
    assert ["field energy is missing"] == list(record.row_problems(row))


def test_an_unknown_status_and_a_missing_field_are_refused():
    """A record has its fields and statuses, and no others."""
    assert "status 'meh' is not one of" in record.problems(make(status="meh"))[0]
    short = make()
    del short["session"]
    assert record.problems(short) == ["field session is missing"]
    assert record.problems({**make(), "extra": 1}) == ["field extra is unknown"]


def test_a_record_is_written_once(tmp_path):
    """The first to arrive stays; nothing else is left in the folder."""
    path = tmp_path / "a" / "r0.json"
    assert record.write_once(path, {"n": 1})
    assert not record.write_once(path, {"n": 2})
    assert {"n": 1} == json.loads(path.read_text())
    assert ["r0.json"] == os.listdir(path.parent)


def test_a_truncated_record_is_named_with_the_remedy(tmp_path):
    """Half a record is an error that says what to do, not a record."""
    path = tmp_path / "m/s/micro/l/cpu/r0.0123456789.json"
    record.write_once(path, make())
    path.write_text(path.read_text()[:200])
    with pytest.raises(AugmarkError, match="delete the file") as error:
        record.read_record(path)
    assert str(path) in str(error.value)


def test_a_record_in_another_cells_place_is_refused(tmp_path):
    """The path and the identity are one thing."""
    path = tmp_path / "m/s/micro/l/cpu/r1.0123456789.json"
    record.write_once(path, make())
    with pytest.raises(AugmarkError, match="the path says"):
        record.read_record(path)


def test_a_full_disk_leaves_nothing_and_says_so(tmp_path):
    """A write that is cut short by the system is an error with a remedy; no half file counts as a record."""
    path = tmp_path / "r0.json"
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limit[1]))
    try:
        with pytest.raises(AugmarkError, match="cannot write") as error:
            record.write_once(path, {"rows": ["x" * 100_000]})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, ignored)
    assert "disk space" in str(error.value)
    assert [] == os.listdir(tmp_path)


def test_derived_json_is_rewritten_only_when_it_changes(tmp_path):
    """What others look at by time keeps its time."""
    path = tmp_path / "plan.json"
    assert record.replace_json(path, {"n": 1})
    before = path.stat().st_mtime_ns
    assert not record.replace_json(path, {"n": 1})
    assert before == path.stat().st_mtime_ns
    assert record.replace_json(path, {"n": 2})
