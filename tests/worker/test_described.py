"""The host check: what is declared, what this host is found to be, and both where they differ."""

import json
import re

import pytest
import yaml

from augmark import fingerprint, host
from augmark.errors import AugmarkError
from augmark.plan import Plan
from augmark.worker import described
from tests.conftest import ROOT, copy_project, make_fake
from tests.worker.kit import Jobs

MACHINES = yaml.safe_load((ROOT / "config" / "machines.yaml").read_text(encoding="utf-8"))
C4 = {
    "cpu_model": "INTEL(R) XEON(R) PLATINUM 8581C CPU @ 2.10GHz",
    "cpus": 16,
    "memory_bytes": 63_204_425_728,  # 58.86 GiB of the declared 60
    "architecture": "x86_64",
    "hardware": "Google Google Compute Engine",
    "hypervisor": None,
    "virtual": True,
    "gpus": None,
}
G2 = {**C4, "cpu_model": "Intel(R) Xeon(R) CPU @ 2.20GHz", "memory_bytes": 62 << 30, "gpus": ["NVIDIA L4"]}
PARTS = {"c4-standard-16": C4, "g2-standard-16": G2}


def plan_for(machine, stanza=None):
    content = {"machine": machine, "machine_stanza": {"id": machine, **(stanza or MACHINES[machine])}}
    return Plan(content, ROOT / "results")


@pytest.fixture
def this_host(monkeypatch):
    """Make this host another, as far as its fingerprint goes."""

    def become(found):
        facts = {**fingerprint.facts(), **found}
        facts["gpus"] = [{"name": name} for name in found["gpus"] or ()] or None
        monkeypatch.setattr(fingerprint, "fingerprint", lambda: facts)

    return become


@pytest.mark.parametrize("machine", [*sorted(PARTS), "slurm-node"])
def test_the_machine_itself_passes(machine, this_host):
    """Nothing differs, and nothing is raised."""
    this_host(PARTS.get(machine, C4))  # where nothing is declared any host will do
    described.check_machine(plan_for(machine))


def test_another_machine_stops_with_both_descriptions(this_host):
    """A c4 is planned and this host is a g2: declared and found, whole, and what to do."""
    this_host({**G2, "cpus": 8, "memory_bytes": 59 << 30})
    with pytest.raises(AugmarkError) as stopped:
        described.check_machine(plan_for("c4-standard-16"))
    assert str(stopped.value).splitlines() == [
        "machines.yaml: the plan is for c4-standard-16, and its processor is "
        "'Intel(R) Xeon(R) CPU @ 2.20GHz', which does not match '(?i)xeon.*platinum.*8581C'; "
        "it has 8 processors, not 16",
        "  declared: Google Cloud c4-standard-16: processor matching '(?i)xeon.*platinum.*8581C', "
        "16 processors, 60 GiB",
        "  found: Intel(R) Xeon(R) CPU @ 2.20GHz, 8 processors, 59.0 GiB, x86_64, "
        "firmware says 'Google Google Compute Engine', a virtual machine",
        "  remedy: run it on that machine, or plan for this one (machine local; for another machine add the "
        "stanza that `augmark doctor --describe` prints on it)",
    ]


@pytest.mark.parametrize(
    ("machine", "change", "what"),
    [
        ("c4-standard-16", {"cpu_model": None}, "its processor is None, which does not match"),
        ("c4-standard-16", {"memory_bytes": 50 << 30}, "it has 50.0 GiB of memory, not 60 GiB"),
        ("c4-standard-16", {"memory_bytes": 64 << 30}, "it has 64.0 GiB of memory, not 60 GiB"),
        # The same processor in a machine of another kind (n4-standard-16: 64 GB, less what the system keeps).
        ("c4-standard-16", {"memory_bytes": int(62.8 * (1 << 30))}, "it has 62.8 GiB of memory, not 60 GiB"),
        ("c4-standard-16", {"memory_bytes": None}, "it has an unknown amount of memory, not 60 GiB"),
        ("g2-standard-16", {"gpus": None}, "it has no NVIDIA GPU, or its driver does not answer"),
        ("g2-standard-16", {"gpus": ["NVIDIA L40S"]}, "its GPU is 'NVIDIA L40S', which does not match"),
        (
            "g2-standard-16",
            {"gpus": ["NVIDIA L4", "Tesla T4"]},
            "its GPU is 'Tesla T4', which does not match",
        ),
    ],
)
def test_each_difference_is_told(machine, change, what, this_host):
    """One at a time, on a host that is the machine otherwise."""
    this_host({**PARTS.get(machine, C4), **change})
    with pytest.raises(AugmarkError, match=re.escape(what)) as stopped:
        described.check_machine(plan_for(machine))
    assert ";" not in stopped.value.what.partition("\n")[0]


def test_the_gpu_of_a_machine_without_one_is_not_looked_at(this_host):
    """A card in a host that is measured on its processors only is no part of what it is."""
    this_host({**C4, "gpus": ["NVIDIA L4"]})
    described.check_machine(plan_for("c4-standard-16"))
    facts = described.machine_facts(plan_for("c4-standard-16"))
    assert facts["found"] == C4


def test_half_a_gigabyte_can_be_declared(this_host):
    """Memory is any positive number in the schema."""
    this_host({**C4, "memory_bytes": 15 << 29})
    described.check_machine(plan_for("c4-standard-16", {**MACHINES["c4-standard-16"], "memory_gb": 7.5}))


def told_by_slurm(vcpus, memory_gb):
    """The stanza of a cluster's nodes with what SLURM says of them."""
    told = {"vcpus": vcpus, "memory_gb": memory_gb, "told_by_engine": ["memory_gb", "vcpus"]}
    return {**MACHINES["slurm-node"], "id": "slurm-node", **told}


def test_a_host_may_have_more_than_its_engine_gives_of_it(this_host):
    """SLURM counts cores where the system counts threads, and leaves the system its memory."""
    this_host({**C4, "cpus": 128, "memory_bytes": int(251.5 * (1 << 30))})
    described.check_machine(plan_for("slurm-node", told_by_slurm(64, 234.4)))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"cpus": 16}, "it has 16 processors, not 64"),
        ({"cpus": None}, "it has None processors, not 64"),
        ({"memory_bytes": 100 << 30}, "it has 100.0 GiB of memory, not 234.4 GiB"),
    ],
)
def test_a_host_with_less_than_its_engine_tells_is_another(change, what, this_host):
    this_host({**C4, "cpus": 64, "memory_bytes": int(251.5 * (1 << 30)), **change})
    with pytest.raises(AugmarkError, match=re.escape(what)):
        described.check_machine(plan_for("slurm-node", told_by_slurm(64, 234.4)))


def test_label_and_facts_of_a_record(this_host):
    """The title of the stanza, and what was found: not what was declared."""
    this_host(C4)
    assert described.machine_facts(plan_for("c4-standard-16")) == {
        "label": "Google Cloud c4-standard-16: INTEL(R) XEON(R) PLATINUM 8581C CPU @ 2.10GHz, 16 processors, "
        "58.9 GiB",
        "found": C4,
    }
    this_host({**G2, "gpus": ["NVIDIA L4", "NVIDIA L4", "Tesla T4"]})
    label = described.machine_facts(plan_for("g2-standard-16"))["label"]
    assert label.endswith("16 processors, 62.0 GiB, 2 x NVIDIA L4, Tesla T4")


def test_local_is_labelled_by_its_id(monkeypatch):
    """`this machine` means nothing to a reader; the fingerprint does."""
    here = fingerprint.local_machine()
    facts = described.machine_facts(plan_for(here, {**MACHINES["local"], "id": "local"}))
    assert facts["label"].startswith(f"{here}: ")
    assert facts["found"]["cpus"] == host.cpus()


def test_another_local_machine_is_refused():
    """A plan that was made elsewhere names that host."""
    with pytest.raises(AugmarkError) as stopped:
        described.check_machine(plan_for("local-0000", {**MACHINES["local"], "id": "local"}))
    first = stopped.value.what.splitlines()[0]
    assert first == f"the plan is for local-0000, and this host is {fingerprint.local_machine()}"
    assert "  declared: this machine: any processor, any number of processors, any memory" in str(
        stopped.value
    )


@pytest.mark.parametrize(
    ("machine", "keys"),
    [
        ("slurm-node", ["vcpus", "cpu_model", "memory_gb"]),
        ("macbook-m4", ["vcpus", "memory_gb"]),
        ("c4-standard-16", []),
    ],
)
def test_what_a_stanza_leaves_open(machine, keys):
    """Any host passes in these."""
    assert described.undeclared(MACHINES[machine]) == keys


def test_a_job_stops_before_anything_is_timed(tmp_path, library_python):
    """The real command: a plan for a c4 on this host writes no probe, and says both descriptions."""
    project = copy_project(tmp_path / "project")
    make_fake(project)
    jobs = Jobs(project, ("transforms=Works",)).prepare()
    content = json.loads(jobs.plan_path.read_text(encoding="utf-8"))
    content["machine_stanza"] = {"id": "c4-standard-16", **MACHINES["c4-standard-16"]}
    jobs.plan_path.write_text(json.dumps(content), encoding="utf-8")
    done = jobs.run(library_python("control"), "probe", "fake")
    assert done.returncode == 1
    assert "\n  declared: Google Cloud c4-standard-16: processor matching" in done.stderr
    assert f"\n  found: {fingerprint.cpu_model()}, {host.cpus()} processor" in done.stderr
    assert not jobs.out("probe", "fake").exists()
