"""What SLURM says of its nodes, and what is asked of it; `sinfo` here prints what it prints elsewhere."""

import os

import pytest

from augmark import engines
from augmark.errors import AugmarkError

OPEN = {"id": "slurm-node", "vcpus": None, "memory_gb": None, "cpu_model": None, "devices": ["cpu"]}


@pytest.fixture
def sinfo(tmp_path, monkeypatch):
    """Put a ``sinfo`` on the PATH that prints these lines, or fails."""

    def put(text: str, status: int = 0) -> None:
        program = tmp_path / "sinfo"
        program.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\nexit {status}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    return put


def test_the_least_that_every_node_gives(sinfo):
    """Memory differs by what each kernel keeps; processors do not."""
    sinfo("cpu*|3|idle|64|240000|(null)\ncpu*|1|mix|64|240001|(null)\ngpu|1|idle|32|120000+|gpu:l4:1")
    found = engines.completed(OPEN, "slurm", None)
    assert (found["vcpus"], found["memory_gb"]) == (64, 234.4)
    assert found["told_by_engine"] == ["memory_gb", "vcpus"]
    assert engines.completed(OPEN, "slurm", "gpu")["vcpus"] == 32


def test_what_is_declared_is_not_asked_for(sinfo):
    sinfo("cpu*|2|idle|64|240000|(null)", status=1)
    declared = {**OPEN, "vcpus": 16, "memory_gb": 60}
    assert engines.completed(declared, "slurm", None) == declared


@pytest.mark.parametrize(
    ("text", "partition", "what"),
    [
        ("cpu*|2|idle|64|240000|(null)\ncpu*|2|idle|32|240000|(null)", None, "have 32, 64 processors"),
        ("cpu*|2|idle|64|240000|(null)", "gpu", "partition gpu has no node"),
        ("cpu|2|idle|64|240000|(null)", None, "the default partition has no node"),
        ("cpu*|2|idle|64|240000|(null)\ngpu|2|idle|32|1000|(null)", "cpu,gpu", "have 32, 64 processors"),
    ],
)
def test_nodes_that_cannot_be_one_machine(sinfo, text, partition, what):
    sinfo(text)
    with pytest.raises(AugmarkError, match=what):
        engines.completed(OPEN, "slurm", partition)


def test_a_cluster_that_does_not_answer(sinfo):
    """The first thing to do about it is to be where it answers."""
    sinfo("", status=1)
    with pytest.raises(AugmarkError, match="run it where sinfo answers"):
        engines.completed(OPEN, "slurm", None)


@pytest.mark.parametrize(
    ("limit", "minutes"),
    [("30:00", 30), ("1:00:00", 60), ("2-12:00:00", 3600), ("infinite", None), ("n/a", None)],
)
def test_time_limits_as_slurm_writes_them(sinfo, limit, minutes):
    sinfo(f"cpu*|{limit}\ngpu|5:00")
    assert engines.time_limit_minutes(None) == minutes
    assert engines.time_limit_minutes("gpu") == 5


def test_no_time_limit_is_known_where_slurm_does_not_answer(sinfo):
    sinfo("", status=1)
    assert engines.time_limit_minutes(None) is None


def test_a_host_is_asked_for_whole():
    stanza = {**OPEN, "vcpus": 16, "memory_gb": 60, "host": {"hyperdisk_gb": 100}}
    assert engines.request(stanza, None, None) == {"hyperdisk_gb": 100}
    asked = {"hyperdisk_gb": 100, "cpus_per_task": 16, "mem_mb": 55296}  # nine tenths of 61,440 MiB
    assert engines.request(stanza, "slurm", None) == asked
    gpu = {**stanza, "devices": ["cpu", "cuda"]}
    assert engines.request(gpu, "slurm", "gpu") == {**asked, "slurm_partition": "gpu", "gres": "gpu:1"}


def test_an_engine_that_is_none_and_a_machine_that_is_on_none():
    with pytest.raises(AugmarkError, match="unknown engine 'slrum'"):
        engines.check_engine("slrum", "slurm-node")
    with pytest.raises(AugmarkError, match="the machine is local"):
        engines.check_engine("slurm", "local")
