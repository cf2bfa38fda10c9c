"""Where a checkout and its results lie is the user's choice, spaces in names included."""

import subprocess
import sys
from pathlib import Path

from tests.conftest import copy_project, make_fake

KEYS = ("transforms=Works", "output=my results")


def test_spaces_in_the_names_of_checkout_and_output(tmp_path):
    """With the interpreter, the project and the output below such folders, everything is made."""
    project = make_fake(copy_project(tmp_path / "my work" / "augmark"))
    (project.root / ".venv").symlink_to(Path(sys.executable).parents[1])
    python = project.root / ".venv" / "bin" / "python"
    command = [python, "-m", "snakemake", "paper_tables", "--config", *KEYS]
    done = subprocess.run(
        command, cwd=project.root, env=project.environment(), capture_output=True, text=True, check=False
    )
    assert 0 == done.returncode, done.stderr[-4000:]
    results = project.root / "my results"
    assert 10 == len(list(results.glob("records/*/*/*/*/*/r*.json")))
    assert "| Works |" in (results / "tables" / "image-rgb-micro.md").read_text()
    assert not project.results.exists()
    assert 0 == project.run("augmark", "coverage", "--config", *KEYS, check=False).returncode


def test_an_output_outside_the_checkout(fake_project, tmp_path):
    """An absolute path is taken as it is."""
    keys = ("transforms=Works", f"output={tmp_path / 'elsewhere'}")
    fake_project.run("snakemake", "paper_tables", "--config", *keys)
    assert 10 == len(list((tmp_path / "elsewhere" / "records").glob("*/*/*/*/*/r*.json")))
    again = fake_project.run("snakemake", "paper_tables", "--config", *keys)
    assert "Nothing to be done" in again.stdout + again.stderr
