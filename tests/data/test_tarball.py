"""A tarball of a folder: the same bytes everywhere, without litter, and one that can be read back."""

import os
import subprocess
import sys
import tarfile
import unicodedata

import pytest
import yaml

from augmark.data import stage
from augmark.data.audit import audit_dataset
from augmark.data.tarball import make_tarball, report
from augmark.errors import AugmarkError
from tests.conftest import ROOT
from tests.data.server import sha256
from tests.rights import bound_by_permissions

MACOS = (
    *(".DS_Store", "._a.jpg", "b/._c.jpg", "b/.DS_Store", "__MACOSX/b/._c.jpg", "Icon\r", ".localized"),
    *(".Spotlight-V100/Store-V2/0.indexHead", ".fseventsd/fseventsd-uuid", ".Trashes/501/old.jpg"),
    *(".DocumentRevisions-V100/x", ".TemporaryItems/x", ".AppleDouble/a.jpg", ".apdisk", ".VolumeIcon.icns"),
    *("b/Thumbs.db", "b/desktop.ini"),
)


def folder_of(path, contents):
    for name, data in contents.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    return path


def test_the_same_contents_are_the_same_bytes(tmp_path):
    """Whoever owns them, in whatever order they were written, and whatever a desktop left there."""
    contents = {"b/2.jpg": b"two", "a.jpg": b"one", "B.jpg": b"", "b/long/" + "x" * 120 + ".jpg": b"long"}
    first = folder_of(tmp_path / "one", contents)
    second = folder_of(tmp_path / "two", dict(reversed(contents.items())))
    folder_of(second, dict.fromkeys(MACOS, b"litter"))
    (second / "empty").mkdir()
    os.utime(second / "a.jpg", (5, 5))
    (second / "a.jpg").chmod(0o600)
    if hasattr(os, "setxattr"):
        os.setxattr(second / "a.jpg", "user.com.apple.quarantine", b"0081")

    made = [make_tarball(folder, tmp_path / f"{folder.name}.tar") for folder in (first, second)]

    assert made[0].path.read_bytes() == made[1].path.read_bytes()
    assert made[0].sha256 == made[1].sha256 == sha256(made[0].path.read_bytes())
    assert made[0].size == made[0].path.stat().st_size
    assert (made[0].left_out, sum(made[1].left_out.values())) == ({}, len(MACOS))
    with tarfile.open(made[1].path) as tar:
        members = tar.getmembers()
        assert {m.name: tar.extractfile(m).read() for m in members} == contents
    assert [m.name for m in members] == sorted(contents, key=str.encode)
    facts = {(m.uid, m.gid, m.uname, m.gname, m.mtime, m.mode) for m in members}
    assert facts == {(0, 0, "", "", 0, 0o644)}
    assert {key for m in members for key in m.pax_headers} <= {"path"}


def test_names_as_another_disk_writes_them_are_the_same(tmp_path):
    """macOS may give back a letter and its accent where they were written as one."""
    forms = [unicodedata.normalize(form, "élan/café.jpg") for form in ("NFC", "NFD")]
    assert forms[0] != forms[1]

    made = [
        make_tarball(folder_of(tmp_path / str(n), {form: b"x"}), tmp_path / f"{n}.tar")
        for n, form in enumerate(forms)
    ]

    assert made[0].path.read_bytes() == made[1].path.read_bytes()
    with tarfile.open(made[1].path) as tar:
        assert tar.getnames() == [forms[0]]


def test_what_was_made_is_staged_and_audited(kit, tmp_path):
    """The digest that is printed is the one that is declared; nothing is left for the audit to drop."""
    folder = folder_of(tmp_path / "My Photos", {**dict(kit.photos(3)), ".DS_Store": b"x"})
    made = make_tarball(folder, tmp_path / "photos.tar")

    staged = kit.staged(made.path, tmp_path / "out")

    assert staged.parent.name == f"photos.{made.sha256[:10]}"
    counts = audit_dataset(staged, kit.policy, tmp_path / "manifest.json")["counts"]
    assert counts == {"members": 3, "items": 3, "junk": {}, "quarantined": {}}


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("link", r"'a\.jpg' \(symbolic link\)"),
        ("pipe", r"'pipe' \(neither a file nor a folder\)"),
        ("newline", r"'new\\nline\.jpg' \(control character in the name\)"),
        ("bytes", r"'bytes\\udcff\.jpg' \(name that is not UTF-8\)"),
        ("backslash", r"'\.\.\\\\up\.jpg' \(path with \.\.\)"),
        ("case", r"'A\.jpg' and 'a\.jpg' \(the same but for case or Unicode form\)"),
        ("forms", r"'é\.jpg' and 'é\.jpg' \(the same but for case or Unicode form\)"),
        ("empty", "is a folder without files"),
    ],
)
def test_what_could_not_be_read_back_is_refused(tmp_path, case, words):
    """By name and reason; no tarball is left."""
    folder = tmp_path / "set"
    folder.mkdir()
    if case == "link":
        (folder / "a.jpg").symlink_to("/etc/passwd")
    elif case == "pipe":
        os.mkfifo(folder / "pipe")
    else:
        names = {
            "newline": ["new\nline.jpg"],
            "bytes": ["bytes\udcff.jpg"],
            "backslash": ["..\\up.jpg"],
            "case": ["a.jpg", "A.jpg"],
            "forms": [unicodedata.normalize(form, "é.jpg") for form in ("NFC", "NFD")],
            "empty": [],
        }[case]
        folder_of(folder, dict.fromkeys(names, b"x"))
        words = (
            unicodedata.normalize("NFC", words)
            if case != "forms"
            else r"' and '.*same but for case or Unicode"
        )

    with pytest.raises(AugmarkError, match=words):
        make_tarball(folder, tmp_path / "set.tar")

    assert sorted(path.name for path in tmp_path.iterdir()) == ["set"]


def test_what_may_not_be_read_is_refused(tmp_path):
    """By name; no tarball is left."""
    folder = folder_of(tmp_path / "set", {"a.jpg": b"x"})
    (folder / "a.jpg").chmod(0)
    script = ROOT / "scripts" / "make_tarball.py"
    words = [*bound_by_permissions(), sys.executable, script, folder, tmp_path / "set.tar"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode != 0
    assert "a.jpg: cannot be read" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["set"]


def test_places_where_it_cannot_be_made(tmp_path):
    """Each with its sentence and what to do."""
    folder = folder_of(tmp_path / "set", {"a.jpg": b"x"})
    (tmp_path / "there.tar").write_bytes(b"mine")
    cases = {
        (folder, folder / "in" / "set.tar"): "lies in the folder that is packed",
        (folder, tmp_path / "there.tar"): "is there already",
        (folder, tmp_path / "set.tar.gz"): r"does not end in \.tar[\s\S]*name it set\.tar",
        (folder, tmp_path / "set"): r"does not end in \.tar",
        (tmp_path / "there.tar", tmp_path / "new.tar"): "is no folder",
        (tmp_path / "none", tmp_path / "new.tar"): "is no folder",
    }
    for (source, out), words in cases.items():
        with pytest.raises(AugmarkError, match=words):
            make_tarball(source, out)
    assert (tmp_path / "there.tar").read_bytes() == b"mine"
    assert not (folder / "in").exists()


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    """Found before it is written: what is needed is known."""
    folder = folder_of(tmp_path / "set", {"a.jpg": b"x" * 1000})
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 500}))
    with pytest.raises(AugmarkError, match=r"packing set\.tar needs 12\.3 kB[\s\S]*another disk"):
        make_tarball(folder, tmp_path / "set.tar")
    assert not (tmp_path / "set.tar").exists()


def test_the_report_says_what_to_type_and_what_to_declare(kit, tmp_path):
    """The stanza is YAML that the schema takes, whatever is in the path; videos are clips."""
    place = tmp_path / "a: b # c"
    photos = make_tarball(folder_of(tmp_path / "set", dict(kit.photos(2))), place / "set.tar")
    videos = make_tarball(
        folder_of(tmp_path / "v", {"a.avi": b"x", "b.AVI": b"y", "list.txt": b""}), place / "v.tar"
    )

    said = report(photos, "my-set")
    stanza = yaml.safe_load(said[said.index("\nmy-set:") :])["my-set"]

    expected = {"title": "my-set", "kind": "tar", "medium": "image", "source": str(photos.path)}
    assert stanza == {**expected, "size": photos.size, "sha256": photos.sha256}
    assert f"--config images='{photos.path}'" in said
    assert "left out: nothing" in said
    assert "--config clips=" in report(videos, "v")
    assert "medium: video" in report(videos, "v")


def test_the_command_works_with_nothing_installed(kit, tmp_path, request):
    """-I -S: the standard library alone; a mistake is one error and no traceback."""
    folder = folder_of(tmp_path / "set", {**dict(kit.photos(2)), "._x.jpg": b"x", ".DS_Store": b"x"})
    script = request.config.rootpath / "scripts" / "make_tarball.py"
    command = [sys.executable, "-I", "-S", script, folder, tmp_path / "set.tar"]
    first, second = [subprocess.run(command, capture_output=True, text=True) for _ in range(2)]

    assert first.returncode == 0, first.stderr
    assert "left out: 1 '.DS_Store', 1 '._*'\n" in first.stdout
    assert f"sha256: {stage.declare(str(tmp_path / 'set.tar'), tmp_path / 'out')}\n" in first.stdout
    assert (second.returncode, second.stderr.splitlines()[0]) == (
        1,
        f"error: {tmp_path / 'set.tar'}: is there already",
    )
