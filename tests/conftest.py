"""What the tests share: copies of the project, environments built once, and the fake library."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from augmark.environments import prepare_env

ROOT = Path(__file__).resolve().parents[1]
# What a real library does beside the fake ones: a transform that takes no time.
KEPT = ("Invert",)
FAKE = Path(__file__).resolve().parent / "fake"


@dataclass
class Project:
    """A copy of the project in a folder of its own.

    Attributes:
        root: The folder.
        words: What follows ``snakemake`` when it is run again and again with the same keys.
    """

    root: Path
    words: tuple[str, ...] = ("paper_tables",)

    @property
    def results(self) -> Path:
        return self.root / "results"

    def run(self, *words: str, check: bool = True, **more: Any) -> subprocess.CompletedProcess[str]:
        """Run ``snakemake`` or ``augmark`` as a user would, with this environment's commands."""
        done = subprocess.run(
            [str(Path(sys.executable).parent / words[0]), *words[1:]],
            cwd=self.root,
            env=self.environment(),
            capture_output=True,
            text=True,
            check=False,
            **more,
        )
        if check and done.returncode != 0:
            pytest.fail(
                f"{' '.join(words)} gave {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-8000:]}"
            )
        return done

    def environment(self) -> dict[str, str]:
        """This process's environment, with the copy's package in the place of the checkout's."""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return {**os.environ, "PATH": path, "PYTHONPATH": str(self.root / "workflow")}

    def edit(self, name: str, change: Callable[[Any], None]) -> None:
        """Change a YAML file of ``config/``."""
        path = self.root / "config" / name
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        change(content)
        path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")

    def records(self) -> list[Path]:
        return sorted((self.results / "records").glob("*/*/*/*/*/r*.json"))


def copy_project(target: Path) -> Project:
    """Copy what git would land (tracked, and new files that are not ignored)."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout
    for name in filter(None, listed.decode().split("\0")):
        source, place = ROOT / name, target / name
        if not source.exists() and not source.is_symlink():
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, place, follow_symlinks=False)
    return Project(target)


@pytest.fixture(scope="session")
def environments(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder where every environment is built once for all tests."""
    return tmp_path_factory.mktemp("envs")


@pytest.fixture(scope="session")
def library_python(environments: Path) -> Callable[[str], Path]:
    """The interpreter of a library's own locked environment."""

    @functools.cache  # what is built is checked on every call, which takes a second
    def build(environment: str) -> Path:
        lock = ROOT / "envs" / f"{environment}.txt"
        return prepare_env(environment, lock, environments) / "bin" / "python"

    return build


@pytest.fixture
def project(tmp_path: Path, environments: Path) -> Project:
    """A copy of the project that shares the environments built so far."""
    copy = copy_project(tmp_path / "project")
    copy.results.mkdir()
    (copy.results / "envs").symlink_to(environments)
    return copy


@pytest.fixture
def fake_project(project: Project) -> Project:
    """A copy whose libraries are two fakes and the controls: it fails in every way, in seconds."""
    return make_fake(project)


def make_fake(project: Project, *, keep: tuple[str, ...] = ()) -> Project:
    """Put the fake library in the place of the real ones.

    Args:
        keep: Real ones that stay, with ``KEPT`` alone and decoding.
    """
    shutil.copy2(FAKE / "fake.py", project.root / "workflow" / "augmark" / "libraries" / "fake.py")
    for path in (project.root / "config" / "plans").glob("*.yaml"):  # questions about real libraries
        path.unlink()
    for name in {"albumentationsx", "torchvision", "kornia", "pillow"} - set(keep):
        for path in (project.root / "envs").glob(f"{name}*"):
            path.unlink()
        for path in (project.root / "workflow" / "augmark" / "libraries").glob(f"{name}*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    (project.root / "workflow" / "augmark" / "libraries" / "torch_common.py").unlink(missing_ok=True)
    stanzas = yaml.safe_load((FAKE / "transforms.yaml").read_text(encoding="utf-8"))

    def transforms(content: dict[str, Any]) -> None:
        controls = {name: about for name, about in content.items() if about.get("control")}
        kept = {name: content[name] for name in ((*KEPT, "Decode") if keep else ())}
        content.clear()
        content.update(stanzas | kept | controls)

    def libraries(content: dict[str, Any]) -> None:
        controls = {name: about for name, about in content.items() if about["kind"] == "control"}
        for about in controls.values():
            if "again" in about:
                about["again"] = ["fake"]
            else:
                about["scenarios"] = {"image-rgb": about["scenarios"]["image-rgb"]}
        fakes = yaml.safe_load((FAKE / "libraries.yaml").read_text(encoding="utf-8"))
        for about in fakes.values():
            about["scenarios"]["image-rgb"]["transforms"] = [*stanzas, *(KEPT if keep else ())]
        offer = {"modes": ["micro", "decode"], "devices": ["cpu"], "transforms": list(KEPT)}
        kept = {name: content[name] | {"scenarios": {"image-rgb": offer}, "unsupported": {}} for name in keep}
        content.clear()
        content.update(fakes | kept | controls)

    def scenarios(content: dict[str, Any]) -> None:
        modes = ["micro", "decode"] if keep else ["micro"]
        content["scenarios"] = {"image-rgb": {**content["scenarios"]["image-rgb"], "modes": modes}}
        content["announced"]["image-9ch"] = "nine channels"

    def tables(content: dict[str, Any]) -> None:
        modes = ("micro", "decode") if keep else ("micro",)
        content["tables"] = {f"image-rgb-{mode}": content["tables"][f"image-rgb-{mode}"] for mode in modes}
        content["campaigns"]["paper"]["machines"] = ["c4-standard-16"]

    def machines(content: dict[str, Any]) -> None:
        for about in content.values():
            about.pop("measures", None)

    def policy(content: dict[str, Any]) -> None:
        content["limits"].update(row_timeout_seconds=6, probe_row_timeout_seconds=6, memory_limit_share=0.02)
        content["loader"]["timeout_seconds"] = 5

    def depth(content: dict[str, Any]) -> None:
        content.update(transforms="all", items={"image": 16}, values=2)
        content["loader"]["transforms"] = "all"

    (project.root / "config" / "claims.yaml").write_text("{}\n", encoding="utf-8")  # of real libraries
    (project.root / "config" / "depths" / "pro.yaml").unlink(missing_ok=True)  # sweeps of real libraries
    project.edit("scenarios.yaml", scenarios)
    project.edit("tables.yaml", tables)
    project.edit("machines.yaml", machines)
    project.edit("transforms.yaml", transforms)
    project.edit("libraries.yaml", libraries)
    project.edit("policy.yaml", policy)
    project.edit("depths/min.yaml", depth)
    return project
