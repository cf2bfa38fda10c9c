"""What the tests of packages share: copies of a run, unpacking, and tables made again elsewhere."""

import json
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from augmark.plan import Plan
from tests.conftest import Project


def copied(project, root) -> Project:
    """A copy of a project with its results."""
    shutil.copytree(project.root, root, symlinks=True, ignore=shutil.ignore_patterns(".snakemake"))
    return Project(root, project.words)


def the_plan(project) -> Plan:
    """The plan of the last run, with its output where it lies."""
    path = next((project.results / "plan").glob("*.plan.json"))
    return Plan(json.loads(path.read_text(encoding="utf-8")), project.results)


def unpack(archive, folder) -> Path:
    """Unpack an archive; the one folder that it holds."""
    with tarfile.open(archive) as held:
        held.extractall(folder, filter="data")
    (inside,) = folder.iterdir()
    return inside


def names(folder) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def rebuilt(folder, home, *words) -> subprocess.CompletedProcess:
    """Make the tables again in a process that knows the folder alone: no git, no PATH, another HOME."""
    home.mkdir(exist_ok=True)
    variables = {
        "HOME": str(home),
        "PATH": str(home),
        "PYTHONPATH": str(folder / "workflow"),
        "PYTHONNOUSERSITE": "1",
    }
    command = [sys.executable, "-B", "scripts/rebuild.py", "--package", ".", "--out", "rebuilt", *words]
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)


def flip(path):
    """Change one bit in the middle of a file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
