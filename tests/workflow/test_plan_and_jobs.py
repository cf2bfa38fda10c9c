"""The plan, the jobs of a dry run and what was really run are one thing; a typing error runs nothing."""

import itertools
import json
import re
import time
from collections import Counter
from datetime import datetime

import pytest
import yaml

from augmark.pages import stale, with_rule_graph
from augmark.record import read_record
from tests.conftest import ROOT, copy_project

ENVIRONMENTS = 5  # four libraries, and the controls
# The whole demo, counted by hand in config/: four libraries and two controls take part in RGB micro, the four
# in each other mode of RGB images; three (not Pillow) and the controls in 9-channel micro, three in its other
# modes. control-aa, which is torchvision again, takes part where it does: everywhere. Copying to a device is
# planned nowhere here. Two repeats.
DEMO_CELLS = {
    "image-rgb micro": 2 * (4 + 2 + 1),
    "image-rgb decode": 2 * (4 + 1),
    "image-rgb dataloader-memory": 2 * (4 + 1),
    "image-rgb dataloader-decode": 2 * (4 + 1),
    "image-9ch micro": 2 * (3 + 2 + 1),
    "image-9ch dataloader-memory": 2 * (3 + 1),
    "image-9ch dataloader-decode": 2 * (3 + 1),
}
# Rows of one repeat: nine transforms alone, of which AlbumentationsX and Kornia have all, torchvision lacks
# two and Pillow four; Decode; three in recipes. Of nine channels six alone and three in recipes, which all
# three libraries have. control-aa takes what torchvision runs, up to eight rows of it.
AGAIN = 7 + 1 + 3 + 3 + 6 + 3 + 3
DEMO_RUN = 2 * ((9 + 7 + 9 + 5 + 2) + 4 + 3 * 4 + 3 * 4 + (6 * 3 + 2) + 3 * 3 + 3 * 3 + AGAIN)
DEMO_UNSUPPORTED = 2 * (2 + 4)
MICRO = ("scenarios=image-rgb", "modes=micro")


@pytest.fixture
def bare(tmp_path):
    """A copy in which nothing is made yet, not even an environment."""
    return copy_project(tmp_path / "project")


def planned(project):
    """The plan that the last start has written."""
    (path,) = (project.results / "plan").glob("*.plan.json")
    return json.loads(path.read_text())


def job_counts(said):
    """Rule -> number of jobs, from the table that a dry run prints."""
    table = said.partition("Job stats")[2].partition("Reasons:")[0]
    return {
        name.strip().replace(" ", "_"): int(n)
        for name, n in re.findall(r"^ ([a-z ]+?) +(\d+) *$", table, re.M)
    }


def listed_files(project, *keys):
    """What `augmark plan --files` names."""
    words = ["--config", *keys] if keys else []
    lines = project.run("augmark", "plan", "--files", *words).stdout.splitlines()
    return [line for line in lines if line.startswith("results/records/")]


# --- plan and jobs -----------------------------------------------------------------------------------


def test_the_dry_run_has_the_jobs_of_the_plan(bare):
    """One `measure` per cell, one `probe` per library, one environment each; and nothing is made."""
    counts = job_counts(bare.run("snakemake", "-n", "paper_tables").stderr)
    plan = planned(bare)
    assert len(plan["cells"]) == counts["measure"] == len(listed_files(bare)) == sum(DEMO_CELLS.values())
    assert len(plan["definitions"]) == counts["probe"] == sum(DEMO_CELLS.values()) / 2
    assert len(plan["locks"]) == counts["prepare_env"] == ENVIRONMENTS
    assert len(DEMO_CELLS) == len(plan["tables"]) == counts["tables"]
    # At depth min every mode takes the same 48 items, so each scenario has one set.
    assert 2 == counts["prepare_items"]
    single = {"stage_dataset", "audit_dataset", "collect", "check_coverage", "summarize"}
    assert dict.fromkeys(single, 1) == {name: counts[name] for name in single}
    assert counts["total"] == sum(counts.values()) - counts["total"]
    assert ["plan"] == [path.name for path in bare.results.iterdir()]


def test_the_whole_demo_is_what_was_counted_by_hand(bare):
    """Cells of each scenario and mode, and rows in all."""
    bare.run("snakemake", "-n", "paper_tables")
    plan = planned(bare)
    assert DEMO_CELLS == Counter(f"{cell['scenario']} {cell['mode']}" for cell in plan["cells"])
    rows = Counter(
        row["planned"]
        for cell in plan["cells"]
        for row in plan["definitions"][
            "/".join(cell[part] for part in ("scenario", "mode", "library", "device"))
        ]["rows"]
    )
    assert {"run": DEMO_RUN, "unsupported": DEMO_UNSUPPORTED} == rows


def test_the_plan_is_what_measure_makes(finished):
    """Paths of the plan, outputs of rule `measure` and `augmark plan --files` are the same."""
    summary = finished.run("snakemake", *finished.words[:1], "--summary", *finished.words[1:]).stdout
    lines = [line.split("\t") for line in summary.splitlines()]
    column = lines[0].index("rule")
    made = [line[0] for line in lines[1:] if line[column] == "measure"]
    expected = [f"results/records/{cell['path']}" for cell in planned(finished)["cells"]]
    assert 15 == len(expected)
    assert expected == made
    assert expected == listed_files(finished, *finished.words[2:])
    assert expected == [str(path.relative_to(finished.root)) for path in in_order_of_start(finished)]


def test_a_dry_run_of_two_thousand_cells_does_not_hang(bare, capsys):
    """Planned in some seconds (20 are asked for on an idle machine); the bound is for a hang alone."""
    since = time.monotonic()
    said = bare.run("snakemake", "-n", "paper_tables", "--config", *MICRO, "depth=max", "repeats=286").stderr
    seconds = time.monotonic() - since
    with capsys.disabled():
        print(f" [dry run of 2002 cells: {seconds:.1f} s] ", end="")
    assert 2002 == job_counts(said)["measure"]
    assert seconds < 60


def test_augmark_plan_says_cells_files_and_time(bare):
    """Before anything has run: every cell, how many rows, the least time, and where records go."""
    said = bare.run("augmark", "plan").stdout
    cells = re.findall(r"^(\S+)/(\S+)/\S+/cpu r[01] +\d+ +>= [^/]+ +local-", said, re.M)
    assert DEMO_CELLS == Counter(map(" ".join, cells))
    total = sum(DEMO_CELLS.values())
    rows = f"{DEMO_RUN} run, {DEMO_UNSUPPORTED} unsupported"
    assert f"{total} cells, {total} to measure; rows: {rows}" in said
    assert re.search(r"^time left: at least \S.* \(no probe yet\)$", said, re.M)
    assert f"files: {total} records below results/records" in said
    assert not (bare.results / "records").exists()


def test_augmark_plan_after_the_run(finished):
    """What is there takes no time."""
    said = finished.run("augmark", "plan", *finished.words[1:]).stdout
    assert "15 cells, 0 to measure" in said
    assert "time left: about 0 s" in said


def test_the_documented_rule_graph_is_current(bare):
    """docs/architecture.md shows the rules as Snakemake draws them where nothing is made yet."""
    graph = bare.run("snakemake", "--rulegraph", "mermaid-js", "--config", "output=empty").stdout
    assert "stage_dataset" in graph
    assert [] == stale(ROOT, with_rule_graph(ROOT, graph))


# --- the order of a real run -------------------------------------------------------------------------


def in_order_of_start(project):
    return sorted(project.records(), key=lambda path: read_record(path)["started"])


def test_cells_run_in_the_planned_order(finished):
    """Repeat by repeat, the libraries of a block one after the other in their seeded order."""
    cells = [read_record(path)["cell"] for path in in_order_of_start(finished)]
    plan = planned(finished)["cells"]
    assert [(c["library"], c["repeat"]) for c in plan] == [(c["library"], c["repeat"]) for c in cells]
    assert [0] * 5 + [1] * 5 + [2] * 5 == [cell["repeat"] for cell in cells]
    orders = {tuple(cell["library"] for cell in cells[start : start + 5]) for start in (0, 5, 10)}
    assert 1 < len(orders)


def test_every_probe_ends_before_the_first_cell(finished):
    """The libraries of a block are all probed before one of them is measured."""
    probes = [json.loads(path.read_text()) for path in finished.results.glob("probes/**/*.json")]
    assert 5 == len(probes)
    last = max(row["ended"] for probe in probes for row in probe["rows"].values())
    first = read_record(in_order_of_start(finished)[0])
    assert last < datetime.fromisoformat(first["started"]).timestamp()


def test_no_two_timed_jobs_overlap(finished):
    """From the start of one measuring process to its end no other one is at work; all are of one session."""
    records = [read_record(path) for path in in_order_of_start(finished)]
    assert 1 == len({record["session"] for record in records})
    for before, after in itertools.pairwise(records):
        assert before["started"] < before["ended"] <= after["started"]


# --- what is refused ---------------------------------------------------------------------------------


def spoil_transforms(project):
    project.edit("transforms.yaml", lambda content: content["Rotate"].update(famly="geometry"))


def spoil_libraries(project):
    project.edit("libraries.yaml", lambda content: content["pillow"].update(adapter="pilow"))


def spoil_tables(project):
    project.edit("tables.yaml", lambda content: content["tables"]["image-rgb-micro"].update(mode="mirco"))


def spoil_config(project):
    project.edit("config.yaml", lambda content: content.update(libraries=["kornai"]))


REFUSED = {
    "a name": (["libraries=pilow"], None, ["--config", "libraries", "pilow", "did you mean pillow?"]),
    "a key": (["librarys=pillow"], None, ["--config", "librarys", "did you mean libraries?"]),
    "two at once": (["depth=mx", "transforms=Rotat"], None, ["2 problems", "mx", "max", "Rotat", "Rotate"]),
    "a key of a file": ([], spoil_transforms, ["config/transforms.yaml", "Rotate.famly", "mean family?"]),
    "a value of a file": ([], spoil_libraries, ["config/libraries.yaml", "pillow", "pilow"]),
    "a mode of a table": ([], spoil_tables, ["config/tables.yaml", "image-rgb-micro", "mirco", "micro"]),
    "a name in config.yaml": ([], spoil_config, ["config/config.yaml", "libraries", "kornai", "kornia"]),
    "the campaign": (["campaign=paper"], None, ["campaign", "paper", "never measured at the desk", "remedy"]),
    "a number": (["items=100000"], None, ["--config", "items", "100000", "256"]),
    "a folder that is not there": (["images=no/where"], None, ["--config", "images", "no/where"]),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_wrong_fails_before_any_job(bare, what):
    """File, key and the nearest valid name; no job was started, and `augmark` says the same."""
    keys, spoil, expected = REFUSED[what]
    if spoil is not None:
        spoil(bare)
    words = ["--config", *keys] if keys else []
    done = bare.run("snakemake", "paper_tables", *words, check=False)
    assert 0 != done.returncode
    assert [] == [part for part in expected if part not in done.stderr]
    assert "Traceback" not in done.stderr
    assert not (bare.results / "logs").exists()
    asked = bare.run("augmark", "plan", *words, check=False)
    assert 2 == asked.returncode
    assert [] == [part for part in expected if part not in asked.stderr]


# --- the profile -------------------------------------------------------------------------------------


def test_the_default_profile_leaves_resources_and_config_to_the_machines():
    """A machine profile brings both, and a key that stands in two profiles is replaced as a whole."""
    profile = yaml.safe_load((ROOT / "profiles" / "default" / "profile.yaml").read_text())
    keys = {key.split(":")[0] for key in profile}
    forbidden = {"resources", "set-resources", "default-resources", "config", "configfile", "configfiles"}
    assert set() == keys & forbidden
