"""Profiles: real files that a clean clone can name, whose machine and limits hold under Snakemake."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from augmark import profiles
from augmark.engines import request
from augmark.machines import quota
from tests.conftest import ROOT, copy_project, make_fake

NAMES = profiles.names(ROOT)
MACHINES = yaml.safe_load((ROOT / "config" / "machines.yaml").read_text(encoding="utf-8"))
QUOTAS = {"vcpus", "c4_vcpus", "hyperdisk_gb", "l4_gpus"}
SMALL = ("transforms=Works", "libraries=fake", "repeats=1")


def keys_of(name):
    """The keys of a profile, as Snakemake reads them: dash and underscore are the same."""
    content = yaml.safe_load((ROOT / "profiles" / name / "profile.yaml").read_text(encoding="utf-8"))
    return {key.replace("-", "_") for key in content}


def test_the_profiles_of_the_design_are_there():
    """All four, as folders of real files."""
    assert {"gcp-c4", "gcp-c4d", "g2-l4", "slurm"} <= set(NAMES)
    files = [path for path in (ROOT / "profiles").rglob("*") if not path.is_dir()]
    assert [] == [path for path in files if path.is_symlink()]


def test_a_clean_clone_can_name_each():
    """The root has a relative symlink for each but default, and none to anything else."""
    links = {
        path.name: os.readlink(path) for path in ROOT.iterdir() if path.is_symlink() and path.name[0] != "."
    }
    assert {name: f"profiles/{name}" for name in NAMES} == links


@pytest.mark.parametrize("name", NAMES)
def test_no_key_is_shared_with_the_default_profile(name):
    """Whole keys are replaced when both are given: of a shared one the machine profile's would be lost."""
    assert set() == keys_of("default") & keys_of(name)


def test_which_profile_has_which_keys():
    """`--config` would drop a profile's `config`, and cores or limits for all would undo a machine's own."""
    assert not keys_of("default") & {"config", "configfile", "resources", "jobs", "executor"}
    for name in NAMES:
        assert not keys_of(name) & {"config", "cores"}, name


@pytest.mark.parametrize("name", NAMES)
def test_a_profile_names_a_machine_that_its_quotas_allow(name):
    """Its quotas are known, every one that its machine takes of is limited, and one host fits in all."""
    profile = profiles.read_profile(ROOT, name)
    ask = MACHINES[profile.machine].get("host", {})
    assert profile.limits.keys() <= QUOTAS
    assert ask.keys() <= QUOTAS
    assert [] == quota.unlimited(profile.limits, ask)
    assert [] == quota.impossible(profile.limits, ask)


def test_quotas_that_profiles_share_are_the_same():
    """They are of one project: what differs between two profiles would be wrong in one."""
    said = [item for name in NAMES for item in profiles.read_profile(ROOT, name).limits.items()]
    assert len({name for name, _ in said}) == len(set(said))


# --- with Snakemake --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy with fake libraries, for dry runs."""
    return make_fake(copy_project(tmp_path_factory.mktemp("profiles") / "project"))


def dry_run(project, *words, keys=()):
    command = ["snakemake", "records", "-n", "--quiet", "rules", *words, "--config", *SMALL, *keys]
    return project.run(*command, check=False)


def said(done):
    return " ".join((done.stdout + done.stderr).split())


@pytest.mark.parametrize(("name", "machine"), [("gcp-c4", "c4-standard-16"), (None, "local")])
def test_config_on_top_of_a_profile_keeps_the_machine(project, name, machine):
    """`--profile gcp-c4 --config depth=min` plans that machine's cells; without a profile, this one's."""
    words = ("--profile", name) if name else ()
    done = dry_run(project, *words, keys=("depth=min",))
    assert 0 == done.returncode, said(done)
    newest = max((project.results / "plan").glob("*.plan.json"), key=lambda path: path.stat().st_mtime_ns)
    plan = json.loads(newest.read_text())
    assert (machine, "min") == (plan["machine_stanza"]["id"], plan["depth"])
    assert ("paper" if name else "demo") == plan["campaign"]
    shutil.rmtree(project.results / "plan")


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ("hyperdisk_gb=50", "hyperdisk_gb: one host takes 100, and the limit is 50"),
        ("vcpus=0", "vcpus: one host takes 16, and the limit is 0"),
    ],
)
def test_a_request_above_a_quota_is_refused_in_a_dry_run(project, limit, words):
    """Snakemake would cut it down and run it: nothing may be submitted, and -n says so already."""
    done = dry_run(project, "--profile", "gcp-c4", "--resources", limit)
    assert 0 != done.returncode
    assert (
        "profiles/gcp-c4/profile.yaml: resources: machine c4-standard-16 (machines.yaml: host) can"
        in said(done)
    )
    assert words in said(done)


def test_a_limit_that_is_edited_in_the_profile_is_held_against_the_machine(project):
    """Not the command line alone."""
    path = project.root / "profiles" / "gcp-c4" / "profile.yaml"
    whole = path.read_text()
    path.write_text(whole.replace("c4_vcpus=96", "c4_vcpus=8"))
    try:
        done = dry_run(project, "--profile", "gcp-c4")
    finally:
        path.write_text(whole)
    assert 0 != done.returncode
    assert "c4_vcpus: one host takes 16, and the limit is 8" in said(done)


@pytest.fixture
def on_engine(project):
    """The node of the SLURM profile is declared, and takes of a quota that the profile limits."""
    path, machines = project.root / "profiles/slurm/profile.yaml", project.root / "config/machines.yaml"
    before = path.read_text(), machines.read_text()
    path.write_text(f"{before[0]}resources: [vcpus=128, hyperdisk_gb=500]\n")
    host = {"vcpus": 16, "hyperdisk_gb": 100}
    about = {"vcpus": 16, "cpu_model": "EPYC", "memory_gb": 60, "host": host}
    project.edit("machines.yaml", lambda content: content["slurm-node"].update(about))
    yield project
    path.write_text(before[0])
    machines.write_text(before[1])


def test_limits_that_the_command_line_drops_are_missed_on_an_engine(on_engine):
    """`--resources` replaces the profile's whole key: one limit given is all others lost."""
    whole = dry_run(on_engine, "--profile", "slurm")
    assert 0 == whole.returncode, said(whole)
    done = dry_run(on_engine, "--profile", "slurm", "--resources", "hyperdisk_gb=200")
    assert 0 != done.returncode
    assert "takes of vcpus, and no limit is given" in said(done)
    assert "(limits given: hyperdisk_gb=200)" in said(done)
    both = ("--resources", "hyperdisk_gb=200", "vcpus=64")
    again = dry_run(on_engine, "--profile", "slurm", *both)
    assert 0 == again.returncode, said(again)


@pytest.mark.parametrize(
    ("text", "more", "words"),
    [
        ("campaign: demo\n", (), "jobs would run on an engine, and the plan is for this host"),
        ("engine: slurm\n", ("-n",), "the machine is local, and the engine slurm measures on others"),
    ],
)
def test_a_configfile_that_drops_the_machine_is_refused_on_an_engine(on_engine, tmp_path, text, more, words):
    """`--configfile` replaces the profile's, and the machine with it: no cluster's rows as this machine's."""
    mine = tmp_path / "mine.yaml"
    mine.write_text(text)
    command = ("records", *more, "--profile", "slurm", "--configfile", str(mine), "--config", *SMALL)
    done = on_engine.run("snakemake", *command, check=False)
    assert 0 != done.returncode
    assert words in said(done)
    assert [] == on_engine.records()


SNAKEFILE = """
rule all:
    input: expand("{{n}}.done", n=range({jobs}))

rule session:
    output: "{{n}}.done"
    resources: {ask}
    params: python={python!r}, n=lambda w: w.n
    shell: "{{params.python:q}} session.py {{params.n}} {together}; touch {{output}}"
"""
# Wait until so many are there (and a moment longer, in which one too many would come): the most seen at once.
SESSION = """
import os, sys, time
from pathlib import Path
me, together = Path("running", sys.argv[1]), int(sys.argv[2])
me.touch()
most, until = 0, time.monotonic() + 60
while most < together and time.monotonic() < until:
    most = max(most, len(list(Path("running").iterdir())))
    time.sleep(0.02)
for _ in range(40):
    most = max(most, len(list(Path("running").iterdir())))
    time.sleep(0.02)
Path("seen", sys.argv[1]).write_text(str(most))
while len(list(Path("seen").iterdir())) % together and time.monotonic() < until:
    time.sleep(0.02)
me.unlink()
"""


@pytest.mark.parametrize(("name", "hosts"), [("gcp-c4", 5), ("gcp-c4d", 5), ("g2-l4", 1)])
def test_the_scheduler_lets_no_more_run_than_the_quotas_allow(tmp_path, name, hosts):
    """With a profile's limits and what its machine's jobs ask for: two rounds of so many, never more."""
    profile = profiles.read_profile(ROOT, name)
    content = {key: value for key, value in profile.content.items() if key != "configfile"}
    default = yaml.safe_load((ROOT / "profiles/default/profile.yaml").read_text(encoding="utf-8"))
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "profile.yaml").write_text(
        yaml.safe_dump(content | {"cores": 16, "scheduler": default["scheduler"]})
    )
    asked = request(MACHINES[profile.machine], profile.engine, profile.partition)
    ask = ", ".join(f"{key}={value}" for key, value in asked.items())
    text = SNAKEFILE.format(jobs=2 * hosts, ask=ask, python=sys.executable, together=hosts)
    (tmp_path / "Snakefile").write_text(text)
    (tmp_path / "session.py").write_text(SESSION)
    (tmp_path / "running").mkdir()
    (tmp_path / "seen").mkdir()
    snakemake = Path(sys.executable).parent / "snakemake"
    done = subprocess.run(
        [snakemake, "--profile", "p"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert 0 == done.returncode, done.stderr[-3000:]
    assert [str(hosts)] * 2 * hosts == [path.read_text() for path in (tmp_path / "seen").iterdir()]


def test_what_the_command_line_asks_for_is_held_against_the_quotas_too(project):
    """More disk than there is would be cut to what there is, and run."""
    done = dry_run(project, "--profile", "gcp-c4", "--set-resources", "measure:hyperdisk_gb=600")
    assert 1 == done.returncode
    assert "measure: hyperdisk_gb: one host takes 600, and the limit is 500" in said(done)


def test_another_machine_beside_a_profile_is_refused(project):
    """The profile's quotas and engine are of its own machine."""
    done = dry_run(project, "--profile", "gcp-c4", keys=("machine=c4d-standard-16",))
    assert 1 == done.returncode
    assert "machine=c4d-standard-16 is given beside profiles/gcp-c4" in said(done)
    words = ("augmark", "plan", "--profile", "gcp-c4", "--config", "machine=c4d-standard-16")
    asked = project.run(*words, check=False)
    assert 2 == asked.returncode
    assert "is given beside profiles/gcp-c4" in asked.stderr


def test_a_foreign_host_is_refused_before_anything_is_built(project):
    """This host is no c4: the start says so, and nothing is staged."""
    words = ("snakemake", "records", "--profile", "gcp-c4", "--config", *SMALL, "depth=min")
    done = project.run(*words, check=False)
    assert 1 == done.returncode
    assert "declared: Google Cloud c4-standard-16" in done.stderr
    assert "found: " in done.stderr
    assert not (project.results / "datasets").exists()
