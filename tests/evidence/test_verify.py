"""`augmark verify`: a run verifies; every spoiled byte is found, with file, rule and remedy."""

import json
import re
import shutil

import pyarrow.parquet as pq
import pytest

from augmark.evidence.findings import RULES, Finding
from augmark.evidence.rebuild import Sources, gathered
from augmark.evidence.verify_products import refused_claims
from augmark.plan import Plan
from tests.evidence.conftest import WORDS
from tests.evidence.spoiling import TABLE, found_by

# --- nothing is wrong --------------------------------------------------------------------------------


def test_a_run_verifies(measured):
    """The command ends with 0, and counts what it has looked at."""
    done = measured.run("augmark", "verify", *WORDS)
    assert "everything holds: no finding" in done.stdout
    assert "10 records (10 sealed), 16 rows, 32 raw values" in done.stdout
    told = json.loads(measured.run("augmark", "verify", "--json", *WORDS).stdout)
    assert ([], [], 10, 32) == (told["findings"], told["notes"], told["records"], told["values"])
    assert [] == told["unverified"]
    # records.parquet, 10 pyperf files, and every file of tables/ and figures/
    made = [path for part in ("tables", "figures") for path in (measured.results / part).rglob("*.*")]
    assert 11 + len(made) == told["files_compared"]
    assert told["numbers_compared"] > 100


def test_verifying_changes_nothing(measured):
    """No file of the project is written, or newer."""

    def state():
        return {
            path: path.stat().st_mtime_ns for path in measured.root.rglob("*") if "envs" not in path.parts
        }

    before = state()
    measured.examine()
    assert before == state()


def test_records_alone_verify(spoiled):
    """Whoever has records only: no product, no probe, no samples; then with tables made from them."""
    for name in ("tables", "figures", "probes", "pyperf", "items", "datasets"):
        shutil.rmtree(spoiled.results / name)
    (spoiled.root / spoiled.plan.records_file).unlink()
    assert {("results/tables", "published-file"): ["no table or figure has been made"]} == found_by(spoiled)


def test_without_samples_equivalence_is_taken_as_it_is(spoiled):
    """Everything else is compared, and the summary says what was not verified."""
    shutil.rmtree(spoiled.results / "probes")
    path = spoiled.results / "tables" / "equivalence.csv"
    found = spoiled.examine()
    assert [] == found.findings
    (what,) = found.unverified
    assert "results/tables/equivalence.csv was taken as it is" in what
    done = spoiled.run("augmark", "verify", *WORDS)
    *_, summary, last = done.stdout.splitlines()
    assert summary.startswith("everything that could be verified holds in ")
    assert f"not verified: {what}" == last
    assert "everything holds" not in done.stdout
    assert path.exists()


# --- what was made from them -------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["md", "tex"])
def test_an_edited_number_of_a_table_is_named(spoiled, ending):
    """File, line, the number found and the one that the records give."""
    path = spoiled.root / f"{TABLE}.{ending}"
    lines = path.read_text().splitlines()
    at = next(k for k, line in enumerate(lines) if line.lstrip("| ").startswith("WorksAtRandom"))
    number = re.search(r"\d[\d,]+", lines[at]).group()
    changed = str(9 - int(number[0])) + number[1:] if number[0] != "9" else "1" + number[1:]
    lines[at] = lines[at].replace(number, changed, 1)
    path.write_text("\n".join(lines) + "\n")
    what = f"line {at + 1}: says {changed}, the records give {number}"
    assert {(f"{TABLE}.{ending}", "published-number"): [what]} == found_by(spoiled)


def test_an_edited_number_of_a_csv_is_named(spoiled):
    """File, row, column, and both numbers."""
    path = spoiled.root / f"{TABLE}.csv"
    head, first, *rest = path.read_text().splitlines()
    fields = first.split(",")
    at = head.split(",").index("throughput")
    number, fields[at] = fields[at], "123456.5"
    path.write_text("\n".join([head, ",".join(fields), *rest]) + "\n")
    (((file, rule), (what,)),) = found_by(spoiled).items()
    assert (f"{TABLE}.csv", "published-number") == (file, rule)
    named = ", ".join(fields[head.split(",").index(name)] for name in ("library", "device", "transform"))
    assert what.startswith(f"row 1 ({named}")
    assert what.endswith(f"column throughput: says 123456.5, the records give {number}")


def test_an_edited_word_is_named(spoiled):
    """A class of equivalence.csv: where samples are here, it is made from them again."""
    path = spoiled.results / "tables" / "equivalence.csv"
    path.write_text(path.read_text().replace("identical", "different", 1))
    (((file, rule), (what,)),) = found_by(spoiled).items()
    assert ("results/tables/equivalence.csv", "published-file") == (file, rule)
    assert what.endswith("column class: says different, the records give identical")


def test_two_tables_that_changed_places_are_named(spoiled):
    """Each says whose content it holds."""
    one, other = (spoiled.results / "tables" / name for name in ("summary.csv", "efficiency.csv"))
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)
    names = "results/tables/summary.csv", "results/tables/efficiency.csv"
    assert {
        (names[0], "published-file"): [f"holds what belongs into {names[1]}"],
        (names[1], "published-file"): [f"holds what belongs into {names[0]}"],
    } == found_by(spoiled)


def test_a_deleted_table_is_named(spoiled):
    """One file is missing, the others are compared."""
    (spoiled.root / f"{TABLE}.md").unlink()
    assert {(f"{TABLE}.md", "published-file"): ["is not there"]} == found_by(spoiled)


def test_a_figure_that_is_cut_off_is_named(spoiled):
    """With its size, and what it should be; and one with a flipped byte."""
    path = spoiled.results / "figures" / "efficiency.pdf"
    whole = path.read_bytes()
    path.write_bytes(whole[:1000])
    what = f"is cut off: 1000 of {len(whole)} bytes"
    assert {(spoiled.name(path), "published-file"): [what]} == found_by(spoiled)
    path.write_bytes(whole[:1000] + bytes([whole[1000] ^ 1]) + whole[1001:])
    what = "differs from byte 1000 on from what the records give"
    assert {(spoiled.name(path), "published-file"): [what]} == found_by(spoiled)


def test_a_file_of_no_product_is_noted(spoiled):
    """It may be another plan's: nothing here says whether it holds."""
    (spoiled.results / "tables" / "mine.csv").write_text("a,b\n1,2\n")
    found = spoiled.examine()
    assert [] == found.findings
    assert any("results/tables/mine.csv" in note for note in found.notes)


def test_an_edited_parquet_is_named_by_row_and_column(spoiled):
    """One field, written back with the same schema."""
    path = spoiled.root / spoiled.plan.records_file
    table = pq.read_table(path)
    column = table.schema.get_field_index("seconds_per_item")
    values = table.column(column).to_pylist()
    at = next(k for k, value in enumerate(values) if value is not None)
    old, values[at] = values[at], 0.5
    field = table.schema.field(column)
    pq.write_table(table.set_column(column, field, [values]), path)
    name = spoiled.name(path)
    (((file, rule), (what,)),) = found_by(spoiled).items()
    assert (name, "records-parquet") == (file, rule)
    assert what.startswith(f"row {at + 1} (local-")
    assert what.endswith(f"column seconds_per_item: is 0.5, the record gives {old}")


def test_a_parquet_that_is_none_or_written_by_others_is_named(spoiled):
    """The same fields with another compression; no parquet at all; not there."""
    path = spoiled.root / spoiled.plan.records_file
    name = spoiled.name(path)
    pq.write_table(pq.read_table(path), path, compression="snappy")
    what = "holds the same fields, and was not written like this by `collect`"
    assert {(name, "records-parquet"): [what]} == found_by(spoiled)
    path.write_bytes(b"PAR1")
    (what,) = found_by(spoiled)[name, "records-parquet"]
    assert what.startswith("cannot be read: ")
    path.unlink()
    assert {(name, "records-parquet"): ["is not there"]} == found_by(spoiled)


def test_an_edited_pyperf_file_is_named(spoiled):
    """By the place in it; and one that is missing."""
    path = spoiled.results / "pyperf" / spoiled.record("fake").relative_to(spoiled.results / "records")
    content = json.loads(path.read_text())
    content["benchmarks"][0]["runs"][0]["values"][0] = 0.25
    path.write_text(json.dumps(content))
    name = spoiled.name(path)
    (((file, rule), (what,)),) = found_by(spoiled).items()
    assert (name, "pyperf-file") == (file, rule)
    assert what.startswith("benchmarks/0/runs/0/values/0: is '0.25', the record gives ")
    path.unlink()
    assert {(name, "pyperf-file"): ["is not there"]} == found_by(spoiled)


# --- claims ------------------------------------------------------------------------------------------


def test_a_claim_that_the_records_do_not_carry_is_named(measured, tmp_path):
    """Two repeats are too few for any claim; at a depth that claims nothing none is judged."""
    claim = {
        "kind": "faster",
        "library": "fake",
        "than": "fake-too",
        "transforms": ["Works"],
        "scenario": "image-rgb",
        "mode": "micro",
        "device": "cpu",
        "machine": "local",
        "at_least": 1.2,
    }
    content = {**measured.plan.content, "claims": {"fake-over-fake-too": claim}}
    records = [measured.results / "records" / cell["path"] for cell in content["cells"]]
    classes = measured.results / "tables" / "equivalence.csv"

    def found(content):
        plan = Plan(content, measured.results)
        (tmp_path / "tables").mkdir(exist_ok=True)
        shutil.copy2(classes, tmp_path / "tables")
        sources: Sources = gathered(plan, tmp_path, records, classes)
        return refused_claims(sources, "config/claims.yaml")

    assert [] == found(content)
    (finding,) = found({**content, "stamp": None})
    assert ("config/claims.yaml", "claim") == (finding.file, finding.rule)
    assert finding.what.startswith(
        "fake-over-fake-too, Works: fake is at least 1.2 times as fast as fake-too"
    )


# --- findings ----------------------------------------------------------------------------------------


def test_a_finding_has_a_known_rule():
    """What a rule asks stands in one list."""
    assert "f: order: late\n  remedy: none" == str(Finding("f", "order", "late", "none"))
    with pytest.raises(ValueError, match="no such rule: astrology"):
        Finding("f", "astrology", "late", "none")
    assert all(RULES.values())
