"""The workflow's own files that a package holds, and the state that they are in. Standard library only."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from augmark.plan import Plan
from augmark.record import replace_json

# What decides a number or makes a table; a new file among them counts, though git does not know it yet.
CODE = ("Snakefile", "config", "envs", "profiles", "scripts", "workflow")
ABOUT = (
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "Makefile",
    "README.md",
    "docs",
    "pyproject.toml",
)


def source_files(root: Path) -> list[Path]:
    """Every file of the project that a package holds, sorted; without git, all but caches and hidden ones."""
    known = _git_files(root, "--cached", "--others", "--exclude-standard", "--", *CODE)
    if root / "Snakefile" in known:
        known += _git_files(root, "--cached", "--", *ABOUT)
    else:
        known = list(_walk(root))
    return sorted(path for path in set(known) if path.is_file())


def _git_files(root: Path, *words: str) -> list[Path]:
    command = ["git", "ls-files", "-z", *words]
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    except OSError:
        return []
    return [root / name for name in done.stdout.split("\0") if name] if done.returncode == 0 else []


def _walk(root: Path) -> Iterator[Path]:
    for name in (*CODE, *ABOUT):
        top = root / name
        if top.is_file():
            yield top
        for folder, folders, files in os.walk(top):
            folders[:] = [each for each in folders if each != "__pycache__" and not each.startswith(".")]
            yield from (Path(folder, each) for each in files if not each.startswith("."))


def package_path(plan: Plan) -> Path:
    """Where the archive of a plan lies."""
    content = plan.content
    asked = content["question"]["name"] if content["question"] else content["campaign"]
    return plan.products / "package" / f"augmark-{asked}-{plan.machine}-{plan.digest}.tar.gz"


def package_line(plan: Plan) -> list[str]:
    """What the last job said of the archive of this plan, for the end of a run; nothing without one."""
    path, log = package_path(plan), plan.output / "logs" / "package.log"
    if not (path.is_file() and log.is_file()):
        return []
    *_, last = ["", *log.read_text(encoding="utf-8").splitlines()]
    return [f"package  {last}"] if last.startswith(f"{path}:") else []


def state_file(plan: Plan, root: Path) -> Path:
    """A file that is newer than a package once the commit, or the list of the source's files, is another.

    Written here, and only where it changes: times of files alone do not show a commit or a file that went.
    """
    from augmark.worker.job import git_state  # what it imports is not needed to parse the workflow

    commit, dirty = git_state(root)
    names = [path.relative_to(root).as_posix() for path in source_files(root)]
    path = plan.output / "plan" / f"{plan.name}.source.json"
    replace_json(path, {"git_commit": commit, "git_dirty": dirty, "files": names})
    return path
