"""Where the cache is, and `augmark cache list`: what is kept, without a plan and without writing."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from augmark import cache, cli
from tests.core.kept import DIGEST, one


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"AUGMARK_CACHE": "/tmp/x"}, "/tmp/x"),
        ({"AUGMARK_CACHE": "/tmp/x", "XDG_CACHE_HOME": "/y"}, "/tmp/x"),
        ({"AUGMARK_CACHE": "", "XDG_CACHE_HOME": "/y"}, "/y/augmark"),
        ({"AUGMARK_CACHE": "~/x"}, "/home/somebody/x"),
        ({}, "/home/somebody/.cache/augmark"),
    ],
)
def test_the_cache_folder(monkeypatch, variables, expected):
    """The variable, then that of the system, then the home's."""
    for name in ("AUGMARK_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/somebody")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert Path(expected) == cache.cache_folder()


def test_a_relative_cache_folder_is_fixed(monkeypatch, tmp_path):
    """Jobs that run in other folders would each have their own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AUGMARK_CACHE", "mine")
    assert tmp_path / "mine" / "datasets" / "set.0123456789.tar" == cache.download_path("set", DIGEST + "ab")


def test_caches_of_tools_move_along(monkeypatch):
    """Only where AUGMARK_CACHE is set, and never over the user's own word."""
    for name in ("AUGMARK_CACHE", "UV_CACHE_DIR", "PIP_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    assert {} == cache.moved_caches()
    monkeypatch.setenv("AUGMARK_CACHE", "/tmp/x")
    assert {"UV_CACHE_DIR": "/tmp/x/uv", "PIP_CACHE_DIR": "/tmp/x/pip"} == cache.moved_caches()
    monkeypatch.setenv("UV_CACHE_DIR", "/mine")
    assert {"PIP_CACHE_DIR": "/tmp/x/pip"} == cache.moved_caches()


def test_it_needs_the_standard_library_alone(tmp_path):
    """It runs on a bare host: no package can be imported there."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from augmark.cache import cache_folder; cache_folder()"
    )
    workflow = Path(cache.__file__).parents[1]
    base = Path(sys.base_prefix) / "bin" / "python3"
    subprocess.run([base, "-I", "-S", "-c", code, workflow], check=True)


def test_list_names_everything(ask, kept):
    """Kind, place, size and purpose; unfinished and refused downloads too."""
    download = one(kept, "cache/datasets/*.tar")
    download.with_name("more.abcdef0123.tar.part").write_bytes(b"x" * 7)
    download.with_name("more.abcdef0123.tar.part.json").write_text("{}")
    download.with_name("more.abcdef0123.tar.lock").touch()
    download.with_name("less.abcdef0123.tar.wrong").write_bytes(b"x" * 5)
    (kept / "uv").mkdir()
    (kept / "uv" / "file").write_bytes(b"x" * 3)
    status, found = ask("list")
    assert 0 == status
    assert {
        "download": "set",
        "unfinished download": "more",
        "download set aside": "less",
        "dataset": "set",
        "items": "image-rgb",
        "environment": "lib",
        "cache": "uv, packages",
    } == {kind: thing["for"] for kind, thing in found.items()}
    assert (7, 5, 3) == tuple(
        found[kind]["bytes"] for kind in ("unfinished download", "download set aside", "cache")
    )
    assert download.stat().st_size == found["download"]["bytes"]
    folder = kept / "project" / "results" / "items" / f"image-rgb.{DIGEST}"
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) == found["items"]["bytes"]
    assert str(folder) == found["items"]["path"]
    assert {None} == {thing["used"] for thing in found.values()}


def test_list_says_why_there_is_no_plan(kept, capsys):
    """A configuration that is wrong takes only the column away that depends on it."""
    assert 0 == cli.main(["cache", "list"])
    said = capsys.readouterr().out
    assert "what is used is not known, because there is no plan" in said
    assert f"  items        image-rgb  {kept}/project/results/items/image-rgb.{DIGEST}" in said


def test_links_count_once_together(ask, kept, capsys):
    """A staged tar may be another name of the download."""
    download, staged = one(kept, "cache/datasets/*.tar"), one(kept, "project/results/datasets/*/dataset.tar")
    cli.main(["cache", "list", "--json"])
    before = json.loads(capsys.readouterr().out)
    staged.unlink()
    os.link(download, staged)
    cli.main(["cache", "list", "--json"])
    after = json.loads(capsys.readouterr().out)
    assert [each["bytes"] for each in before["things"]] == [each["bytes"] for each in after["things"]]
    assert download.stat().st_size == before["bytes_together"] - after["bytes_together"]


def test_nothing_is_kept(kept, capsys):
    """An output folder that is not there is none."""
    shutil.rmtree(kept / "cache")
    for action in ("list", "verify"):
        assert 0 == cli.main(["cache", action, "--config", "output=elsewhere"])
    assert "0 ok, 0 damaged" in capsys.readouterr().out
