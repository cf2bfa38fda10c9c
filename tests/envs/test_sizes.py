"""How much of a lock is still to be downloaded: sizes from a real index, and uv's own word on its cache."""

import json
import re
from pathlib import Path

import pytest
from packaging.tags import sys_tags

from augmark.caching import wheels
from augmark.environments import prepare_env
from augmark.errors import AugmarkError
from augmark.locking import check_sizes, write_sizes
from augmark.locks import parse_lock
from tests.envs.index import serve
from tests.envs.wheels import write_wheel

ENVS = Path(__file__).resolve().parents[2] / "envs"
LOCK = "tiny==1.0 --hash=sha256:00\n"


@pytest.fixture
def envs(tmp_path, monkeypatch):
    """A folder of locks with one of two wheels, an index that has them, and an empty cache of uv."""
    folder = tmp_path / "envs"
    folder.mkdir()
    lines = [write_wheel(tmp_path / "wheels", name, "1.0") for name in ("tiny", "other")]
    (folder / "lib.in").write_text("tiny\nother\n")
    (folder / "lib.txt").write_text("".join(lines))
    for name in (
        "UV_CACHE_DIR",
        "UV_FIND_LINKS",
        "UV_EXTRA_INDEX_URL",
        "UV_INDEX",
        "UV_INDEX_URL",
        "XDG_CACHE_HOME",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AUGMARK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with serve(tmp_path / "wheels") as url:
        monkeypatch.setenv("UV_DEFAULT_INDEX", url)
        yield folder


def names(pins):
    return {pin.name for pin in pins}


def pins_of(envs):
    return parse_lock((envs / "lib.txt").read_text())


def test_sizes_are_those_of_the_files(envs, tmp_path):
    """What the index says is what lies there."""
    write_sizes(envs)
    expected = {path.name: path.stat().st_size for path in (tmp_path / "wheels").glob("*.whl")}
    assert 2 == len(expected)
    assert expected == wheels.read_sizes(envs)
    assert sorted(expected.values()) == sorted(
        wheel.bytes
        for wheel in wheels.needed((envs / "lib.txt").read_text(), wheels.read_sizes(envs)).values()
    )
    assert "://" not in (envs / "sizes.json").read_text()


def test_an_index_without_sizes_takes_none_away(envs, tmp_path, monkeypatch):
    """What is known stays known as long as it is locked; what is not locked any more goes."""
    write_sizes(envs)
    (envs / "lib.txt").write_text(
        next(line for line in re.split(r"(?m)^(?=\w)", (envs / "lib.txt").read_text()) if "tiny" in line)
    )
    assert ["sizes.json: other-1.0-py3-none-any.whl is in no lock"] == check_sizes(envs)
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "another"))
    with serve(tmp_path / "wheels", sizes=False) as url:
        monkeypatch.setenv("UV_DEFAULT_INDEX", url)
        write_sizes(envs)
    assert {"tiny-1.0-py3-none-any.whl"} == set(wheels.read_sizes(envs))
    assert [] == check_sizes(envs)


def test_an_index_without_sizes_gives_none(envs, tmp_path, monkeypatch):
    """Unknown is unknown, and a number is never guessed."""
    with serve(tmp_path / "wheels", sizes=False) as url:
        monkeypatch.setenv("UV_DEFAULT_INDEX", url)
        write_sizes(envs)
    needed = wheels.needed((envs / "lib.txt").read_text(), wheels.read_sizes(envs))
    assert [None, None] == [wheel.bytes for wheel in needed.values()]


def test_an_index_that_is_not_reached_is_an_error(envs, monkeypatch):
    """The remedy names the variable of a mirror."""
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    with pytest.raises(AugmarkError, match="UV_DEFAULT_INDEX"):
        write_sizes(envs)


def test_what_is_in_the_cache_needs_no_download(envs, tmp_path):
    """Nothing, one, then all of it; asking leaves no cache where there was none."""
    lock, pins = envs / "lib.txt", pins_of(envs)
    assert {"tiny", "other"} == names(wheels.not_cached(lock, pins))
    assert not (tmp_path / "cache").exists()
    one = tmp_path / "one.txt"
    one.write_text(next(line for line in re.split(r"(?m)^(?=\w)", lock.read_text()) if "tiny" in line))
    prepare_env("one", one, tmp_path / "built")
    assert {"other"} == names(wheels.not_cached(lock, pins))
    prepare_env("lib", lock, tmp_path / "built")
    assert set() == wheels.not_cached(lock, pins)


def test_everything_lands_in_the_cache_that_is_named(envs, tmp_path):
    """AUGMARK_CACHE moves uv's cache, and an empty home stays empty."""
    (tmp_path / "home").mkdir()
    prepare_env("lib", envs / "lib.txt", tmp_path / "built")
    assert [] == list((tmp_path / "home").rglob("*"))
    assert (tmp_path / "cache" / "uv").is_dir()
    assert tmp_path / "cache" / "uv" == wheels.uv_cache()


def test_a_cache_of_uv_that_the_user_names_stays(envs, tmp_path, monkeypatch):
    """UV_CACHE_DIR is the user's own word."""
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "mine"))
    assert tmp_path / "mine" == wheels.uv_cache()
    prepare_env("lib", envs / "lib.txt", tmp_path / "built")
    assert not (tmp_path / "cache").exists()


def test_without_a_cache_all_is_to_be_downloaded(envs, monkeypatch):
    """UV_NO_CACHE keeps nothing, so nothing can be there."""
    monkeypatch.setenv("UV_NO_CACHE", "1")
    assert {"tiny", "other"} == names(wheels.not_cached(envs / "lib.txt", pins_of(envs)))


def test_the_wheel_of_this_platform_counts():
    """Not the one for all, where there is one for this machine, and none of another system."""
    best, *_, last = sys_tags()
    sizes = {f"tiny-1.0-{best}.whl": 11, f"tiny-1.0-{last}.whl": 22, "tiny-1.0-cp311-cp311-win_amd64.whl": 33}
    assert [11] == [wheel.bytes for wheel in wheels.needed(LOCK, sizes).values()]
    del sizes[f"tiny-1.0-{best}.whl"]
    assert [22] == [wheel.bytes for wheel in wheels.needed(LOCK, sizes).values()]
    del sizes[f"tiny-1.0-{last}.whl"]
    assert [None] == [wheel.bytes for wheel in wheels.needed(LOCK, sizes).values()]


def test_another_version_s_wheel_does_not_count():
    """Nor does a file that is no wheel."""
    sizes = {"tiny-2.0-py3-none-any.whl": 1, "tiny-1.0.tar.gz": 2, "tinier-1.0-py3-none-any.whl": 3}
    assert [None] == [wheel.bytes for wheel in wheels.needed(LOCK, sizes).values()]


def test_what_another_system_installs_is_not_needed():
    """A pin whose marker does not hold here."""
    text = LOCK + "other==1.0 ; sys_platform == 'no-such' --hash=sha256:00\n"
    assert ["tiny"] == [wheel.name for wheel in wheels.needed(text, {}).values()]


@pytest.mark.parametrize("text", ["", "{", '{"schema": "augmark/sizes/0", "wheels": {}}'])
def test_a_damaged_file_of_sizes_is_named(tmp_path, text):
    """With the command that makes it again."""
    (tmp_path / "sizes.json").write_text(text)
    with pytest.raises(AugmarkError, match=r"sizes.json.*\n.*lock_envs.py"):
        wheels.read_sizes(tmp_path)


def test_the_committed_sizes_are_those_of_the_locks():
    """Nothing that is not locked, and every wheel that this machine takes has a size."""
    assert [] == check_sizes(ENVS)
    sizes = wheels.read_sizes(ENVS)
    assert json.loads((ENVS / "sizes.json").read_text())["wheels"] == sizes
    for name in ("albumentationsx", "control", "kornia", "pillow", "torchvision"):
        needed = wheels.needed((ENVS / f"{name}.txt").read_text(), sizes)
        assert [] == [wheel.name for wheel in needed.values() if wheel.bytes is None]
