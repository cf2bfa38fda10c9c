"""Plan files from end to end, with the fake library: verdict, exit status, and what records keep."""

import json

import pytest
import yaml

from augmark.record import read_record

DELAY = """
SECONDS = float(os.environ.get("FAKE_DELAY_SECONDS", "0"))


@builds("Works")
def works(params: Params) -> Apply:
    def apply(item: np.ndarray) -> np.ndarray:
        time.sleep(SECONDS)
        return invert(item)

    return apply if SECONDS else invert
"""
PLAN = {
    "title": "A delay",
    "question": "Does a delay make it slower?",
    "scenario": "image-rgb",
    "mode": "micro",
    "device": "cpu",
    "transforms": ["Works"],
    "items": 4,
    "repeats": 3,
    "groups": {
        "delay": {
            "without-delay": {"role": "baseline", "library": "fake"},
            "with-delay": {
                "role": "candidate",
                "library": "fake",
                "variables": {"FAKE_DELAY_SECONDS": "0.01"},
            },
        }
    },
}
REPORT = ("plan_report", "--config")


@pytest.fixture
def asking(fake_project):
    """The fake project, whose one working transform waits as long as a variable says, with plan files."""
    module = fake_project.root / "workflow" / "augmark" / "libraries" / "fake.py"
    text = module.read_text(encoding="utf-8")
    old = '@builds("Works")\ndef works(params: Params) -> Apply:\n    return invert\n'
    assert old in text
    module.write_text(text.replace(old, DELAY), encoding="utf-8")

    def policy(content):
        content["plans"]["variables"] = ["FAKE_DELAY_SECONDS", "FAKE_HARMLESS"]

    fake_project.edit("policy.yaml", policy)
    # Short values: what is told apart here is a hundred times as slow.
    fake_project.edit(
        "depths/max.yaml", lambda content: content.update(min_value_seconds=0.02, warmup_seconds=0.01)
    )
    write(fake_project, "delay", PLAN)
    return fake_project


def write(project, name, content):
    folder = project.root / "config" / "plans"
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")


def told(project, name):
    return json.loads((project.results / "plans" / name / "report.json").read_text(encoding="utf-8"))


def test_a_slower_candidate_fails_and_leaves_its_report(asking):
    """Exit status 1 and a verdict on the terminal; the records tell the conditions and the question apart."""
    done = asking.run("snakemake", *REPORT, "plan=delay", check=False)
    report = told(asking, "delay")
    (pairing,) = report["pairings"]
    assert 1 == done.returncode, done.stderr[-4000:]
    assert {"Works": "slower"} == {row["transform"]: row["verdict"] for row in pairing["rows"]}
    assert "1 of 1 rows of candidates fail (it fails on: blocked and slower)" in done.stderr
    assert ["variables.FAKE_DELAY_SECONDS: not set and 0.01"] == pairing["differs"]
    folders = {path.parent.parent.name for path in asking.records()}
    assert {"without-delay", "with-delay", "control-aa", "control-copy", "control-slow"} == folders
    for path in asking.records():
        record = read_record(path)
        assert report["question"] == record["question"]
        asked = {"FAKE_DELAY_SECONDS": "0.01"} if "/with-delay/" in str(path) else {}
        assert asked == record["definition"]["variables"]
        assert {"plan": "delay"} == record["overrides"]
    assert 15 == len(asking.records())
    # A second time nothing is measured, and the answer is the same.
    before = {path: path.stat().st_mtime_ns for path in asking.records()}
    again = asking.run("snakemake", *REPORT, "plan=delay", check=False)
    assert (1, before) == (again.returncode, {path: path.stat().st_mtime_ns for path in asking.records()})


def test_the_same_under_two_names_passes(asking):
    """A variable that does nothing: nothing fails; what the command line said is in the records."""
    harmless = {"role": "candidate", "library": "fake", "variables": {"FAKE_HARMLESS": "1"}}
    conditions = {"before": {"role": "baseline", "library": "fake"}, "after": harmless}
    # With the whole of a half as margin: this machine may be at work on something else.
    write(asking, "harmless", {**PLAN, "groups": {"only": conditions}, "margin": 0.5, "fail_on": ["blocked"]})
    done = asking.run("snakemake", *REPORT, "plan=harmless", "repeats=4", "transforms=Works,WorksAtRandom")
    report = told(asking, "harmless")
    (pairing,) = report["pairings"]
    assert ["Works", "WorksAtRandom"] == sorted(row["transform"] for row in pairing["rows"])
    assert {"blocked": 0, "slower": 0} == {name: pairing["counts"][name] for name in ("blocked", "slower")}
    assert {"repeats": 4, "transforms": ["Works", "WorksAtRandom"]} == report["overrides"]
    assert "0 of 2 rows of candidates fail" in done.stderr
    record = read_record(next(path for path in asking.records() if "/after/" in str(path)))
    assert 3 == record["question"]["repeats"]
    assert {"plan": "harmless", **report["overrides"]} == record["overrides"]


def test_what_could_not_be_decided_is_no_pass(asking):
    """One repeat makes no interval: the report stays, says what it wants, and the exit status is not 0."""
    done = asking.run("snakemake", *REPORT, "plan=delay", "repeats=1", check=False)
    said = (
        "0 of 1 rows of candidates fail (it fails on: blocked and slower). "
        "Nothing is answered: no row of a candidate was judged: 1 for want of repeats."
    )
    assert 1 == done.returncode
    assert said in done.stderr
    assert {"status": 1, "why": said} == told(asking, "delay")["exit"]
    assert said in (asking.results / "plans" / "delay" / "report.md").read_text(encoding="utf-8")


def test_a_second_plan_file_with_the_same_baseline_has_its_own_floor(asking):
    """Under other ids all is measured anew, the control too, and so it is paired and judged."""
    conditions = {f"other-{name}": its for name, its in PLAN["groups"]["delay"].items()}
    write(asking, "other", {**PLAN, "groups": {"delay": conditions}})
    for name, baseline in (("delay", "without-delay"), ("other", "other-without-delay")):
        done = asking.run("snakemake", *REPORT, f"plan={name}", check=False)
        report = told(asking, name)
        assert 1 == done.returncode
        assert (baseline, "control-aa", 3) == tuple(
            report["floors"]["delay"].get(key) for key in ("library", "control", "repeats")
        )
        assert ["slower"] == [row["verdict"] for row in report["pairings"][0]["rows"]]


def test_the_conditions_of_a_repeat_are_measured_one_after_the_other(asking):
    """Repeat 0 of every condition, in a drawn order, then repeat 1: never one condition after the other."""
    lines = asking.run("augmark", "plan", "--config", "plan=delay").stdout.splitlines()
    assert lines[0].startswith("plan delay, depth max, machine ")
    cells = [line.split()[:2] for line in lines if line.startswith("image-rgb/micro/")]
    assert [repeat for repeat in ("r0", "r1", "r2") for _ in range(5)] == [repeat for _, repeat in cells]


def test_without_a_plan_file_the_target_says_which_there_are(asking):
    """Nothing is measured, and the remedy names what can be given."""
    done = asking.run("snakemake", "plan_report", check=False)
    assert 1 == done.returncode
    assert "no plan file is chosen" in done.stderr
    assert "plan=NAME; there are: delay" in done.stderr
    assert [] == asking.records()


def test_a_broken_plan_file_runs_nothing(asking):
    """All that is wrong is said at once, before an environment is built."""
    broken = {**PLAN, "repeats": 2, "groups": {"delay": {**PLAN["groups"]["delay"]}}}
    broken["groups"]["delay"]["with-delay"] = {"role": "baseline", "library": "fak"}
    write(asking, "delay", broken)
    done = asking.run("snakemake", *REPORT, "plan=delay", check=False)
    assert 0 != done.returncode
    assert "4 problems in the configuration" in done.stderr
    for place in (
        "repeats: at least 3",
        "groups.delay: has 2 baselines",
        "groups: no group has a candidate",
        "did you mean fake",
    ):
        assert place in done.stderr
    assert not (asking.results / "plans").exists()
