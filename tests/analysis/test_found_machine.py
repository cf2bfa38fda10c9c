"""Tables, figures and coverage name the machine that was found, as the records have it."""

import pandas as pd
import pytest

from augmark.analysis import markdown
from augmark.analysis.coverage import cover, render
from augmark.analysis.efficiency import timed_shares
from augmark.analysis.found_machine import label_of, machine_words
from augmark.analysis.gather import record_lines
from tests.analysis import synthetic
from tests.analysis.synthetic import HOST, ORIGIN, carried, make_plan, make_record, measured
from tests.analysis.test_tables import table_of

ONE = "Google Cloud c4-standard-16: INTEL(R) XEON(R) PLATINUM 8581C, 16 processors, 58.9 GiB"
OTHER = ONE.replace("58.9", "58.8")
PLAN = make_plan({"pillow": ["Flip", "Blur"], "kornia": ["Flip"]}, repeats=1, machine="c4-standard-16")


def found(label):
    return {"label": label, "found": {}}


def records(*labels):
    """A record of each library, with these labels."""
    told = {"Flip": measured(1.0), "Blur": measured(2.0)}
    libraries = zip(("pillow", "kornia"), labels, strict=True)
    return [make_record(PLAN, library, 0, told, machine=found(label)) for library, label in libraries]


def test_one_machine_is_named_once():
    """The label of the records, under the table; the title of the machine has its id in it."""
    made = synthetic.make_records(PLAN, records(ONE, ONE))
    text = markdown.render(table_of(PLAN, records(ONE, ONE)))
    assert text.count("16 processors") == 1
    assert markdown.escape(f"Machine {ONE}; threads per library: 1.") in text
    assert timed_shares(made.frame)["machine_found"].unique().tolist() == [ONE]


def test_machines_that_differ_are_all_named():
    """Whatever the plan says: two hosts measured these rows."""
    coverage = cover(PLAN, records(OTHER, ONE))
    assert f"machine: {OTHER}; {ONE}" in render(coverage).splitlines()
    assert markdown.escape(f"Machine {OTHER}; {ONE}; threads") in markdown.render(
        table_of(PLAN, records(OTHER, ONE))
    )


def test_a_carried_row_keeps_the_label_of_its_host():
    """It was measured elsewhere, and the record that holds it says so of that row alone."""
    told = {"Flip": carried(1.0, carried_from={**ORIGIN, "machine": found(OTHER)}), "Blur": measured(2.0)}
    record = make_record(PLAN, "pillow", 0, told, machine=found(ONE))
    lines = record_lines(record, PLAN["cells"][0]["path"])
    assert {"Flip": OTHER, "Blur": ONE} == {line["transform"]: line["machine_label"] for line in lines}


@pytest.mark.parametrize(
    ("host", "figures"),
    [
        (HOST, "Test CPU @ 2.00GHz, 2 processors, 8.0 GiB"),
        ({"cpu_model": None, "cpus": 1}, "processor unknown, 1 processor, memory unknown"),
    ],
)
def test_earlier_records_are_labelled_by_their_host(host, figures):
    """Those of schema 3 and 2 have no label; what they know of their host makes one, without a title."""
    source = {"host": host}
    assert label_of({"cell": {"machine": "local-3f9a"}}, source) == f"local-3f9a: {figures}"


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ([None], "mine, of which there is no record"),
        (["My node: a CPU", None, "My node: a CPU"], "mine, My node: a CPU"),
        (["mine: a CPU", "mine: B"], "mine: B; mine: a CPU"),
    ],
)
def test_words(labels, words):
    """The id is added where the title does not have it; rows without a record have no label."""
    assert machine_words("mine", pd.DataFrame({"machine_label": labels})) == words
