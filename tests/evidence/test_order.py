"""The order of measuring, proved from times: a real run proves its own, an altered one cannot."""

import copy
import json
from datetime import datetime, timedelta

import pytest

from augmark.evidence.order import order_problems, path_of, seeded_order
from augmark.evidence.verify_records import check_file
from augmark.refresh import torn_blocks
from tests.evidence.conftest import WORDS


def moved(time, seconds):
    return (datetime.fromisoformat(time) + timedelta(seconds=seconds)).isoformat(timespec="microseconds")


def move(record, seconds):
    """The whole record, earlier or later."""
    for part in (record, *record["rows"]):
        for name in ("started", "ended"):
            if part.get(name):
                part[name] = moved(part[name], seconds)


@pytest.fixture
def plan(measured):
    return measured.plan.content


@pytest.fixture
def records(measured, plan):
    """The records in planned order, to be altered."""
    paths = [measured.results / "records" / cell["path"] for cell in plan["cells"]]
    return [json.loads(path.read_text()) for path in paths]


@pytest.fixture
def probes(measured):
    return [json.loads(path.read_text()) for path in (measured.results / "probes").rglob("probe.*.json")]


def torn(records, plan):
    return torn_blocks(plan["cells"], {path_of(record): record for record in records})


def said(found):
    return [(finding.file, finding.rule, finding.what) for finding in found]


def one(found):
    (finding,) = found
    return finding.file, finding.what


def test_a_run_proves_its_order(records, plan, probes):
    """Nothing is found, and no block is torn."""
    assert [] == order_problems(records, plan, probes)
    assert {} == torn(records, plan)


def test_the_rows_of_a_cell_stand_in_the_seeded_order(records):
    """`order` is what the seed gives; in two repeats of one library it need not be the same."""
    assert [record["order"] for record in records] == [seeded_order(record) for record in records]


def test_two_cells_at_once_are_named(records, plan):
    """A machine measures one cell at a time."""
    second = records[1]
    gap = (
        datetime.fromisoformat(second["started"]) - datetime.fromisoformat(records[0]["ended"])
    ).total_seconds()
    move(second, -gap - 0.2)
    file, what = one(order_problems(records, plan))
    assert path_of(second) == file
    assert f"0.200 s before {path_of(records[0])} had ended" in what


def test_libraries_in_another_order_are_named(records, plan):
    """A cell comes first that should not: it is named, with the one that is planned there."""
    block = [record for record in records if record["cell"]["repeat"] == 0]
    last = block[-1]
    begin = datetime.fromisoformat(block[0]["started"])
    took = datetime.fromisoformat(last["ended"]) - begin
    move(last, -took.total_seconds() - 1)
    file, what = one(order_problems(records, plan))
    assert path_of(last) == file
    assert f"was measured as number 1 of its block; planned there is {path_of(block[0])}" == what


def test_a_repeat_that_starts_too_early_is_named(records, plan):
    """Repeat 1 of a library before repeat 0 of all has ended."""
    early = next(record for record in records if record["cell"]["repeat"] == 1)
    begin = min(datetime.fromisoformat(record["started"]) for record in records)
    took = datetime.fromisoformat(early["ended"]) - begin
    move(early, -took.total_seconds() - 1)
    file, what = one(order_problems(records, plan))
    assert path_of(early) == file
    assert "repeat 1 started before " in what


def test_a_block_of_two_sessions_is_torn_and_no_fault(records, plan):
    """It is listed with its sessions; order is asked for inside each alone."""
    records[0]["session"] = "20261129T000000Z-1"
    for row in records[0]["rows"]:
        row["session"] = records[0]["session"]
    assert [] == order_problems(records, plan)
    cell = records[0]["cell"]
    block = (cell["scenario"], cell["mode"], cell["device"], cell["repeat"])
    assert {block: ["20261129T000000Z-1", records[1]["session"]]} == torn(records, plan)


def test_a_block_with_a_missing_cell_is_torn(records, plan):
    """It has one session, and is not whole."""
    cell = records[0]["cell"]
    block = (cell["scenario"], cell["mode"], cell["device"], cell["repeat"])
    assert {block: [records[0]["session"]]} == torn(records[1:], plan)


def test_a_block_is_torn_by_its_numbers(records, plan):
    """Not by who wrote records of rows that were carried over together; nor by what has no number."""
    for record in records:
        record["session"] = "20301130T000000Z-1"
    assert {} == torn(records, plan)
    row = next(row for row in records[0]["rows"])
    row.update(session="20311130T000000Z-1", status="failed", values=None)
    assert {} == torn(records, plan)
    row.update(status="ok")
    assert 1 == len(torn(records, plan))


def test_a_plan_of_fewer_libraries_asks_for_the_same_order(records, plan):
    """The order of a block's libraries is drawn one by one: what is narrowed away changes nothing."""
    for left_out in ("fake", "fake-too", "control-copy"):
        some = {**plan, "cells": [cell for cell in plan["cells"] if cell["library"] != left_out]}
        assert [] == order_problems(records, some)
        assert {} == torn(records, some)


def test_a_narrowed_plan_finds_no_fault_with_the_order(measured):
    """The plan as `libraries` gives it, against records that were measured with all of them."""
    words = [*WORDS, "libraries=fake-too,fake,control-slow"]
    told = json.loads(measured.run("augmark", "verify", "--json", *words, check=False).stdout)
    assert {"order"}.isdisjoint(finding["rule"] for finding in told["findings"])
    assert {"missing-cell"}.isdisjoint(finding["rule"] for finding in told["findings"])


def test_a_clock_that_was_set_back_proves_nothing(records, plan):
    """A row that ended before it started, and one that took longer than its clocks say."""
    record = next(record for record in records if len(record["order"]) > 1)
    row = next(row for row in record["rows"] if row["started"])
    row["ended"] = moved(row["started"], -3600)
    found = said(order_problems([record], plan))
    assert any("ended 3600.000 s before it started: the clock was set back" in what for *_, what in found)
    assert {path_of(record)} == {file for file, *_ in found}


def test_a_clock_that_was_set_forward_is_named(records, plan):
    """The time of day says an hour, the clock that only counts a moment."""
    record = records[-1]
    record["wall_seconds"] += 3600
    file, what = one(order_problems([record], plan))
    assert path_of(record) == file
    assert "the clock was set" in what


def test_rows_out_of_order_are_named(records, plan):
    """Two rows of a cell change their times; another order is written; a row is taken out of it."""
    record = next(record for record in records if len(record["order"]) == 2)
    swapped = copy.deepcopy(record)
    first, second = swapped["rows"]
    for name in ("started", "ended", "wall_seconds"):
        first[name], second[name] = second[name], first[name]
    ((_, _, what),) = said(order_problems([swapped], plan))
    assert (
        f"row {record['order'][1]} was measured as number 1; by `order` that is {record['order'][0]}" == what
    )
    turned = copy.deepcopy(swapped)
    turned["order"].reverse()
    ((_, _, what),) = said(order_problems([turned], plan))
    assert what.startswith("`order` is not the seeded one: number 1 is ")
    fewer = copy.deepcopy(record)
    del fewer["order"][0]
    ((_, _, what),) = said(order_problems([fewer], plan))
    assert f"order and rows are not the same rows: {record['order'][0]}" == what


def test_a_row_outside_of_its_cell_is_named(records, plan):
    """A row that was measured before its cell had started."""
    record = records[0]
    row = record["rows"][0]
    row["started"], row["ended"] = moved(row["started"], -60), moved(row["ended"], -60)
    found = said(order_problems([record], plan))
    assert (path_of(record), "order") == found[0][:2]
    assert any("was not measured between the start and the end of its cell" in what for *_, what in found)


def test_a_probe_after_the_first_cell_is_named(records, plan, probes):
    """All probes of a block's libraries precede its first cell."""
    probe = probes[0]
    row = next(iter(probe["rows"].values()))
    row["ended"] += 3600
    file, what = one(order_problems(records, plan, probes))
    assert f"probe.{probe['digest']}.json" == file.rpartition("/")[2]
    assert f"ended after {path_of(records[0])} had started: a block's probes precede its first cell" == what


def test_a_probe_of_another_session_says_nothing(records, plan, probes):
    """An added transform is probed after the cells that were there."""
    probes[0]["session"] = "20301130T000000Z-1"
    next(iter(probes[0]["rows"].values()))["ended"] += 3600
    assert [] == order_problems(records, plan, probes)


def test_a_forged_order_that_is_sealed_again_is_still_found(spoiled):
    """Times are moved and the seal is made anew: the seal holds, the order does not."""
    from augmark.record import seal_of

    path = spoiled.record("fake", 1)
    record = json.loads(path.read_text())
    move(record, -3600)
    record["seal"] = seal_of(record)
    path.write_text(json.dumps(record, indent=1))
    assert [] == check_file(path, "r").findings
    assert {"order"} <= {finding.rule for finding in spoiled.examine().findings}
