"""What the tests of handoffs share: a desk, a clone of it that stands for a far machine, and what is sent."""

import hashlib
import io
import json
import re
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

from augmark import fingerprint
from tests.conftest import Project, make_fake

FAR = "far-host"
KEYS = ("transforms=Works,WorksAtRandom", "repeats=2")
CELLS = 10  # of two fakes and three controls, twice


@dataclass(frozen=True)
class Handed:
    """A handoff that was carried out: both projects, what was sent, and what the script printed."""

    desk: Project
    content: dict
    script: Path
    far: Project
    done: subprocess.CompletedProcess

    @property
    def archive(self) -> Path:
        return self.far.results / "handoff" / f"{self.script.stem}.tar.gz"


def far_stanza() -> dict:
    """A stanza of machines.yaml that this host satisfies under another name."""
    found = fingerprint.identity()
    return {
        "title": "A far host",
        "vcpus": found["cpus"],
        "cpu_model": re.escape(found["cpu_model"]),
        "memory_gb": round(found["memory_bytes"] / (1 << 30), 2),
        "devices": ["cpu"],
    }


def make_desk(project: Project) -> Project:
    """A project of the fake libraries that knows the far machine, committed."""
    make_fake(project)
    project.edit("machines.yaml", lambda content: content.update({FAR: far_stanza()}))
    project.edit("tables.yaml", lambda content: content["campaigns"]["demo"]["machines"].append(FAR))
    # The fakes' share is for what fills all memory, and less than `augmark doctor` lets anything start with.
    project.edit("policy.yaml", lambda content: content["limits"].update(memory_limit_share=0.2))
    git(project, "init", "--quiet")
    commit(project, "the project")
    return project


def git(project: Project, *words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=project.root, capture_output=True, text=True, check=True
    ).stdout.strip()


def commit(project: Project, message: str) -> None:
    git(project, "add", "--all")
    who = ("-c", "user.name=Nobody", "-c", "user.email=nobody@example.org", "-c", "commit.gpgsign=false")
    git(project, *who, "commit", "--quiet", "--message", message)


def clone(desk: Project, root: Path, environments: Path) -> Project:
    """A clean clone: the far machine's."""
    subprocess.run(["git", "clone", "--quiet", str(desk.root), str(root)], check=True)
    far = Project(root)
    far.results.mkdir()
    (far.results / "envs").symlink_to(environments)
    return far


def hand_over(desk: Project, *words: str) -> tuple[dict, Path]:
    """Write the handoff; its JSON, and the script."""
    desk.run("augmark", "handoff", "--machine", FAR, "--config", *KEYS, *words)
    (path,) = (desk.results / "handoff").glob("handoff.*.json")
    return json.loads(path.read_text(encoding="utf-8")), path.with_suffix(".sh")


def run_script(far: Project, script: Path, *words: str) -> subprocess.CompletedProcess:
    """Run the script as it was sent: all that the far machine has beside its clone."""
    sent = far.root.parent / script.name
    shutil.copy2(script, sent)
    variables = {**far.environment(), "AUGMARK_BIN": str(Path(sys.executable).parent)}
    command = ["bash", str(sent), *words]
    return subprocess.run(command, cwd=far.root, env=variables, capture_output=True, text=True, check=False)


def contents(archive: Path) -> dict[str, bytes]:
    """Name (its folder included) -> bytes of every member."""
    with tarfile.open(archive) as held:
        return {member.name: held.extractfile(member).read() for member in held if member.isreg()}


def repacked(archive: Path, target: Path, change, *, manifest: bool = True) -> Path:
    """The archive with other contents, its manifest made to fit them unless it is left as it was."""
    held = contents(archive)
    top = next(iter(held)).split("/")[0]
    change(held, top)
    if manifest:
        said = json.loads(held[f"{top}/manifest.json"])
        said["files"] = {
            name.partition("/")[2]: {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
            for name, content in held.items()
            if not name.endswith("/manifest.json")
        }
        held[f"{top}/manifest.json"] = json.dumps(said).encode()
    with tarfile.open(target, "w:gz") as out:
        for name, content in held.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            out.addfile(info, io.BytesIO(content))
    return target


def everything(folder: Path) -> dict[str, str]:
    """What lies below a results folder and can be measured or brought: records and probes, by sha256."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for kind in ("records", "probes")
        for path in sorted((folder / kind).rglob("*"))
        if path.is_file() and path.name != "records.parquet"
    }
