"""`augmark cache verify` really hashes: damage of every kind is found, named and given a remedy."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from augmark import cache, cli
from augmark.locks import lock_digest
from tests.core.kept import DIGEST, everything, flip, one, site
from tests.rights import bound_by_permissions


def test_what_is_whole_is_ok(ask):
    """Counts: 3 photos make 2 items; 4 files of each wheel, INSTALLER and REQUESTED have hashes."""
    status, found = ask("verify")
    assert (0, {"ok"}) == (status, {thing["status"] for thing in found.values()})
    assert (1, 2, 3) == tuple(found[kind]["hashed"] for kind in ("download", "dataset", "items"))
    recorded = found["environment"]
    assert recorded["hashed"] >= 2 * 4
    assert recorded["unhashed"] == 2 + 2  # RECORD and one file of byte code, of each


def test_questions_write_nothing(ask, kept):
    """Not even a time changes, in the cache, the project or the output folder."""
    before = everything(kept)
    ask("list")
    ask("verify")
    assert before == everything(kept)


def test_times_are_not_believed(ask, kept):
    """Damage that keeps size and time is found."""
    path = one(kept, "project/results/datasets/*/dataset.tar")
    before = path.stat()
    flip(path)
    assert (before.st_size, before.st_mtime_ns) == (path.stat().st_size, path.stat().st_mtime_ns)
    assert 1 == ask("verify")[0]


HARMS = {
    "download": ("cache/datasets/*.tar", "download", "has the sha256"),
    "staged tar": ("project/results/datasets/*/dataset.tar", "dataset", "was changed after staging"),
    "manifest": ("project/results/datasets/*/manifest.*.json", "dataset", ""),
    "pixels": ("project/results/items/*/items.bin", "items", "items.bin has the sha256"),
    "original": ("project/results/items/*/files/000001.jpg", "items", "files/000001.jpg"),
    "source": (
        "project/results/envs/lib.*/lib/python*/site-packages/tiny/__init__.py",
        "environment",
        "its package says",
    ),
    "data": (
        "project/results/envs/lib.*/lib/python*/site-packages/tiny/data.txt",
        "environment",
        "its package says",
    ),
}


@pytest.mark.parametrize("harm", HARMS)
def test_one_bit_is_found(ask, kept, harm):
    """In any file that somebody has a hash of; the rest stays ok, and the remedy names the folder."""
    pattern, kind, expected = HARMS[harm]
    path = one(kept, pattern)
    flip(path, path.stat().st_size // 2)
    status, found = ask("verify")
    assert 1 == status
    assert {kind} == {name for name, thing in found.items() if thing["status"] == "damaged"}
    (problem,) = found[kind]["problems"]
    assert expected in problem["what"]
    assert f"remove {found[kind]['path']}" in problem["remedy"]


def test_the_damaged_file_is_named(kept, capsys):
    """In words: the file, what is wrong and the remedy below the thing; the exit status is 1."""
    flip(site(kept) / "other" / "__init__.py")
    assert 1 == cli.main(["cache", "verify"])
    lines = capsys.readouterr().out.splitlines()
    (line,) = [n for n, text in enumerate(lines) if text.startswith("damaged ")]
    version = site(kept).parent.name
    assert lines[line + 1].startswith(f"  lib/{version}/site-packages/other/__init__.py has the sha256 ")
    assert lines[line + 2].startswith("  remedy: remove ")
    assert "3 ok, 1 damaged, 0 unfinished, 0 earlier" == lines[-1]


@pytest.mark.parametrize("name", ["staged.json", "manifest", "index.json", "env.json"])
@pytest.mark.parametrize("text", ["", '{"schema": "aug', "[]", '{"schema": "augmark/nonsense"}'])
def test_a_cut_off_description_is_damage(ask, kept, name, text):
    """Empty, half of it, something else: none of them is read as whole, and none ends the question."""
    kinds = {
        "staged.json": "dataset",
        "manifest": "dataset",
        "index.json": "items",
        "env.json": "environment",
    }
    pattern = f"manifest.{DIGEST}.json" if name == "manifest" else name
    one(kept, f"project/results/*/*/{pattern}").write_text(text)
    status, found = ask("verify")
    assert 1 == status
    assert {kinds[name]} == {kind for kind, thing in found.items() if thing["status"] == "damaged"}


@pytest.mark.parametrize(
    ("name", "kind", "schema"),
    [
        ("staged.json", "dataset", "augmark/staged/1"),
        ("index.json", "items", "augmark/items/2"),
        ("env.json", "environment", "augmark/env/1"),
    ],
)
def test_a_description_without_its_facts_is_damage(ask, kept, name, kind, schema):
    """The right schema, and nothing else."""
    one(kept, f"project/results/*/*/{name}").write_text(json.dumps({"schema": schema}))
    status, found = ask("verify")
    assert (1, "damaged") == (status, found[kind]["status"])


@pytest.mark.parametrize(
    ("name", "kind"), [("staged.json", "dataset"), ("index.json", "items"), ("env.json", "environment")]
)
def test_what_was_not_ended_is_no_damage(ask, kept, name, kind):
    """Its last file is not there: nothing reads it, and the next run makes it."""
    one(kept, f"project/results/*/*/{name}").unlink()
    status, found = ask("verify")
    assert (0, "unfinished") == (status, found[kind]["status"])


def test_what_an_earlier_version_made_is_no_damage(ask, kept):
    """Its path is another one now, and nobody can tell what it should be."""
    index = one(kept, "project/results/items/*/index.json")
    index.write_text(json.dumps({**json.loads(index.read_text()), "schema": "augmark/items/1"}))
    status, found = ask("verify")
    assert (0, "earlier") == (status, found["items"]["status"])


def test_a_download_under_way_is_no_damage(ask, kept):
    """It goes on where it ended."""
    (kept / "cache" / "datasets" / "more.abcdef0123.tar.part").write_bytes(b"half")
    status, found = ask("verify")
    assert (0, "unfinished") == (status, found["unfinished download"]["status"])


def test_a_download_is_held_against_its_whole_digest(ask, kept):
    """What datasets.yaml declares counts, where the name's ten digits would let it pass."""
    download = one(kept, "cache/datasets/*.tar")
    digest = download.name.split(".")[1]
    (kept / "project" / "config" / "datasets.yaml").write_text(f"set: {{sha256: {digest + 'f' * 54}}}\n")
    status, found = ask("verify")
    assert (1, "damaged") == (status, found["download"]["status"])


@pytest.mark.parametrize("kind", ["dataset", "items", "environment"])
def test_a_folder_under_another_s_name_is_damage(ask, kept, kind):
    """Whole, but not what its path says."""
    folder = Path(ask("list")[1][kind]["path"])
    name, _, rest = folder.name.partition(".")
    folder.rename(folder.with_name(f"{name}.{'f' * 10}{rest[10:]}"))
    status, found = ask("verify")
    assert (1, "damaged") == (status, found[kind]["status"])
    assert "the folder's name says ffffffffff" in found[kind]["problems"][0]["what"]


def test_a_lost_file_is_damage(ask, kept):
    """Of an environment, by name."""
    (site(kept) / "tiny" / "data.txt").unlink()
    (problem,) = ask("verify")[1]["environment"]["problems"]
    assert problem["file"].endswith("site-packages/tiny/data.txt")
    assert "is not there" == problem["what"]


@pytest.mark.parametrize(
    "name", ["tiny.py", "sitecustomize.py", "sitecustomize.pyc", "extra.pth", "tiny/extra.so"]
)
def test_a_file_of_no_package_is_damage(ask, kept, name):
    """It would be imported, and no lock names it."""
    (site(kept) / name).write_text("x = 1\n")
    (problem,) = ask("verify")[1]["environment"]["problems"]
    assert ("belongs to no package", True) == (problem["what"], problem["file"].endswith(name))


def test_byte_code_is_counted_and_not_hashed(ask, kept):
    """No wheel brings it: every Python writes its own."""
    code = one(site(kept), "tiny/__pycache__/__init__.*.pyc")
    before = ask("verify")[1]["environment"]
    code.with_name("more.cpython-399.pyc").touch()
    after = ask("verify")[1]["environment"]
    assert ("ok", before["unhashed"] + 1) == (after["status"], after["unhashed"])


def test_a_lock_that_is_another_now_does_not_matter(ask, kept):
    """The environment of the old lock stays right, and is held against its own marker."""
    lock = kept / "project" / "envs" / "lib.txt"
    digest = lock_digest(lock)
    lock.write_text("third==1.0 --hash=sha256:00\n")
    assert digest != lock_digest(lock)
    assert (0, "ok") == (ask("verify")[0], ask("verify")[1]["environment"]["status"])


def test_a_lost_interpreter_is_damage(ask, kept):
    """The Python that made the environment was removed from the machine."""
    python = one(kept, "project/results/envs/lib.*/bin/python")
    python.unlink()
    python.symlink_to("/no/such/python")
    (problem,) = ask("verify")[1]["environment"]["problems"]
    assert ("bin/python", "is not there") == (problem["file"], problem["what"])


def test_a_package_of_another_version_is_damage(ask, kept):
    """Its metadata says so, its RECORD, the marker and the lock."""
    metadata = site(kept) / "tiny-1.0.dist-info" / "METADATA"
    metadata.write_text(metadata.read_text().replace("Version: 1.0", "Version: 1.5"))
    said = {problem["what"] for problem in ask("verify")[1]["environment"]["problems"]}
    assert {"names other packages than are installed", "tiny 1.5 is installed, the lock says 1.0"} < said


def test_a_file_that_uv_s_cache_shares_is_damaged_there_too(ask, kept):
    """Built again from the cache it would be damaged again: the remedy clears the package first."""
    path = site(kept) / "tiny" / "__init__.py"
    flip(path)
    (kept / "uv").mkdir()
    os.link(path, kept / "uv" / "same")
    (problem,) = ask("verify")[1]["environment"]["problems"]
    assert problem["remedy"].startswith("uv's cache has the same file: `uv cache clean tiny`, remove ")


def test_many_files_are_shortened_in_words_only(kept, ask, capsys):
    """Five are enough for a reader; the JSON has them all."""
    for number in range(9):
        (site(kept) / f"extra{number}.py").touch()
    cli.main(["cache", "verify"])
    assert "  and 4 more files" in capsys.readouterr().out.splitlines()
    assert 9 == len(ask("verify")[1]["environment"]["problems"])


def asked_without_rights(kept, action):
    """Ask as somebody whom permissions bind: root is not, unless it lays the capability down."""
    words = [*bound_by_permissions(), sys.executable, "-m", "augmark.cli", "cache", action]
    workflow = str(Path(cache.__file__).parents[1])
    return subprocess.run(words, env={**os.environ, "PYTHONPATH": workflow}, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("pattern", "is_listed"),
    [
        ("project/results/items/image-rgb.*", True),
        ("project/results/datasets/set.*", True),
        ("project/results/envs/lib.*", True),
        ("project/results/envs/lib.*/lib/python*/site-packages/tiny", True),
        ("project/results/items/*/items.bin", False),
        ("cache/datasets/*.tar", False),
    ],
)
def test_what_cannot_be_read_is_damage(kept, pattern, is_listed):
    """Said with its name; the rest is hashed all the same, and the list says that a size is not the whole."""
    path = one(kept, pattern)
    path.chmod(0)
    try:
        verified, listed = asked_without_rights(kept, "verify"), asked_without_rights(kept, "list")
    finally:
        path.chmod(0o755)
    assert "Traceback" not in verified.stderr + listed.stderr
    assert 1 == verified.returncode
    assert "3 ok, 1 damaged" in verified.stdout
    assert 0 == listed.returncode
    assert is_listed == ("a size with >= is that of what could be read" in listed.stdout)


def test_an_output_folder_that_cannot_be_read_is_an_error(kept):
    """Nothing can be said of what is in it."""
    folder = kept / "project" / "results" / "items"
    folder.chmod(0)
    try:
        done = asked_without_rights(kept, "verify")
    finally:
        folder.chmod(0o755)
    assert 2 == done.returncode
    assert f"{folder}: cannot be read: Permission denied" in done.stderr
