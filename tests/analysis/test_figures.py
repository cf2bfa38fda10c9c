"""Figures: the same bytes from the same records, in any process."""

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from PIL import Image

from augmark.analysis import figures
from augmark.analysis.drawing import SERIES
from augmark.analysis.efficiency import render, report, timed_shares
from augmark.analysis.marks import SHOWN
from augmark.analysis.tables import analyse
from augmark.errors import AugmarkError
from augmark.record import MEASURED
from tests.analysis.synthetic import (
    TABLE,
    carried,
    make_plan,
    make_record,
    make_records,
    measured,
    plan_row,
    unmeasured,
)

ROOT = Path(__file__).resolve().parents[2]


def all_statuses(repeats=3):
    """Two libraries over all statuses, not-run among them."""
    recorded = [name for name in SHOWN if name not in (*MEASURED, "not-run")]
    names = ["Flip", "Slow", "NotRun", *(name.title() for name in recorded)]
    plan = make_plan(
        {"kornia": names, "pillow": ["Flip", plan_row("Slow", "unsupported", "none")]}, repeats=repeats
    )
    found = {name.title(): unmeasured(name, "a reason") for name in recorded}
    found.update(Flip=measured(0.01), Slow=measured(0.2, "slow"))
    records = [
        make_record(plan, library, r, found) for library in ("kornia", "pillow") for r in range(repeats)
    ]
    return plan, make_records(plan, records)


def draw_all(folder):
    """Every figure in both formats; returns name -> bytes."""
    plan, records = all_statuses()
    analysis = analyse(records, plan)
    for name, draw in (("throughput", figures.throughput), ("coverage", figures.coverage_grid)):
        draw(analysis, TABLE, [folder / f"{name}.pdf", folder / f"{name}.png"])
    shares = timed_shares(records.frame)
    figures.efficiency(shares, plan, [folder / "efficiency.pdf", folder / "efficiency.png"])
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_same_records_same_bytes_in_any_process(tmp_path):
    """Drawn here, and again by a fresh interpreter with another hash seed and time zone."""
    here = draw_all(tmp_path / "here")
    there = tmp_path / "there"
    code = (
        "import sys; from pathlib import Path; from tests.analysis.test_figures import draw_all;"
        " draw_all(Path(sys.argv[1]))"
    )
    environment = {
        **os.environ,
        "PYTHONPATH": f"{ROOT}:{ROOT / 'workflow'}",
        "PYTHONHASHSEED": "7",
        "TZ": "Pacific/Auckland",
    }
    subprocess.run([sys.executable, "-c", code, str(there)], cwd=ROOT, env=environment, check=True)
    assert sorted(here) == [
        f"{name}.{kind}" for name in ("coverage", "efficiency", "throughput") for kind in ("pdf", "png")
    ]
    for name, content in here.items():
        assert (there / name).read_bytes() == content, name


def test_files_hold_no_date_and_no_version(tmp_path):
    """What would change from one day, or one release of matplotlib, to the next."""
    for name, content in draw_all(tmp_path / "out").items():
        assert b"CreationDate" not in content, name
        assert b"matplotlib" not in content.lower(), name


def test_fifty_eight_transforms_fit_a_page(tmp_path):
    """Throughput and coverage of 58 transforms and four libraries are no taller than A4 (11.7 inches)."""
    names = [f"Transform{index}" for index in range(58)]
    libraries = ["albumentationsx", "torchvision", "kornia", "pillow"]
    plan = make_plan(dict.fromkeys(libraries, names), repeats=1)
    found = {name: measured(0.001 * (1 + index)) for index, name in enumerate(names)}
    analysis = analyse(
        make_records(plan, [make_record(plan, library, 0, found) for library in libraries]), plan
    )
    for draw in (figures.throughput, figures.coverage_grid):
        draw(analysis, TABLE, [tmp_path / "f.png"])
        with Image.open(tmp_path / "f.png") as image:
            width, height = (side / 200 for side in image.size)
        assert width <= 8.3
        assert height <= 11.7


def test_transforms_are_sorted_by_speed():
    """The fastest first, those without a number last."""
    plan, records = all_statuses()
    order = figures.by_speed(analyse(records, plan).summary)
    assert order[:2] == ["Flip", "Slow"]
    assert order[2:] == sorted(order[2:])


def test_letters_stand_where_there_is_room():
    """To the right, or to the left of a close right neighbour, unless that side is taken too."""
    row, reach = [100.0, 105.0, 1000.0], 0.1  # 105 / 100 is 0.049 apart, 1000 / 105 is 2.3
    assert [figures._free_side(own, row, reach) for own in row] == [-1, 1, 1]
    assert figures._free_side(100.0, [95.0, 100.0, 105.0], reach) == 1


def test_nothing_measured_still_draws(tmp_path):
    """No record at all: an empty axis and a full margin, no error."""
    plan = make_plan({"kornia": ["Flip"]})
    analysis = analyse(make_records(plan, []), plan)
    figures.throughput(analysis, TABLE, [tmp_path / "t.pdf"])
    figures.coverage_grid(analysis, TABLE, [tmp_path / "c.pdf"])
    assert (tmp_path / "t.pdf").read_bytes().startswith(b"%PDF")


def test_series_differ_without_colour():
    """Every library has a marker of its own; every status a symbol of its own."""
    assert len({marker for _, marker in SERIES}) == len(SERIES)
    assert len({status.symbol for status in SHOWN.values()}) == len(SHOWN)
    assert all(len(status.symbol) == 1 and status.symbol.isascii() for status in SHOWN.values())


def test_another_suffix_is_refused(tmp_path):
    """A figure is a PDF or a PNG."""
    plan, records = all_statuses()
    with pytest.raises(AugmarkError, match=r"a figure is a \.pdf or a \.png"):
        figures.throughput(analyse(records, plan), TABLE, [tmp_path / "f.jpg"])


def test_timed_share_sums_over_cells():
    """(30 + 50) s of (60 + 100) s, each cell counted once whatever its rows."""
    plan = make_plan({"pillow": ["Flip", "Blur"]}, repeats=2)
    found = {"Flip": measured(1.0), "Blur": measured(1.0)}
    records = [
        make_record(plan, "pillow", 0, found, wall_seconds=60.0, timed_seconds=30.0),
        make_record(plan, "pillow", 1, found, wall_seconds=100.0, timed_seconds=50.0),
    ]
    shares = timed_shares(make_records(plan, records).frame)
    assert render(shares) == (
        "machine,scenario,mode,library,timed_share\nlocal-3f9a,image-rgb,micro,pillow,0.5000\n"
    )


def test_carried_rows_cost_nothing_now():
    """A cell of carried rows only is left out; a library of such cells has no share, and is still named."""
    plan = make_plan({"kornia": ["Flip"], "pillow": ["Flip"]}, repeats=2)
    old = {"Flip": carried(1.0)}
    records = [
        make_record(plan, "kornia", 0, old, wall_seconds=1.0, timed_seconds=0.0),
        make_record(plan, "kornia", 1, {"Flip": measured(1.0)}, wall_seconds=10.0, timed_seconds=9.0),
        make_record(plan, "pillow", 0, old, wall_seconds=1.0, timed_seconds=0.0),
        make_record(plan, "pillow", 1, old, wall_seconds=1.0, timed_seconds=0.0),
    ]
    shares = timed_shares(make_records(plan, records).frame)
    assert shares["library"].to_list() == ["kornia", "pillow"]
    assert shares["timed_share"].iloc[0] == pytest.approx(0.9)
    assert pd.isna(shares["timed_share"].iloc[1])
    assert render(shares).endswith("pillow,\n")
    assert "pillow: unknown (nothing timed in these records)" in report(shares, plan)


def test_a_row_that_nobody_timed_is_no_job_of_timing():
    """Carried rows beside unsupported and failed ones: 45 of 50 s are left, of the other cell."""
    plan = make_plan({"pillow": ["Flip", "Fail", plan_row("Rain", "unsupported", "no weather")]}, repeats=2)
    old = {"Flip": carried(1.0), "Fail": unmeasured("failed", "raised")}
    new = {"Flip": measured(1.0), "Fail": unmeasured("failed", "raised")}
    records = [
        make_record(plan, "pillow", 0, old, wall_seconds=50.0, timed_seconds=0.0),
        make_record(plan, "pillow", 1, new, wall_seconds=50.0, timed_seconds=45.0),
    ]
    assert timed_shares(make_records(plan, records).frame)["timed_share"].to_list() == [0.9]
    alone = timed_shares(make_records(plan, records[:1]).frame)
    assert alone["timed_share"].isna().to_list() == [True]


@pytest.mark.parametrize("mode", ["decode", "dataloader-memory"])
def test_other_modes_have_no_target(tmp_path, mode):
    """Start or warm-up outweigh what is timed: half of the wall time is shown, without a verdict."""
    plan = make_plan({"pillow": ["Flip"]}, repeats=1, mode=mode)
    records = [make_record(plan, "pillow", 0, {"Flip": measured(1.0)}, timed_seconds=30.0)]
    shares = timed_shares(make_records(plan, records).frame)
    assert report(shares, plan).splitlines()[1:] == [f"  image-rgb {mode} pillow: 50%"]
    both = pd.concat([shares, shares.assign(mode="micro")])
    figures.efficiency(both, plan, [tmp_path / "e.pdf"])
    assert (tmp_path / "e.pdf").read_bytes().startswith(b"%PDF")


def test_one_row_draws(tmp_path):
    """Mode decode has one row: both figures of its table are drawn, no lower than with a few."""
    plan = make_plan({"kornia": ["Decode"], "pillow": ["Decode"]}, repeats=1, mode="decode")
    found = {"kornia": measured(0.01), "pillow": unmeasured("failed", "a reason")}
    records = [make_record(plan, name, 0, {"Decode": told}) for name, told in found.items()]
    analysis = analyse(make_records(plan, records), plan)
    for draw in (figures.throughput, figures.coverage_grid):
        draw(analysis, "image-rgb-decode", [tmp_path / "f.png"])
        with Image.open(tmp_path / "f.png") as image:
            assert image.size[1] / 200 > 1.8


def test_report_names_the_library_below_the_target():
    """Half of the wall time is below 70 %; controls are shown without a verdict."""
    plan = make_plan({"pillow": ["Flip"], "control-copy": ["Copy"]}, repeats=1)
    found = {"Flip": measured(1.0), "Copy": measured(1.0)}
    records = [make_record(plan, name, 0, found, timed_seconds=30.0) for name in ("pillow", "control-copy")]
    assert report(timed_shares(make_records(plan, records).frame), plan).splitlines()[1:] == [
        "  image-rgb micro control-copy: 50%",
        "  image-rgb micro pillow: 50%  below the target",
    ]
