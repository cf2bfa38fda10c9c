"""Notes of a table about its mode: what is timed, in which loader, by which decoders, in which chunks."""

from pathlib import Path

import pytest
import yaml

from augmark.analysis.mode_notes import TIMED, decoder_title
from augmark.analysis.tables import analyse, build_table
from augmark.modes import MODES
from tests.analysis.synthetic import make_plan, make_record, make_records, measured, plan_row, unmeasured
from tests.analysis.test_bounds import loader

ROOT = Path(__file__).resolve().parents[2]


def table_of(mode, rows, found, scenario="image-rgb", **more):
    """The table of one library's rows, one repeat."""
    plan = make_plan({"pillow": rows}, repeats=1, mode=mode, scenario=scenario)
    plan["definitions"][f"{scenario}/{mode}/pillow/cpu"].update(
        adapter="pillow", **more.pop("definition", {})
    )
    plan.update(more)
    records = make_records(plan, [make_record(plan, "pillow", 0, found)])
    return build_table(analyse(records, plan), f"{scenario}-{mode}")


def note(table, begin):
    """The one note that begins so."""
    (found,) = [text for text in table.notes if text.startswith(begin)]
    return found


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_says_what_is_timed(mode):
    """In one note, which no other mode has but those of another place of arrival."""
    assert note(table_of(mode, ["Flip"], {"Flip": measured(1.0)}), "Timed: ") == TIMED[mode]
    assert len(set(TIMED.values())) == len(MODES)


def test_loader_is_described_from_what_was_recorded():
    """Rows in full; a slow row, with fewer items in smaller batches, is named apart."""
    slow = {**loader(augment=1.0), "batch_size": 4}
    found = {
        "Flip": measured(1.0, loader=loader(augment=1.0, first=3.0), items=1280),
        "Rain": measured(1.0, "slow", loader=slow, items=8),
    }
    rows = [plan_row(name, loader={"start_method": "fork"}) for name in found]
    table = table_of("dataloader-memory", rows, found, definition={"timing": {"values": 3}})
    assert note(table, "Loader: ") == (
        "Loader: 4 workers (started by fork, kept over the epochs), batches of 64, 2 batches ahead per "
        "worker, thread policy pipeline-single-worker (one thread in every pool of a worker); a whole epoch "
        "of warm-up, then 3 timed epochs of 1,280 items in each repeat, in a drawn order that is the same "
        "for every library. Slow rows: one timed epoch of fewer items."
    )
    assert note(table, "Not in these figures: ") == (
        "Not in these figures: the start of the workers (median of all rows 0.5 s) and the first epoch "
        "(2.5 s). Both are in bounds.csv for every row, with what the row is bound by."
    )
    assert not any("threads per library" in text for text in table.notes)


def test_nothing_is_said_of_a_loader_that_never_ran():
    """No row has a number: the mode is named, the loader is not."""
    table = table_of("dataloader-memory", ["Flip"], {"Flip": unmeasured("failed", "raised")})
    assert note(table, "Timed: ")
    assert not any(text.startswith(("Loader: ", "Not in these")) for text in table.notes)


def test_decoders_are_named():
    """Each library's own, and how far its pixels may be off."""
    timing = {"timing": {"values": 1, "tolerance_mean_levels": 2.0}}
    table = table_of("decode", ["Decode"], {"Decode": measured(1.0)}, definition=timing)
    assert note(table, "Decoders: ") == (
        "Decoders: Pillow: libjpeg-turbo by Pillow (Image.open, convert, load). JPEG files only. Pixels may "
        "be 2 levels off Pillow's, in the mean of an image."
    )


def test_every_library_that_decodes_has_a_title():
    """Of libraries.yaml, whatever its scenario."""
    libraries = yaml.safe_load((ROOT / "config" / "libraries.yaml").read_text(encoding="utf-8"))
    adapters = {
        stanza["adapter"]
        for stanza in libraries.values()
        if "again" not in stanza  # control-aa is another of them
        if any(MODES[mode].decodes for offer in stanza["scenarios"].values() for mode in offer["modes"])
    }
    assert adapters
    assert [adapter for adapter in sorted(adapters) if not decoder_title(adapter)] == []


def test_chunked_rows_have_a_mark_a_note_and_a_reason():
    """Beside the number a k; under the table which they are; in a footnote why."""
    why = "encode_jpeg takes 1 or 3 channels"
    rows = ["Flip", plan_row("JpegCompression", chunked=why)]
    views = {"channels": 9, "views": ["as-decoded", "mirrored", "half-turn"]}
    found = {"Flip": measured(1.0), "JpegCompression": measured(1.0)}
    table = table_of("micro", rows, found, scenario="image-9ch", scenarios={"image-9ch": views})
    assert "k" in dict(table.legend)
    entries = {transform: line[0] for transform, line in table.rows}
    assert "k" in entries["JpegCompression"].marks
    assert "k" not in entries["Flip"].marks
    assert table.footnotes[entries["JpegCompression"].footnote - 1] == f"in chunks of three channels: {why}"
    assert (
        note(table, "On chunks")
        == "On chunks of three channels, one after the other: Pillow: JpegCompression."
    )
    assert note(table, "An item has") == (
        "An item has 9 channels: 3 different views of an RGB image, stacked (as-decoded, mirrored, "
        "half-turn)."
    )


def test_oversubscribed_rows_have_a_mark():
    """As the measuring process flags them."""
    found = {"Flip": measured(1.0, loader=loader(over=True, augment=1.0), flags=["oversubscribed"])}
    table = table_of("dataloader-memory", ["Flip"], found)
    assert "v" in table.rows[0][1][0].marks
    assert dict(table.legend)["v"].startswith("its workers' threads")
