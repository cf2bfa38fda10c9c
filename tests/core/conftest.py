"""One of each thing that is kept, made once, and copies of it to be damaged."""

import json
import shutil

import pytest

from augmark import cli
from augmark.data.audit import audit_dataset
from augmark.data.items import prepare_items
from augmark.environments import prepare_env
from tests.core.kept import DIGEST
from tests.data.conftest import Kit
from tests.envs.wheels import write_wheel


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """A folder that counts as a project, with no configuration, and one of each thing that is kept."""
    top = tmp_path_factory.mktemp("made")
    root, output = top / "project", top / "project" / "results"
    (root / "config").mkdir(parents=True)
    (root / "envs").mkdir()
    (root / "Snakefile").touch()
    tar = Kit.staged(Kit.pack(top / "set.tar", Kit.photos(3)), output)
    audit_dataset(tar, Kit.policy, tar.parent / f"manifest.{DIGEST}.json")
    prepare_items(
        tar,
        tar.parent / f"manifest.{DIGEST}.json",
        items=2,
        seed=1,
        out_dir=output / "items" / f"image-rgb.{DIGEST}",
        digest=DIGEST,
    )
    patch = pytest.MonkeyPatch()
    patch.setenv("UV_FIND_LINKS", str(top / "wheels"))
    patch.setenv("UV_OFFLINE", "1")
    patch.setenv("UV_NO_CACHE", "1")
    lines = [
        write_wheel(top / "wheels", name, "1.0", {f"{name}/data.txt": "data\n"}) for name in ("tiny", "other")
    ]
    (root / "envs" / "lib.txt").write_text("".join(lines))
    prepare_env("lib", root / "envs" / "lib.txt", output / "envs")
    patch.undo()
    downloads = top / "cache" / "datasets"
    downloads.mkdir(parents=True)
    shutil.copy2(tar, downloads / f"{tar.parent.name}.tar")
    return top


@pytest.fixture
def kept(made, tmp_path, monkeypatch):
    """A copy of it to be damaged; questions are asked in its project."""
    copy = tmp_path / "copy"
    shutil.copytree(made, copy, symlinks=True)
    monkeypatch.setenv("AUGMARK_CACHE", str(copy / "cache"))
    monkeypatch.setenv("UV_CACHE_DIR", str(copy / "uv"))
    monkeypatch.chdir(copy / "project")
    return copy


@pytest.fixture
def ask(kept, capsys):
    """The exit status of a question, and its answer as JSON: by kind."""

    def asked(action, *words):
        status = cli.main(["cache", action, "--json", *words])
        found = json.loads(capsys.readouterr().out)
        return status, {thing["kind"]: thing for thing in found["things"]}

    return asked
