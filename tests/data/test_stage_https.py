"""Staging from the web: by the cache, once, and checked on the way."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from augmark.data import stage
from augmark.errors import AugmarkError
from tests.data.server import sha256


@pytest.fixture
def web_set(kit, server, tmp_path, monkeypatch):
    """The server has a dataset, and the cache is a folder of the test; (server, its digest)."""
    monkeypatch.setenv("AUGMARK_CACHE", str(tmp_path / "cache"))
    server.content = kit.pack(tmp_path / "origin.tar", kit.photos(3)).read_bytes()
    return server, sha256(server.content)


def staged(server, digest, output, **more):
    return stage.stage_dataset(server.url, "tar", digest, output, "photos", **more)


def kept_in(tmp_path):
    return sorted(path for path in (tmp_path / "cache" / "datasets").iterdir() if path.suffix != ".lock")


def test_a_download_is_staged_as_another_name_of_the_cached_file(web_set, tmp_path):
    """It takes no room twice; the description names the file, and not the server."""
    server, digest = web_set

    folder = staged(server, digest, tmp_path / "out", size=len(server.content))

    (kept,) = kept_in(tmp_path)
    assert kept.name == f"photos.{digest[:10]}.tar"
    assert (folder / "dataset.tar").read_bytes() == server.content
    assert os.path.samefile(folder / "dataset.tar", kept)
    about = json.loads((folder / "staged.json").read_text())
    assert (about["source"], about["sha256"], about["tar_sha256"]) == ("set.tar", digest, digest)
    assert (about["bytes"], about["members"]) == (len(server.content), 3)
    assert stage.read_staged(folder / "dataset.tar") == about


def test_a_scheme_has_no_case(web_set, tmp_path):
    """RFC 3986, 3.1: it is downloaded, and not looked for as a file here."""
    server, digest = web_set
    server.url = server.url.replace("https://", "HTTPS://")

    folder = staged(server, digest, tmp_path / "out")

    assert sha256((folder / "dataset.tar").read_bytes()) == digest
    assert len(server.asked) == 1


def test_the_next_output_folder_takes_it_from_the_cache(web_set, tmp_path):
    """The server is asked once, though it is gone the second time."""
    server, digest = web_set
    staged(server, digest, tmp_path / "one")
    server.statuses = [(404, {})] * 9

    folder = staged(server, digest, tmp_path / "two")

    assert sha256((folder / "dataset.tar").read_bytes()) == digest
    assert len(server.asked) == 1


def test_on_another_disk_it_is_copied(web_set, tmp_path, monkeypatch):
    """Where the disk has no links, too."""
    server, digest = web_set

    def no_link(*_):
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", no_link)
    folder = staged(server, digest, tmp_path / "out")

    (kept,) = kept_in(tmp_path)
    assert not os.path.samefile(folder / "dataset.tar", kept)
    assert (folder / "dataset.tar").read_bytes() == kept.read_bytes()


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="no /dev/shm here to be another disk")
def test_room_for_the_copy_on_the_other_disk_is_asked_for_first(web_set, tmp_path, monkeypatch):
    """Before anything is downloaded; both folders count where they lie."""
    server, digest = web_set
    monkeypatch.setenv("AUGMARK_CACHE", f"/dev/shm/{tmp_path.parent.name}-{tmp_path.name}")
    try:
        with pytest.raises(AugmarkError, match=r"staging photos needs 1000000\.0 TB"):
            staged(server, digest, tmp_path / "out", size=10**18)
        assert server.asked == []
    finally:
        subprocess.run(["rm", "-rf", os.environ["AUGMARK_CACHE"]], check=True)


def test_damage_to_a_staged_file_does_not_last(web_set, tmp_path):
    """Written into by force, both names are damaged: found, set aside, downloaded anew."""
    server, digest = web_set
    tar = staged(server, digest, tmp_path / "out") / "dataset.tar"
    tar.chmod(0o644)
    tar.write_bytes(b"x" + server.content[1:])

    staged(server, digest, tmp_path / "out")

    assert tar.read_bytes() == server.content
    assert [path.name for path in kept_in(tmp_path)] == [
        f"photos.{digest[:10]}.tar",
        f"photos.{digest[:10]}.tar.wrong",
    ]


def test_a_wrong_digest_stages_nothing(web_set, tmp_path):
    """Both digests; what came is set aside in the cache."""
    server, digest = web_set
    with pytest.raises(AugmarkError, match=f"has the sha256 {digest}, but {'ab' * 32} was declared"):
        staged(server, "ab" * 32, tmp_path / "out")
    assert [path for path in (tmp_path / "out").rglob("*") if path.is_file()] == []


def test_what_is_no_tar_is_named_by_its_url(web_set, tmp_path):
    """A page instead of a file, with the declared digest of that page."""
    server, _ = web_set
    server.content = b"<html>please log in</html>" * 100
    with pytest.raises(AugmarkError, match=r"https://127\.0\.0\.1:\d+/set\.tar: is not a tar archive"):
        staged(server, sha256(server.content), tmp_path / "out")


def test_the_command_needs_nothing_installed(web_set, tmp_path, request):
    """-I -S: broken at 60 %, the script continues with the standard library alone, and says so."""
    server, digest = web_set
    cut = len(server.content) * 6 // 10
    server.breaks = [cut]
    script = request.config.rootpath / "scripts" / "stage_dataset.py"
    options = {
        "--source": server.url,
        "--kind": "tar",
        "--sha256": digest,
        "--size": str(len(server.content)),
        "--name": "photos",
        "--output": str(tmp_path / "out"),
    }
    command = [sys.executable, "-I", "-S", script, *(each for pair in options.items() for each in pair)]
    done = subprocess.run(command, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    assert sha256((Path(done.stdout.strip()) / "dataset.tar").read_bytes()) == digest
    assert server.ranges_asked() == [None, f"bytes={cut}-"]
    assert "the connection broke off after" in done.stderr
