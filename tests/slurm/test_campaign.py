"""The min campaign through a real SLURM, by the command that a user types: one submission per session."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from augmark import host
from augmark.worker import notice
from tests.conftest import Project, copy_project, make_fake
from tests.slurm.cluster import Cluster
from tests.watching import processes, wait_for

# Checks of jobs by the second: the plugin's own intervals are made for days.
SOON = ("--slurm-init-seconds-before-status-checks", "4", "--latency-wait", "20")
KEYS = ("transforms=Works,WorksAtRandom,Invert", "repeats=2")
RUN = ("snakemake", "--profile", "slurm", *SOON, "paper_tables", "--config", *KEYS)
# Two repeats of two fakes, Pillow and the three controls; of Pillow alone.
CELLS = {"micro": 2 * 6, "decode": 2 * 1}
SECONDS = 240  # until a submitted job has measured some cells
MEMORY_GB = round((host.memory_bytes() or 0) / (1 << 30), 1)


def declare_nodes(project: Project) -> None:
    """What every node of the virtual cluster really is: this host; and a quota of disk for one of them."""

    def machines(content: dict) -> None:
        disk = {"hyperdisk_gb": 100}
        content["slurm-node"].update(vcpus=host.cpus(), memory_gb=MEMORY_GB, host=disk)

    project.edit("machines.yaml", machines)
    profile = project.root / "profiles" / "slurm" / "profile.yaml"
    profile.write_text(profile.read_text() + "resources: [hyperdisk_gb=150]\n")


def make_project(folder: Path, environments: Path) -> Project:
    """A copy with two fakes and Pillow, whose nodes are declared."""
    project = copy_project(folder)
    project.results.mkdir()
    (project.results / "envs").symlink_to(environments)
    make_fake(project, keep=("pillow",))
    declare_nodes(project)
    return project


@pytest.fixture(scope="module")
def measured(cluster: Cluster, tmp_path_factory, environments) -> tuple[Project, list, list[str]]:
    """The campaign measured through SLURM, the jobs that it took, and what the command said of them."""
    project = make_project(tmp_path_factory.mktemp("slurm") / "project", environments)
    before = cluster.last()
    said = project.run(*RUN, timeout=600).stderr.splitlines()
    return project, cluster.jobs(after=before), [line for line in said if line.startswith("submission: ")]


def test_a_session_is_one_submission(measured):
    """Two places, two jobs, whatever the number of libraries and repeats."""
    project, jobs, _ = measured
    found = Counter(path.relative_to(project.results / "records").parts[2] for path in project.records())
    assert found == CELLS
    assert [job.state for job in jobs] == ["COMPLETED"] * 2


def test_a_session_asks_for_what_one_cell_asks_for(measured):
    """Processors, memory and disk of one whole node, not of all cells together."""
    _, jobs, said = measured
    memory = int(MEMORY_GB * 1024 * 0.9)
    one = f"cpus_per_task {host.cpus()}, hyperdisk_gb 100, mem_mb {memory},"
    assert [line for line in said if one not in line] == []
    # Of six probes, their cells and what gathers them; of one probe.
    assert sorted(int(re.search(r", (\d+) jobs;", line)[1]) for line in said) == [1 + 2 + 1, 6 + 12 + 1]
    assert {job.exclusive for job in jobs} == {True}
    assert [len(job.nodes) for job in jobs] == [1, 1]
    assert {job.memory_mb for job in jobs} == {memory}


def test_no_more_runs_at_once_than_the_quota_allows(measured):
    """Disk for one node: the second session begins where the first has ended, though nodes are free."""
    _, jobs, _ = measured
    first, second = sorted(jobs, key=lambda job: job.start)
    assert first.end <= second.start


def test_the_cells_of_a_session_share_one_stretch_of_work(measured):
    """Libraries interleaved on one host: one session id, in the planned order of blocks."""
    project, *_ = measured
    for mode, count in CELLS.items():
        records = [json.loads(p.read_text()) for p in project.records() if p.parts[-4] == mode]
        assert len(records) == count
        assert len({record["session"] for record in records}) == 1
        repeats = [r["cell"]["repeat"] for r in sorted(records, key=lambda record: record["started"])]
        assert repeats == sorted(repeats)


def test_the_tables_are_made_where_the_command_was_given(measured):
    project, *_ = measured
    assert "Pillow" in (project.results / "tables" / "image-rgb-micro.md").read_text()
    assert (project.results / "records" / "slurm-node" / "records.parquet").exists()


def test_the_same_command_again_submits_nothing(measured, cluster):
    project, *_ = measured
    before = cluster.last()
    project.run(*RUN, timeout=120)
    assert cluster.jobs(after=before) == []


def test_a_deleted_record_is_one_cell_in_one_submission(measured, cluster, tmp_path):
    project, *_ = measured
    lost = next(path for path in project.records() if "pillow" in path.parts and "micro" in path.parts)
    kept = {path: path.read_bytes() for path in project.records() if path != lost}
    lost.unlink()
    before = cluster.last()
    project.run(*RUN, timeout=300)
    assert len(cluster.jobs(after=before)) == 1
    assert lost.exists()
    assert {path: path.read_bytes() for path in kept} == kept


def start(project: Project) -> subprocess.Popen:
    words = [str(Path(sys.executable).parent / RUN[0]), *RUN[1:]]
    with open(project.root / "run.log", "a") as log:
        return subprocess.Popen(
            words, cwd=project.root, env=project.environment(), stdout=log, stderr=log, start_new_session=True
        )


def test_after_scancel_only_the_missing_cells_are_measured(cluster, tmp_path, environments):
    """What was measured when the job was cancelled stays, and the same command measures the rest."""
    project = make_project(tmp_path / "project", environments)
    before = cluster.last()
    run = start(project)
    wait_for(lambda: len(project.records()) >= 5, "five records", SECONDS)
    for job in cluster.jobs(after=before):
        cluster.cancel(job.id)
    assert run.wait(timeout=240) != 0
    kept = {path: path.read_bytes() for path in project.records()}
    assert 5 <= len(kept) < sum(CELLS.values())
    before = cluster.last()
    project.run(*RUN, timeout=600)
    assert 1 <= len(cluster.jobs(after=before)) <= 2
    assert len(project.records()) == sum(CELLS.values())
    assert {path: path.read_bytes() for path in kept} == kept


def test_an_interrupt_leaves_no_job_on_the_cluster(cluster, tmp_path, environments):
    """Ctrl-C here cancels there, and loses at most the cells in flight."""
    project = make_project(tmp_path / "project", environments)
    before = cluster.last()
    run = start(project)
    wait_for(lambda: len(project.records()) >= 2, "two records", SECONDS)
    kept = set(project.records())
    os.killpg(run.pid, signal.SIGINT)
    assert run.wait(timeout=120) != 0
    cluster.wait_until(
        lambda: all(job.ended for job in cluster.jobs(after=before)), what="no job", seconds=60
    )
    assert kept <= set(project.records())
    wait_for(lambda: not processes(project.root), "no process of the project", 60)


def test_after_kill_9_of_the_command_the_same_command_goes_on(cluster, tmp_path, environments):
    """The submitted job goes on without the command; started again, whole records stay as they are."""
    project = make_project(tmp_path / "project", environments)
    run = start(project)
    wait_for(lambda: len(project.records()) >= 3, "three records", SECONDS)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    kept = {path: path.read_bytes() for path in project.records()}
    project.run(*RUN, timeout=600)
    assert len(project.records()) == sum(CELLS.values())
    assert {path: path.read_bytes() for path in kept} == kept


def test_a_node_that_is_not_the_machine_measures_nothing(cluster, tmp_path, environments):
    """The check is made on the node itself, and both descriptions are told."""
    project = make_project(tmp_path / "project", environments)

    def machines(content: dict) -> None:
        content["slurm-node"].update(cpu_model="(?i)xeon.*platinum.*8581C")

    project.edit("machines.yaml", machines)
    done = project.run(*RUN, check=False, timeout=300)
    assert done.returncode != 0
    assert project.records() == []
    logs = "\n".join(path.read_text() for path in (project.results / "logs" / "probe").rglob("*.log"))
    assert "8581C" in logs


def test_nodes_that_are_not_declared_are_asked_of_slurm(cluster, tmp_path, environments):
    """SLURM says of its nodes 16 processors; the node itself is found to have fewer, and is refused."""
    project = make_project(tmp_path / "project", environments)

    def machines(content: dict) -> None:
        content["slurm-node"].update(vcpus=None, memory_gb=None)

    project.edit("machines.yaml", machines)
    done = project.run(*RUN, check=False, timeout=300)
    assert done.returncode != 0
    assert "cpus_per_task 16" in done.stderr
    logs = "\n".join(path.read_text() for path in (project.results / "logs" / "probe").rglob("*.log"))
    assert f"it has {host.cpus()} processors, not 16" in logs
    # A question sees the plan that was submitted.
    current = json.loads((project.results / "plan" / "slurm-node.plan.json").read_text())
    listed = project.run("augmark", "plan", "--files", "--profile", "slurm", "--config", *KEYS).stdout
    assert {cell["path"] for cell in current["cells"]} == set(re.findall(r"slurm-node/\S+\.json", listed))


def test_after_kill_9_on_the_node_the_same_command_goes_on(cluster, tmp_path, environments):
    """What measures there is killed: what was whole stays, and `status` says which one was cut off."""
    project = make_project(tmp_path / "project", environments)
    run = start(project)
    killed = wait_for(lambda: len(project.records()) >= 2 and at_work(project), "a cell in flight", SECONDS)
    os.kill(killed, signal.SIGKILL)
    assert run.wait(timeout=240) != 0
    wait_for(lambda: not processes(project.root), "no process of the project", 60)
    kept = {path: path.read_bytes() for path in project.records()}
    words = ("augmark", "status", "--profile", "slurm", "--config", *KEYS)
    said = project.run(*words, check=False).stdout
    assert re.search(rf"(?m)^cut off   micro .*: process {killed} on .* is gone.*; it is left$", said)
    assert "nothing is running: the same snakemake command goes on" in said
    project.run(*RUN, timeout=600)
    assert len(project.records()) == sum(CELLS.values())
    assert {path: path.read_bytes() for path in kept} == kept
    assert "cut off" not in project.run(*words).stdout


def at_work(project: Project) -> int | None:
    """A process that measures a cell there and has said so."""
    notices = [notice.read(path) for path in (project.results / "running").rglob("r*.json")]
    said = {each["pid"] for each in notices if each}
    return next((p.pid for p in processes(project.root, "scripts/measure.py") if p.pid in said), None)


def test_an_engine_without_its_machine_is_refused(cluster, tmp_path, environments):
    """`--executor slurm` alone would measure nodes under the name of this host."""
    project = make_project(tmp_path / "project", environments)
    before = cluster.last()
    words = ("snakemake", "--executor", "slurm", "--jobs", "2", "paper_tables", "--config", *KEYS)
    done = project.run(*words, check=False, timeout=120)
    assert done.returncode != 0
    assert "snakemake --profile slurm" in done.stderr
    assert cluster.jobs(after=before) == []


def test_a_machine_with_a_gpu_asks_for_one(cluster, tmp_path, environments):
    """Its session goes to the node that has one, in the profile's partition; none here is a real one."""
    project = make_project(tmp_path / "project", environments)

    def machines(content: dict) -> None:
        content["slurm-node"].update(devices=["cpu", "cuda"])

    project.edit("machines.yaml", machines)
    profile = project.root / "profiles" / "slurm" / "machine.yaml"
    profile.write_text(profile.read_text().replace("partition: null", "partition: gpu"))
    before = cluster.last()
    done = project.run(*RUN, "modes=micro", check=False, timeout=300)
    (job,) = cluster.jobs(after=before)
    assert (job.partition, job.gres) == ("gpu", {"gpu": 1})
    assert done.returncode != 0
    logs = "\n".join(path.read_text() for path in (project.results / "logs" / "probe").rglob("*.log"))
    assert "NVIDIA GPU" in logs
