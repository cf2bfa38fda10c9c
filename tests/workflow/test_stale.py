"""What changes makes the rows stale that depend on it, and `augmark coverage` says which and why; what does
not change a measurement makes none.
"""

import json
import os
import re
import subprocess

import pytest

from augmark.analysis.coverage import STALE, cover
from tests.conftest import Project, copy_project
from tests.workflow.planned import plan_of, records_of, write_records

LOADER = ("dataloader-memory", "dataloader-decode")
AGAIN = ("torchvision", "control-aa")  # control-aa is torchvision a second time
DIGEST = "[0-9a-f]{10}"
CODE = rf"measuring code {DIGEST} -> {DIGEST} \(measured at commit c0ffee0123\)"


@pytest.fixture
def bare(tmp_path):
    """A copy in which nothing is made yet."""
    return copy_project(tmp_path / "project")


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The plan of the demo as it stands, every mode of it, and a record of each of its cells."""
    plan = plan_of(copy_project(tmp_path_factory.mktemp("demo") / "project"))
    return plan, records_of(plan)


# --- one change each: what is edited, whose rows are stale then, and what is said of them ---------------


def rewrite(name, change):
    def edit(project):
        path = project.root / name
        before = path.read_text(encoding="utf-8")
        after = change(before)
        assert before != after
        path.write_text(after, encoding="utf-8")

    return edit


def with_statement(name):
    """Add a statement that does nothing: it is code all the same."""
    return rewrite(f"workflow/augmark/{name}", lambda text: f"{text}\n\nUNUSED = 1\n")


def lock_of(environment):
    return rewrite(f"envs/{environment}.txt", lambda text: re.sub(r"(?m)^tqdm==\S+", "tqdm==4.0.0", text))


def stanza(name, *keys, **values):
    """Set values in a YAML file of config/."""

    def change(content):
        for key in keys:
            content = content.setdefault(key, {})
        content.update(values)

    return lambda project: project.edit(name, change)


OTHER = "0" * 64
ROTATE = r"parameters: angle_degrees \[-45, 45\] -> \[-30, 30\]"
CHANGES = {
    "the lock of one library": (
        lock_of("kornia"),
        lambda row: row["library"] == "kornia",
        rf"lock of kornia {DIGEST} -> {DIGEST}",
    ),
    "the lock of the library that is measured twice": (
        lock_of("torchvision"),
        lambda row: row["library"] in AGAIN,
        rf"lock of torchvision {DIGEST} -> {DIGEST}",
    ),
    "the lock of the controls": (
        lock_of("control"),
        lambda row: row["library"] in ("control-copy", "control-slow"),
        rf"lock of control {DIGEST} -> {DIGEST}",
    ),
    "another dataset": (
        stanza("datasets.yaml", "demo", sha256=OTHER),
        lambda row: True,
        "dataset demo 6f9cb5b6d5 -> demo 0000000000",
    ),
    "how items are prepared": (
        with_statement("data/items.py"),
        lambda row: True,
        rf"prepared items {DIGEST} -> {DIGEST}",
    ),
    "the parameters of one transform": (
        stanza("transforms.yaml", "Rotate", "params", angle_degrees=[-30, 30]),
        lambda row: row["transform"] == "Rotate",
        ROTATE,
    ),
    "its parameters in recipes": (
        stanza("transforms.yaml", "Rotate", in_recipe={"angle_degrees": [-30, 30]}),
        lambda row: row["transform"] == "Rotate" and row["mode"] in LOADER,
        ROTATE,
    ),
    "its parameters in one scenario": (
        stanza(
            "transforms.yaml",
            "Rotate",
            "by_scenario",
            **{
                "image-9ch": {
                    "params": {"angle_degrees": [-30, 30], "interpolation": "bilinear", "fill_level": 0}
                }
            },
        ),
        lambda row: row["transform"] == "Rotate" and row["scenario"] == "image-9ch",
        ROTATE,
    ),
    "one library's adapter": (
        with_statement("libraries/pillow.py"),
        # Its recipe does the transform through the adapter; its decoder has nothing to do with it.
        lambda row: row["library"] == "pillow" and row["mode"] != "decode",
        CODE,
    ),
    "the adapter of the library that is measured twice": (
        with_statement("libraries/torchvision.py"),
        lambda row: row["library"] in AGAIN,
        CODE,
    ),
    "one library's recipe": (
        with_statement("libraries/kornia_recipe.py"),
        lambda row: row["library"] == "kornia" and row["mode"] in LOADER,
        CODE,
    ),
    "one library's decoder": (
        with_statement("libraries/pillow_decoder.py"),
        lambda row: row["library"] == "pillow" and row["mode"] in ("decode", *LOADER),
        CODE,
    ),
    "measuring code of every mode": (with_statement("worker/timing.py"), lambda row: True, CODE),
    "measuring code of the loader": (
        with_statement("worker/loader.py"),
        lambda row: row["mode"] in LOADER,
        CODE,
    ),
    "measuring code of the transform alone": (
        with_statement("worker/micro.py"),
        lambda row: row["mode"] in ("micro", "decode"),
        CODE,
    ),
    "a timing rule": (
        stanza("depths/min.yaml", values=3),
        lambda row: row["mode"] in ("micro", "decode"),
        "timing: values 2 -> 3",
    ),
    "how batches are loaded": (
        stanza("policy.yaml", "loader", prefetch_factor=5),
        lambda row: row["mode"] in LOADER,
        r"loader: prefetch_factor \d+ -> 5",
    ),
}


def planned_to_run(plan):
    """Every planned row that is run, as place, name and repeat."""
    for cell in plan["cells"]:
        key = "/".join(cell[part] for part in ("scenario", "mode", "library", "device"))
        for row in plan["definitions"][key]["rows"]:
            if row["planned"] == "run":
                yield {**cell, "transform": row["transform"], "condition": row["condition"]}


NAMED = ("scenario", "mode", "library", "device", "transform", "condition", "repeat")


def named(row):
    return tuple(row[part] for part in NAMED)


def named_lines(frame):
    return set(frame[list(NAMED)].itertuples(index=False, name=None))


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_stales_the_rows_that_depend_on_it(bare, demo, what):
    """Exactly those, in every repeat, with the reason; all others are carried over with their number."""
    edit, depends, reason = CHANGES[what]
    plan, records = demo
    edit(bare)
    coverage = cover(plan_of(bare), records.values())
    expected = {named(row) for row in planned_to_run(plan) if depends(row)}
    assert expected
    stale = coverage.missing[coverage.missing["no_record"] == STALE]
    assert expected == named_lines(stale) == named_lines(coverage.stale)
    assert [] == [said for said in stale["changed"].unique() if not re.fullmatch(reason, said)]
    others = coverage.rows[~coverage.rows.index.isin(stale.index) & (coverage.rows["planned"] == "run")]
    carried = "no record; an earlier one has this row and it will be carried over"
    assert {carried} >= set(others["no_record"].dropna())
    assert 0 == len(coverage.unplanned)


def test_code_of_other_ways_stales_the_rows_that_use_it(bare, tmp_path):
    """Of a sweep's rows, those that are done in another way by that library; its plain rows stay."""
    keys = ("depth=pro", "modes=micro", "libraries=kornia,torchvision", "transforms=Rotate,GaussianBlur")
    plan = plan_of(bare, *keys)
    with_statement("libraries/kornia_regimes.py")(bare)
    coverage = cover(plan_of(bare, *keys), records_of(plan).values())
    expected = {
        named(row)
        for row in planned_to_run(plan)
        if row["library"] == "kornia" and row["condition"].startswith(("batched", "compile"))
    }
    assert expected
    assert expected == named_lines(coverage.stale)
    assert {f"code of other ways {DIGEST} -> {DIGEST} (measured at commit c0ffee0123)"} == {
        re.sub(r"\b[0-9a-f]{10}\b(?=\s->|\s\(m)", DIGEST, said) for said in coverage.stale["changed"]
    }


def test_a_control_of_another_library_says_so(bare, demo):
    """Without torchvision among the libraries another one is measured twice, and no number of it is there."""
    _, records = demo
    narrowed = plan_of(bare, "libraries=kornia,pillow")
    coverage = cover(narrowed, records.values())
    assert {"control-aa"} == set(coverage.stale["library"])
    assert {"library torchvision -> kornia"} == set(coverage.stale["changed"])
    assert {"control-aa"} == set(coverage.missing["library"])


def test_what_is_not_asked_for_is_not_stale(bare, demo):
    """Fewer transforms: their rows are carried over, those of the others are in no table and not stale."""
    _, records = demo
    coverage = cover(
        plan_of(bare, "transforms=Rotate", "modes=micro", "libraries=pillow,torchvision"), records.values()
    )
    assert coverage.stale.empty
    assert {"Rotate"} == set(coverage.rows[coverage.rows["library"] == "pillow"]["transform"])
    unplanned = coverage.unplanned
    assert "Rotate" not in set(unplanned["transform"])
    assert {"pillow", *AGAIN} == set(unplanned["library"])


# --- what is no change ----------------------------------------------------------------------------------


def comment(name, mark="#"):
    return rewrite(name, lambda text: f"{mark} Says nothing.\n{text}\n{mark} Nor does this.\n")


def docstring(name):
    return rewrite(name, lambda text: text.replace('"""', '"""In other words: ', 1))


def touch(project):
    for path in project.root.rglob("*"):
        if path.is_file():
            os.utime(path)


NO_CHANGES = {
    "docs": rewrite("docs/methodology.md", lambda text: f"{text}\nMore words.\n"),
    "the title of a table": stanza("tables.yaml", "tables", "image-rgb-micro", title="Another title"),
    "a comment in a rule": comment("workflow/rules/measure.smk"),
    "a comment in the configuration": comment("config/transforms.yaml"),
    "a comment in a lock": comment("envs/kornia.txt"),
    "a comment in measuring code": comment("workflow/augmark/worker/timing.py"),
    "a comment in an adapter": comment("workflow/augmark/libraries/torchvision.py"),
    "a docstring of measuring code": docstring("workflow/augmark/worker/loader.py"),
    "a docstring of an adapter": docstring("workflow/augmark/libraries/pillow.py"),
    "code of the analysis": with_statement("analysis/statistics.py"),
    "code of the worker's parent": with_statement("worker/measure.py"),
    "what a transform means, in words": stanza("transforms.yaml", "Rotate", meaning="Turns."),
    "what makes work another, in words": stanza(
        "transforms.yaml", "Rotate", differences={"kornia": "in other words"}
    ),
    "the title of a library": stanza("libraries.yaml", "kornia", title="KORNIA"),
    "rules of the statistics": stanza("policy.yaml", "statistics", margin=0.1, false_discovery_rate=0.01),
    "limits": stanza("policy.yaml", "limits", row_timeout_seconds=999, memory_limit_share=0.3),
    "a dataset that nobody uses": stanza(
        "datasets.yaml",
        **{
            "mine": {
                "title": "Mine",
                "kind": "folder",
                "medium": "image",
                "source": "docs",
                "sha256": OTHER,
            }
        },
    ),
    "a touch of every file": touch,
}


@pytest.mark.parametrize("what", NO_CHANGES)
def test_what_is_no_change_stales_nothing(bare, demo, what):
    """The same records are planned, and every row of theirs stands."""
    plan, records = demo
    NO_CHANGES[what](bare)
    after = plan_of(bare)
    assert [cell["path"] for cell in plan["cells"]] == [cell["path"] for cell in after["cells"]]
    coverage = cover(after, records.values())
    assert 0 == coverage.exit_status
    assert coverage.stale.empty


# --- as a user sees it ----------------------------------------------------------------------------------


def jobs(project):
    """Rule -> jobs that the next run would start."""
    said = project.run("snakemake", "-n", "paper_tables").stderr
    table = said.partition("Job stats")[2].partition("Reasons:")[0]
    return {name.strip(): int(n) for name, n in re.findall(r"^ ([a-z_ ]+?) +(\d+) *$", table, re.M)}


TIMED = {"probe", "measure", "prepare_env", "prepare env", "prepare_items", "stage_dataset", "audit_dataset"}


def test_a_clone_with_the_records_measures_nothing_until_something_changes(bare, demo, tmp_path):
    """`augmark coverage` is whole in a clone, after touch and words; then it names the changed rows."""
    plan, records = demo
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "as it is"]):
        subprocess.run([*git, *words], cwd=bare.root, check=True, capture_output=True)
    clone = Project(tmp_path / "clone")
    subprocess.run(["git", "clone", "-q", str(bare.root), str(clone.root)], check=True, capture_output=True)
    write_records(clone, records)
    for name in ("docs", "a comment in a rule", "the title of a table", "a docstring of measuring code"):
        NO_CHANGES[name](clone)
    touch(clone)
    whole = clone.run("augmark", "coverage", "--short").stdout
    rows = sum(len(plan["definitions"][key]["rows"]) for key in plan["definitions"]) * 2
    assert f"{rows} of {rows} planned rows have a record" in whole
    assert "stale" not in whole
    assert set() == TIMED & set(jobs(clone))

    CHANGES["the parameters of one transform"][0](clone)
    done = clone.run("augmark", "coverage", "--short", check=False)
    assert 1 == done.returncode
    changed = [line.strip() for line in done.stdout.partition("measured again:")[2].splitlines()]
    assert "parameters: angle_degrees [-45, 45] -> [-30, 30]" in changed
    for place in ("image-rgb micro pillow cpu", "image-9ch dataloader-memory control-aa cpu"):
        assert f"{place} r0 r1: Rotate" in changed
    cells = {row["path"] for row in planned_to_run(plan) if row["transform"] == "Rotate"}
    assert len(cells) == jobs(clone)["measure"]


# --- measured -------------------------------------------------------------------------------------------


def test_only_stale_rows_are_measured_again(ran_copy):
    """After a changed parameter: its row in each library and in control-aa; the rest keeps its value."""
    before = {path: path.read_bytes() for path in ran_copy.records()}
    ran_copy.edit(
        "transforms.yaml", lambda content: content["WorksAtRandom"]["params"].update(shift_levels=[1, 9])
    )
    keys = ran_copy.words[1:]
    said = ran_copy.run("augmark", "coverage", "--short", *keys, check=False)
    assert 1 == said.returncode
    lines = [line.strip() for line in said.stdout.splitlines()]
    assert "9 rows, no record; an earlier one is stale; they will be measured again:" in lines
    start = lines.index("parameters: shift_levels [1, 200] -> [1, 9]")
    libraries = ("fake", "fake-too", "control-aa")
    assert [f"image-rgb micro {library} cpu r0 r1 r2: WorksAtRandom" for library in libraries] == lines[
        start + 1 : start + 4
    ]
    ran_copy.run("snakemake", *ran_copy.words)
    assert before.items() <= {path: path.read_bytes() for path in ran_copy.records()}.items()
    new = set(ran_copy.records()) - before.keys()
    made = [json.loads(path.read_text()) for path in new]
    assert {(library, repeat) for library in libraries for repeat in range(3)} == {
        (record["cell"]["library"], record["cell"]["repeat"]) for record in made
    }
    for record in made:
        assert ["WorksAtRandom"] == record["order"]
        rows = {row["transform"]: row for row in record["rows"]}
        assert not rows["WorksAtRandom"]["carried"]
        assert record["session"] == rows["WorksAtRandom"]["session"]
        earlier = next(
            old for path, text in before.items() if (old := json.loads(text))["cell"] == record["cell"]
        )
        was = next(row for row in earlier["rows"] if row["transform"] == "Works")
        origin = rows["Works"].pop("carried_from")
        assert earlier["digest"] == origin["digest"]
        assert {**{k: v for k, v in was.items() if k != "carried_from"}, "carried": True} == rows["Works"]
    done = ran_copy.run("augmark", "coverage", "--short", *keys)
    assert "9 stale rows of earlier records, in no table: fake 3, fake-too 3, control-aa 3" in done.stdout
    assert "Nothing to be done" in ran_copy.run("snakemake", *ran_copy.words).stderr
