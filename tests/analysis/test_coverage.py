"""Planned rows against records: no row without a status and a reason."""

import pytest

from augmark.analysis.coverage import cover, render, status_counts, status_grid
from augmark.errors import AugmarkError
from tests.analysis.synthetic import make_plan, make_record, make_records, measured, plan_row, unmeasured

OFFERS = {
    "kornia": ["Flip", "Blur", plan_row("Rain", "excluded", "draws nothing")],
    "pillow": ["Flip", "Blur", plan_row("Rain", "unsupported", "no weather")],
}
BOTH = {"Flip": measured(1.0), "Blur": measured(0.1, "slow")}


def all_records(plan, **found):
    """Records of every cell; a library's own findings by keyword."""
    return [
        make_record(plan, library, repeat, found.get(library, BOTH))
        for library in OFFERS
        for repeat in range(2)
    ]


def statuses(coverage, library):
    """Transform -> statuses over the repeats."""
    rows = coverage.rows[coverage.rows["library"] == library]
    return {name: lines["status"].to_list() for name, lines in rows.groupby("transform", sort=False)}


def test_every_row_has_its_record():
    """Nothing missing: exit status 0, and the statuses are those of the records."""
    plan = make_plan(OFFERS, repeats=2)
    coverage = cover(plan, make_records(plan, all_records(plan)).frame)
    assert coverage.exit_status == 0
    assert len(coverage.rows) == 12
    assert statuses(coverage, "kornia") == {
        "Flip": ["ok"] * 2,
        "Blur": ["slow"] * 2,
        "Rain": ["excluded"] * 2,
    }


def test_records_from_disk_and_from_parquet_say_the_same():
    """Coverage does not depend on where the records are read from."""
    plan = make_plan(OFFERS, repeats=2)
    records = all_records(plan, pillow={"Flip": unmeasured("timeout", "took more than 300 s")})
    from_disk, from_parquet = cover(plan, records), cover(plan, make_records(plan, records).frame)
    columns = ["library", "transform", "repeat", "status", "reason", "recorded"]
    assert from_disk.rows[columns].equals(from_parquet.rows[columns])


def test_a_missing_record_is_not_run_with_its_reason():
    """Without a record a row is not-run, what cannot be run stays unsupported, and both lack a record."""
    plan = make_plan(OFFERS, repeats=2)
    coverage = cover(plan, [record for record in all_records(plan) if record["cell"]["library"] == "kornia"])
    assert coverage.exit_status == 1
    assert statuses(coverage, "pillow") == {
        "Flip": ["not-run"] * 2,
        "Blur": ["not-run"] * 2,
        "Rain": ["unsupported"] * 2,
    }
    missing = coverage.missing
    assert len(missing) == 6
    assert missing["reason"].to_list() == ["no record yet", "no record yet", "no weather"] * 2


def test_no_records_at_all():
    """An empty folder is covered by nothing, and that is said."""
    plan = make_plan(OFFERS, repeats=2)
    coverage = cover(plan, [])
    assert coverage.exit_status == 1
    assert "0 of 12 planned rows have a record" in render(coverage)


def test_a_row_that_its_record_lacks():
    """A record without one of its rows is not whole, and the row says so."""
    plan = make_plan(OFFERS, repeats=2)
    coverage = cover(plan, all_records(plan, pillow={"Flip": measured(1.0)}))
    assert coverage.missing["reason"].to_list() == ["the cell's record has no such row"] * 2


def test_stale_rows_are_counted_apart():
    """After the lock of both libraries has changed the old records are stale and cover nothing."""
    old, new = make_plan(OFFERS, repeats=2), make_plan(OFFERS, repeats=2, salt="new lock")
    coverage = cover(new, all_records(old))
    assert coverage.exit_status == 1
    assert len(coverage.stale) == 12
    waiting = coverage.rows[coverage.rows["status"] == "not-run"]
    assert set(waiting["reason"]) == {"no record; an earlier one is stale"}
    assert "12 stale rows of earlier records, in no table: kornia 6, pillow 6" in render(coverage)


def test_records_of_schema_2_are_stale_with_a_reason():
    """They say nothing of variables, and little of host and data: they are told, and cover nothing."""
    old, new = make_plan(OFFERS, repeats=2), make_plan(OFFERS, repeats=2, salt="new lock")
    records = all_records(old)
    for record in records:
        record["schema"] = "augmark/record/2"
        record["host"] = {"cpu_model": "Test CPU", "cpus": 2}
        for name in ("seal", "question", "repeats"):
            del record[name]
        for name in ("variables", "build"):
            del record["environment"][name]
        for name in ("bytes", "widths", "heights", "licence", "redistribute", "common_items"):
            del record["dataset"][name]
    coverage = cover(new, records)
    assert len(coverage.stale) == 12
    assert coverage.stale["changed"].notna().all()
    assert "12 stale rows of earlier records, in no table" in render(coverage)


def test_a_row_that_will_be_carried_over_is_not_stale():
    """A transform is added: the cell has no record yet, but its old rows still match."""
    old = make_plan({"kornia": ["Flip"]}, repeats=1)
    new = make_plan({"kornia": ["Flip", "Blur"]}, repeats=1)
    coverage = cover(new, [make_record(old, "kornia", 0, BOTH)])
    assert coverage.stale.empty
    assert coverage.rows.set_index("transform")["reason"].to_dict() == {
        "Flip": "no record; an earlier one has this row and it will be carried over",
        "Blur": "no record yet",
    }


def of_lock(plan, lock):
    """The plan with this lock behind every row, and the Python of the records."""
    for definition in plan["definitions"].values():
        definition.update(environment="kornia", adapter="kornia", lock_digest=lock)
    return {**plan, "python": "cpython-3.11"}


def test_what_changed_is_told_by_the_newest_stale_record():
    """Two earlier records of a row, each of another lock: the reason is the change since the later one."""
    plans = [of_lock(make_plan({"kornia": ["Flip"]}, repeats=1, salt=lock), lock) for lock in "abc"]
    starts = ["2026-11-30T10:00:00.000000+00:00", "2026-11-29T10:00:00.000000+00:00"]
    earlier = [
        make_record(plan, "kornia", 0, BOTH, started=start)
        for plan, start in zip(plans[:2], starts, strict=True)
    ]
    coverage = cover(plans[2], earlier)
    assert coverage.stale["changed"].to_list() == ["lock of kornia a -> c", "lock of kornia b -> c"]
    assert coverage.missing["changed"].to_list() == ["lock of kornia a -> c"]
    assert render(coverage, grid=False).splitlines()[-4:] == [
        "  1 rows, no record; an earlier one is stale; they will be measured again:",
        "    lock of kornia a -> c",
        "      image-rgb micro kornia cpu r0: Flip",
        "2 stale rows of earlier records, in no table: kornia 2",
    ]


def test_a_digest_that_nothing_explains():
    """Made of other parts, by an earlier version: that is said."""
    old, new = (of_lock(make_plan(OFFERS, repeats=2, salt=salt), "a") for salt in ("", "otherwise"))
    assert set(cover(new, all_records(old)).stale["changed"]) == {"made by another version of augmark"}


def test_a_row_that_is_no_longer_run():
    """It was measured and is excluded now: stale, with the reason, and nothing waits to be measured."""
    old = make_plan({"kornia": ["Flip", "Blur"]}, repeats=1)
    new = make_plan({"kornia": ["Flip", plan_row("Blur", "excluded", "crashes")]}, repeats=1)
    coverage = cover(new, [make_record(old, "kornia", 0, BOTH)])
    assert coverage.stale["changed"].to_list() == ["planned run -> excluded (crashes)"]
    assert coverage.missing["no_record"].to_list() == [
        "no record; an earlier one has this row and it will be carried over",
        "no record yet; there is nothing to measure",
    ]


def test_a_row_that_is_not_asked_for_is_not_stale():
    """One transform less: its rows are in no table, and nothing about them has changed."""
    old = make_plan({"kornia": ["Flip", "Blur"]}, repeats=1)
    coverage = cover(make_plan({"kornia": ["Flip"]}, repeats=1), [make_record(old, "kornia", 0, BOTH)])
    assert coverage.stale.empty
    assert coverage.unplanned["transform"].to_list() == ["Blur"]
    assert "1 rows that are not planned now of earlier records, in no table: kornia 1" in render(coverage)


def test_a_row_without_a_number_is_not_carried_over():
    """It failed in the earlier record: with the cell's next record it gets another chance."""
    old = make_plan({"kornia": ["Flip"]}, repeats=1)
    new = make_plan({"kornia": ["Flip", "Blur"]}, repeats=1)
    coverage = cover(new, [make_record(old, "kornia", 0, {"Flip": unmeasured("failed", "raised")})])
    assert coverage.missing["no_record"].to_list() == [
        "no record; an earlier one has this row without a number and it is tried again",
        "no record yet",
    ]


def test_two_records_of_one_row_are_refused():
    """The same cell twice is a mistake, not more data."""
    plan = make_plan(OFFERS, repeats=2)
    records = all_records(plan)
    with pytest.raises(AugmarkError, match="two records of one row"):
        cover(plan, [*records, records[0]])


def test_grid_and_counts():
    """Symbols over repeats, worst first; counts are rows."""
    plan = make_plan(OFFERS, repeats=2)
    records = all_records(plan)
    records[0] = make_record(plan, "kornia", 0, {**BOTH, "Flip": unmeasured("crashed", "signal 11")})
    rows = cover(plan, records).rows
    assert status_grid(rows).to_dict() == {
        "kornia": {"Flip": "C+", "Blur": "s", "Rain": "x"},
        "pillow": {"Flip": "+", "Blur": "s", "Rain": "-"},
    }
    counts = status_counts(rows).loc["kornia"].to_dict()
    assert counts == {
        "planned": 6,
        "with number": 3,
        "ok": 1,
        "slow": 2,
        "unsupported": 0,
        "excluded": 2,
        "crashed": 1,
    }


def test_counts_are_whole_numbers_without_any_number():
    """No row measured: 2 and 0, not 2.0 and 0.0."""
    plan = make_plan({"pillow": [plan_row("Rain", "unsupported", "no weather"), "Flip"]}, repeats=1)
    coverage = cover(plan, [make_record(plan, "pillow", 0, {"Flip": unmeasured("failed", "raised")})])
    assert "pillow      2          0            1         1" in render(coverage).splitlines()


def test_rendered_grid():
    """The whole text for a small plan."""
    plan = make_plan({"pillow": ["Flip", plan_row("Rain", "unsupported", "no weather")]}, repeats=1)
    text = render(cover(plan, [make_record(plan, "pillow", 0, {"Flip": measured(1.0)})]))
    assert text.splitlines() == [
        "local-3f9a image-rgb micro cpu",
        "machine: local-3f9a: Test CPU @ 2.00GHz, 2 processors, 8.0 GiB",
        "",
        "library  planned  with number  ok  unsupported",
        "pillow      2          1       1        1",
        "",
        "transform  pillow",
        "Flip         +",
        "Rain         -",
        "",
        "+ ok  - unsupported",
        "",
        "2 of 2 planned rows have a record",
    ]


def test_libraries_stand_in_declared_order():
    """Not in the drawn order of the cells."""
    plan = make_plan(OFFERS, repeats=2)
    plan["cells"].reverse()
    assert list(status_grid(cover(plan, all_records(plan)).rows).columns) == ["kornia", "pillow"]
