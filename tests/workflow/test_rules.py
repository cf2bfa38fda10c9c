"""Each rule alone, in a folder that holds nothing but its inputs: it makes its outputs and nothing else."""

import csv
import hashlib
import io
import json
import shutil
import subprocess
import tarfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from augmark.cell import file_sha256, short_digest
from augmark.evidence.source import package_path
from augmark.locks import lock_digest, parse_lock
from augmark.plan import Plan
from augmark.record import read_record
from tests.conftest import Project, copy_project, make_fake

AWAY = shutil.ignore_patterns("results", ".snakemake", "__pycache__")


def files(project):
    """Every file below results, but what each start of the workflow writes, and Snakemake's marks."""
    made = {
        path.relative_to(project.results).as_posix() for path in project.results.rglob("*") if path.is_file()
    }
    return {name for name in made if not name.startswith("plan/") and ".snakemake_timestamp" not in name}


@pytest.fixture
def alone(finished, tmp_path):
    """Run one rule with only the named inputs there; returns the copy and the names of what came about."""

    def run(rule, target, *inputs, environments=False):
        copy = Project(tmp_path / "alone")
        shutil.copytree(finished.root, copy.root, ignore=AWAY)
        copy.results.mkdir()
        if environments:
            (copy.results / "envs").symlink_to((finished.results / "envs").resolve())
        for name in inputs:
            (copy.results / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(finished.results / name, copy.results / name)
        copy.run("snakemake", f"results/{target}", "--allowed-rules", rule, *finished.words[1:])
        return copy, files(copy) - set(inputs)

    return run


@pytest.fixture(scope="module")
def plan(finished):
    return json.loads(next((finished.results / "plan").glob("*.plan.json")).read_text())


def one(finished, pattern):
    """The one product that a pattern finds, as a name below results."""
    (path,) = finished.results.glob(pattern)
    return path.relative_to(finished.results).as_posix()


def equal_bytes(finished, copy, *names):
    for name in names:
        assert (finished.results / name).read_bytes() == (copy.results / name).read_bytes(), name


def test_stage_dataset(finished, alone):
    """The tarball's bytes have the digest of its path, and are the same at every staging."""
    staged, tar = one(finished, "datasets/*/staged.json"), one(finished, "datasets/*/dataset.tar")
    folder = staged.split("/")[1]
    copy, made = alone("stage_dataset", staged)
    assert {staged, tar, f"logs/stage_dataset/{folder}.log"} == made
    assert folder.split(".")[1] == file_sha256(copy.results / tar)[:10]
    equal_bytes(finished, copy, staged, tar)


def test_audit_dataset(finished, alone, plan):
    """The manifest is named after dataset, policy and code; its own digest covers what it lists."""
    staged, tar = one(finished, "datasets/*/staged.json"), one(finished, "datasets/*/dataset.tar")
    manifest = one(finished, "datasets/*/manifest.*.json")
    folder, audit = staged.split("/")[1], manifest.split(".")[-2]
    copy, made = alone("audit_dataset", manifest, staged, tar)
    assert {manifest, f"logs/audit_dataset/{folder}.{audit}.log"} == made
    assert plan["datasets"]["images"]["audit_digest"] == audit
    content = json.loads((copy.results / manifest).read_text())
    listed = [content["dataset"]["digest"], content["policy"], content["items"], content["quarantine"]]
    assert short_digest(listed) == content["manifest_digest"]
    assert file_sha256(copy.results / tar) == content["dataset"]["digest"]
    equal_bytes(finished, copy, manifest)


def test_prepare_items(finished, alone, plan):
    """The flat file holds each image as Pillow decodes it, at its place, under the digest of the index."""
    staged, tar = one(finished, "datasets/*/staged.json"), one(finished, "datasets/*/dataset.tar")
    manifest = one(finished, "datasets/*/manifest.*.json")
    index, pixels = one(finished, "items/*/index.json"), one(finished, "items/*/items.bin")
    name = index.split("/")[1]
    copy, made = alone("prepare_items", index, staged, tar, manifest)
    content, data = json.loads((copy.results / index).read_text()), (copy.results / pixels).read_bytes()
    files = {f"items/{name}/files/{about['name']}" for about in content["files"]}
    assert {index, pixels, f"logs/prepare_items/{name}.log", *files} == made
    assert f"image-rgb.{plan['scenarios']['image-rgb']['item_sets']['micro']['digest']}" == name
    assert content["sha256"] == hashlib.sha256(data).hexdigest()
    assert 16 == content["items"] == len(content["names"])
    with tarfile.open(copy.results / tar) as archive:
        parts = (content[part] for part in ("names", "offsets", "shapes", "files"))
        for item, offset, shape, kept in zip(*parts, strict=True):
            encoded = archive.extractfile(item).read()
            expected = np.asarray(Image.open(io.BytesIO(encoded)).convert("RGB"))
            assert list(expected.shape) == shape
            assert expected.tobytes() == data[offset : offset + expected.size]
            assert encoded == (copy.results / "items" / name / "files" / kept["name"]).read_bytes()
    equal_bytes(finished, copy, index, pixels)


def test_prepare_env(finished, alone, plan):
    """An environment is really built, and its interpreter finds what the lock pins."""
    lock = finished.root / "envs" / "control.txt"
    folder = Plan(plan, finished.results).environment_marker("control").parent.name
    assert lock_digest(lock) == folder.split(".")[1]
    copy, made = alone("prepare_env", f"envs/{folder}/env.json")
    inside = {name for name in made if name.startswith(f"envs/{folder}/")}
    assert {f"envs/{folder}/env.json", f"envs/{folder}/pyvenv.cfg"} <= inside
    assert {f"logs/prepare_env/{folder}.log", f"envs/.{folder}.lock"} == made - inside
    python = copy.results / "envs" / folder / "bin" / "python"
    ask = "import sys, numpy, psutil; print(sys.prefix, numpy.__version__, psutil.__version__, sep='|')"
    said = subprocess.run([python, "-I", "-c", ask], capture_output=True, text=True, check=True).stdout
    pins = {pin.name: pin.version for pin in parse_lock(lock.read_text())}
    assert [str(python.parents[1]), pins["numpy"], pins["psutil"]] == said.strip().split("|")
    equal_bytes(finished, copy, f"envs/{folder}/env.json")


def ready(finished):
    """What a timed job needs beside its environment."""
    files = sorted(
        path.relative_to(finished.results).as_posix() for path in finished.results.glob("items/*/files/*")
    )
    return one(finished, "items/*/index.json"), one(finished, "items/*/items.bin"), *files


def test_probe(finished, alone, plan):
    """Every planned row is tried; the pinned outputs are the same at every probe."""
    probe = one(finished, "probes/*/image-rgb/micro/fake/cpu/probe.*.json")
    samples = probe.replace(".json", ".samples.zip")
    copy, made = alone("probe", probe, *ready(finished), environments=True)
    place, digest = "/".join(probe.split("/")[1:-1]), probe.split(".")[-2]
    assert {probe, samples, f"logs/probe/{place}/{digest}.log"} == made
    content = json.loads((copy.results / probe).read_text())
    assert digest == content["digest"] == plan["definitions"]["image-rgb/micro/fake/cpu"]["probe_digest"]
    assert {"Works": "ok", "WorksAtRandom": "ok"} == {n: row["status"] for n, row in content["rows"].items()}
    assert all(row["loops"] >= 1 for row in content["rows"].values())
    equal_bytes(finished, copy, samples)


def test_measure(finished, alone, plan):
    """One cell becomes one whole record, of the rows that its path's digest stands for."""
    record = one(finished, "records/*/image-rgb/micro/fake/cpu/r1.*.json")
    probes = [
        path.relative_to(finished.results).as_posix() for path in finished.results.glob("probes/**/*.json")
    ]
    manifest = one(finished, "datasets/*/manifest.*.json")  # of the common set, which the record counts
    copy, made = alone("measure", record, *ready(finished), *probes, manifest, environments=True)
    log = record.replace("records/", "logs/measure/").replace(".json", ".log")
    assert {record, log} == made
    content, before = read_record(copy.results / record), read_record(finished.results / record)
    identity = [[row["transform"], "plain", "run", row["digest"]] for row in content["rows"]]
    assert record.split(".")[-2] == content["digest"] == short_digest(identity)
    assert [(row["transform"], row["digest"], "ok") for row in before["rows"]] == [
        (row["transform"], row["digest"], row["status"]) for row in content["rows"]
    ]
    for same in ("cell", "order", "environment", "dataset", "host", "threads", "probe"):
        assert before[same] == content[same]
    index = json.loads((copy.results / ready(finished)[0]).read_text())
    assert index["manifest_digest"] == content["dataset"]["manifest_digest"]
    assert all(len(row["values"]) == 2 for row in content["rows"])


def test_collect(finished, alone, plan):
    """One line per row of each record; one pyperf file per cell."""
    records = [f"records/{cell['path']}" for cell in plan["cells"]]
    parquet = one(finished, "records/*/records.parquet")
    copy, made = alone("collect", parquet, *records)
    pyperf = {f"pyperf/{cell['path']}" for cell in plan["cells"]}
    assert {parquet, "logs/collect.log"} | pyperf == made
    frame = pd.read_parquet(copy.results / parquet)
    rows = {
        (name.removeprefix("records/"), row["transform"], row["digest"])
        for name in records
        for row in read_record(copy.results / name)["rows"]
    }
    assert rows == set(zip(frame["record_path"], frame["transform"], frame["row_digest"], strict=True))
    assert len(rows) == len(frame)
    equal_bytes(finished, copy, parquet, *pyperf)


RECORDS, CLASSES, SAMPLES = "records/*/records.parquet", "tables/equivalence.csv", "probes/**/*.samples.zip"
# Rule and what it makes -> log, outputs, and the inputs that suffice for it.
DERIVED = {
    "check_coverage": ("check_coverage", ["tables/coverage.txt"], [RECORDS]),
    "equivalence": ("equivalence", [CLASSES, "tables/equivalence.md"], [SAMPLES]),
    "contact_sheets": (
        "contact_sheets",
        [f"figures/equivalence/image-rgb.{name}.png" for name in ("Works", "WorksAtRandom")],
        [SAMPLES, CLASSES],
    ),
    "summarize": ("summarize", ["tables/summary.csv"], [RECORDS, CLASSES]),
    "tables": (
        "tables/image-rgb-micro",
        [f"tables/image-rgb-micro.{end}" for end in ("md", "csv", "tex")],
        [RECORDS, CLASSES],
    ),
    "claims": ("claims", ["tables/claims.md", "tables/claims.csv"], [RECORDS, CLASSES]),
    "efficiency": ("efficiency", ["tables/efficiency.csv"], [RECORDS]),
    "energy_table": ("energy_table", ["tables/energy.csv", "tables/energy.md"], [RECORDS]),
    "efficiency_figure": (
        "figures/efficiency",
        [f"figures/efficiency.{end}" for end in ("pdf", "png")],
        [RECORDS],
    ),
    "figures throughput": (
        "figures/image-rgb-micro.throughput",
        [f"figures/image-rgb-micro.throughput.{end}" for end in ("pdf", "png")],
        [RECORDS, CLASSES],
    ),
    "figures coverage": (
        "figures/image-rgb-micro.coverage",
        [f"figures/image-rgb-micro.coverage.{end}" for end in ("pdf", "png")],
        [RECORDS, CLASSES],
    ),
}


def found(project, patterns):
    """Names below results of what the patterns find; each finds something."""
    names = [
        [path.relative_to(project.results).as_posix() for path in project.results.glob(pattern)]
        for pattern in patterns
    ]
    assert all(names)
    return [name for each in names for name in each]


@pytest.mark.parametrize("rule", DERIVED)
def test_what_readers_get_is_made_from_records_and_samples_alone(finished, alone, rule):
    """Given the file of records, the probes' samples, or what was made of them: the same bytes again."""
    log, outputs, inputs = DERIVED[rule]
    copy, made = alone(rule.split()[0], outputs[0], *found(finished, inputs))
    assert {*outputs, f"logs/{log}.log"} == made
    equal_bytes(finished, copy, *outputs)


def test_package(finished, alone, plan):
    """All that was made becomes one archive: nothing is measured or drawn for it."""
    folders = ("records", "pyperf", "probes", "tables", "figures")
    given = [
        path.relative_to(finished.results).as_posix()
        for folder in folders
        for path in sorted((finished.results / folder).rglob("*"))
        if path.is_file()
    ]
    archive = package_path(Plan(plan, Path())).as_posix()
    _, made = alone("package", archive, *given)
    assert {archive, "logs/package.log"} == made


# --- rules of a plan that has sweeps or loaders ------------------------------------------------------


@pytest.fixture(scope="module")
def swept(tmp_path_factory, environments):
    """The records of one transform on one thread and on two."""
    project = make_fake(copy_project(tmp_path_factory.mktemp("swept") / "project"))
    project.results.mkdir()
    (project.results / "envs").symlink_to(environments)
    sweep = {"axis": "threads", "values": [2], "modes": ["micro"]}
    project.edit("depths/min.yaml", lambda content: content.update(sweeps=[sweep]))
    project.words = ("paper_tables", "--config", "transforms=Works", "repeats=3")
    project.run("snakemake", *project.words)
    return project


def alone_again(project, rule, outputs):
    """Have one rule make again what is there; the bytes before and after."""
    before = {name: (project.results / name).read_bytes() for name in outputs}
    for name in outputs:
        (project.results / name).unlink()
    project.run("snakemake", f"results/{outputs[0]}", "--allowed-rules", rule, *project.words[1:])
    return before, {name: (project.results / name).read_bytes() for name in outputs}


def test_regimes(swept):
    """Each condition stands against the plain row of the same library, and nowhere else."""
    before, after = alone_again(swept, "regimes", [f"tables/regimes.{end}" for end in ("md", "csv", "tex")])
    assert before == after
    text = before["tables/regimes.csv"].decode()
    lines = list(csv.DictReader(io.StringIO(text)))
    assert {"threads-2"} == {line["condition"] for line in lines} - {"plain"}
    assert {"fake", "fake-too"} == {line["library"] for line in lines}
    table = (swept.results / "tables" / "image-rgb-micro.csv").read_text()
    assert "threads-2" not in table


def test_regimes_figure(swept):
    """The same bytes at every drawing."""
    before, after = alone_again(swept, "regimes_figure", [f"figures/regimes.{end}" for end in ("pdf", "png")])
    assert before == after


def test_the_plan_s_sweeps_bring_their_table(finished, swept):
    """Where there is no condition, nobody is given an empty table of them."""
    assert (swept.results / "tables" / "regimes.md").is_file()
    assert not (finished.results / "tables" / "regimes.md").exists()


def test_bounds(finished, alone):
    """Without a loader's row there is nothing to bound: the file has its head alone, if it is asked for."""
    copy, made = alone("bounds", "tables/bounds.csv", one(finished, RECORDS))
    assert {"tables/bounds.csv", "logs/bounds.log"} == made
    (head,) = (copy.results / "tables" / "bounds.csv").read_text().splitlines()
    assert {"library", "transform", "bound_by"} <= set(head.split(","))
    assert not (finished.results / "tables" / "bounds.csv").exists()


def test_session(finished, alone):
    """What one stretch of work gave: three repeats of two fakes and the three controls."""
    target = one(finished, "sessions/*/*/*/*.json")
    made_before = [
        path.relative_to(finished.results).as_posix()
        for pattern in ("records/*/*/*/*/*/r*.json", "probes/*/*/*/*/*/probe.*")
        for path in finished.results.glob(pattern)
    ]
    copy, made = alone("session", target, *made_before)
    assert {target, f"logs/{target.removesuffix('.json').replace('sessions', 'session', 1)}.log"} == made
    (stretch,) = json.loads((copy.results / target).read_text())["stretches"]
    assert stretch["cells"] == 3 * 5
    equal_bytes(finished, copy, target)


def test_every_rule_stands_here(finished):
    """A new rule needs its test."""
    listed = finished.run("snakemake", "--list-rules", *finished.words[1:]).stdout.split("\n")
    rules = {name for name in listed if name.isidentifier()} - {"paper_tables", "records"}
    rules -= {"plan_verdicts", "plan_report"}  # test_plan_report.py: a campaign asks no question
    rules -= {"fetch"}  # test_fetch.py: it has nothing of its own
    rules -= {"topup"}  # test_topup.py: the run here has its number of repeats
    tested = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    assert 18 <= len(rules)
    assert set() == rules - tested - {name.split()[0] for name in DERIVED}
