"""The virtual cluster itself: it schedules, keeps books, and goes away without a trace."""

import os

import pytest

from tests.slurm import cluster as slurm
from tests.slurm import jobs


def ended(cluster, *ids):
    """Wait for jobs to end; what became of them."""
    cluster.wait_until(lambda: all(job.ended for job in cluster.jobs() if job.id in ids), what=f"{ids} ended")
    return {job.id: job for job in cluster.jobs() if job.id in ids}


def test_a_job_runs_on_a_node_and_its_size_and_times_stay_known(cluster):
    before = cluster.last()
    job = cluster.submit("--cpus-per-task=16", "--mem=58000", command="echo on $SLURMD_NODENAME")
    about = ended(cluster, job)[job]
    assert (about.state, about.partition, about.cpus, about.memory_mb) == ("COMPLETED", "cpu", 16, 58000)
    assert cluster.output(job).split() == ["on", *about.nodes]
    assert about.nodes[0] in slurm.CPU_NODES
    assert about.start <= about.end
    assert [found.id for found in cluster.jobs(after=before)] == [job]


def test_a_job_that_asks_for_the_device_runs_where_it_is(cluster):
    device = "echo $SLURMD_NODENAME sees $CUDA_VISIBLE_DEVICES; srun echo and in a step $SLURM_JOB_ID"
    job = cluster.submit("--partition=gpu", "--gres=gpu:1", command=device)
    about = ended(cluster, job)[job]
    assert (about.state, about.nodes, about.gres) == ("COMPLETED", ("gpu1",), {"gpu": 1})
    assert cluster.output(job).splitlines() == ["gpu1 sees 0", f"and in a step {job}"]


def test_two_jobs_that_want_a_node_each_run_at_once_on_two(cluster):
    both = [cluster.submit("--exclusive", command="sleep 60") for _ in range(2)]

    def held():
        return [job for job in cluster.jobs() if job.id in both and job.state == "RUNNING"]

    cluster.wait_until(lambda: len(held()) == 2, what="both run")
    assert len({job.nodes for job in held()}) == 2
    assert [(job.cpus, job.exclusive) for job in held()] == [(16, True)] * 2
    for job in both:
        cluster.cancel(job)
    assert {job.state for job in ended(cluster, *both).values()} == {"CANCELLED"}


def test_a_seventh_whole_node_waits_for_one_of_the_six(cluster):
    seven = [cluster.submit("--exclusive", command="sleep 60") for _ in range(7)]

    def states():
        return [job.state for job in cluster.jobs() if job.id in seven]

    cluster.wait_until(lambda: states().count("RUNNING") == 6, what="six run")
    assert states()[-1] == "PENDING"
    waiting = next(job for job in cluster.jobs() if job.id == seven[-1])
    assert (waiting.nodes, waiting.start, waiting.end) == ((), None, None)
    cluster.cancel(seven[0])
    cluster.wait_until(lambda: states()[-1] == "RUNNING", what="the seventh runs")
    for job in seven:
        cluster.cancel(job)
    ended(cluster, *seven)


def test_a_job_that_fits_on_no_node_is_refused(cluster):
    with pytest.raises(RuntimeError, match="node configuration is not available"):
        cluster.submit("--cpus-per-task=17", command="true")


def test_what_a_wait_was_for_is_shown_with_the_jobs_when_it_does_not_come(cluster):
    job = cluster.submit("--job-name=shown-here", command="true")
    ended(cluster, job)
    with pytest.raises(TimeoutError, match=r"(?s)not within 0.2 s: pigs fly.*shown-here.*slurmctld:"):
        cluster.wait_until(lambda: False, what="pigs fly", seconds=0.2)


def test_nothing_is_left_of_a_cluster_whose_session_was_killed(cluster, tmp_path):
    def supervisors():
        return [process for process in slurm.marked() if process.name() == "slurmstepd"]

    said = tmp_path / "pid"
    cluster.submit(command=f"echo $$ > {said}; env -i sleep 600 & srun sleep 600")
    cluster.wait_until(lambda: len(supervisors()) == 2, what="the job's step runs")
    held = slurm.marked()
    assert {int(said.read_text()), *(daemon.pid for daemon in cluster.daemons.values())} < {
        p.pid for p in held
    }
    slurm.clear()  # what the next session does first; nothing else was stopped or asked before
    for daemon in cluster.daemons.values():
        daemon.wait(timeout=10)
    cluster.daemons.clear()
    assert not [process for process in held if slurm.is_alive(process)]
    assert not any((slurm.SETTINGS / name).exists() for name in slurm.FILES)
    assert not slurm.FOLDER.exists()
    slurm.bring_up(cluster)  # the tests that follow have a cluster again


def test_a_second_session_waits_for_the_first_ones_cluster(cluster):
    with pytest.raises(TimeoutError, match="other tests use the virtual SLURM"), slurm.start(patience=0):
        pass
    assert cluster.submit(command="true")


def test_a_daemon_that_does_not_start_is_named_with_its_last_words(cluster, tmp_path):
    broken = slurm.Cluster(tmp_path)
    slurm.launch(broken, "slurmd", "slurmd", "-D", "-N", "no-such-node")
    with pytest.raises(RuntimeError, match=r"(?s)all nodes are idle: ended at once: slurmd.*no-such-node"):
        slurm.wait_for(broken, lambda: False, "all nodes are idle")


@pytest.mark.parametrize("name", slurm.FILES)
def test_the_configuration_of_a_real_cluster_is_left_alone(name, tmp_path, monkeypatch):
    monkeypatch.setattr(slurm, "SETTINGS", tmp_path)
    monkeypatch.delenv("SLURM_CONF", raising=False)
    (tmp_path / name).write_text("ClusterName=hpc\n")
    with pytest.raises(slurm.Unavailable, match=f"{name} is not ours"):
        slurm.check_possible()
    assert (tmp_path / name).read_text() == "ClusterName=hpc\n"


def test_a_shell_that_is_set_up_for_a_cluster_starts_none(monkeypatch):
    monkeypatch.setenv("SLURM_CONF", "/etc/hpc/slurm.conf")
    with pytest.raises(slurm.Unavailable, match="SLURM_CONF is set"):
        slurm.check_possible()


def test_without_the_packages_it_is_said_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(slurm, "SETTINGS", tmp_path)
    monkeypatch.delenv("SLURM_CONF", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(slurm.Unavailable, match=r"no munged, slurmctld.*apt-get install slurm-wlm"):
        slurm.check_possible()


def test_only_root_starts_one(tmp_path, monkeypatch):
    monkeypatch.setattr(slurm, "SETTINGS", tmp_path)
    monkeypatch.delenv("SLURM_CONF", raising=False)
    monkeypatch.setattr(slurm, "COMMANDS", ())
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(slurm.Unavailable, match="run the tests as root"):
        slurm.check_possible()


@pytest.mark.parametrize(
    ("text", "mebibytes"), [("60000M", 60000), ("1.50G", 1536), ("2T", 2097152), ("0", 0)]
)
def test_memory_is_read_in_every_unit(text, mebibytes):
    assert jobs.mebibytes(text) == mebibytes
