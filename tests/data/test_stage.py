"""Staging: what arrives is what was declared, whole or not at all."""

import gzip
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import unicodedata

import pytest

from augmark import files
from augmark.data import stage
from augmark.errors import AugmarkError


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def folder_of(path, contents):
    for name, data in contents.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    return path


@pytest.mark.parametrize(("mode", "suffix", "kind"), [("w", ".tar", "tar"), ("w:gz", ".tar.gz", "tar.gz")])
def test_a_tarball_is_copied_byte_for_byte(kit, tmp_path, mode, suffix, kind):
    """The staged file has the source's bytes, its folder the digest, and its description no foreign path."""
    source = kit.pack(tmp_path / f"My Photos{suffix}", kit.photos(3), mode)

    staged = kit.staged(source, tmp_path / "out")

    assert staged.parent.name == f"my-photos.{sha256(source)[:10]}"
    assert staged.read_bytes() == source.read_bytes()
    assert sorted(path.name for path in staged.parent.iterdir()) == ["dataset.tar", "staged.json"]
    assert json.loads((staged.parent / "staged.json").read_text()) == {
        "schema": "augmark/staged/1",
        "name": "my-photos",
        "kind": kind,
        "source": f"My Photos{suffix}",
        "sha256": sha256(source),
        "tar_sha256": sha256(source),
        "bytes": source.stat().st_size,
        "members": 3,
        "junk": {},
        "compression": "gzip" if kind == "tar.gz" else None,
    }


def test_a_folder_has_the_documented_digest_and_a_normalised_tar(tmp_path, kit):
    """sha256 over sorted name and content digest; times, modes, order of writing and litter do not matter."""
    contents = {"b/2.jpg": b"two", "a.jpg": b"one", "empty": b""}
    first = folder_of(tmp_path / "one" / "set", contents)
    second = folder_of(tmp_path / "two" / "set", dict(reversed(contents.items())))
    folder_of(second, {".DS_Store": b"x", "b/._2.jpg": b"x", "__MACOSX/a": b"x", "Thumbs.db": b"x"})
    os.utime(second / "a.jpg", (5, 5))
    (second / "a.jpg").chmod(0o600)

    expected = hashlib.sha256()
    for name in ("a.jpg", "b/2.jpg", "empty"):
        expected.update(f"{name}\0{hashlib.sha256(contents[name]).hexdigest()}\n".encode())
    staged = [kit.staged(folder, tmp_path / f"out{i}") for i, folder in enumerate((first, second))]

    assert staged[0].parent.name == f"set.{expected.hexdigest()[:10]}"
    assert staged[0].parent.name == staged[1].parent.name
    assert staged[0].read_bytes() == staged[1].read_bytes()
    left_out = [json.loads((path.parent / "staged.json").read_text())["junk"] for path in staged]
    assert left_out == [{}, {".DS_Store": 1, "._*": 1, "Thumbs.db": 1, "__MACOSX": 1}]
    with tarfile.open(staged[0]) as tar:
        assert {m.name: tar.extractfile(m).read() for m in tar} == contents


def test_the_demo_is_staged_under_its_digest(tmp_path):
    """Kind demo needs no source on the disk; a wrong digest is refused and leaves nothing that counts."""
    with pytest.raises(AugmarkError, match=r"demo: has the sha256 \w{64}, but 0{64} was declared") as refused:
        stage.stage_dataset("demo", "demo", "0" * 64, tmp_path)
    found = str(refused.value).split("has the sha256 ")[1][:64]

    folder = stage.stage_dataset("demo", "demo", found, tmp_path)

    assert list((tmp_path / "datasets").rglob("*.part")) == []
    assert [p.parent for p in (tmp_path / "datasets").rglob("staged.json")] == [folder]
    assert sha256(folder / "dataset.tar") == found


def test_a_wrong_digest_names_file_both_values_and_remedy(kit, tmp_path):
    """The right digest is printed, ready to be declared; nothing is staged."""
    source = kit.pack(tmp_path / "set.tar", kit.photos(1))
    declared = "ab" * 32

    with pytest.raises(AugmarkError) as refused:
        stage.stage_dataset(str(source), "tar", declared, tmp_path / "out")

    text = str(refused.value)
    for part in (str(source), declared, f"declare sha256: {sha256(source)}", "remedy:"):
        assert part in text
    assert [p for p in (tmp_path / "out").rglob("*") if p.is_file()] == []


def test_staging_again_reads_nothing_from_the_source(kit, tmp_path):
    """A staged dataset is a product of its own: the source may be gone."""
    source = kit.pack(tmp_path / "set.tar", kit.photos(1))
    digest = sha256(source)
    folder = stage.stage_dataset(str(source), "tar", digest, tmp_path)
    before = (folder / "dataset.tar").stat().st_mtime_ns
    source.unlink()

    assert stage.stage_dataset(str(source), "tar", digest, tmp_path) == folder
    assert (folder / "dataset.tar").stat().st_mtime_ns == before


def test_a_damaged_staged_file_is_staged_again(kit, tmp_path):
    """What is there is verified, not trusted for its name."""
    source = kit.pack(tmp_path / "set.tar", kit.photos(1))
    staged = kit.staged(source, tmp_path / "out")
    staged.write_bytes(staged.read_bytes()[:-1] + b"x")

    with pytest.raises(AugmarkError, match="was changed after staging"):
        stage.read_staged(staged)
    kit.staged(source, tmp_path / "out")

    assert staged.read_bytes() == source.read_bytes()


def test_a_killed_copy_leaves_nothing_that_counts(kit, tmp_path):
    """kill -9 in the middle of a copy; the same command afterwards stages the whole file."""
    source = tmp_path / "big.tar"
    kit.pack(source, [("a.bin", bytes(50_000_000))])
    digest = stage.declare(str(source), tmp_path / "out")
    folder = stage.dataset_folder(tmp_path / "out", "big", digest)
    code = (
        "import sys; from augmark import files; from augmark.data import stage; files.CHUNK_BYTES = 1000\n"
        "stage.stage_dataset(sys.argv[1], 'tar', sys.argv[2], sys.argv[3])"
    )
    command = [sys.executable, "-c", code, source, digest, tmp_path / "out"]
    child = subprocess.Popen(command, env={"PYTHONPATH": ":".join(sys.path)}, stderr=subprocess.DEVNULL)
    while not (folder / "dataset.tar.part").exists() and child.poll() is None:
        time.sleep(0.001)
    child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL

    assert [path.name for path in folder.iterdir()] == ["dataset.tar.part"]
    assert sha256(stage.stage_dataset(str(source), "tar", digest, tmp_path / "out") / "dataset.tar") == digest
    assert sorted(path.name for path in folder.iterdir()) == ["dataset.tar", "staged.json"]


def test_no_room_is_said_before_copying(tmp_path):
    """The message has what is needed and what is free, in people's units."""
    with pytest.raises(AugmarkError, match=r"staging set needs 1000000\.0 TB .* the disk has .* free"):
        files.require_free(tmp_path, 10**18, "staging set")


def test_a_declared_digest_is_remembered_until_the_file_changes(kit, tmp_path):
    """The memo answers for the same size and times, also where the modification time was set back."""
    source = kit.pack(tmp_path / "set.tar", kit.photos(1))
    first = stage.declare(str(source), tmp_path)
    (memo,) = (tmp_path / "plan" / "datasets").iterdir()
    value = json.loads(memo.read_text())
    memo.write_text(json.dumps({**value, "sha256": "f" * 64}))
    assert stage.declare(str(source), tmp_path) == "f" * 64

    times = source.stat()
    data = bytearray(source.read_bytes())
    data[600] ^= 1
    source.write_bytes(data)
    os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))

    assert first != stage.declare(str(source), tmp_path) == sha256(source)


def test_a_cut_off_memo_is_no_error(kit, tmp_path):
    """A memo is a convenience: unreadable, it is made again."""
    source = kit.pack(tmp_path / "set.tar", kit.photos(1))
    stage.declare(str(source), tmp_path)
    (memo,) = (tmp_path / "plan" / "datasets").iterdir()
    memo.write_text('{"schema": "augm')

    assert stage.declare(str(source), tmp_path) == sha256(source)


def test_a_changed_folder_is_read_again(tmp_path):
    """Adding, removing or editing one file changes the digest; putting it back restores it."""
    folder = folder_of(tmp_path / "set", {"a.jpg": b"one", "b.jpg": b"two"})
    digests = [stage.declare(str(folder), tmp_path)]
    (folder / "c.jpg").write_bytes(b"three")
    digests.append(stage.declare(str(folder), tmp_path))
    (folder / "c.jpg").unlink()
    (folder / "a.jpg").write_bytes(b"uno")
    digests.append(stage.declare(str(folder), tmp_path))
    (folder / "a.jpg").write_bytes(b"one")

    assert len(set(digests)) == 3
    assert stage.declare(str(folder), tmp_path) == digests[0]


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("/data/My Photos.tar.gz", "my-photos"),
        ("a/ILSVRC2012_val.TAR", "ilsvrc2012-val"),
        ("x.tgz", "x"),
        ("folder/", "folder"),
        ("v1.2", "v1-2"),
        (unicodedata.normalize("NFC", "日本.tar"), "dataset"),
    ],
)
def test_names_are_kebab_case(source, name):
    """A dataset's name can stand in a path and a label."""
    assert stage.dataset_name(source) == name


def test_what_cannot_be_staged_says_so(kit, tmp_path):
    """Each broken source has its own sentence, with the source's name and a remedy."""
    (tmp_path / "text.tar").write_text("not an archive\n" * 100)
    (tmp_path / "zip.tar").write_bytes(b"PK\x03\x04" + bytes(600))
    (tmp_path / "none.tar").write_bytes(b"")
    (tmp_path / "empty").mkdir()
    (tmp_path / "litter").mkdir()
    (tmp_path / "litter" / ".DS_Store").write_bytes(b"x")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "a.jpg").symlink_to(tmp_path / "text.tar")
    os.mkfifo(tmp_path / "links" / "pipe")
    expected = {
        "missing.tar": "is not there",
        "text.tar": "is not a tar archive",
        "zip.tar": "is a zip archive",
        "none.tar": "is an empty file",
        "empty": "is a folder without files",
        "litter": "is a folder without files",
        "links": r"cannot be packed: 'a\.jpg' \(symbolic link\), 'pipe' \(neither a file nor a folder\)",
        "links/pipe": "is neither a file nor a folder",
    }
    for name, text in expected.items():
        with pytest.raises(AugmarkError, match=rf"{name}: .*{text}[\s\S]*remedy: "):
            stage.declare(str(tmp_path / name), tmp_path / "out")


@pytest.mark.parametrize(
    ("url", "shown", "words"),
    [
        ("https://me:pass@example.org/a.tar?sig=x", "https://example.org/a.tar", "with its size and sha256"),
        ("gs://bucket/a.tar", "gs://bucket/a.tar", "not staged from here; https is"),
        ("http://example.org/a.tar", "http://example.org/a.tar", "not staged from here; https is"),
    ],
)
def test_a_url_has_no_digest_of_its_own(tmp_path, url, shown, words):
    """Not "no such file": what is wrong, and what to do instead; no secret is told."""
    with pytest.raises(AugmarkError, match=f"{shown}: is a URL.*[\\s\\S]*give the file's path") as refused:
        stage.declare(url, tmp_path)
    assert words in str(refused.value)
    assert "pass" not in str(refused.value)


def test_damaged_archives_are_refused_as_a_whole(kit, tmp_path):
    """tarfile ends quietly at a damaged header, a missing end, joined archives: items would be lost."""
    whole = kit.pack(tmp_path / "whole.tar", [("a.bin", bytes(100)), ("b.bin", b"b" * 100)]).read_bytes()
    packed = kit.pack(tmp_path / "whole.tar.gz", kit.photos(3), "w:gz").read_bytes()
    broken = {
        "header": (whole[:1024] + b"garbage!" * 64 + whole[1536:], "a header in it is not one"),
        "no-end": (whole[:2048], "it has no end marker"),
        "half-header": (whole[:1300], "it has no end marker"),
        "half-data": (whole[:700], "cannot be read to its end"),
        "joined": (whole + whole, "holds data after its end"),
        "half-gzip": (packed[: len(packed) // 2], "cannot be read to its end"),
        "gzip-of-text": (gzip.compress(b"text" * 500), "cannot be read to its end"),
        "nothing": (bytes(10240), "is an archive of nothing"),
    }
    for name, (data, text) in broken.items():
        path = tmp_path / f"{name}.tar"
        path.write_bytes(data)
        with pytest.raises(AugmarkError, match=rf"{name}\.tar: .*{text}"):
            kit.staged(path, tmp_path / "out")
        assert [p for p in (tmp_path / "out" / "datasets").rglob("*") if p.is_file()] == []


def test_wrong_arguments_are_named(kit, tmp_path):
    """A kind or a digest that is none, and a folder declared as a tar."""
    source = kit.pack(tmp_path / "a.tar", kit.photos(1))
    with pytest.raises(AugmarkError, match="unknown kind 'zip'"):
        stage.stage_dataset(str(source), "zip", "0" * 64, tmp_path)
    with pytest.raises(AugmarkError, match="'123' is not a sha256"):
        stage.stage_dataset(str(source), "tar", "123", tmp_path)
    with pytest.raises(AugmarkError, match="is a tar, not a folder"):
        stage.stage_dataset(str(source), "folder", "0" * 64, tmp_path)


def test_the_command_stages_and_reports_errors(kit, tmp_path, request):
    """scripts/stage_dataset.py prints the folder, or one error and a failing status without a traceback."""
    source = kit.pack(tmp_path / "a.tar", kit.photos(1))
    script = request.config.rootpath / "scripts" / "stage_dataset.py"
    command = [
        sys.executable,
        script,
        "--source",
        source,
        "--kind",
        "tar",
        "--output",
        tmp_path / "out",
        "--sha256",
    ]
    good = subprocess.run([*command, sha256(source)], capture_output=True, text=True)
    bad = subprocess.run([*command, "0" * 64], capture_output=True, text=True)

    assert good.returncode == 0
    assert good.stdout == f"{tmp_path / 'out' / 'datasets' / f'a.{sha256(source)[:10]}'}\n"
    assert bad.returncode == 1
    assert bad.stderr.splitlines()[-2].startswith(f"error: {source}: has the sha256")
    assert "Traceback" not in bad.stderr


def test_staging_needs_the_standard_library_only(kit, tmp_path, request):
    """-I -S: no site-packages at all, as on a bare host: a tar is staged and a tarball made."""
    folder = folder_of(tmp_path / "set", dict(kit.photos(2)))
    source = kit.pack(tmp_path / "a.tar", kit.photos(1))
    scripts = request.config.rootpath / "scripts"
    tar = ["--source", source, "--kind", "tar", "--sha256", sha256(source)]
    commands = {
        "staged": ["stage_dataset.py", *tar, "--size", source.stat().st_size, "--output", tmp_path / "out"],
        "made": ["make_tarball.py", folder, tmp_path / "set.tar"],
    }
    for script, *arguments in commands.values():
        command = [sys.executable, "-I", "-S", scripts / script, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    assert (tmp_path / "out" / "datasets" / f"a.{sha256(source)[:10]}" / "staged.json").exists()
    declare = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from augmark.data import stage; print(stage.declare(sys.argv[2], sys.argv[3]))"
    )
    workflow = request.config.rootpath / "workflow"
    command = [sys.executable, "-I", "-S", "-c", declare, workflow, tmp_path / "set.tar", tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == sha256(tmp_path / "set.tar")


def test_moving_the_output_moves_the_dataset(kit, tmp_path):
    """Nothing staged knows where it lies."""
    staged = kit.staged(kit.pack(tmp_path / "a.tar", kit.photos(1)), tmp_path / "out")
    shutil.move(tmp_path / "out", tmp_path / "elsewhere")

    moved = tmp_path / "elsewhere" / staged.relative_to(tmp_path / "out")

    assert str(tmp_path) not in (moved.parent / "staged.json").read_text()
    assert stage.read_staged(moved)["members"] == 1


def test_a_size_that_is_another_is_found_before_copying(kit, tmp_path):
    """Both sizes, and nothing is staged."""
    source = kit.pack(tmp_path / "a.tar", kit.photos(1))
    with pytest.raises(AugmarkError, match=f"has {source.stat().st_size} bytes, but 7 were declared"):
        stage.stage_dataset(str(source), "tar", sha256(source), tmp_path / "out", size=7)
    assert [p for p in (tmp_path / "out").rglob("*") if p.is_file()] == []


def test_paths_start_at_the_project_s_root(tmp_path, monkeypatch):
    """Wherever a process runs; absolute ones, a user's home and URLs stay what they are."""
    monkeypatch.setenv("HOME", "/home/me")
    for source, expected in {
        "data/a.tar": str(tmp_path / "data/a.tar"),
        "/data/a.tar": "/data/a.tar",
        "~/a.tar": "/home/me/a.tar",
        "https://example.org/a.tar": "https://example.org/a.tar",
    }.items():
        assert expected == stage.located(tmp_path, source)


def test_a_leftover_part_is_never_written_through(kit, tmp_path):
    """A killed run may have left another name of a file in the cache: copying into it would change that."""
    kept = kit.pack(tmp_path / "kept.tar", kit.photos(1))
    before = kept.read_bytes()
    source = kit.pack(tmp_path / "a.tar", kit.photos(2))
    folder = stage.dataset_folder(tmp_path / "out", "a", sha256(source))
    folder.mkdir(parents=True)
    os.link(kept, folder / "dataset.tar.part")

    kit.staged(source, tmp_path / "out")

    assert kept.read_bytes() == before
