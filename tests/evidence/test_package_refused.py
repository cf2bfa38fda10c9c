"""What is not packed: what cannot be traced, what tells on somebody, what may not be given away."""

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from rocrate.rocrate import ROCrate

from augmark.errors import AugmarkError
from augmark.evidence.doubts import doubts
from augmark.evidence.package import may_be_given, package
from augmark.evidence.source import package_path, source_files
from augmark.plan import Plan
from augmark.record import read_record, seal_of
from tests.conftest import Project
from tests.evidence import conftest
from tests.evidence.packages import copied, names, rebuilt, the_plan, unpack

WORDS = ("package", *conftest.WORDS)


def rewrite(path, change):
    """Change a record and seal it anew."""
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    content["seal"] = seal_of(content)
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")


def refused(project, match):
    """Pack, and return the refusal."""
    plan = the_plan(project)
    with pytest.raises(AugmarkError, match=match) as error:
        package(plan, project.root, package_path(plan))
    assert not list(project.results.glob("package/*"))
    return str(error.value)


def test_a_record_that_names_a_host_is_refused_with_file_key_and_value(spoiled, monkeypatch):
    """Whatever verify thinks of it: what would be packed is looked through, and nothing is written."""
    monkeypatch.setattr("socket.gethostname", lambda: "lab-node-17")
    monkeypatch.setattr("socket.getfqdn", lambda: "lab-node-17.example.org")
    monkeypatch.setattr("augmark.evidence.verify.verify", lambda plan, root: [])
    path = spoiled.records()[0]
    rewrite(path, lambda content: content["host"].update(cpu_model="Xeon of lab-node-17"))
    text = refused(spoiled, "says who measured or where")
    place = path.relative_to(spoiled.results)
    assert f"{place} (host.cpu_model): the host's name: 'Xeon of lab-node-17'" in text


def test_the_checkout_s_own_path_is_refused_in_the_configuration(spoiled, monkeypatch):
    """A tarball that lies beside the checkout, named in config.yaml by its path."""
    monkeypatch.setattr("augmark.evidence.verify.verify", lambda plan, root: [])
    with open(spoiled.root / "config" / "config.yaml", "a", encoding="utf-8") as stream:
        stream.write(f"# images: {spoiled.root}/mine.tar\n")
    assert "config/config.yaml: a folder of this machine" in refused(spoiled, "says who measured or where")


def test_nothing_of_a_run_tells_who_made_it(whole):
    """The packed files hold neither this host's name in a naming key, nor a path of this machine."""
    for name in names(whole):
        content = (whole / name).read_bytes()
        assert str(Path.home()).encode() + b"/" not in content, name
        assert b"/project/results" not in content, name
        if name.endswith(".json") and name.split("/")[0] in ("records", "pyperf", "probes"):
            assert b'"hostname"' not in content, name


def test_a_missing_record_is_refused_by_name(spoiled):
    """There is no package of some of the cells."""
    path = spoiled.records()[0]
    path.unlink()
    assert str(path) in refused(spoiled, "no record of a planned cell")


def test_what_verify_finds_is_refused(spoiled):
    """One edited number in a table is enough."""
    path = spoiled.results / "tables" / "summary.csv"
    path.write_text(path.read_text(encoding="utf-8").replace("0", "1", 1), encoding="utf-8")
    assert "summary.csv" in refused(spoiled, "finds fault")


# --- depth max -------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def committed(measured, tmp_path_factory) -> Project:
    """The finished run as depth max would have it: records that know one commit, in a clean git checkout."""
    project = copied(measured, tmp_path_factory.mktemp("committed") / "project")
    for words in (
        ("init", "--quiet"),
        ("add", "--all"),
        ("-c", "user.name=x", "-c", "user.email=x@x", "commit", "--quiet", "-m", "all"),
    ):
        subprocess.run(["git", *words], cwd=project.root, check=True)
    commit = git(project, "rev-parse", "HEAD")
    for path in project.records():
        rewrite(path, lambda content: content["code"].update(git_commit=commit, git_dirty=False))
    return project


def git(project, *words):
    return subprocess.run(
        ["git", *words], cwd=project.root, check=True, capture_output=True, text=True
    ).stdout.strip()


def of_max(project) -> Plan:
    """Its plan, of a depth that claims something."""
    plan = the_plan(project)
    return replace(plan, content={**plan.content, "depth": "max", "stamp": None})


def found(project, dirty=False):
    """What speaks against its records."""
    plan = of_max(project)
    records = {cell["path"]: read_record(project.results / "records" / cell["path"]) for cell in plan.cells()}
    return [f"{doubt.where}: {doubt.what}" for doubt in doubts(records, plan, project.root, dirty)]


@pytest.fixture
def clean(committed, tmp_path) -> Project:
    """A copy of the clean checkout, to be spoiled."""
    return copied(committed, tmp_path / "project")


def test_a_clean_tree_of_one_commit_and_locked_environments_has_nothing_against_it(clean):
    """Then depth max is packed, without a warning, and names the commit."""
    assert [] == found(clean)


def test_at_depth_max_a_dirty_tree_is_refused(clean, monkeypatch):
    """A changed file of what decides a number: nothing is packed until it is committed."""
    monkeypatch.setattr("augmark.evidence.verify.verify", lambda plan, root: [])
    plan, out = of_max(clean), clean.root / "out.tar.gz"
    with open(clean.root / "config" / "policy.yaml", "a", encoding="utf-8") as stream:
        stream.write("# changed\n")
    with pytest.raises(AugmarkError, match="changes that are not committed") as error:
        package(plan, clean.root, out)
    assert "remedy: commit first" in str(error.value)
    assert not out.exists()
    git(clean, "checkout", "--quiet", "config/policy.yaml")
    folder = unpack(package(plan, clean.root, out), clean.root / "unpacked")
    assert "## Warnings" not in (folder / "REBUILD.md").read_text(encoding="utf-8")
    definition = json.loads((folder / "provenance.json").read_text())["predicate"]["buildDefinition"]
    commits = [each["digest"] for each in definition["resolvedDependencies"][:2]]
    assert [{"gitCommit": git(clean, "rev-parse", "HEAD")}] * 2 == commits


def test_an_unclean_tree_is_refused_before_anything_is_measured(fake_project):
    """At a depth that claims something, in a folder that git does not know: no job is started."""
    done = fake_project.run("snakemake", *WORDS, "depth=max", check=False)
    assert done.returncode != 0
    assert "git does not know this tree" in done.stdout + done.stderr
    assert not list(fake_project.results.glob("records/**/r*.json"))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda content: content["code"].update(git_dirty=True), "measured from a dirty tree"),
        (lambda content: content["code"].update(git_dirty=None), "not known to be clean"),
        (lambda content: content["code"].update(git_commit=None), "the commit that measured is not known"),
        (lambda content: content["environment"].update(lock_digest="0123456789"), "has the lock 0123456789"),
        (lambda content: content["environment"]["packages"].update(numpy="1.0"), "numpy 1.0 is installed"),
        (lambda content: content["environment"]["packages"].update(extra="1.0"), "not in the lock"),
    ],
)
def test_at_depth_max_a_record_that_cannot_be_traced_is_refused(clean, change, what):
    """Its tree, its commit, its lock and its packages: each is named with the record."""
    path = clean.records()[0]
    rewrite(path, change)
    (doubt,) = found(clean)
    assert what in doubt
    assert path.relative_to(clean.results).as_posix() in doubt


def test_at_depth_max_a_row_that_was_carried_from_a_dirty_tree_counts_too(clean):
    """A row brings its own tree, lock and commit with it."""

    def carry(content):
        origin = {"host": content["host"], "code": {**content["code"], "git_dirty": True}}
        origin["environment"] = {key: content["environment"][key] for key in ("lock_digest", "python")}
        content["rows"][0].update(carried=True, carried_from=origin)

    rewrite(clean.records()[0], carry)
    (doubt,) = found(clean)
    assert "measured from a dirty tree" in doubt


def test_without_git_the_source_is_the_same_files_and_no_caches(clean):
    """Tracked files, new ones of the code, nothing else; without git the same folders as they lie."""
    (clean.root / "docs" / "my-notes.md").write_text("private\n", encoding="utf-8")
    (clean.root / "workflow" / "augmark" / "new.py").touch()
    (clean.root / "workflow" / "augmark" / "__pycache__").mkdir(exist_ok=True)
    (clean.root / "workflow" / "augmark" / "__pycache__" / "new.pyc").touch()
    known = {path.relative_to(clean.root).as_posix() for path in source_files(clean.root)}
    shutil.rmtree(clean.root / ".git")
    lying = {path.relative_to(clean.root).as_posix() for path in source_files(clean.root)}
    assert {"docs/my-notes.md"} == lying - known
    assert set() == known - lying
    assert {"Snakefile", "workflow/augmark/new.py", "config/config.yaml", "docs/scope.md"} <= known
    assert not any("__pycache__" in name or name.startswith(("tests/", "results/")) for name in known)


# --- data that may not be given away ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def kept(measured, tmp_path_factory) -> Path:
    """The unpacked package of the same records, once their data is declared as not to be given away."""
    project = copied(measured, tmp_path_factory.mktemp("kept") / "project")
    project.edit("datasets.yaml", lambda content: content["demo"].update(redistribute=False))
    before = project.records()
    project.run("snakemake", *WORDS)
    assert before == project.records()
    (out,) = (project.results / "package").iterdir()
    return unpack(out, project.root / "unpacked")


def test_data_that_may_not_be_given_away_is_named_by_digest_and_not_shown(kept, whole):
    """No samples, no contact sheets; what the tables need of them stands in equivalence.csv."""
    left_out = names(whole) - names(kept)
    assert {"zip", "png"} == {name.rpartition(".")[2] for name in left_out}
    assert all(name.startswith(("probes/", "figures/equivalence/")) for name in left_out)
    assert not list(kept.rglob("*.samples.zip"))
    assert not (kept / "figures" / "equivalence").exists()
    page = (kept / "REBUILD.md").read_text(encoding="utf-8")
    assert "may not be given away" in page
    digest = json.loads((kept / "plan.json").read_text())["datasets"]["images"]["digest"]
    assert f"sha256 `{digest}`" in page
    assert digest == ROCrate(kept).isBasedOn["sha256"]


def test_the_other_tables_and_figures_come_out_of_it_all_the_same(kept, tmp_path):
    """equivalence.csv is taken as it was published."""
    done = rebuilt(kept, tmp_path / "home", "--check")
    assert 0 == done.returncode, done.stdout + done.stderr
    assert names(kept / "figures") == names(kept / "rebuilt" / "figures")


def test_data_of_which_nothing_is_known_is_not_given_away(spoiled):
    """Unknown is no."""
    plan = the_plan(spoiled)
    assert may_be_given(plan)
    del plan.content["datasets"]["images"]["redistribute"]
    assert not may_be_given(plan)
