"""One archive: what is in it, that it is whole and tells on nobody, that tables come out of it elsewhere."""

import json
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from google.protobuf import json_format
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement
from rocrate.rocrate import ROCrate

from augmark.cell import file_sha256
from augmark.evidence.archive import Member, sums, write_archive
from augmark.plan import Plan
from tests.evidence import conftest
from tests.evidence.packages import copied, flip, names, rebuilt, the_plan

WORDS = ("package", *conftest.WORDS)


@pytest.fixture
def unpacked(whole, tmp_path) -> Path:
    """The unpacked package, to be spoiled."""
    return Path(shutil.copytree(whole, tmp_path / "elsewhere" / whole.name))


# --- what is in it ---------------------------------------------------------------------------------------


def test_the_archive_holds_records_products_configuration_locks_and_source(packed, archive, whole):
    """Every record and product of the plan, and the files of the project that make tables of them."""
    plan, held = the_plan(packed), names(whole)
    assert whole.name == archive.name.removesuffix(".tar.gz") == f"augmark-demo-{plan.machine}-{plan.digest}"
    assert {f"records/{cell['path']}" for cell in plan.cells()} == {
        n for n in held if n.startswith("records/")
    }
    assert {f"pyperf/{cell['path']}" for cell in plan.cells()} == {n for n in held if n.startswith("pyperf/")}
    for folder in ("tables", "figures"):
        made = {
            path.relative_to(packed.results).as_posix() for path in packed.results.glob(f"{folder}/**/*.*")
        }
        assert made == {name for name in held if name.startswith(f"{folder}/")}
    for folder in ("config", "envs", "docs", "scripts", "profiles", "workflow"):
        own = {n for n in names(packed.root / folder) if "__pycache__" not in n}
        assert own == {name.removeprefix(f"{folder}/") for name in held if name.startswith(f"{folder}/")}
    alone = {
        "Snakefile",
        "pyproject.toml",
        "Makefile",
        "LICENSE",
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
    }
    made = {"REBUILD.md", "SHA256SUMS", "plan.json", "provenance.json", "ro-crate-metadata.json"}
    assert alone | made | {"records.parquet"} == {name for name in held if "/" not in name}
    probes = {name for name in held if name.startswith("probes/")}
    assert len(plan.content["definitions"]) == sum(name.endswith(".json") for name in probes)
    assert {"equivalence.csv", "summary.csv"} <= {path.name for path in (whole / "tables").iterdir()}
    assert not any(name.split("/")[0] in ("tests", "results", "items", "datasets") for name in held)
    for name in held - made:
        folder = packed.results if (packed.results / name).exists() else packed.root
        source = plan.records_file if name == "records.parquet" else folder / name
        assert file_sha256(source) == file_sha256(whole / name), name


def test_the_plan_in_it_is_the_same_plan_without_anybody_s_folders(packed, whole):
    """Its digest is that of the plan that was measured, and it names no output and no source."""
    content = json.loads((whole / "plan.json").read_text(encoding="utf-8"))
    assert the_plan(packed).digest == Plan(content, whole).digest
    assert "output" not in content["config"]
    assert all("source" not in about for about in content["datasets"].values())


def test_sha256sum_finds_every_file_as_it_was_packed(unpacked):
    """All files but the sums stand in them; one flipped byte is found by the system's own command."""
    listed = [line.split("  ", 1)[1] for line in (unpacked / "SHA256SUMS").read_text().splitlines()]
    assert sorted(names(unpacked) - {"SHA256SUMS"}) == listed
    check = ["sha256sum", "-c", "--quiet", "SHA256SUMS"]
    assert 0 == subprocess.run(check, cwd=unpacked, check=False).returncode
    flip(unpacked / "records.parquet")
    done = subprocess.run(check, cwd=unpacked, capture_output=True, text=True, check=False)
    assert (1, "records.parquet: FAILED\n") == (done.returncode, done.stdout)


def test_the_statement_vouches_for_the_files_and_the_crate_lists_them(whole):
    """In-toto's own library reads the one, RO-Crate's own library the other."""
    content = json.loads((whole / "provenance.json").read_text(encoding="utf-8"))
    statement = Statement.copy_from_pb(json_format.ParseDict(content, statement_pb2.Statement()))
    statement.validate()
    subjects = {each.name: each.digest["sha256"] for each in statement.pb.subject}
    about = {"provenance.json", "ro-crate-metadata.json", "SHA256SUMS"}
    assert subjects == {name: file_sha256(whole / name) for name in names(whole) - about}
    crate = ROCrate(whole)
    listed = {entity.source.relative_to(whole).as_posix(): entity for entity in crate.get_by_type("File")}
    assert names(whole) - {"ro-crate-metadata.json", "SHA256SUMS"} == set(listed)
    assert all(file_sha256(whole / name) == entity["sha256"] for name, entity in listed.items())
    data = json.loads((whole / "plan.json").read_text())["datasets"]["images"]
    assert data["digest"] == crate.isBasedOn["sha256"]
    assert f"sha256 `{data['digest']}`" in (whole / "REBUILD.md").read_text(encoding="utf-8")


def test_a_package_of_a_tree_without_git_says_so(whole):
    """At depth min that is a warning on the first page, with the records that it is about."""
    page = (whole / "REBUILD.md").read_text(encoding="utf-8")
    assert "smoke signal" in page
    assert "git does not know this tree" in page
    assert re.search(r"records/\S+\.json and 9 more: the commit that measured is not known", page)


def test_log_and_end_of_the_run_say_where_it_is_and_what_it_holds(packed, archive, whole):
    """Path, size, number of files and digest, as they are."""
    digest = subprocess.run(
        ["sha256sum", archive], capture_output=True, text=True, check=True
    ).stdout.split()[0]
    path = archive.relative_to(packed.root)
    expected = rf"{path}: [\d.]+ MB, {len(names(whole))} files, sha256 {digest}"
    log = (packed.results / "logs" / "package.log").read_text(encoding="utf-8").splitlines()
    assert re.fullmatch(expected, log[-1])
    assert f"package  {log[-1]}" in (packed.root / "said.txt").read_text(encoding="utf-8")


# --- the same bytes --------------------------------------------------------------------------------------


def test_packing_twice_gives_the_same_bytes(packed, archive, tmp_path):
    """Whenever it is packed, and whatever the times of the files are."""
    project = copied(packed, tmp_path / "project")
    for path in (*project.records(), project.root / "README.md"):
        os.utime(path, (1, 1))
    shutil.rmtree(project.results / "package")
    project.run("snakemake", *WORDS)
    assert archive.read_bytes() == (project.results / "package" / archive.name).read_bytes()
    assert "Nothing to be done" in said(project)


def test_an_archive_does_not_depend_on_order_clock_or_user(tmp_path):
    """Sorted names, one given time, nobody's ids; a command stays a command."""
    command = tmp_path / "run"
    command.write_text("#!/bin/sh\n")
    command.chmod(0o700)
    members = [Member("b/run", command), Member("a", b"x")]
    write_archive(tmp_path / "one.tar.gz", "top", members, 1_000_000_000)
    write_archive(tmp_path / "two.tar.gz", "top", members[::-1], 1_000_000_000)
    assert (tmp_path / "one.tar.gz").read_bytes() == (tmp_path / "two.tar.gz").read_bytes()
    with tarfile.open(tmp_path / "one.tar.gz") as held:
        found = [
            (each.name, each.mode, each.mtime, each.uid, each.gid, each.uname, each.gname) for each in held
        ]
    rest = (1_000_000_000, 0, 0, "", "")
    assert [("top/a", 0o644, *rest), ("top/b/run", 0o755, *rest)] == found
    # sha256 of "x", as `printf x | sha256sum` says.
    digest = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
    assert f"{digest}  a\n".encode() == sums(members[1:]).read()


def said(project, *words) -> str:
    """What ``snakemake package`` says."""
    done = project.run("snakemake", *words, *WORDS)
    return done.stdout + done.stderr


def test_it_is_packed_again_when_a_file_of_the_project_changes(packed, tmp_path):
    """A page that is packed, and a new file of the code, make the archive that was there an old one."""
    project = copied(packed, tmp_path / "project")
    for change in (
        lambda: (project.root / "docs" / "scope.md").write_text("other\n", encoding="utf-8"),
        lambda: (project.root / "workflow" / "augmark" / "new.py").touch(),
        lambda: (project.root / "workflow" / "augmark" / "new.py").unlink(),
    ):
        change()
        assert re.search(r" package +1 *\n", said(project, "-n"))
        assert re.search(r" total +1 *\n", said(project))
        assert "Nothing to be done" in said(project, "-n")


# --- elsewhere -------------------------------------------------------------------------------------------


def test_tables_and_figures_come_out_of_it_byte_for_byte_in_an_empty_folder(unpacked, tmp_path):
    """Another folder, another HOME, no git, no results: only the unpacked files and the environment."""
    done = rebuilt(unpacked, tmp_path / "home", "--check")
    assert 0 == done.returncode, done.stdout + done.stderr
    for folder in ("tables", "figures"):
        published = {name: (unpacked / folder / name).read_bytes() for name in names(unpacked / folder)}
        again = {
            name: (unpacked / "rebuilt" / folder / name).read_bytes()
            for name in names(unpacked / "rebuilt" / folder)
        }
        assert published == again
        assert published
    assert (unpacked / "records.parquet").read_bytes() == (
        unpacked / "rebuilt" / "records.parquet"
    ).read_bytes()


def test_the_rebuilding_runs_the_code_that_was_packed(unpacked, tmp_path):
    """With the packed source broken nothing is made: no other copy of the workflow is at work."""
    broken = unpacked / "workflow" / "augmark" / "evidence" / "rebuild.py"
    broken.write_text("raise RuntimeError('the packed code')\n", encoding="utf-8")
    done = rebuilt(unpacked, tmp_path / "home")
    assert 1 == done.returncode
    assert "RuntimeError: the packed code" in done.stderr


@pytest.mark.parametrize("name", ["tables/image-rgb-micro.md", "figures/image-rgb-micro.throughput.png"])
def test_a_published_file_that_was_changed_is_found(unpacked, tmp_path, name):
    """A flipped bit in a table or a figure: named, and the exit status is 1."""
    flip(unpacked / name)
    done = rebuilt(unpacked, tmp_path / "home", "--check")
    assert 1 == done.returncode
    assert name in done.stdout


def test_a_record_that_was_changed_is_found(unpacked, tmp_path):
    """One digit of one time: the record's seal does not fit any more."""
    path = next((unpacked / "records").rglob("r0.*.json"))
    text = path.read_text(encoding="utf-8")
    content = json.loads(text)
    content["wall_seconds"] += 1.0
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")
    done = rebuilt(unpacked, tmp_path / "home", "--check")
    assert 1 == done.returncode
    assert path.name in done.stdout + done.stderr
