"""Nothing that is measured needs the network or writes into the user's home."""

import functools
import os
import subprocess

import pytest

CONNECT = "import socket; socket.create_connection(('127.0.0.1', {port}), 2).close()"
CASES = ["albumentationsx", "torchvision", "kornia", "pillow"]


@functools.cache
def cut_off() -> tuple[str, ...] | None:
    """The words before a command that has no network; None where the system does not allow it."""
    for words in (("unshare", "-n"), ("unshare", "-rn")):
        try:
            if subprocess.run([*words, "true"], capture_output=True, check=False).returncode == 0:
                return words
        except OSError:
            return None
    return None


@pytest.fixture
def without_network():
    words = cut_off()
    if words is None:
        pytest.skip("this system does not let a test start a process without a network (unshare -n)")
    return words


def files_below(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_the_network_is_really_cut(without_network, real_python):
    """What listens on this host is not reached from there."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        code = CONNECT.format(port=server.getsockname()[1])
        command = [str(real_python("control")), "-I", "-c", code]
        assert 0 == subprocess.run(command, check=False).returncode
        cut = subprocess.run([*without_network, *command], capture_output=True, check=False)
        assert 0 != cut.returncode


@pytest.mark.parametrize("library", CASES)
def test_it_works_without_network_and_writes_nothing_at_home(
    real, real_python, without_network, tmp_path, library
):
    """Probe and measurement of every row are whole, and an empty home stays empty."""
    home = tmp_path / "home"
    home.mkdir()
    kept = {key: value for key, value in os.environ.items() if not key.startswith("XDG_")}
    env = {**kept, "HOME": str(home)}
    for kind in ("probe", "measure"):
        done = real.run(real_python(library), kind, library, before=without_network, env=env)
        assert 0 == done.returncode, done.stdout + done.stderr
    rows = real.record(library)["rows"]
    assert {"HorizontalFlip", "Rotate"} == {row["transform"] for row in rows}
    assert ["ok", "ok"] == [row["status"] for row in rows]
    assert [] == files_below(home)
