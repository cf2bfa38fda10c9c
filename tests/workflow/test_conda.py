"""With `--sdm conda` the same rules measure in the environments of envs/<name>.yaml."""

import json
import os

import pytest

from augmark.host import python_tag
from augmark.locking import OLDEST_PYTHON
from augmark.locks import BOOTSTRAP, lock_digest, parse_lock
from augmark.record import read_record
from tests.conftest import copy_project
from tests.envs.conda_standin import put_on_path

# The stand-in makes environments of the Python that runs, conda those of envs/*.yaml.
pytestmark = pytest.mark.skipif(
    f"cpython-{OLDEST_PYTHON}" != python_tag(), reason=f"the stand-in needs Python {OLDEST_PYTHON}"
)

KEYS = ["modes=micro", "libraries=pillow", "transforms=HorizontalFlip,Invert"]
WORDS = ["paper_tables", "--sdm", "conda", "--config", *KEYS]


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """One run of Pillow and the controls with a stand-in conda on the PATH, and nothing built before."""
    folder = tmp_path_factory.mktemp("conda")
    project = copy_project(folder / "project")
    path = f"{put_on_path(folder / 'conda')}{os.pathsep}{os.environ['PATH']}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", path)
        project.run("snakemake", *WORDS, "items=8")
        again = project.run("snakemake", *WORDS, "items=8")
    return project, again.stdout + again.stderr


def test_the_tables_are_there(ran):
    """Every product of the run, up to the last figure."""
    project, _ = ran
    assert "Pillow" in (project.results / "tables" / "image-rgb-micro.md").read_text()
    assert (project.results / "figures" / "efficiency.png").is_file()


def test_no_environment_is_built_by_uv(ran):
    """Rule prepare_env has no part in it."""
    project, _ = ran
    assert not (project.results / "envs").exists()
    assert not (project.results / "logs" / "prepare_env").exists()
    made = [path for path in (project.root / ".snakemake" / "conda").iterdir() if path.is_dir()]
    assert 2 == len(made)
    assert all((path / "bin" / "python").exists() for path in made)


@pytest.mark.parametrize("library", ["pillow", "control-copy", "control-slow"])
def test_what_is_measured_runs_in_the_conda_environment(ran, library):
    """The packages of each record are those that conda installed from the same lock, and no others."""
    project, _ = ran
    paths = [path for path in project.records() if f"/{library}/" in str(path)]
    assert 2 == len(paths)
    lock = project.root / "envs" / ("pillow.txt" if library == "pillow" else "control.txt")
    pins = {pin.name: pin.version for pin in parse_lock(lock.read_text())}
    for path in paths:
        record = read_record(path)
        assert lock_digest(lock) == record["environment"]["lock_digest"]
        packages = record["environment"]["packages"]
        # All of the lock and nothing of the workflow's own environment, whose `python` is on the PATH too.
        # (Of the tools that conda brings itself, those that the lock names too.)
        found = {name: v for name, v in packages.items() if name in pins or name not in BOOTSTRAP}
        assert pins == found
        assert {"ok"} == {row["status"] for row in record["rows"]}


def test_the_identity_is_that_of_the_other_way(ran):
    """The path of a record names the lock, not who built from it."""
    project, _ = ran
    plan = json.loads(next((project.results / "plan").glob("*.plan.json")).read_text())
    assert {cell["path"] for cell in plan["cells"]} == {
        path.relative_to(project.results / "records").as_posix() for path in project.records()
    }


def test_a_second_run_does_nothing(ran):
    """Also with conda, what is there is there."""
    _, again = ran
    assert "Nothing to be done" in again
