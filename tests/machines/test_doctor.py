"""`augmark doctor` as a user runs it, on copies of the project that are well and on broken ones."""

import fcntl
import json
import os
import re
import shutil
import socket
import subprocess
import time

import pytest
import yaml

from augmark import fingerprint, host
from augmark.machines import doctor, looks
from augmark.machines.doctor import Case
from augmark.worker import described, job
from tests.conftest import copy_project, make_fake
from tests.core.kit import plan_of

WORDS = ("libraries=fake", "transforms=Works")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy with the fake library, committed, in which nothing has been made yet."""
    copy = copy_project(tmp_path_factory.mktemp("doctor") / "project")
    make_fake(copy)
    git = ("git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "all")):
        subprocess.run([*git, *words], cwd=copy.root, check=True)
    return copy


def ask(project, *words, env=None):
    """Exit status, and name -> check; several of one name would be a mistake."""
    done = subprocess.run(
        [str(shutil.which("augmark", path=project.environment()["PATH"])), "doctor", "--json", *words],
        cwd=project.root,
        env={**project.environment(), **(env or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout, done.stderr
    told = json.loads(done.stdout)
    checks = {check["name"]: check for check in told["checks"]}
    assert len(checks) == len(told["checks"])
    assert {"augmark/doctor/1"} == {told["schema"]}
    return done.returncode, told["status"], checks


def test_a_fresh_checkout(project):
    """It runs here; what is not built yet is a warning that names what builds it, and nothing is made."""
    before = sorted(project.root.rglob("*"))
    status, _, checks = ask(project, "--config", *WORDS)
    failing = [check for check in checks.values() if check["status"] == "fail"]
    assert (status, failing) == (0, [])
    built = checks["environment control"]
    assert (built["status"], built["remedy"]) == ("warn", "snakemake fetch")
    assert "is not built yet" in built["found"]
    assert checks["tree"]["status"] == "ok"
    assert checks["host"]["found"].startswith(f"{fingerprint.local_machine()}: ")
    assert checks["cores"]["found"].startswith(f"{host.cpus()} processor")
    assert re.search(
        r"about \d.* to come \(1 environments: 250.0 MB; dataset demo: 12.6 MB; items",
        checks["disk: output"]["found"],
    )
    made = [
        path for path in project.root.rglob("*") if path not in before and "__pycache__" not in path.parts
    ]
    assert made == []


def test_the_table_says_the_same(project):
    """Aligned, a remedy below each line that is not ok, and the counts at the end."""
    done = project.run("augmark", "doctor", "--config", *WORDS)
    *lines, empty, counts = done.stdout.splitlines()
    assert empty == ""
    shown = [line for line in lines if line[:4].strip()]
    column = shown[0].index("campaign")
    assert all(line[column - 1] == " " and line[column] != " " for line in shown)
    told = {status: sum(line.startswith(status) for line in shown) for status in ("ok", "warn", "fail")}
    assert counts == f"{told['ok']} ok, {told['warn']} warn, {told['fail']} fail"
    remedies = [line for line in lines if line.strip().startswith("remedy: ")]
    assert len(remedies) == told["warn"] + told["fail"]


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("config/policy.yaml", "seed: [", "config/policy.yaml"),
        ("config/machines.yaml", "", "config/machines.yaml"),
        ("envs/control.txt", None, "control.txt"),
    ],
)
def test_a_plan_that_cannot_be_made_is_a_finding(project, tmp_path, file, text, words):
    """The host is looked at all the same."""
    copy = type(project)(tmp_path / "copy")
    shutil.copytree(project.root, copy.root)
    path = copy.root / file
    path.unlink() if text is None else path.write_text(text, encoding="utf-8")
    status, worst, checks = ask(copy, "--config", *WORDS)
    assert (status, worst, checks["plan"]["status"]) == (1, "fail", "fail")
    assert words in checks["plan"]["found"]
    assert checks["plan"]["remedy"]
    assert {"python", "cores", "load", "governor", "machine lock", "gpu"} <= checks.keys()
    assert "disk: output" not in checks


def test_a_wrong_key_is_a_finding(project):
    """With the word that was meant, as everywhere."""
    status, _, checks = ask(project, "--config", "librarys=fake")
    assert status == 1
    assert "librarys" in checks["plan"]["found"]


def test_another_machine_s_profile(project):
    """What is planned for a c4 fails here, with both descriptions; so does a GPU that is not there."""
    status, _, checks = ask(project, "--profile", "gcp-c4", "--config", "depth=min")
    assert status == 1
    host_check = checks["host"]
    assert host_check["status"] == "fail"
    assert "declared: Google Cloud c4-standard-16" in host_check["found"]
    assert f"found: {fingerprint.cpu_model()}" in host_check["found"]
    stanza = yaml.safe_load((project.root / "config/machines.yaml").read_text())["c4-standard-16"]
    assert described.describe(stanza) in host_check["found"]


def test_an_environment_that_was_changed_by_hand(project, environments, library_python, tmp_path):
    """Built and whole is ok; one package less and it is a fail, with the folder to delete."""
    library_python("control")
    output = tmp_path / "out"
    (output / "envs").mkdir(parents=True)
    (built,) = environments.glob("control.*")
    copied = output / "envs" / built.name
    shutil.copytree(built, copied, symlinks=True)
    words = ("--config", *WORDS, f"output={output}")
    assert ask(project, *words)[2]["environment control"]["status"] == "ok"
    (gone,) = copied.glob("lib/python*/site-packages/psutil-*.dist-info")
    shutil.rmtree(gone)
    status, _, checks = ask(project, *words)
    found = checks["environment control"]
    assert (status, found["status"]) == (1, "fail")
    assert "psutil is in the lock and not installed" in found["found"]
    assert str(copied) in found["remedy"]
    (copied / "env.json").unlink()
    unfinished = ask(project, *words)[2]["environment control"]
    assert (unfinished["status"], unfinished["found"].split(" (")[0]) == ("warn", "was not finished")


def test_a_clock_that_was_set_back(project, tmp_path):
    """A record of tomorrow; the warning names it."""
    path = tmp_path / "records" / "later.json"
    path.parent.mkdir()
    path.touch()
    os.utime(path, (time.time() + 86400,) * 2)
    found = ask(project, "--config", *WORDS, f"output={tmp_path}")[2]["clock"]
    assert (found["status"], str(path) in found["found"]) == ("warn", True)


def test_an_output_folder_that_is_a_file(project, tmp_path):
    """It cannot be written, and the other checks are made."""
    (tmp_path / "file").touch()
    status, _, checks = ask(project, "--config", *WORDS, f"output={tmp_path / 'file'}")
    assert (status, checks["writable: output"]["status"]) == (1, "fail")
    assert "cores" in checks


def test_a_dirty_tree(project, tmp_path):
    """Depth max claims something and fails; min is a smoke signal and warns."""
    copy = type(project)(tmp_path / "copy")
    shutil.copytree(project.root, copy.root)
    with open(copy.root / "config" / "config.yaml", "a", encoding="utf-8") as stream:
        stream.write("# changed\n")
    assert ask(copy, "--config", *WORDS)[2]["tree"]["status"] == "warn"
    status, _, checks = ask(copy, "--config", *WORDS, "depth=max")
    assert (status, checks["tree"]["status"]) == (1, "fail")


def test_conda_is_asked_where_it_makes_the_environments(project, tmp_path):
    """With `--sdm conda` nothing of uv is looked at; without a conda on the PATH that is a fail."""
    tools = tmp_path / "bin"
    tools.mkdir()
    tool = tools / "conda"
    path = f"{tools}{os.pathsep}{project.environment()['PATH']}"
    checks = ask(project, "--sdm", "conda", "--config", *WORDS)[2]
    if shutil.which("conda") is None:
        assert (checks["conda"]["status"], checks["conda"]["found"]) == ("fail", "conda is not on the PATH")
    tool.write_text("#!/bin/sh\necho conda 25.1.0\n", encoding="utf-8")
    tool.chmod(0o755)
    checks = ask(project, "--sdm", "conda", "--config", *WORDS, env={"PATH": path})[2]
    assert (checks["conda"]["status"], checks["conda"]["found"]) == ("ok", "conda 25.1.0")
    assert not any(name.startswith("environment ") for name in checks)
    assert "disk: packages" not in checks


def test_describe_prints_a_stanza_that_this_machine_is(project):
    """Pasted into machines.yaml it is accepted, and this host passes for it."""
    text = project.run("augmark", "doctor", "--describe").stdout
    ((name, stanza),) = yaml.safe_load(text).items()
    assert list(described.differences(stanza, described.identity(stanza))) == []
    assert described.undeclared(stanza) == []
    assert socket.gethostname() not in text
    path = project.root / "config" / "machines.yaml"
    before = path.read_text(encoding="utf-8")
    try:
        path.write_text(before + text, encoding="utf-8")
        assert ask(project, "--config", *WORDS)[2]["plan"]["status"] == "ok"
    finally:
        path.write_text(before, encoding="utf-8")
    assert name == "my-machine"


# --- in this process ----------------------------------------------------------------------------------------


def broken(case):
    raise ValueError("bug 7")


def test_a_check_that_breaks_is_a_fail_and_the_others_run(monkeypatch, tmp_path):
    """An exception nobody thought of, also half way through a look that gives several checks."""

    def halfway(case):
        yield looks.Check("half", "ok", "there")
        broken(case)

    last = looks.Looked("last", lambda case: looks.Check("last", "ok", "ran"))
    told = (looks.Looked("one", broken), looks.Looked("two", halfway), last)
    monkeypatch.setattr(looks, "LOOKS", told)
    found = doctor.look(Case(tmp_path, None))
    assert [(check.name, check.status) for check in found] == [
        ("one", "fail"),
        ("half", "ok"),
        ("two", "fail"),
        ("last", "ok"),
    ]
    assert found[0].found == "ValueError: bug 7"
    assert doctor.worst(found) == "fail"


def test_a_run_that_has_the_machine(monkeypatch, tmp_path):
    """The lock that timed jobs hold, held for real."""
    path = tmp_path / "lock"
    monkeypatch.setattr(job, "MACHINE_LOCK", path)
    case = Case(tmp_path, None)
    (look,) = (each.look for each in looks.LOOKS if each.name == "machine lock")
    assert look(case).status == "ok"
    with open(path, "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert look(case).status == "warn"


def test_memory_of_a_container(tmp_path):
    """The limit of a control group is what rows have, and of it the policy's share."""
    files = {
        "proc/self/cgroup": "0::/box\n",
        "proc/meminfo": "MemTotal: 24684092 kB\nMemAvailable: 23648424 kB\n",
        "sys/fs/cgroup/cgroup.controllers": "cpu memory\n",
        "sys/fs/cgroup/box/memory.max": f"{1 << 30}\n",
        "sys/fs/cgroup/box/cpu.max": "50000 100000\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    plan = plan_of({"libraries": "pillow", "modes": "micro,dataloader-memory", "scenarios": "image-rgb"})
    case = Case(tmp_path, plan, host=tmp_path)
    looked = {each.name: each.look for each in looks.LOOKS}
    memory = {check.name: check for check in looked["memory"](case)}
    share = plan.content["policy"]["limits"]["memory_limit_share"]
    assert memory["memory"].found.startswith(f"{(1 << 30) * share / 1e6:.1f} MB; ")
    assert memory["memory"].status == "warn"  # the loaders do not fit, micro does
    assert memory["open files"].status == "ok"
    assert looked["cores"](case).status == "fail"
    assert looked["swap"](case).found == "unknown: this system does not say"
