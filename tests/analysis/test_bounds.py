"""What bounds a DataLoader row: medians of its parts, shares, the CSV and the figure."""

import csv
import io

import pytest
from PIL import Image

from augmark.analysis.bounds import COLUMNS, bounds, render, shares
from augmark.analysis.bounds_figure import LOOKS, draw, loader_words, table_lines
from augmark.analysis.frame import PARTS
from augmark.analysis.tables import analyse
from tests.analysis.synthetic import make_plan, make_record, make_records, measured, plan_row, unmeasured

MODE = "dataloader-decode"
TABLE = f"image-rgb-{MODE}"


def loader(bound="augment", over=False, copy=None, **parts):
    """What a record's row says of its loader; parts in seconds per item."""
    split = {f"{part}_seconds_per_item": parts.get(part, 0.0) for part in PARTS}
    return {
        "batch_size": 64,
        "workers": 4,
        "prefetch_factor": 2,
        "policy": "pipeline-single-worker",
        "start_method": "fork",
        "timeout_seconds": 120,
        "copy_to": None if copy is None else "cuda",
        "startup_seconds": parts.get("startup", 0.5),
        "first_epoch_seconds": parts.get("first", 2.0),
        "epochs": 1,
        "split": {**split, "copy_seconds_per_item": copy},
        "bound_by": bound,
        "threads_in_workers": [{"torch": 1}] * 4,
        "oversubscribed": over,
    }


def analysed(found, offers=None, repeats=1, mode=MODE):
    """Analysis of one library's rows; ``found`` is a mapping per repeat, or one for all of them."""
    per_repeat = found if isinstance(found, list) else [found] * repeats
    plan = make_plan({"pillow": offers or list(per_repeat[0])}, repeats=len(per_repeat), mode=mode)
    records = [make_record(plan, "pillow", repeat, told) for repeat, told in enumerate(per_repeat)]
    return analyse(make_records(plan, records), plan)


def test_parts_are_medians_over_the_repeats():
    """0.1, 0.3 and 0.2 s: 0.2 s; two of three repeats are bound by decoding."""
    told = [
        {"Flip": measured(1.0, loader=loader(bound, decode=decode, augment=0.25, startup=start))}
        for bound, decode, start in (("decode", 0.1, 3.0), ("augment", 0.3, 1.0), ("decode", 0.2, 2.0))
    ]
    line = bounds(analysed(told)).iloc[0]
    assert line["decode_seconds_per_item"] == pytest.approx(0.2)
    assert line["augment_seconds_per_item"] == pytest.approx(0.25)
    assert line["copy_seconds_per_item"] is None
    assert (line["startup_seconds"], line["first_epoch_seconds"]) == (2.0, 2.0)
    assert (line["bound_by"], line["repeats"], line["workers"]) == ("decode", 3, 4)


def test_as_many_repeats_for_one_as_for_another_name_both():
    """One repeat each: no part is preferred, and one oversubscribed repeat says so of the row."""
    told = [
        {"Flip": measured(1.0, loader=loader("collate", augment=1.0))},
        {"Flip": measured(1.0, loader=loader("augment", over=True, augment=1.0))},
    ]
    line = bounds(analysed(told)).iloc[0]
    assert line["bound_by"] == "augment or collate"
    assert line["oversubscribed"] is True


def test_rows_without_a_number_are_lines_with_their_status():
    """Failed, unsupported and not run: nothing is left out, and nothing invented."""
    offers = ["Flip", "Fail", "Gone", plan_row("Rain", "unsupported", "no weather")]
    found = {"Flip": measured(0.5, loader=loader(augment=1.0)), "Fail": unmeasured("failed", "raised")}
    frame = bounds(analysed(found, offers))
    assert dict(zip(frame["transform"], frame["status"], strict=True)) == {
        "Flip": "ok",
        "Fail": "failed",
        "Gone": "not-run",
        "Rain": "unsupported",
    }
    fields = ("items_per_second", "augment_seconds_per_item", "workers", "bound_by", "oversubscribed")
    for line in frame.to_dict("records")[1:]:
        assert [line[name] for name in fields] == [None] * len(fields)
        assert line["reason"]


def test_a_row_that_failed_in_one_repeat_has_no_parts():
    """Its status is the worst of its repeats, and the figures of the others are not shown under it."""
    told = [{"Flip": measured(1.0, loader=loader(augment=1.0))}, {"Flip": unmeasured("failed", "raised")}]
    line = bounds(analysed(told)).iloc[0]
    assert (line["status"], line["augment_seconds_per_item"], line["bound_by"]) == ("failed", None, None)


def test_rows_of_other_modes_and_conditions_are_left_out():
    """Mode micro has no split; conditions stand in the table of regimes."""
    assert bounds(analysed({"Flip": measured(1.0)}, mode="micro")).empty
    swept = plan_row("Flip", condition="workers-0", salt="swept")
    plan = make_plan({"pillow": ["Flip", swept]}, repeats=1, mode=MODE)
    record = make_record(plan, "pillow", 0, {"Flip": measured(1.0, loader=loader(augment=1.0))})
    assert bounds(analyse(make_records(plan, [record]), plan))["transform"].to_list() == ["Flip"]


def test_csv_holds_every_figure():
    """One line per row, numbers to six digits, unknown fields empty."""
    told = {"Flip": measured(0.004, loader=loader("decode", decode=0.0031234567, augment=0.002))}
    text = render(bounds(analysed(told)))
    (line,) = csv.DictReader(io.StringIO(text))
    assert list(line) == COLUMNS
    expected = {
        "machine": "local-3f9a",
        "scenario": "image-rgb",
        "mode": MODE,
        "device": "cpu",
        "transform": "Flip",
        "library": "pillow",
        "status": "ok",
        "repeats": "1",
        "items_per_second": "250",
        "decode_seconds_per_item": "0.00312346",
        "augment_seconds_per_item": "0.002",
        "collate_seconds_per_item": "0",
        "copy_seconds_per_item": "",
        "delivery_seconds_per_item": "0",
        "startup_seconds": "0.5",
        "first_epoch_seconds": "2",
        "workers": "4",
        "batch_size": "64",
        "prefetch_factor": "2",
        "thread_policy": "pipeline-single-worker",
        "copy_to": "",
        "bound_by": "decode",
        "oversubscribed": "false",
        "reason": "",
    }
    assert line == expected


def test_shares_of_a_row_without_a_copy():
    """1, 2, 1 and 4 ms of 8 ms."""
    told = {
        "Flip": measured(0.002, loader=loader(decode=0.001, augment=0.002, collate=0.001, delivery=0.004))
    }
    line = bounds(analysed(told)).iloc[0]
    assert shares(line, 4) == pytest.approx(
        {"decode": 0.125, "augment": 0.25, "collate": 0.125, "copy": 0.0, "delivery": 0.5}
    )


def test_a_copy_counts_for_every_worker_that_waits_for_it():
    """2 ms an item on 2 processors: of 4 ms, 1 ms is augmenting and 3 ms are waiting for copies of 1.5 ms."""
    told = {"Flip": measured(0.002, loader=loader("copy", augment=0.001, copy=0.0015))}
    line = bounds(analysed(told)).iloc[0]
    assert shares(line, 2) == pytest.approx(
        {"decode": 0, "augment": 0.25, "collate": 0, "copy": 0.75, "delivery": 0}
    )


def test_a_copy_that_nobody_waits_for_has_no_share():
    """The workers are at work all the 4 ms: copying went on beside them."""
    told = {"Flip": measured(0.002, loader=loader(augment=0.004, copy=0.0015))}
    found = shares(bounds(analysed(told)).iloc[0], 2)
    assert (found["augment"], found["copy"]) == (1.0, 0.0)


def test_a_row_without_a_split_has_no_shares():
    """A failed row; and one whose parts are all zero."""
    frame = bounds(analysed({"Fail": unmeasured("failed", "raised"), "Flip": measured(1.0, loader=loader())}))
    assert [shares(line, 2) for line in frame.to_dict("records")] == [None, None]


def test_loader_in_words():
    """Rows in one loader, rows in none."""
    told = {
        "Flip": measured(1.0, loader=loader(augment=1.0, copy=0.1)),
        "Fail": unmeasured("failed", "raised"),
    }
    lines = table_lines(analysed(told), TABLE)
    assert loader_words(lines.values()) == (
        "4 workers, batches of 64, 2 ahead per worker, threads: pipeline-single-worker, copied to cuda"
    )
    assert loader_words([lines["Fail", "pillow", "cpu"]]) == "No row has a number."


def test_figure_of_fifty_eight_rows_fits_a_page(tmp_path):
    """Four libraries, 58 transforms: no taller than A4, the same bytes each time."""
    names = [f"Transform{index}" for index in range(58)]
    libraries = ["albumentationsx", "torchvision", "kornia", "pillow"]
    plan = make_plan(dict.fromkeys(libraries, names), repeats=1, mode=MODE)
    found = {name: measured(0.001, loader=loader(decode=0.001, augment=0.003)) for name in names[1:]}
    found[names[0]] = unmeasured("timeout", "no batch")
    records = [make_record(plan, library, 0, found) for library in libraries]
    analysis = analyse(make_records(plan, records), plan)
    for name in ("a", "b"):
        draw(analysis, TABLE, [tmp_path / f"{name}.png", tmp_path / f"{name}.pdf"])
    for kind in ("png", "pdf"):
        assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()
    with Image.open(tmp_path / "a.png") as image:
        width, height = (side / 200 for side in image.size)
    assert width <= 8.3
    assert height <= 11.7


def test_figure_without_any_record(tmp_path):
    """Every row not run: drawn all the same."""
    plan = make_plan({"kornia": ["Flip"]}, mode=MODE)
    draw(analyse(make_records(plan, []), plan), TABLE, [tmp_path / "f.pdf"])
    assert (tmp_path / "f.pdf").read_bytes().startswith(b"%PDF")


def test_parts_differ_without_colour():
    """Every part has a look, and each its own hatch."""
    assert list(LOOKS) == list(PARTS)
    assert len({look.hatch for look in LOOKS.values()}) == len(LOOKS)
    assert len({look.colour for look in LOOKS.values()}) == len(LOOKS)
