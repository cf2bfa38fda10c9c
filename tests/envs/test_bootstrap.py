"""When .venv is built again, and what is said where it cannot be."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from augmark.bootstrap import STAMP, is_ready, make_control_environment, wanted_stamp
from augmark.errors import AugmarkError

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def root(tmp_path):
    """A checkout with a lock, a pyproject.toml and a .venv that is ready."""
    root = tmp_path / "a check out"
    (root / "envs").mkdir(parents=True)
    (root / "envs" / "workflow.txt").write_text("uv==0.0.1 --hash=sha256:00\n")
    (root / "pyproject.toml").write_text("[project]\n")
    (root / ".venv" / "bin").mkdir(parents=True)
    (root / ".venv" / "bin" / "python").symlink_to(sys.executable)
    (root / ".venv" / STAMP).write_text(json.dumps(wanted_stamp(root)))
    return root


def test_ready_venv_is_left_alone(root):
    """Nothing is said and nothing done where all is as locked."""
    said = []
    make_control_environment(root, say=said.append)
    assert [] == said


@pytest.mark.parametrize("change", ["lock", "pyproject", "moved", "no interpreter", "no stamp"])
def test_stale_venv_is_not_ready(root, change):
    """Each thing that a .venv depends on makes it stale."""
    match change:
        case "lock":
            (root / "envs" / "workflow.txt").write_text("uv==0.0.2 --hash=sha256:00\n")
        case "pyproject":
            (root / "pyproject.toml").write_text("[project]\nname = 'x'\n")
        case "moved":
            root = root.rename(root.with_name("moved"))
        case "no interpreter":
            (root / ".venv" / "bin" / "python").unlink()
        case "no stamp":
            (root / ".venv" / STAMP).unlink()
    assert not is_ready(root / ".venv", wanted_stamp(root))


def test_failing_step_is_explained(root, monkeypatch):
    """uv cannot be had: the step's last lines and a remedy, and no stamp is left."""
    shutil.rmtree(root / ".venv")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(AugmarkError, match="this step failed") as error:
        make_control_environment(root, say=lambda line: None)
    assert "uv==0.0.1" in str(error.value)
    assert "is the package registry reachable?" in str(error.value)
    assert not (root / ".venv" / STAMP).exists()


@pytest.mark.parametrize("python", ["no-such-python", "false"])
def test_make_names_the_remedy_for_a_python_that_will_not_do(python):
    """Missing or too old: one line that says which to choose."""
    command = ["make", "--no-print-directory", "setup", f"PYTHON={python}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert 2 == done.returncode
    assert f"'{python}' does not run, or is older than Python 3.11" in done.stderr
