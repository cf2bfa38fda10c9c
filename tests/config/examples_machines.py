"""Configurations with one mistake about machines and quotas each."""

from tests.config.example import MACHINES, example


@example("bad-pattern", MACHINES, "n2-standard-16.cpu_model", "not a regular expression")
def _(tree):
    with tree.edit("machines") as value:
        value["n2-standard-16"]["cpu_model"] = "xeon("


@example("bad-pattern", MACHINES, "g2-standard-16.gpu_model", "not a regular expression")
def _(tree):
    with tree.edit("machines") as value:
        value["g2-standard-16"]["gpu_model"] = "L4)"


@example("unknown-quota", MACHINES, "c4-standard-16.host.hyperdsk_gb", "did you mean hyperdisk_gb?")
def _(tree):
    with tree.edit("machines") as value:
        value["c4-standard-16"]["host"]["hyperdsk_gb"] = 100


@example("schema", MACHINES, "c4-standard-16.host", "hyperdisk")
def _(tree):
    with tree.edit("machines") as value:
        value["c4-standard-16"]["host"] = {"vcpus": 16, "hyperdisk": 100}


@example("schema", MACHINES, "g2-standard-16.host.l4_gpus", "0 is less than the minimum of 1")
def _(tree):
    with tree.edit("machines") as value:
        value["g2-standard-16"]["host"]["l4_gpus"] = 0
