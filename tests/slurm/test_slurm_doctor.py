"""`augmark doctor --profile slurm` against a real controller, and inside a job of it."""

import json
import os
import shutil
import subprocess

import pytest

from augmark import fingerprint
from tests.conftest import copy_project
from tests.slurm import cluster as slurm


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy in which the node is declared as the virtual nodes are."""
    copy = copy_project(tmp_path_factory.mktemp("doctor") / "project")

    def declare(machines):
        about = {"vcpus": slurm.NODE_CPUS, "memory_gb": 58, "cpu_model": "^some processor$"}
        machines["slurm-node"].update(about)

    copy.edit("machines.yaml", declare)
    return copy


def ask(project, *before, env=None):
    """The command's exit status, and name -> check."""
    augmark = shutil.which("augmark", path=project.environment()["PATH"])
    done = subprocess.run(
        [*before, augmark, "doctor", "--json", "--profile", "slurm", "--config", "modes=micro"],
        cwd=project.root,
        env={**project.environment(), **(env or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout, done.stderr
    return done.returncode, {check["name"]: check for check in json.loads(done.stdout)["checks"]}


def test_the_controller_is_asked_what_nodes_there_are(cluster, project):
    """Six nodes of the default partition, all of which are as declared."""
    checks = ask(project)[1]
    assert {
        checks[name]["status"] for name in ("engine plugin", "sinfo", "squeue", "partition", "nodes")
    } == {"ok"}
    assert checks["partition"]["found"] == f"cpu: {len(slurm.CPU_NODES)} of {len(slurm.CPU_NODES)} nodes up"
    assert checks["nodes"]["found"].startswith("6 of 6 are as machine slurm-node (")


def test_nodes_that_are_too_small(cluster, project):
    """More processors declared than any node has: the controller's figure is in the message."""
    project.edit("machines.yaml", lambda machines: machines["slurm-node"].update(vcpus=32))
    try:
        status, checks = ask(project)
    finally:
        project.edit("machines.yaml", lambda machines: machines["slurm-node"].update(vcpus=slurm.NODE_CPUS))
    assert (status, checks["nodes"]["status"]) == (1, "fail")
    assert checks["nodes"]["found"].endswith("nodes have 16 processors, not 32")


def test_inside_a_job_the_node_itself_is_looked_at(cluster, project):
    """Through srun: this host is not what was declared, which the controller could not know."""
    status, checks = ask(project, "srun", "--ntasks=1")
    assert status == 1
    assert "sinfo" not in checks
    assert checks["host"]["status"] == "fail"
    assert (
        "declared: node of a SLURM cluster: processor matching '^some processor$'" in checks["host"]["found"]
    )
    assert f"found: {fingerprint.cpu_model()}" in checks["host"]["found"]
    assert {"memory", "cores", "load", "governor"} <= checks.keys()


def test_without_a_controller(project):
    """The commands are there and nobody answers: their own words, and the remedy."""
    if shutil.which("sinfo") is None:
        pytest.skip("SLURM's commands are not installed")
    status, checks = ask(project, env={"SLURM_CONF": os.devnull})
    assert (status, checks["sinfo"]["status"]) == (1, "fail")
    assert "sinfo" in checks["sinfo"]["found"]
    assert "scontrol ping" in checks["sinfo"]["remedy"]
