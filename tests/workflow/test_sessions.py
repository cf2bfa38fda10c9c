"""All cells of one scenario, mode and device are one session: who asks for it, and with what."""

from __future__ import annotations

import json
import re

from tests.conftest import ROOT

MEASURING = {"probe", "measure", "session"}


def jobs(project, *words):
    """Rule -> number of jobs, of a dry run."""
    shown = project.run("snakemake", "-n", *words).stderr
    return {
        name.replace(" ", "_"): int(count)
        for name, count in re.findall(r"^ ([a-z ]+?) +(\d+) *$", shown, re.M)
    }


def test_only_what_is_measured_leaves_this_host(finished):
    """Every other rule is done where the command was given: a new rule is named there too."""
    listed = finished.run("snakemake", "--list-rules", *finished.words[1:]).stdout.split("\n")
    rules = {name for name in listed if name.isidentifier()}
    block = (ROOT / "Snakefile").read_text().split("localrules:")[1].split("\n\n")[0]
    assert rules - MEASURING == set(re.findall(r"[a-z_]+", block))


def test_every_place_is_one_session(project):
    """As many as the plan has combinations of scenario, mode and device."""
    found = jobs(project, "--profile", "gcp-c4", "paper_tables", "--config", "depth=min")
    plan = json.loads((project.results / "plan" / "c4-standard-16.plan.json").read_text())
    places = {
        (scenario, mode, device) for scenario, mode, _, device in (k.split("/") for k in plan["definitions"])
    }
    assert found["session"] == len(places) > 1
    assert found["measure"] == len(plan["cells"])


def test_what_is_there_asks_for_no_session(ran_copy):
    """A session that is whole is not begun again, also without what gathered it."""
    for path in ran_copy.results.glob("sessions/*/*/*/*.json"):
        path.unlink()
    assert MEASURING & set(jobs(ran_copy, *ran_copy.words)) == set()


def test_an_interrupted_session_goes_on_with_what_is_missing(ran_copy):
    """One lost cell is one cell to measure, in one session."""
    ran_copy.records()[4].unlink()
    found = jobs(ran_copy, *ran_copy.words)
    assert {name: found.get(name, 0) for name in MEASURING} == {"probe": 0, "measure": 1, "session": 1}


def test_a_session_says_on_which_host_its_cells_were_measured(finished):
    (path,) = finished.results.glob("sessions/*/*/*/*.json")
    (stretch,) = json.loads(path.read_text())["stretches"]
    records = [json.loads(each.read_text()) for each in finished.records()]
    assert stretch["hosts"] == sorted({record["machine"]["label"] for record in records})
    assert stretch["session"] == records[0]["session"]
    assert stretch["started"] == min(record["started"] for record in records)
