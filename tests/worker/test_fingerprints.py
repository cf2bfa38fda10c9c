"""What a record says of its host, its libraries' builds, its variables and its data."""

import getpass
import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from augmark import fingerprint
from augmark.analysis.gather import check_record
from augmark.record import MEASURED, seal_of
from augmark.worker import energy, variables
from tests.conftest import ROOT, copy_project, make_fake
from tests.worker.kit import Jobs

REPEAT = 1  # of which the order is that the row that dies comes first
SHELL = {
    "MKL_CBWR": "AVX2",
    "OMP_NUM_THREADS": "7",  # of the shell: a worker is started with its row's own
    "OPENCV_OPENCL_CACHE_DIR": "/home/somebody/cache",
    "AUGMARK_API_TOKEN": "a secret",
    "MKL_LICENSE_KEY": "a secret",
    "HTTPS_PROXY": "http://me:secret@proxy",
}


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    """The fake library's items and plan: a row that works, and one whose process dies when it is measured."""
    project = copy_project(tmp_path_factory.mktemp("fingerprints") / "project")
    make_fake(project)
    return Jobs(project, ("transforms=Works,DiesWhenMeasured",)).prepare()


@pytest.fixture(scope="module")
def record(jobs, library_python):
    """The record of one cell, measured from a shell with variables of its own."""
    python = library_python("control")
    for kind in ("probe", "measure"):
        done = jobs.run(python, kind, "fake", env={**os.environ, **SHELL}, repeat=REPEAT)
        assert 0 == done.returncode, done.stderr
    record = jobs.record("fake", REPEAT)
    assert ["DiesWhenMeasured", "Works"] == record["order"]
    return record


def test_the_record_follows_its_schema(jobs, record):
    """With all of the fields, and sealed."""
    check_record(record, str(jobs.out("measure", "fake", REPEAT)))
    assert seal_of(record) == record["seal"]
    assert {"Works": "ok", "DiesWhenMeasured": "crashed"} == {
        row["transform"]: row["status"] for row in record["rows"]
    }


def test_the_host_is_this_one(record):
    """The facts that this process reads, too."""
    assert fingerprint.facts() == record["host"]


def test_rows_have_the_energy_that_this_machine_can_tell(record):
    """Its own counters', or the reason why there are none: asked here as the worker did."""
    told = [row["energy"] for row in record["rows"] if row["status"] in MEASURED]
    assert told
    assert all(row["energy"] is None for row in record["rows"] if row["status"] not in MEASURED)
    meter = energy.meter(False)
    for found in told:
        if meter.sources:
            assert found.get("joules_per_item", 0) > 0 or "stood still" in found["unavailable"]
        elif meter.sampler is None:
            assert {"unavailable": meter.missing["package"]} == found


def test_the_dossier_of_the_demo(jobs, record):
    """Held against the manifest, whose files are of 500 x 375 pixels."""
    plan = jobs.plan
    manifest = json.loads(plan.manifest("images").read_text(encoding="utf-8"))
    index = json.loads(plan.items_index("image-rgb", "micro").read_text(encoding="utf-8"))
    sizes = {entry["name"]: entry["bytes"] for entry in manifest["items"]}
    dossier = record["dataset"]
    assert sum(sizes[name] for name in index["names"]) == dossier.pop("bytes")
    assert {
        "name": "demo",
        "kind": "demo",
        "origin": "scikit-image, scikit-learn",
        "licence": "public domain, CC0-1.0, no known copyright restrictions, CC-BY-2.0",
        "redistribute": True,
        "digest": plan.content["datasets"]["images"]["digest"],
        "manifest_digest": manifest["manifest_digest"],
        "common_items": 256,
        "items_digest": plan.item_set("image-rgb", "micro")["digest"],
        "items": 16,
        "widths": [500, 500, 500],
        "heights": [375, 375, 375],
    } == dossier


def test_builds_are_told_by_a_process_that_lived(record):
    """One died of its row; what the other imported is told, and no library that it did not."""
    build = record["environment"]["build"]
    assert {"python", "numpy", "thread_pools"} == set(build)
    assert record["environment"]["packages"]["numpy"] == build["numpy"]["version"]
    assert all("build" not in process for process in record["processes"])


def test_variables_are_those_of_the_worker(record):
    """The row's threads and not the shell's; of a path its last part; no secret."""
    found = record["environment"]["variables"]
    assert ("AVX2", "1", "cache") == tuple(
        found[name] for name in ("MKL_CBWR", "OMP_NUM_THREADS", "OPENCV_OPENCL_CACHE_DIR")
    )
    assert {"MALLOC_TRIM_THRESHOLD_", "ALBUMENTATIONS_OFFLINE"} <= set(found)
    assert "secret" not in json.dumps(record)


def test_the_record_tells_no_names(record, jobs):
    """Neither of the host nor of the user, and no folder of theirs."""
    told = {
        name: record[name] for name in ("host", "environment", "dataset", "processes", "config", "overrides")
    }
    text = json.dumps(told)
    for name in (socket.gethostname(), getpass.getuser()):
        assert not re.search(rf"\b{re.escape(name)}\b", text), name
    for folder in (Path.home(), jobs.project.root, Path(sys.prefix)):
        assert str(folder) not in text


def test_a_record_of_which_no_process_lived_is_whole(tmp_path, library_python):
    """How its libraries were built is unknown: null."""
    project = copy_project(tmp_path / "project")
    make_fake(project)
    jobs, python = Jobs(project, ("transforms=DiesWhenMeasured",)).prepare(), library_python("control")
    for kind in ("probe", "measure"):
        done = jobs.run(python, kind, "fake")
        assert 0 == done.returncode, done.stderr
    record = jobs.record("fake")
    check_record(record, str(jobs.out("measure", "fake")))
    assert (None, "crashed") == (record["environment"]["build"], record["rows"][0]["status"])
    assert "1" == record["environment"]["variables"]["OMP_NUM_THREADS"]


@pytest.mark.parametrize("field", ["host", "environment/build", "environment/variables", "dataset/licence"])
def test_a_record_without_one_of_them_is_refused(jobs, record, field):
    """Unknown is null; not there is no record of this schema."""
    broken = json.loads(json.dumps(record))
    *above, last = field.split("/")
    where = broken
    for key in above:
        where = where[key]
    del where[last]
    with pytest.raises(Exception, match=f"'{last}' is a required property"):
        check_record(broken, str(jobs.out("measure", "fake", REPEAT)))


TELL = """
import json, sys
sys.path.insert(0, sys.argv[1])
from augmark.worker.library_facts import library_facts
for name in sys.argv[2:]:
    __import__(name)
before = set(sys.modules)
facts = library_facts()
new = {name.partition(".")[0] for name in set(sys.modules) - before}
print(json.dumps([facts, sorted(new - set(sys.stdlib_module_names))]))
"""


def told(*modules, code=""):
    """The facts that a fresh process tells after it imported these, and what telling them imported."""
    words = [sys.executable, "-I", "-c", code + TELL, str(ROOT / "workflow"), *modules]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_builds_of_real_libraries():
    """Texts or null, of what was imported alone; nothing more is imported for it."""
    facts, imported = told("numpy", "PIL.Image", "cv2", "threadpoolctl")
    assert (["numpy", "opencv", "pillow", "python", "thread_pools"], []) == (
        sorted(facts),
        [name for name in imported if not name.startswith("_sysconfigdata")],
    )
    values = [value for module in facts.values() for value in module.values()]
    assert all(value is None or (isinstance(value, str) and value) for value in values)
    assert not any("unread" in module for module in facts.values())
    assert not re.search(r"(?<![\w.])/\w+/", json.dumps(facts))
    assert "jpeg-turbo" in facts["opencv"]["jpeg"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", facts["pillow"]["libjpeg_turbo"])
    assert ["numpy", "python"] == sorted(told()[0])  # the worker itself has NumPy


def test_a_library_that_tells_it_otherwise():
    """What could be read before it failed stays, with why it did; the others are read all the same."""
    fake = """
import sys, types
cv2 = types.ModuleType("cv2")
cv2.__version__ = "9.9.9"
sys.modules["cv2"] = cv2
"""
    facts, _ = told("cv2", "numpy", code=fake)
    unread = facts["opencv"].pop("unread")
    assert {"version": "9.9.9"} == facts["opencv"]
    assert unread.startswith("AttributeError: ")
    assert "unread" not in facts["numpy"]


def test_variables_by_name():
    """An allow-list; what lies in folders is named without them."""
    environment = {
        "LD_PRELOAD": "/opt/me/libtcmalloc.so.4:/usr/lib/libjemalloc.so",
        "KMP_AFFINITY": "granularity=fine,compact,1,0",
        "GLIBC_TUNABLES": "glibc.malloc.trim_threshold=1:glibc.malloc.tcache_count=0",
        "JSIMD_FORCENONE": "1",
        "CUDA_VISIBLE_DEVICES": "GPU-8d3a",
        "PATH": "/usr/bin",
        "XOMP_NUM_THREADS": "1",
        "AWS_SECRET_ACCESS_KEY": "x",
        "OPENCV_TOKEN": "x",
    }
    assert {
        "LD_PRELOAD": "libtcmalloc.so.4:libjemalloc.so",
        "KMP_AFFINITY": "granularity=fine,compact,1,0",
        "GLIBC_TUNABLES": "glibc.malloc.trim_threshold=1:glibc.malloc.tcache_count=0",
        "JSIMD_FORCENONE": "1",
    } == variables.found(environment)


def test_variables_that_a_condition_asks_for():
    """They are in the worker's environment, and told whatever their names are."""
    definition = {
        "rows": [{"condition": "threads-4", "threads": 4}, {"condition": "plain", "threads": 2}],
        "variables": {"SOME_SWITCH": "on", "MKL_CBWR": "COMPATIBLE"},
    }
    found = variables.of_plain_rows({"MKL_CBWR": "AVX2", "HOME": "/home/me"}, definition)
    assert ("on", "COMPATIBLE", "2") == tuple(
        found[name] for name in ("SOME_SWITCH", "MKL_CBWR", "OMP_NUM_THREADS")
    )
    assert "HOME" not in found
