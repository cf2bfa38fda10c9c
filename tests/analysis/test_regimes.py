"""The sweeps: ratios worked out by hand, what has none, and the files."""

from __future__ import annotations

import csv
import io
import math

import pytest

from augmark.analysis import regimes_figure
from augmark.analysis.regimes import (
    build_tables,
    in_order,
    regimes,
    render_csv,
    write_regimes,
)
from augmark.analysis.tables import analyse
from augmark.errors import AugmarkError
from augmark.sweeps import has_conditions
from tests.analysis.synthetic import (
    SESSION,
    make_plan,
    make_record,
    make_records,
    measured,
    plan_row,
    unmeasured,
)


def swept(transform, condition, **setting):
    return plan_row(transform, condition=condition, setting=setting, id=f"{transform}@{condition}")


def records_of(plan, found, *, session=SESSION, **sessions):
    """Records from library -> condition -> one of ``measured`` per transform and repeat."""
    records = []
    for library, conditions in found.items():
        repeats = sum(cell["library"] == library for cell in plan["cells"])
        for repeat in range(repeats):
            rows = []
            for condition, transforms in conditions.items():
                told = {
                    name: each[repeat] if isinstance(each, list) else each
                    for name, each in transforms.items()
                }
                part = make_record(plan, library, repeat, told, session=session)
                rows += [
                    {**row, "session": sessions.get(condition.replace("-", "_"), session)}
                    for row in part["rows"]
                    if row["condition"] == condition
                ]
            records.append({**part, "rows": rows})
    return make_records(plan, records)


def line_of(lines, **wanted):
    for line in lines.to_dict("records"):
        if all(line[name] == value for name, value in wanted.items()):
            return line
    raise AssertionError(wanted)


def times(*seconds, **more):
    return [measured(value, **more) for value in seconds]


def test_ratio_is_throughput_over_plain_paired_over_repeats():
    """Plain 4, 8 and 16 ms, batched half of each: a ratio of 2, whatever the spread between repeats."""
    plan = make_plan({"kornia": ["Flip", swept("Flip", "batched-8", batched=8)]})
    found = {
        "plain": {"Flip": times(0.004, 0.008, 0.016)},
        "batched-8": {"Flip": times(0.002, 0.004, 0.008, draws="per-sample")},
    }
    (line,) = regimes(analyse(records_of(plan, {"kornia": found}), plan)).to_dict("records")
    assert line["ratio"] == pytest.approx(2)
    assert line["ratio_low"] == pytest.approx(2)
    assert line["ratio_high"] == pytest.approx(2)
    assert (line["comparison"], line["pairs"]) == ("paired", 3)
    assert line["throughput"] == pytest.approx(250)
    assert line["plain_throughput"] == pytest.approx(125)
    assert (line["axis"], line["value"], line["draws"]) == ("batched", 8, "per-sample")
    assert "per-batch" not in line["marks"]


def test_interval_is_students_on_the_logarithms():
    """Ratios 2, 4 and 8: their mean logarithm is log 4; t(0.975, 2) = 4.30265 times log 2 / sqrt 3."""
    plan = make_plan({"kornia": ["Flip", swept("Flip", "threads-2", threads=2)]})
    found = {
        "plain": {"Flip": times(0.008, 0.008, 0.008)},
        "threads-2": {"Flip": times(0.004, 0.002, 0.001)},
    }
    (line,) = regimes(analyse(records_of(plan, {"kornia": found}), plan)).to_dict("records")
    reach = 4.302652729911275 * math.log(2) / math.sqrt(3)
    assert line["ratio"] == pytest.approx(4)
    assert line["ratio_low"] == pytest.approx(4 * math.exp(-reach))
    assert line["ratio_high"] == pytest.approx(4 * math.exp(reach))


def test_two_repeats_have_a_ratio_and_no_interval():
    """Ratios 2 and 8: their geometric mean is 4."""
    plan = make_plan({"kornia": ["Flip", swept("Flip", "compiled", compile=True)]}, repeats=2)
    found = {
        "plain": {"Flip": times(0.008, 0.008)},
        "compiled": {"Flip": times(0.004, 0.001, first_call_seconds=3.0, flags=["graph-breaks"])},
    }
    analysis = analyse(records_of(plan, {"kornia": found}), plan)
    lines = regimes(analysis)
    line = lines.to_dict("records")[0]
    assert line["ratio"] == pytest.approx(4)
    assert math.isnan(line["ratio_low"] if line["ratio_low"] is not None else math.nan)
    assert line["first_call_seconds"] == 3.0
    (table,) = build_tables(analysis, lines)
    ((name, (plain, speed, ratio)),) = table.rows
    assert name == "Kornia: Flip"
    assert plain.number == "125"
    assert speed.marks == "ug"  # unstable: 4 ms and 1 ms; and compiled in parts
    assert (ratio.number, ratio.bounds) == ("4.00", "")
    assert any("no interval below 3 repeats" in note for note in table.notes)
    assert any("first call took 3.0 to 3.0 s" in note for note in table.notes)


def test_other_sessions_are_compared_unpaired():
    """The condition was measured in another session: no pair, and a mark."""
    plan = make_plan({"kornia": ["Flip", swept("Flip", "threads-2", threads=2)]})
    found = {
        "plain": {"Flip": times(0.008, 0.008, 0.008)},
        "threads-2": {"Flip": times(0.004, 0.004, 0.004)},
    }
    records = records_of(plan, {"kornia": found}, threads_2="20261201T100000Z-2")
    analysis = analyse(records, plan)
    lines = regimes(analysis)
    assert lines["comparison"].to_list() == ["unpaired"]
    assert lines["ratio"].to_list() == [pytest.approx(2)]
    (table,) = build_tables(analysis, lines)
    assert table.rows[0][1][2].marks == "x"


@pytest.mark.parametrize(
    ("plain", "condition"),
    [
        (measured(0.008), unmeasured("unsupported", "no float form")),
        (unmeasured("failed", "raised"), measured(0.004)),
        (measured(0.008), measured(0.004, items=24)),
        (measured(0.08, "slow", items=8), measured(0.004)),
    ],
)
def test_no_ratio_where_one_is_missing_or_timed_on_other_items(plain, condition):
    """Status and reason are kept, and what number there is."""
    plan = make_plan({"kornia": ["Flip", swept("Flip", "batched-8", batched=8)]})
    found = {"plain": {"Flip": plain}, "batched-8": {"Flip": condition}}
    analysis = analyse(records_of(plan, {"kornia": found}), plan)
    lines = regimes(analysis)
    line = lines.to_dict("records")[0]
    assert line["ratio"] is None or math.isnan(line["ratio"])
    assert line["status"] == condition["status"]
    assert line["plain_status"] == plain["status"]
    (table,) = build_tables(analysis, lines)
    assert table.rows[0][1][2].number is None
    assert len(table.footnotes) == 1
    assert any("0 of 1" in note for note in table.notes)


def two_axes():
    """Two libraries, two axes; torchvision draws per batch, and one of its rows does not compile."""
    batches = [swept(name, f"batched-{size}", batched=size) for name in ("Flip", "Hue") for size in (8, 32)]
    compiled = [swept(name, "compiled", compile=True) for name in ("Flip", "Hue")]
    offers = {name: ["Flip", "Hue", *batches, *compiled] for name in ("kornia", "torchvision")}
    offers["control-copy"] = ["Copy", swept("Copy", "threads-2", threads=2)]
    plan = make_plan(offers)
    found = {}
    for library, draws in (("kornia", "per-sample"), ("torchvision", "per-batch")):
        found[library] = {
            "plain": {"Flip": measured(0.008), "Hue": measured(0.016)},
            "batched-8": {"Flip": measured(0.004, draws=draws), "Hue": measured(0.016, draws=draws)},
            "batched-32": {"Flip": measured(0.002, draws=draws), "Hue": measured(0.020, draws=draws)},
            "compiled": {"Flip": measured(0.010), "Hue": measured(0.008)},
        }
    found["torchvision"]["compiled"]["Hue"] = unmeasured("unsupported", "torch.compile falls back to eager")
    found["control-copy"] = {"plain": {"Copy": measured(0.001)}, "threads-2": {"Copy": measured(0.001)}}
    return plan, records_of(plan, found)


def test_one_table_per_axis_and_no_control_in_it():
    """Values in order, a column of throughput and of ratio each; controls are in the CSV."""
    plan, records = two_axes()
    analysis = analyse(records, plan)
    lines = regimes(analysis)
    batched, compiled = build_tables(analysis, lines)
    assert batched.columns == ["plain", "batched-8", "against plain", "batched-32", "against plain"]
    assert [name for name, _ in batched.rows] == [
        "Kornia: Flip",
        "Kornia: Hue",
        "torchvision: Flip",
        "torchvision: Hue",
    ]
    kornia, _, torchvision, _ = (entries for _, entries in batched.rows)
    assert [entry.number for entry in kornia] == ["125", "250", "2.00", "500", "4.00"]
    assert [entry.marks for entry in kornia] == [""] * 5
    assert [entry.marks for entry in torchvision] == ["", "b", "", "b", ""]
    assert ("b", "one draw for the whole batch: not the work of a draw per item") in batched.legend
    assert compiled.footnotes == ["unsupported: torch.compile falls back to eager"]
    kinds = {line["kind"] for line in csv.DictReader(io.StringIO(render_csv(lines)))}
    assert kinds == {"library", "control"}


def test_a_library_is_held_against_itself():
    """Each line's plain throughput is that of its own library and transform."""
    plan, records = two_axes()
    lines = regimes(analyse(records, plan))
    hue = line_of(lines, library="kornia", transform="Hue", condition="batched-32")
    assert hue["plain_throughput"] == pytest.approx(62.5)
    assert hue["ratio"] == pytest.approx(0.8)


def test_files(tmp_path):
    """Markdown, CSV, LaTeX, PDF and PNG; the same bytes twice; another suffix is refused."""
    plan, records = two_axes()
    analysis = analyse(records, plan)
    for folder in ("a", "b"):
        write_regimes(analysis, [tmp_path / folder / f"regimes.{kind}" for kind in ("md", "csv", "tex")])
        regimes_figure.draw(analysis, [tmp_path / folder / f"regimes.{kind}" for kind in ("pdf", "png")])
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()
    assert "| Kornia: Flip | 3 | 125 | 250" in (tmp_path / "a" / "regimes.md").read_text()
    with pytest.raises(AugmarkError, match="a table is"):
        write_regimes(analysis, [tmp_path / "regimes.txt"])


def test_a_plan_without_sweeps_is_refused(tmp_path):
    """The rule is not asked for there."""
    plan = make_plan({"kornia": ["Flip"]})
    assert not has_conditions(plan)
    with pytest.raises(AugmarkError, match="sweeps nothing"):
        write_regimes(analyse(make_records(plan, []), plan), [tmp_path / "regimes.md"])


def test_values_are_in_order():
    """Numbers by size, words as planned."""
    assert in_order([8, 2, 8, 0]) == [0, 2, 8]
    assert in_order([False, True]) == [False, True]
    assert in_order(["b", "a"]) == ["b", "a"]
