"""How many hosts fit in the quotas, what binds, and what can never be had."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from augmark import sessions
from augmark.errors import AugmarkError
from augmark.machines import quota
from augmark.plan import Plan
from tests.conftest import copy_project

PROJECT = {"c4_vcpus": 96, "vcpus": 128, "hyperdisk_gb": 500, "l4_gpus": 1}
C4 = {"c4_vcpus": 16, "vcpus": 16, "hyperdisk_gb": 100}
G2 = {"vcpus": 16, "l4_gpus": 1}
DISK = {"id": "c4-standard-16", "host": {"hyperdisk_gb": 100}}


@pytest.mark.parametrize(
    ("limits", "ask", "hosts", "binding"),
    [
        (PROJECT, C4, 5, ["hyperdisk_gb"]),  # 500 / 100, though 96 / 16 = 6 and 128 / 16 = 8
        (PROJECT | {"hyperdisk_gb": 600}, C4, 6, ["c4_vcpus", "hyperdisk_gb"]),
        (PROJECT | {"hyperdisk_gb": 999}, C4, 6, ["c4_vcpus"]),
        (PROJECT | {"vcpus": 79}, C4, 4, ["vcpus"]),
        (PROJECT, G2, 1, ["l4_gpus"]),
        (PROJECT, {"vcpus": 16}, 8, ["vcpus"]),
        (PROJECT | {"l4_gpus": 0}, G2, 0, ["l4_gpus"]),
        (PROJECT | {"hyperdisk_gb": 50}, C4, 0, ["hyperdisk_gb"]),
        ({"l4_gpus": 1}, C4, None, []),
        (PROJECT, {}, None, []),
    ],
)
def test_at_once(limits, ask, hosts, binding):
    """Whole hosts only; what is not asked for, or has no limit, does not bind."""
    assert (hosts, binding) == quota.at_once(limits, ask)


AMOUNTS = st.dictionaries(st.sampled_from(sorted(PROJECT)), st.integers(1, 40), min_size=1)


@given(limits=AMOUNTS, ask=AMOUNTS)
def test_one_more_does_not_fit(limits, ask):
    """That many fit in every limit, and one more breaks exactly the limits that are said to bind."""
    hosts, binding = quota.at_once(limits, ask)
    if hosts is None:
        assert not limits.keys() & ask.keys()
        return
    both = limits.keys() & ask.keys()
    assert all(hosts * ask[name] <= limits[name] for name in both)
    assert binding == sorted(name for name in both if (hosts + 1) * ask[name] > limits[name])
    assert bool(quota.impossible(limits, ask)) == (hosts == 0)


@pytest.mark.parametrize("engine", [None, "slurm"])
@pytest.mark.parametrize("limit", [0, 50, 99])
def test_what_can_never_be_had_is_refused(engine, limit):
    """Here and on an engine; the error names file, both values and what to do."""
    with pytest.raises(AugmarkError) as caught:
        quota.check({"hyperdisk_gb": limit}, DISK, engine=engine, where="profiles/p/profile.yaml: resources")
    assert f"hyperdisk_gb: one host takes 100, and the limit is {limit}" in caught.value.what
    assert "profiles/p/profile.yaml: resources" == caught.value.where
    assert "raise the limit" in caught.value.remedy


@pytest.mark.parametrize("limit", [100, 101, 500])
def test_what_fits_once_is_taken(limit):
    """One host at a time is enough."""
    quota.check({"hyperdisk_gb": limit, "vcpus": 0}, DISK, engine="slurm", where="")


def test_a_quota_without_limit():
    """This host is there already; an engine would start any number, so there it is an error."""
    stanza = {"id": "c4-standard-16", "host": C4}
    quota.check({"hyperdisk_gb": 200}, stanza, engine=None, where="")
    with pytest.raises(AugmarkError) as caught:
        quota.check({"hyperdisk_gb": 200}, stanza, engine="slurm", where="profiles/p/profile.yaml: resources")
    assert "takes of c4_vcpus, vcpus, and no limit is given" in caught.value.what
    assert "(limits given: hyperdisk_gb=200)" in caught.value.what
    assert "--resources c4_vcpus=... hyperdisk_gb=... vcpus=..." in caught.value.remedy


def test_a_machine_without_quotas_is_held_back_by_none():
    """A node of a cluster takes of no quota of ours."""
    quota.check({}, {"id": "slurm-node"}, engine="slurm", where="")


@pytest.mark.parametrize(
    ("limits", "other", "ask", "left"),
    [
        # Five C4 hosts take 80 of all vCPUs and the whole disk.
        (
            {"vcpus": 128, "hyperdisk_gb": 500},
            {"c4_vcpus": 96, "vcpus": 128, "hyperdisk_gb": 500},
            C4,
            {"vcpus": 48, "hyperdisk_gb": 0},
        ),
        # One g2 takes 16 of them.
        ({"vcpus": 128, "hyperdisk_gb": 500}, PROJECT, G2, {"vcpus": 112, "hyperdisk_gb": 500}),
        # The smaller limit holds; one's own submissions are not the other's.
        (
            {"vcpus": 128, "jobs": 3},
            {"vcpus": 40, "jobs": 9},
            {"vcpus": 16, "jobs": 1},
            {"vcpus": 8, "jobs": 3},
        ),
        # What nothing limits may take everything: nothing can be said to be left over, nor taken.
        ({"vcpus": 128}, {"l4_gpus": 1}, {"hyperdisk_gb": 100}, {"vcpus": 128}),
    ],
)
def test_what_is_left_beside_another(limits, other, ask, left):
    """While the other has all the hosts that it may have."""
    assert left == quota.left_beside(limits, other, ask)


@pytest.mark.parametrize(
    ("times", "hosts", "seconds"),
    [
        ([], 3, 0),
        ([5, 5, 5], 1, 15),
        ([5, 5, 5], 2, 10),
        ([5, 5, 5], 3, 5),
        ([9, 1, 1, 1], 2, 9),
        ([3], 4, 3),
    ],
)
def test_how_long_sessions_take(times, hosts, seconds):
    """Each begins where a host is free first."""
    assert seconds == quota.seconds_at(times, hosts)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    copy = copy_project(tmp_path_factory.mktemp("quota") / "project")
    # Declared, so that no cluster is asked.
    copy.edit("machines.yaml", lambda content: content["slurm-node"].update(vcpus=16, memory_gb=60))
    return copy


def ask(project, *words, status=0):
    done = project.run("augmark", "quota", "--json", *words, check=False)
    assert status == done.returncode, done.stderr
    answer = json.loads(done.stdout)
    assert "augmark/quota/1" == answer["schema"]
    return {each["profile"]: each for each in answer["profiles"]}


def test_the_command_answers_for_every_profile_with_limits(project):
    """The paper's project: five C4 hosts, five C4D hosts, one g2; of a cluster as many as there are jobs."""
    found = ask(project)
    shown = {name: (each["machine"], each["hosts"], each["binding"]) for name, each in found.items()}
    assert shown == {
        "gcp-c4": ("c4-standard-16", 5, ["hyperdisk_gb"]),
        "gcp-c4d": ("c4d-standard-16", 5, ["hyperdisk_gb"]),
        "g2-l4": ("g2-standard-16", 1, ["l4_gpus"]),
        "slurm": ("slurm-node", 16, ["jobs"]),
    }
    for each in found.values():
        assert [] == each["problems"]
        assert -(-each["left"] // each["hosts"]) == each["rounds"]


def test_a_profile_with_nothing_to_do_is_named_and_the_others_are_shown(project):
    """Micro of RGB alone is nothing for the g2."""
    keys = ("--config", "modes=micro", "scenarios=image-rgb", "depth=min")
    assert set(ask(project, *keys)) == {"gcp-c4", "gcp-c4d", "slurm"}
    shown = project.run("augmark", "quota", *keys)
    assert "g2-l4: " in shown.stderr
    assert "measures nothing on g2-standard-16" in shown.stderr


def test_the_table_shows_why_it_is_five_and_not_six(project):
    """Each quota with how many hosts it would allow."""
    shown = project.run("augmark", "quota", "--profile", "gcp-c4").stdout
    assert "c4_vcpus 96 / 16 = 6, hyperdisk_gb 500 / 100 = 5, vcpus 128 / 16 = 8" in shown
    assert "g2-l4" not in shown


def test_beside_another_profile(project):
    """While C4 has its five hosts no disk is left for C4D, and beside the g2 all five fit."""
    beside = ask(project, "--profile", "gcp-c4d", "--beside", "gcp-c4", status=1)["gcp-c4d"]
    assert (0, ["hyperdisk_gb"], None) == (beside["hosts"], beside["binding"], beside["rounds"])
    assert 5 == ask(project, "--profile", "gcp-c4d", "--beside", "g2-l4")["gcp-c4d"]["hosts"]
    words = project.run("augmark", "quota", "--profile", "gcp-c4d", "--beside", "gcp-c4", check=False).stdout
    assert "none can be had until hosts of gcp-c4 have ended" in words
    alone = project.run("augmark", "quota", "--beside", "gcp-c4", check=False)
    assert 2 == alone.returncode
    assert "--beside needs --profile" in alone.stderr


def test_a_session_whose_records_are_there_is_not_left(project):
    """Sessions are scenario x mode x device; one with all its probes and records takes no host any more."""
    keys = ["scenarios=image-rgb", "modes=micro,decode", "repeats=1", "depth=min"]
    project.run("snakemake", "-n", "--quiet", "--profile", "gcp-c4", "records", "--config", *keys)
    content = json.loads((project.results / "plan" / "c4-standard-16.plan.json").read_text())
    plan = Plan(content, project.root / "results")
    places = sessions.places(plan)
    assert [("image-rgb", "micro", "cpu"), ("image-rgb", "decode", "cpu")] == sorted(places, reverse=True)
    before = ask(project, "--profile", "gcp-c4", "--config", *keys)["gcp-c4"]
    assert (2, 2, 1, False) == tuple(before[key] for key in ("sessions", "left", "rounds", "seconds_known"))
    for path in sessions.products(plan, places[0]):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text("{}")
    after = ask(project, "--profile", "gcp-c4", "--config", *keys)["gcp-c4"]
    assert (2, 1) == (after["sessions"], after["left"])
    assert 0 < after["seconds"] <= before["seconds"]


def test_a_profile_that_can_have_no_host(project):
    """Exit status 1, with the limit in the table's words."""
    path = project.root / "profiles" / "gcp-c4" / "profile.yaml"
    whole = path.read_text()
    path.write_text(whole.replace("hyperdisk_gb=500", "hyperdisk_gb=50"))
    try:
        done = project.run("augmark", "quota", "--profile", "gcp-c4", check=False)
    finally:
        path.write_text(whole)
    assert 1 == done.returncode
    assert "hyperdisk_gb: one host takes 100, and the limit is 50" in done.stdout
