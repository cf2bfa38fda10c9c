"""Real environments, built by uv from tiny hashed locks."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from augmark.environments import environment_python, prepare_env
from augmark.errors import AugmarkError
from augmark.host import python_tag
from augmark.locks import lock_text_digest

ROOT = Path(__file__).resolve().parents[2]


def write_lock(folder: Path, *lines: str) -> Path:
    lock = folder / "tiny.txt"
    lock.write_text("".join(lines))
    return lock


def version_used(folder: Path) -> str:
    """The version of tiny that the environment's interpreter imports."""
    command = [environment_python(folder), "-I", "-c", "import tiny; print(tiny.__version__)"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def problems_inside(folder: Path, lock: Path) -> list[str]:
    """`verify_installed`, asked of the environment's own interpreter."""
    code = (
        "import json, sys; sys.path.insert(0, sys.argv[1]); from augmark.locks import verify_installed;"
        "print(json.dumps(verify_installed(open(sys.argv[2]).read())))"
    )
    command = [environment_python(folder), "-I", "-c", code, ROOT / "workflow", lock]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def test_environment_is_named_after_its_lock(tmp_path, lines):
    """The folder carries the digest, the marker says what is in it."""
    lock = write_lock(tmp_path, lines["tiny-1.0"], lines["other-1.0"])
    folder = prepare_env("tiny", lock, tmp_path / "out envs")
    marker = json.loads((folder / "env.json").read_text())
    assert folder == tmp_path / "out envs" / f"tiny.{lock_text_digest(lock.read_text())}.{python_tag()}"
    assert {"other": ["1.0"], "tiny": ["1.0"]} == marker["distributions"]
    assert "augmark/env/1" == marker["schema"]
    assert lock_text_digest(lock.read_text()) == marker["lock_digest"]
    assert sys.version.split()[0] == marker["python"]


def test_bytecode_is_compiled_where_python_is_told_not_to(tmp_path, lines, monkeypatch):
    """PYTHONDONTWRITEBYTECODE of the shell does not make every import slow."""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    folder = prepare_env("tiny", write_lock(tmp_path, lines["tiny-1.0"]), tmp_path / "envs")
    assert 1 == len(list(folder.glob("lib/python*/site-packages/tiny/__pycache__/__init__.*.pyc")))


def test_changed_lock_is_another_environment(tmp_path, lines):
    """A changed lock never runs on the old packages, and the old lock still has its own."""
    old = prepare_env("tiny", write_lock(tmp_path, lines["tiny-1.0"]), tmp_path / "envs")
    new = prepare_env("tiny", write_lock(tmp_path, lines["tiny-2.0"]), tmp_path / "envs")
    assert old != new
    assert ("1.0", "2.0") == (version_used(old), version_used(new))


def test_whole_environment_is_left_alone(tmp_path, lines):
    """The second call verifies and builds nothing."""
    lock, said = write_lock(tmp_path, lines["tiny-1.0"]), []
    folder = prepare_env("tiny", lock, tmp_path / "envs")
    before = (folder / "env.json").stat().st_mtime_ns
    assert folder == prepare_env("tiny", lock, tmp_path / "envs", say=said.append)
    assert before == (folder / "env.json").stat().st_mtime_ns
    assert [f"{folder.name} is there and as locked"] == said


@pytest.mark.parametrize("harm", ["no marker", "no interpreter", "other version", "empty marker"])
def test_broken_environment_is_built_again(tmp_path, lines, harm):
    """Cut off half-way, lost or changed by hand: built again, and right."""
    lock = write_lock(tmp_path, lines["tiny-1.0"])
    folder = prepare_env("tiny", lock, tmp_path / "envs")
    match harm:
        case "no marker":
            (folder / "env.json").unlink()
            (folder / "half-done").touch()
        case "no interpreter":
            environment_python(folder).unlink()
        case "other version":
            metadata = next(folder.glob("lib/python*/site-packages/tiny-1.0.dist-info/METADATA"))
            metadata.write_text(metadata.read_text().replace("Version: 1.0", "Version: 1.5"))
        case "empty marker":
            (folder / "env.json").write_text("")
    assert folder == prepare_env("tiny", lock, tmp_path / "envs")
    assert "1.0" == version_used(folder)
    assert [] == problems_inside(folder, lock)
    assert not (folder / "half-done").exists()


def test_verification_finds_what_is_not_locked(tmp_path, lines):
    """The interpreter of one lock, held against another one."""
    folder = prepare_env(
        "tiny", write_lock(tmp_path, lines["tiny-1.0"], lines["other-1.0"]), tmp_path / "envs"
    )
    other_lock = write_lock(tmp_path, lines["tiny-2.0"], "third==1.0 --hash=sha256:00\n")
    expected = [
        "other 1.0 is installed and not in the lock",
        "tiny 1.0 is installed, the lock says 2.0",
        "third is in the lock and not installed",
    ]
    assert expected == problems_inside(folder, other_lock)


def test_failing_uv_is_explained(tmp_path, lines):
    """Its last lines, the environment and a remedy; no marker is left behind."""
    lock = write_lock(tmp_path, lines["tiny-1.0"], "missing==1.0 --hash=sha256:" + "0" * 64 + "\n")
    with pytest.raises(AugmarkError, match="environment tiny: `uv pip sync` failed") as error:
        prepare_env("tiny", lock, tmp_path / "envs")
    assert "missing" in str(error.value)
    assert "remedy" in str(error.value)
    assert [] == list((tmp_path / "envs").glob("*/env.json"))


def test_wrong_hash_is_refused(tmp_path, lines):
    """A wheel that is not the one of the lock is not installed."""
    name, _, digest = lines["tiny-1.0"].strip().rpartition(":")
    lock = write_lock(tmp_path, f"{name}:{digest[::-1]}\n")
    with pytest.raises(AugmarkError, match=r"[Hh]ash"):
        prepare_env("tiny", lock, tmp_path / "envs")


@pytest.mark.parametrize(("text", "message"), [(None, "no such lock"), ("tiny>=1\n", "not an exact pin")])
def test_no_lock_is_an_error(tmp_path, text, message):
    """A missing lock, or a file that is none, is named."""
    lock = tmp_path / "tiny.txt"
    if text is not None:
        lock.write_text(text)
    with pytest.raises(AugmarkError, match=message):
        prepare_env("tiny", lock, tmp_path / "envs")


def test_command_prints_the_folder_and_its_progress(tmp_path, lines):
    """The rule's command: the folder on stdout, labelled lines on stderr, a stale digest refused."""
    lock = write_lock(tmp_path, lines["tiny-1.0"])
    command = [
        sys.executable,
        ROOT / "scripts" / "prepare_env.py",
        "--lock",
        lock,
        "--out",
        tmp_path / "envs",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (
        str(tmp_path / "envs" / f"tiny.{lock_text_digest(lock.read_text())}.{python_tag()}")
        == done.stdout.strip()
    )
    assert all(line.startswith("prepare_env tiny: ") for line in done.stderr.splitlines())
    refused = subprocess.run([*command, "--digest", "0123456789"], capture_output=True, text=True)
    assert 1 == refused.returncode
    assert "0123456789 was asked for" in refused.stderr
