"""Whether SLURM can be reached and has the nodes: from what `sinfo` prints, and through such commands."""

import json
import os
import shutil
import subprocess

import pytest
import yaml

from augmark.machines import engine
from augmark.machines.doctor import Case
from augmark.profiles import Profile
from tests.conftest import ROOT, copy_project

# As Debian's sinfo 22.05 prints it, asked as in SINFO.
SINFO = """\
cpu*|5|idle|16|60000|(null)
cpu*|1|down*|16|60000|(null)
gpu|1|mix|16|64000|gpu:l4:1(S:0)
"""
MACHINES = yaml.safe_load((ROOT / "config" / "machines.yaml").read_text(encoding="utf-8"))


def stanza(name, **changed):
    return {"id": name, **MACHINES[name], **changed}


def test_nodes_are_read():
    """Partition, count, state, size and what generic resources there are."""
    first, away, gpu = engine.read_nodes(SINFO)
    assert (first.partition, first.count, first.cpus, first.memory_mib, first.gres) == (
        "cpu",
        5,
        16,
        60000,
        "",
    )
    assert (first.default, first.away) == (True, False)
    assert (away.away, gpu.away, gpu.default, gpu.gres) == (True, False, False, "gpu:l4:1(S:0)")


@pytest.mark.parametrize("state", ["down", "drain", "drng", "idle*", "down~", "maint", "fail"])
def test_nodes_that_are_away(state):
    """Whatever mark stands behind the state."""
    (nodes,) = engine.read_nodes(f"cpu|1|{state}|16|1|(null)")
    assert nodes.away


@pytest.mark.parametrize("state", ["idle", "mix", "alloc", "comp", "resv", "idle~", "mix-"])
def test_nodes_that_will_take_jobs(state):
    """Busy is not away, nor is one that is powered down until it is asked for."""
    (nodes,) = engine.read_nodes(f"cpu|1|{state}|16|1|(null)")
    assert not nodes.away


@pytest.mark.parametrize(
    ("text", "asked", "status", "words"),
    [
        (SINFO, None, "warn", "cpu: 5 of 6 nodes up"),
        (SINFO, "gpu", "ok", "gpu: 1 of 1 nodes up"),
        (SINFO, "fast", "fail", "there is no partition 'fast'"),
        (SINFO.replace("*|", "|"), None, "fail", "no partition is the cluster's default"),
        ("cpu*|2|down*|16|60000|(null)\n", None, "fail", "cpu: 0 of 2 nodes up"),
        ("", None, "fail", "no partition is the cluster's default"),
    ],
)
def test_partition(text, asked, status, words):
    """What the profile asks for, or the cluster's default; the remedy names what there is."""
    check = engine.partition(engine.read_nodes(text), asked, "profiles/slurm")
    assert (check.status, check.found, bool(check.remedy)) == (status, words, status != "ok")
    if asked == "fast":
        assert check.remedy.endswith("the cluster has: cpu, gpu")


@pytest.mark.parametrize(
    ("machine", "asked", "status", "words"),
    [
        (stanza("c4-standard-16"), None, "ok", "6 of 6 are as machine c4-standard-16 (Google Cloud"),
        (stanza("g2-standard-16"), "gpu", "ok", "1 of 1 are as machine g2-standard-16"),
        (stanza("g2-standard-16"), None, "fail", "nodes have no gres gpu (they have: none)"),
        (stanza("c4-standard-16", vcpus=32), None, "fail", "nodes have 16 processors, not 32"),
        (stanza("c4-standard-16", memory_gb=80), None, "fail", "nodes have 58.6 GiB of memory, not 80 GiB"),
        (stanza("slurm-node"), None, "warn", "and any passes in vcpus, cpu_model, memory_gb"),
    ],
)
def test_nodes_against_the_machine(machine, asked, status, words):
    """As far as the cluster tells; the model is looked at inside the job."""
    check = engine.nodes_are(engine.read_nodes(SINFO), asked, machine)
    assert (check.status, words in check.found, bool(check.remedy)) == (status, True, status != "ok"), check


def test_the_plugin():
    """That of the profile is in the lock of the workflow, and installed here."""
    assert engine.plugin_installed("slurm")
    assert engine.plugin("slurm", True).status == "ok"
    assert not engine.plugin_installed("no-such-engine")
    assert engine.plugin("no-such-engine", False).status == "fail"


def test_inside_a_job_the_node_is_looked_at(monkeypatch, tmp_path):
    """The same command under srun asks about the node and not about the engine."""
    case = Case(tmp_path, None, Profile("slurm", tmp_path, "slurm-node", engine="slurm"))
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    assert case.engine == "slurm"
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    assert case.engine is None


@pytest.fixture
def tools(tmp_path):
    """A folder for commands that answer as they are told."""
    folder = tmp_path / "bin"
    folder.mkdir()

    def tool(name, text, status=0):
        path = folder / name
        said = f"cat <<'END'\n{text}END\n" if status == 0 else f"echo '{text}' >&2\n"
        path.write_text(f"#!/bin/sh\n{said}exit {status}\n", encoding="utf-8")
        path.chmod(0o755)
        return folder

    return tool


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return copy_project(tmp_path_factory.mktemp("engine") / "project")


def ask(project, folder):
    path = f"{folder}{os.pathsep}{project.environment()['PATH']}"
    environment = {name: value for name, value in project.environment().items() if name != "SLURM_JOB_ID"}
    command = [shutil.which("augmark", path=path), "doctor", "--json", "--profile", "slurm"]
    done = subprocess.run(
        command,
        cwd=project.root,
        env={**environment, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout, done.stderr
    return done.returncode, {check["name"]: check for check in json.loads(done.stdout)["checks"]}


def test_a_cluster_that_answers(project, tools):
    """All of the command: the engine is looked at, this host's memory and processors are not."""
    tools("sinfo", SINFO)
    _, checks = ask(project, tools("squeue", ""))
    assert [checks[name]["status"] for name in ("engine plugin", "sinfo", "squeue")] == ["ok"] * 3
    assert checks["partition"]["found"] == "cpu: 5 of 6 nodes up"
    assert checks["host"]["found"].endswith("`srun augmark doctor --profile slurm` looks at a node now")
    assert not {"memory", "cores", "governor", "load", "gpu"} & checks.keys()
    undeclared = yaml.safe_load((project.root / "config/machines.yaml").read_text())["slurm-node"]
    if undeclared["cpu_model"] is None:
        assert checks["nodes"]["status"] == "warn"
        assert "srun augmark doctor --describe" in checks["nodes"]["remedy"]


def test_a_cluster_that_does_not_answer(project, tools):
    """The controller is down: its own words, a remedy, and the other checks."""
    words = "slurm_load_partitions: Unable to contact slurm controller (connect failure)"
    tools("sinfo", words, 1)
    status, checks = ask(project, tools("squeue", words, 1))
    assert status == 1
    for name in ("sinfo", "squeue"):
        assert (checks[name]["status"], checks[name]["found"]) == ("fail", words)
        assert "scontrol ping" in checks[name]["remedy"]
    assert "partition" not in checks
    assert checks["plan"]["status"] == "fail"  # which asks SLURM what its nodes are
    assert {"python", "host"} <= checks.keys()
