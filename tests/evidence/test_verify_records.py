"""`augmark verify` on records: each version under its schema; a changed byte, a swap, a forged seal."""

import json
import shutil
from pathlib import Path

from augmark.evidence.findings import Finding
from augmark.evidence.verify import _on_broken_ground
from augmark.evidence.verify_products import Compared
from augmark.plan import Plan
from augmark.record import seal_of
from tests.evidence.conftest import WORDS
from tests.evidence.spoiling import TABLE, found_by, replace_once, rewritten, rules_of

DATA = Path(__file__).parent / "data"
OLD = "local-97df/image-rgb/micro/control-slow/cpu"

# --- of an earlier schema ----------------------------------------------------------------------------


def test_a_record_of_an_earlier_schema_verifies_under_it(spoiled):
    """A real record of schema 2, as a stale one and in the history: no finding, and it is counted."""
    for name in (f"{OLD}/r0.57b2369cbd.json", f"{OLD}/history/r0.57b2369cbd.20261130T185548Z-8604.json"):
        path = spoiled.results / "records" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(DATA / "r0.57b2369cbd.json", path)
    found = spoiled.examine()
    assert [] == found.findings
    assert (12, 10) == (found.records, found.sealed)
    assert "2 records of augmark/record/2, which has no seal: checked without one" in found.notes


def test_a_record_without_energy_verifies_under_its_schema(spoiled):
    """A real record of schema 3: sealed, without energy and machine; not so under today's name."""
    path = spoiled.results / "records" / OLD / "r0.0bbe753540.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(DATA / "r0.0bbe753540.json", path)
    found = spoiled.examine()
    assert [] == found.findings
    assert (11, 11) == (found.records, found.sealed)
    path.write_text(path.read_text().replace('"augmark/record/3"', '"augmark/record/4"'))
    assert "record-schema" in rules_of(path)


def test_an_edited_energy_is_found(spoiled):
    """With a new seal, too: joules per item follow from joules and items, and the host from its facts."""
    took = {"source": "rapl", "joules": 2.0, "window_seconds": 0.5, "items": 4, "joules_per_item": 0.5}
    took |= {"coarse": False, "parts": {"package": 2.0}, "missing": {}}
    path = spoiled.record("fake")
    record = json.loads(path.read_text())
    for energy, rules in (
        (took, set()),
        ({**took, "joules_per_item": 0.4}, {"row-status"}),
        ({**took, "joules": 0.0}, {"record-schema"}),
        ({"unavailable": ""}, {"record-schema"}),
        (None, {"record-schema"}),
    ):
        record["rows"][0]["energy"] = energy
        path.write_text(json.dumps({**record, "seal": seal_of(record)}, indent=1))
        assert rules == rules_of(path), energy
    record["rows"][0]["energy"] = took
    record["machine"]["found"]["cpu_model"] = "Other CPU"
    path.write_text(json.dumps({**record, "seal": seal_of(record)}, indent=1))
    assert {"record-facts"} == rules_of(path)


def test_an_edited_record_of_an_earlier_schema_is_found(spoiled):
    """It has no seal: its sums, and the digests of its rows, give it away."""
    path = spoiled.results / "records" / OLD / "r0.57b2369cbd.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = (DATA / "r0.57b2369cbd.json").read_text()
    for old, new, rule in (
        ("0.0020004290416864023", "0.0010004290416864023", "row-seconds"),
        ('"seconds": 0.002', '"seconds": 0.003', "row-digest"),
        ('"status": "ok"', '"status": "odd"', "record-schema"),
        (
            '"items_digest": "661d0b3d49",\n  "items"',
            '"items_digest": "761d0b3d49",\n  "items"',
            "record-facts",
        ),
    ):
        assert 1 == text.count(old)
        path.write_text(text.replace(old, new))
        assert {rule} == rules_of(path)


def test_records_without_a_schema_here_are_counted(spoiled):
    """Of record/1, which was never published: not checked, and said."""
    path = spoiled.results / "records" / OLD / "r0.25ec63001e.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('{"schema": "augmark/record/1"}')
    found = spoiled.examine()
    assert [] == found.findings
    assert "1 record of augmark/record/1, which this version has no schema for: not checked" in found.notes


# --- of this version ------------------------------------------------------------------------------------


def test_a_flipped_digit_of_a_value_is_found(spoiled):
    """By the seal, and by the sum that the value was part of; the command ends with 1."""
    path = spoiled.record("fake")
    record = json.loads(path.read_text())
    value = repr(record["rows"][0]["values"][0])
    at = next(k for k, letter in enumerate(value) if letter in "12345678")
    flipped = value[:at] + str(int(value[at]) + 1) + value[at + 1 :]
    path.write_text(path.read_text().replace(value, flipped, 1))
    done = spoiled.run("augmark", "verify", *WORDS, check=False)
    assert 1 == done.returncode
    assert (
        f"{spoiled.name(path)}: record-seal: its seal is {record['seal']}, its content gives " in done.stdout
    )
    assert f"{spoiled.name(path)}: row-seconds: row Works: its values make " in done.stdout
    assert "remedy: bring the file back" in done.stdout


def test_a_flipped_letter_of_a_name_is_found(spoiled):
    """The library's own name, a field's name, a package's version."""
    path = spoiled.record("fake")
    text = path.read_text()
    for pattern, by, rule in (
        (r'"library": "fake"', '"library": "fbke"', "record-path"),
        (r'"transform": "Works"', '"transform": "Worke"', "row-digest"),
        (r'"warmups"', '"warmupt"', "record-schema"),
        (r'"numpy": "2', '"numpy": "3', "record-seal"),
    ):
        path.write_text(text)
        replace_once(path, pattern, by)
        assert {"record-seal", rule} <= rules_of(path)


def test_a_flipped_space_is_found(spoiled):
    """The content is the sealed one, and the file is not as it was written."""
    path = spoiled.record("fake")
    replace_once(path, r'"machine": ', '"machine":  ')
    assert {"record-file"} == rules_of(path)


def test_a_record_that_is_no_json_is_found(spoiled):
    """Cut off in the middle."""
    path = spoiled.record("fake")
    path.write_bytes(path.read_bytes()[:500])
    assert {"record-file"} == rules_of(path)


def test_a_deleted_record_is_named(spoiled):
    """And in one line each, that records.parquet and the products rest on it."""
    path = spoiled.record("fake-too", 1)
    path.unlink()
    found = found_by(spoiled)
    assert ["is planned and has no record"] == found.pop((spoiled.name(path), "missing-cell"))
    (what,) = found.pop((spoiled.plan.records_file.as_posix(), "records-parquet"))
    key = path.relative_to(spoiled.results / "records").as_posix()
    assert f"has 16 rows, the records give 14: other rows, such as {key} Works" == what
    (((file, rule), (what,)),) = found.items()
    assert ("results/tables", "published-file") == (file, rule)
    assert "files are not what the records that hold give, such as results/tables/coverage.txt: line" in what


def test_no_records_at_all_are_one_finding(spoiled):
    """Not one for each cell, and nothing else is said."""
    shutil.rmtree(spoiled.results / "records")
    (finding,) = [f for f in spoiled.examine().findings if f.rule == "missing-cell"]
    assert ("results/records", "none of the 10 planned cells has a record") == (finding.file, finding.what)


def test_two_records_that_changed_places_are_found(spoiled):
    """Each names the path that its content belongs to."""
    first, second = spoiled.record("fake"), spoiled.record("fake-too")
    one, other = first.read_bytes(), second.read_bytes()
    first.write_bytes(other)
    second.write_bytes(one)
    found = found_by(spoiled)
    for path, belongs in ((first, second), (second, first)):
        (what,) = found[spoiled.name(path), "record-path"]
        assert f"its content is that of {belongs.relative_to(spoiled.results / 'records').as_posix()}" == what


def test_a_forged_record_that_is_sealed_again_is_found_by_what_it_says(spoiled):
    """Whoever recomputes the seal has to make digests, sums, rows and products agree, too."""
    path = spoiled.record("fake")
    whole = path.read_text()

    def twice_as_fast(record):
        record["rows"][0]["values"] = [value / 2 for value in record["rows"][0]["values"]]

    def fewer_loops(record):
        record["definition"]["timing"]["values"] = 1

    def without_a_row(record):
        del record["rows"][1]

    def another_lock(record):
        record["environment"]["lock_digest"] = "0123456789"

    def no_number(record):
        record["rows"][0].update(status="failed", reason=None)

    def another_digest(record):
        record["digest"] = record["definition"]["digest"] = "0123456789"

    for change, rule in {
        twice_as_fast: "row-seconds",
        fewer_loops: "row-digest",
        without_a_row: "planned-rows",
        another_lock: "record-facts",
        no_number: "record-schema",
        another_digest: "record-digest",
    }.items():
        path.write_text(whole)
        rewritten(path, change, sealed=True)
        assert rule in rules_of(path)
        assert "record-seal" not in rules_of(path)


def test_an_edited_fact_that_is_sealed_again_is_found(spoiled):
    """What no other file says: records.parquet has the seal of every record."""
    path = spoiled.record("fake")
    whole = path.read_text()
    seal = json.loads(whole)["seal"]
    name = spoiled.plan.records_file.as_posix()
    for change in (
        lambda record: record["environment"].update(build={"opencv": {"version": "4.0.0"}}),
        lambda record: record["overrides"].update(threads=8),
        lambda record: record["config"].update(threads=8),
        lambda record: record.update(load_after=[0.0, 0.0, 0.0]),
    ):
        path.write_text(whole)
        rewritten(path, change, sealed=True)
        assert set() == rules_of(path)
        (((file, rule), what),) = found_by(spoiled).items()
        assert (name, "records-parquet") == (file, rule)
        assert all(f"column seal: is {seal}, the record gives " in each for each in what)


def test_a_file_that_is_no_record_is_noted(spoiled):
    """Of a machine, beside a cell's records, or a record that was put out of the way; all of them named."""
    machine = spoiled.results / "records" / spoiled.plan.machine
    stale = spoiled.record("fake").with_name("r7.0123456789.damaged.json")
    others = [machine / "extra.json", spoiled.record("fake").parent / "notes.txt", stale]
    for path in others:
        path.write_text("{}")
    history = spoiled.record("fake").parent / "history" / "r0.0123456789.damaged.json"
    history.parent.mkdir()
    history.write_text("{}")
    found = spoiled.examine()
    assert [] == found.findings
    (note,) = [note for note in found.notes if "files below records are none" in note]
    assert all(spoiled.name(path) in note for path in others)
    assert "1 record kept as damaged before they were measured again: not checked" in found.notes


def test_what_rests_on_no_damaged_record_is_compared_all_the_same(spoiled):
    """equivalence.csv is made from samples: an edited class is named beside the missing record."""
    spoiled.record("fake-too", 1).unlink()
    path = spoiled.results / "tables" / "equivalence.csv"
    path.write_text(path.read_text().replace("identical", "different", 1))
    found = found_by(spoiled)
    (what,) = found[spoiled.name(path), "published-file"]
    assert what.endswith("column class: says different, the records give identical")
    assert 1 == len(found["results/tables", "published-file"])


def test_tables_of_another_mode_are_compared_all_the_same(tmp_path):
    """A record of one mode is lost: what is found in the other's tables is named, the rest in one line."""
    tables = {
        mode: {"scenario": "image-rgb", "mode": mode, "devices": ["cpu"]} for mode in ("micro", "pipeline")
    }
    cells = [
        {"scenario": "image-rgb", "mode": mode, "path": f"m/image-rgb/{mode}/fake/cpu/r0.0123456789.json"}
        for mode in tables
    ]
    content = {"tables": tables, "cells": cells, "question": None, "definitions": {}}
    plan = Plan(content, tmp_path)
    good = {tmp_path / "records" / cells[0]["path"]: {}}
    names = [f"results/tables/{name}" for name in ("micro.csv", "pipeline.csv", "summary.csv")]
    compared = Compared([Finding(name, "published-number", "differs", "mend it") for name in names], files=9)
    first, rest = _on_broken_ground(plan, good, compared, "results/")
    assert names[0] == first.file
    assert ("results/tables", "published-file") == (rest.file, rest.rule)
    assert rest.what.startswith(f"2 of 9 files are not what the records that hold give, such as {names[1]}")


def test_a_consistent_forgery_differs_from_what_was_published(spoiled):
    """Values, sums and seal agree: records.parquet, the pyperf file and the tables do not."""
    path = spoiled.record("fake")

    def half(record):
        row = record["rows"][0]
        row["values"] = [value / 2 for value in row["values"]]
        record["timed_seconds"] -= row["timed_seconds"] / 2
        row["timed_seconds"] /= 2

    rewritten(path, half, sealed=True)
    found = found_by(spoiled)
    assert set() == rules_of(path)
    pyperf = spoiled.name(path).replace("/records/", "/pyperf/")
    machine = spoiled.plan.machine
    assert {
        (pyperf, "pyperf-file"),
        (f"results/records/{machine}/records.parquet", "records-parquet"),
        (f"{TABLE}.csv", "published-number"),
        ("results/tables/summary.csv", "published-number"),
    } <= found.keys()
