"""Cells that this machine cannot run are shown as `not-run`, with the reason."""

import pytest

from augmark.config.load import load
from augmark.config.select import measures
from augmark.machines.abilities import not_for, why_not_here
from tests.conftest import ROOT, copy_project
from tests.evidence.handoffs import far_stanza


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """A copy of the project in which nothing has run."""
    return copy_project(tmp_path_factory.mktemp("bare") / "project")


def test_a_reason_wherever_nothing_is_measured():
    """What the configuration leaves out on a machine has a reason, and nothing else has one."""
    settings = load(ROOT)
    for machine, stanza in settings.machines.items():
        for scenario, about in settings.scenarios.items():
            for mode in about["modes"]:
                reason = not_for({"id": machine, **stanza}, scenario, mode)
                assert measures(settings, machine, scenario, mode) == (reason is None), (machine, mode)


@pytest.mark.parametrize(
    ("machine", "place", "words"),
    [
        ("c4-standard-16", ("image-rgb", "dataloader-copy"), "needs a device to copy to (cuda or mps)"),
        ("g2-standard-16", ("image-rgb", "micro"), "measures dataloader-copy alone"),
        ("c4d-standard-16", ("image-9ch", "micro"), "measures image-rgb alone"),
        ("c4-standard-16", ("image-rgb", "micro", "cuda"), "needs a cuda device"),
        ("c4-standard-16", ("image-rgb", "micro"), None),
    ],
)
def test_why_a_machine_is_not_for_something(machine, place, words):
    """No device to copy to, another purpose, another scenario, no such device."""
    said = not_for({"id": machine, **load(ROOT).machines[machine]}, *place)
    assert (words is None and said is None) or words in said


def test_why_this_host_cannot():
    """Another host, no GPU, an engine; and none for a stanza that this host satisfies."""
    machines = load(ROOT).machines
    stanza = {"id": "far-host", **far_stanza()}
    assert why_not_here(stanza, "far-host", ROOT) is None
    assert "not 512" in why_not_here({**stanza, "vcpus": 512}, "far-host", ROOT)
    gpu = {**stanza, "devices": ["cpu", "cuda"], "gpu_model": "a GPU that nobody has"}
    assert why_not_here(gpu, "far-host", ROOT).startswith(
        "needs a cuda device: machine far-host (A far host: "
    )
    slurm = {"id": "slurm-node", **machines["slurm-node"]}
    assert "`snakemake --profile slurm`" in why_not_here(slurm, "slurm-node", ROOT)
    local = {"id": "local", **machines["local"]}
    assert why_not_here(local, "local-zzzz", ROOT).startswith("needs the host local-zzzz")


def test_coverage_of_a_campaign_of_other_machines(bare):
    """At the desk all cells of the paper are shown, with why they cannot run here; exit status 1."""
    done = bare.run("augmark", "coverage", "--short", "--config", "campaign=paper", check=False)
    assert 1 == done.returncode
    for machine in ("c4-standard-16", "c4d-standard-16", "g2-standard-16"):
        (line,) = [line for line in done.stdout.splitlines() if line.startswith(f"{machine}: ")]
        assert " cells not-run: needs " in line
        assert "of this host: its processor is " in line or "it has no NVIDIA GPU" in line
        assert f"`augmark handoff --machine {machine}` writes what runs them there" in done.stdout
    assert "needs a cuda device: machine g2-standard-16" in done.stdout


def test_matrix_of_a_campaign_of_other_machines(bare):
    """One matrix per machine, each with its reasons."""
    said = bare.run("augmark", "matrix", "--config", "campaign=paper").stdout
    assert 3 == sum(line.startswith("campaign paper, depth max, machine ") for line in said.splitlines())
    assert 3 == said.count(" cells not-run: needs ")


def test_one_machine_of_a_campaign(bare):
    """Named by its profile: that machine alone."""
    said = bare.run("augmark", "matrix", "--profile", "g2-l4").stdout
    assert "machine g2-standard-16" in said
    assert "c4-standard-16" not in said
    assert "9 cells not-run: needs a cuda device" in said


def test_coverage_names_the_tables_without_cells(bare):
    """A campaign of this machine: what needs a device is not-run, and nothing of it is missing here."""
    said = bare.run("augmark", "coverage", "--short", check=False).stdout
    reason = "not-run: needs a device to copy to (cuda or mps), and machine local has cpu alone"
    assert f"table image-rgb-dataloader-copy: {reason}" in said
    assert f"table image-9ch-dataloader-copy: {reason}" in said
