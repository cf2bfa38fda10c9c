"""Repeats go the way of the schedule: once, then thrice, then five times where the rule asks; and claims."""

import csv
import json
import shutil
from collections import Counter

import pytest
import yaml

from tests.conftest import Project, copy_project, make_fake

NAMES = ("Works", "WorksAtRandom")
KEYS = (f"transforms={','.join(NAMES)}",)
CLAIM = {"kind": "faster", "library": "fake", "scenario": "image-rgb", "mode": "micro", "device": "cpu"}
CLAIMS = {
    "same-code-a-hundred-times-faster": {
        **CLAIM,
        "than": "fake-too",
        "transforms": ["Works"],
        "at_least": 100,
    },
    "on-another-machine": {**CLAIM, "than": "fake-too", "transforms": ["Works"], "at_least": 2},
}
MACHINES = dict(zip(CLAIMS, ("local", "macbook-m4"), strict=True))


def schedule(project):
    """Start with one repeat at a depth that claims; the last step is for what is unstable alone."""
    project.edit("depths/min.yaml", lambda content: content.update(repeats=1, stamp=None))

    def rule(content):
        content["repeats"]["more_where"]["undecided"] = False
        content["statistics"]["unstable_cv"] = 1

    project.edit("policy.yaml", rule)


@pytest.fixture(scope="module")
def staged(tmp_path_factory, environments):
    """A project of the fake libraries that has been through both stages; what was said after each."""
    project = make_fake(copy_project(tmp_path_factory.mktemp("staged") / "project"))
    project.results.mkdir()
    (project.results / "envs").symlink_to(environments)
    schedule(project)
    claims = {name: {**stanza, "machine": MACHINES[name]} for name, stanza in CLAIMS.items()}
    (project.root / "config" / "claims.yaml").write_text(yaml.safe_dump(claims), encoding="utf-8")
    said, repeats = [], []

    def run(target):
        said.append(project.run("snakemake", target, "--config", *KEYS).stderr)
        repeats.append(counted(project))

    run("topup")
    # What the rule needs, and nothing else, in a copy of the project as it is now.
    project.bare = Project(tmp_path_factory.mktemp("bare") / "project")
    shutil.copytree(project.root, project.bare.root, ignore=shutil.ignore_patterns("results", ".snakemake"))
    for path in (
        *project.results.glob("records/*/*.parquet"),
        project.results / "tables" / "equivalence.csv",
    ):
        place = project.bare.results / path.relative_to(project.results)
        place.parent.mkdir(parents=True)
        shutil.copy2(path, place)
    run("paper_tables")
    # Now that three repeats are there, call one of the rows unstable and nothing else.
    shake(project)
    run("topup")
    run("paper_tables")
    return project, said, repeats


def counted(project):
    """Transform -> repeats of the library ``fake`` that hold it."""
    found = Counter()
    for path in project.records():
        record = json.loads(path.read_text())
        if record["cell"]["library"] == "fake":
            found.update(row["transform"] for row in record["rows"])
    return dict(found)


def shake(project):
    """Set the limit of CV so that some rows are above it, and some are not."""
    (path,) = project.results.glob("tables/summary.csv")
    lines = list(csv.DictReader(path.open(encoding="utf-8")))
    highest = max(
        lines, key=lambda line: float(line["cv"] or 0) * (not line["library"].startswith("control-"))
    )
    project.edit(
        "policy.yaml", lambda content: content["statistics"].update(unstable_cv=float(highest["cv"]) * 0.9999)
    )
    project.shaken = highest["transform"]


def stages(project):
    paths = sorted(project.results.glob("plan/*.topup-*.json"))
    return [json.loads(path.read_text()) for path in paths]


def test_first_once_then_thrice_then_by_the_rule(staged):
    """Each command measures what the stage that it decides from has, and no more."""
    project, _, repeats = staged
    assert [dict.fromkeys(NAMES, 1), dict.fromkeys(NAMES, 3)] == repeats[:2]
    assert repeats[1] == repeats[2]
    assert {**dict.fromkeys(NAMES, 3), project.shaken: 5} == repeats[3]


def test_the_rule_alone(staged):
    """From the records and the classes of work alone: the same bytes, and a log."""
    project, *_ = staged
    before = {path for path in project.bare.results.rglob("*") if path.is_file()}
    project.bare.run("snakemake", "topup", "--allowed-rules", "topup", "--config", *KEYS)
    made = {path for path in project.bare.results.rglob("*") if path.is_file()} - before
    (stage,) = [path for path in made if ".topup-" in path.name]
    assert {stage, project.bare.results / "logs" / "topup.log"} == {
        path for path in made if path.parent.name != "plan" or path == stage
    }
    assert (project.results / "plan" / stage.name).read_bytes() == stage.read_bytes()


def test_a_stage_says_where_and_why(staged):
    """The first is everywhere; the second has the unstable row, and the rule as the policy has it."""
    project, *_ = staged
    first, second = stages(project)
    assert (1, 3, "all") == (first["stage"], first["repeats"], first["where"])
    assert (2, 5, 2) == (second["stage"], second["repeats"], second["considered"])
    (field,) = second["where"]
    assert ("image-rgb", "micro", "cpu", project.shaken) == tuple(
        field[name] for name in ("scenario", "mode", "device", "transform")
    )
    assert field["why"].startswith("unstable: fake")
    policy = yaml.safe_load((project.root / "config" / "policy.yaml").read_text())
    assert policy["repeats"] == second["rule"]


def test_a_run_says_what_was_decided(staged):
    """At its end, and in `augmark plan`."""
    project, said, _ = staged
    assert "topup 1: 3 repeats of everything" in said[0]
    assert "topup 2: 5 repeats of 1 of 2 transforms, by the rule" in said[2]
    plan = project.run("augmark", "plan", "--config", *KEYS).stdout
    assert "repeats  schedule 1, 3, 5\n" in plan
    assert "topup 2: 5 repeats of 1 of 2 transforms, by the rule" in plan


def test_blocks_of_the_last_step_are_whole(staged):
    """Both libraries and the control that is one of them take it; the others have nothing to add."""
    project, *_ = staged
    late = [json.loads(path.read_text()) for path in project.records()]
    late = [record for record in late if record["cell"]["repeat"] >= 3]
    libraries = {"fake", "fake-too", "control-aa"}
    assert {(name, repeat) for name in libraries for repeat in (3, 4)} == {
        (record["cell"]["library"], record["cell"]["repeat"]) for record in late
    }
    assert {project.shaken} == {row["transform"] for record in late for row in record["rows"]}


def test_tables_say_how_many_repeats_each_row_rests_on(staged):
    """Five for one row, three for the others."""
    project, *_ = staged
    (path,) = project.results.glob("tables/image-rgb-micro.csv")
    lines = list(csv.DictReader(path.open(encoding="utf-8")))
    rests = {(line["library"], line["transform"]): line["repeats"] for line in lines}
    for library in ("fake", "fake-too"):
        expected = {name: "5" if name == project.shaken else "3" for name in NAMES}
        assert expected == {name: rests[library, name] for name in NAMES}


def test_after_the_last_stage_topup_is_refused(staged):
    """By the schedule, and nothing is measured or written."""
    project, *_ = staged
    before = {
        path: path.stat().st_mtime_ns for path in [*project.records(), *project.results.glob("plan/*up*")]
    }
    done = project.run("snakemake", "topup", "--config", *KEYS, check=False)
    assert 0 != done.returncode
    assert "the schedule is 1, 3, 5, and all of it is decided (2 of 2 stages)" in done.stderr
    assert "Traceback" not in done.stderr
    after = {
        path: path.stat().st_mtime_ns for path in [*project.records(), *project.results.glob("plan/*up*")]
    }
    assert before == after


def test_a_number_that_is_given_leaves_nothing_to_decide(staged):
    """Before any record is asked for."""
    project, *_ = staged
    done = project.run("snakemake", "topup", "--config", *KEYS, "repeats=2", check=False)
    assert 0 != done.returncode
    assert "repeats=2 is given, so there is nothing for topup to decide" in done.stderr


def test_stages_of_a_part_leave_the_campaign_as_it_is(staged):
    """Without the keys that narrow, nothing is decided: one repeat is planned."""
    project, *_ = staged
    said = project.run("augmark", "plan").stdout
    assert "repeats  schedule 1, 3, 5; `snakemake topup` goes a step further\n\n" in said


def test_a_stage_is_verified_and_a_forged_one_is_found(staged):
    """Both are decided again from the repeats below them; by another choice the rule `topup` is broken."""
    project, *_ = staged

    def topups():
        told = json.loads(project.run("augmark", "verify", "--json", "--config", *KEYS, check=False).stdout)
        assert not [note for note in told["notes"] if "cannot be decided again" in note]
        return [finding for finding in told["findings"] if "topup" == finding["rule"]]

    assert [] == topups()
    path = sorted(project.results.glob("plan/*.topup-2.json"))[0]
    whole = path.read_text()
    stage = json.loads(whole)
    try:
        path.write_text(json.dumps({**stage, "considered": 3}))
        (finding,) = topups()
        assert ("considered is 3, the records give 2", f"results/plan/{path.name}") == (
            finding["what"],
            finding["file"],
        )
        path.write_text(json.dumps({**stage, "repeats": 9}))
        done = project.run("augmark", "verify", "--config", *KEYS, check=False)
        assert 2 == done.returncode
        assert "repeats is 9, the plan asks for 5" in done.stderr
    finally:
        path.write_text(whole)


# --- claims ------------------------------------------------------------------------------------------


def test_a_claim_that_the_records_do_not_carry_is_refused_by_name(staged):
    """The same code is not a hundred times faster than itself; another machine's claim is not judged."""
    project, *_ = staged
    (path,) = project.results.glob("tables/claims.csv")
    lines = {line["claim"]: line for line in csv.DictReader(path.open(encoding="utf-8"))}
    said = lines["same-code-a-hundred-times-faster"]
    assert "refused" == said["verdict"]
    assert "wholly below 100" in said["reason"]
    assert float(said["low"]) <= float(said["ratio"]) <= float(said["high"]) < 100
    assert "not judged" == lines["on-another-machine"]["verdict"]


def test_augmark_claims_says_the_same_by_its_exit_status(staged):
    """1 where a claim is refused; 0 where none is."""
    project, *_ = staged
    done = project.run("augmark", "claims", "--config", *KEYS, check=False)
    assert 1 == done.returncode
    assert "refused" in done.stdout
    assert "claims: 1 refused, 1 not judged" in done.stdout
