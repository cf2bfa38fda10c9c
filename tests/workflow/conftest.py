"""A finished run of the fake libraries, shared by the tests that only read it."""

import shutil

import pytest

from tests.conftest import Project, copy_project, make_fake

KEYS = ("transforms=Works,WorksAtRandom", "repeats=3")


@pytest.fixture(scope="session")
def finished(tmp_path_factory, environments) -> Project:
    """All of ``paper_tables`` made in one run of three repeats. To be left as it is."""
    project = copy_project(tmp_path_factory.mktemp("finished") / "project")
    project.results.mkdir()
    (project.results / "envs").symlink_to(environments)
    make_fake(project)
    project.words = ("paper_tables", "--config", *KEYS)
    project.run("snakemake", *project.words)
    return project


@pytest.fixture
def ran_copy(finished, tmp_path) -> Project:
    """A copy of the finished run, to be changed and run again."""
    copy = Project(tmp_path / "ran", words=finished.words)
    shutil.copytree(finished.root, copy.root, symlinks=True)
    return copy
