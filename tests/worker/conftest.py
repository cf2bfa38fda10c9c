"""Projects whose items are prepared once for all tests of the worker."""

import pytest

from tests.conftest import copy_project, make_fake
from tests.worker.kit import Jobs


@pytest.fixture(scope="session")
def real(tmp_path_factory) -> Jobs:
    """The real libraries, two transforms that each offers, eight items. To be left as it is."""
    project = copy_project(tmp_path_factory.mktemp("real") / "project")
    keys = ("scenarios=image-rgb", "modes=micro", "transforms=HorizontalFlip,Rotate", "items=8")
    return Jobs(project, keys).prepare()


@pytest.fixture(scope="session")
def real_python(library_python):
    """Library -> the interpreter of its own environment."""
    return lambda library: library_python("control" if library.startswith("control") else library)


@pytest.fixture(scope="module")
def fake(tmp_path_factory) -> Jobs:
    """The fake libraries with their items; a test writes the plan that it needs."""
    project = copy_project(tmp_path_factory.mktemp("fake") / "project")
    make_fake(project)
    project.edit("policy.yaml", lambda content: content["limits"].update(probe_row_timeout_seconds=600))
    return Jobs(project, ("transforms=SleepsForEver",)).prepare()
