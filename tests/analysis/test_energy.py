"""The table of energy: medians and ranges of joules per item, or the reason, and never a zero."""

import csv
import io

import pytest

from augmark.analysis import energy
from augmark.analysis.pyperf_export import suite_of
from augmark.analysis.tables import analyse
from augmark.errors import AugmarkError
from tests.analysis.synthetic import (
    NO_ENERGY,
    make_plan,
    make_record,
    make_records,
    measured,
    plan_row,
    unmeasured,
)

OFFERS = {"kornia": ["Flip", "Blur", plan_row("Shear", "excluded", "cannot")], "pillow": ["Flip", "Blur"]}


def took(joules_per_item, items=10, source="rapl", **parts):
    """10 items at this many joules, of the package alone or of the parts that are named."""
    total = joules_per_item * items
    return {
        "source": source,
        "joules": total,
        "window_seconds": 0.25,
        "items": items,
        "joules_per_item": joules_per_item,
        "coarse": source == "powermetrics",
        "parts": parts or {"package": total},
        "missing": {},
    }


def analysed(**found):
    """Three repeats; library -> transform -> the energies of its repeats, and of the rest the reason."""
    plan, records = make_plan(OFFERS, repeats=3), []
    for library, offered in OFFERS.items():
        for repeat in range(3):
            rows = {}
            for name in offered:
                if isinstance(name, str):
                    each = found.get(library, {}).get(name, [NO_ENERGY] * 3)[repeat]
                    rows[name] = (
                        unmeasured("failed", "raised") if each is None else measured(0.5, energy=each)
                    )
            records.append(make_record(plan, library, repeat, rows))
    return analyse(make_records(plan, records), plan)


def lines_of(analysis):
    text = energy.render_csv(energy.energy_lines(analysis))
    return {(line["library"], line["transform"]): line for line in csv.DictReader(io.StringIO(text))}


def test_joules_are_the_median_of_the_repeats_with_their_range():
    """Of 0.2, 0.5 and 0.3 J the middle one is 0.3."""
    line = lines_of(analysed(pillow={"Flip": [took(0.2), took(0.5), took(0.3)]}))["pillow", "Flip"]
    names = ("repeats", "joules_per_item", "joules_low", "joules_high", "source", "parts", "coarse", "reason")
    assert ["3", "0.3", "0.2", "0.5", "rapl", "package", "false", ""] == [line[name] for name in names]


def test_a_row_without_joules_has_the_reason():
    """The counter's, or the row's own status; no field says zero joules."""
    lines = lines_of(analysed(pillow={"Flip": [took(0.2)] * 3, "Blur": [None] * 3}))
    told = [
        (lines[key]["joules_per_item"], lines[key]["reason"])
        for key in (("kornia", "Flip"), ("pillow", "Blur"), ("kornia", "Shear"))
    ]
    assert [("", "no counter of a package"), ("", "failed: raised"), ("", "excluded: cannot")] == told


def test_a_repeat_without_joules_is_counted():
    """Two of three have a figure, and the reader is told why the third has none."""
    line = lines_of(analysed(pillow={"Flip": [took(0.2), NO_ENERGY, took(0.4)]}))["pillow", "Flip"]
    assert ("2", pytest.approx(0.3)) == (line["repeats"], float(line["joules_per_item"]))
    assert "1 of 3 repeats have none: no counter of a package" == line["reason"]


def test_joules_of_other_parts_are_never_one_figure():
    """A repeat whose memory counted holds more than one whose did not."""
    with_memory = took(0.5, package=3.0, dram=2.0)
    line = lines_of(analysed(pillow={"Flip": [took(0.2), with_memory, took(0.4)]}))["pillow", "Flip"]
    assert ("0", "") == (line["repeats"], line["joules_per_item"])
    assert (
        "its repeats are of rapl (package) and rapl (dram, package): no figure is made of both"
        == line["reason"]
    )


def test_the_page_has_a_table_or_one_reason(tmp_path):
    """Of a machine without counters one sentence; else numbers, what they are of, and of how many rows."""
    energy.write_energy(analysed(), [tmp_path / "energy.md"])
    page = (tmp_path / "energy.md").read_text()
    assert "Energy was not measured: no counter of a package.\n" in page
    assert 1 == page.count("no counter of a package")
    assert "|" not in page
    energy.write_energy(
        analysed(pillow={"Flip": [took(0.2), took(0.5), took(0.3)]}), [tmp_path / "energy.md"]
    )
    page = (tmp_path / "energy.md").read_text()
    assert "# Energy: joules per item, image-rgb, micro, cpu\n" in page
    assert "| Flip | 3 | –<sup>1</sup> | 0.300 (0.200, 0.500) |" in page
    assert "1. no counter of a package" in page
    assert "Counted by rapl (package)." in page
    assert "Rows with a figure, of those measured: 1 of 4." in page


def test_sources_in_one_table_are_told_apart():
    """Estimates are called coarse, and each number says what it is of."""
    mac = took(0.4, source="powermetrics", cpu=4.0)
    analysis = analysed(pillow={"Flip": [took(0.2)] * 3}, kornia={"Flip": [mac] * 3})
    page = energy.render_markdown(analysis, energy.energy_lines(analysis), "##")
    assert page.startswith("## Energy")
    assert "powermetrics: cpu" in page
    assert "rapl: package" in page
    assert "Coarse: integrated from samples" in page


def test_records_have_the_columns_of_energy():
    """What is missing from the joules is told beside them."""
    part = {**took(0.2), "missing": {"dram": "stood still"}}
    frame = analysed(pillow={"Flip": [part] * 3}).records.frame
    rows = frame[frame["transform"] == "Flip"].set_index(["library", "repeat"])
    row, other = rows.loc[("pillow", 0)], rows.loc[("kornia", 0)]
    assert ("rapl", 0.2, 2.0, 0.25, 10, "package", False) == tuple(
        row[name]
        for name in (
            *("energy_source", "joules_per_item", "energy_joules", "energy_window_seconds", "energy_items"),
            *("energy_parts", "energy_coarse"),
        )
    )
    assert "no dram: stood still" == row["energy_reason"]
    assert "no counter of a package" == other["energy_reason"]
    assert other["joules_per_item"] != other["joules_per_item"]


def test_the_pyperf_file_tells_the_joules():
    """Beside the seconds, where there are any."""
    plan = make_plan(OFFERS, repeats=1)
    found = {"Flip": measured(0.5, energy=took(0.2)), "Blur": measured(0.5)}
    suite = suite_of(make_record(plan, "pillow", 0, found))
    told = {each.get_name(): each.get_metadata() for each in suite}
    assert (0.2, "rapl") == tuple(told["Flip"][name] for name in ("joules_per_item", "energy_source"))
    assert "joules_per_item" not in told["Blur"]


def test_another_suffix_is_refused(tmp_path):
    """Nothing else is made of it."""
    with pytest.raises(AugmarkError, match=r"energy is a \.csv or a \.md"):
        energy.write_energy(analysed(), [tmp_path / "energy.tex"])
