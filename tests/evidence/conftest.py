"""A finished run of the fake libraries, measured once; each test gets a copy that it may spoil."""

import json
import shutil
from pathlib import Path

import pytest

from augmark.evidence.verify import Verification, examine
from augmark.plan import Plan
from tests.conftest import Project, copy_project, make_fake
from tests.evidence import handoffs, packages

WORDS = ("--config", "transforms=Works,WorksAtRandom", "repeats=2")


class Measured(Project):
    """A project with records, tables and figures."""

    @property
    def plan(self) -> Plan:
        (path,) = (self.results / "plan").glob("*.plan.json")
        return Plan(json.loads(path.read_text()), Path("results"))

    def examine(self) -> Verification:
        return examine(self.plan, self.root)

    def record(self, library: str, repeat: int = 0) -> Path:
        (path,) = (self.results / "records").glob(f"*/*/*/{library}/cpu/r{repeat}.*.json")
        return path

    def name(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()


@pytest.fixture(scope="session")
def measured(tmp_path_factory, environments) -> Measured:
    """All of ``paper_tables`` made in one run of two repeats. To be left as it is."""
    copied = copy_project(tmp_path_factory.mktemp("measured") / "project")
    copied.results.mkdir()
    (copied.results / "envs").symlink_to(environments)
    make_fake(copied)
    project = Measured(copied.root, ("paper_tables", *WORDS))
    project.run("snakemake", *project.words)
    return project


@pytest.fixture
def spoiled(measured, tmp_path) -> Measured:
    """A copy of the finished run, to be spoiled."""
    root = tmp_path / "project"
    shutil.copytree(measured.root, root, symlinks=True, ignore=shutil.ignore_patterns(".snakemake"))
    return Measured(root, measured.words)


@pytest.fixture(scope="session")
def packed(measured, tmp_path_factory) -> Project:
    """The finished run, and the package that ``snakemake package`` made of it. To be left as it is."""
    project = packages.copied(measured, tmp_path_factory.mktemp("packed") / "project")
    done = project.run("snakemake", "package", *WORDS)
    (project.root / "said.txt").write_text(done.stderr, encoding="utf-8")
    return project


@pytest.fixture(scope="session")
def archive(packed) -> Path:
    (path,) = (packed.results / "package").iterdir()
    return path


@pytest.fixture(scope="session")
def whole(archive, tmp_path_factory) -> Path:
    """The unpacked package. To be left as it is."""
    return packages.unpack(archive, tmp_path_factory.mktemp("whole"))


@pytest.fixture(scope="session")
def handed(tmp_path_factory, environments) -> handoffs.Handed:
    """A desk, its handoff, and the far machine after the handoff's script ran there. To be left as it is."""
    root = tmp_path_factory.mktemp("handed")
    copied = copy_project(root / "desk")
    copied.results.mkdir()
    (copied.results / "envs").symlink_to(environments)
    desk = handoffs.make_desk(copied)
    content, script = handoffs.hand_over(desk)
    far = handoffs.clone(desk, root / "far", environments)
    return handoffs.Handed(desk, content, script, far, handoffs.run_script(far, script))


@pytest.fixture
def desk(handed, tmp_path) -> Project:
    """A copy of the desk, where nothing has come in yet."""
    return packages.copied(handed.desk, tmp_path / "desk")
