"""Downloading, from a real https server on localhost with every fault that one may have."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time

import pytest

from augmark.data.download import Patience
from augmark.errors import AugmarkError
from tests.data.server import CONTENT, SIXTY, sha256


def test_a_file_comes_whole_and_is_kept(client):
    """The bytes, read-only, nothing beside them; a second time nothing is asked for."""
    client.get()
    client.get()

    assert client.target.read_bytes() == CONTENT
    assert client.target.stat().st_mode & 0o222 == 0
    assert client.left() == ["set.tar"]
    assert client.server.ranges_asked() == [None]
    assert client.said == []


def test_broken_at_sixty_per_cent_it_continues_from_there(client):
    """The second request asks for the rest of the same file, and gets that alone."""
    client.server.breaks = [SIXTY]

    client.get()

    assert client.target.read_bytes() == CONTENT
    assert client.server.ranges_asked() == [None, f"bytes={SIXTY}-"]
    assert client.server.asked[1]["If-Range"] == '"one"'
    assert client.said == [
        "the connection broke off after 1.8 MB; again in 0 s",
        "continuing after 1.8 MB of 3.0 MB",
    ]


def test_a_part_that_does_not_say_how_large_the_whole_is(client):
    """It is joined all the same: the declared size and the digest are what counts."""
    client.server.breaks, client.server.whole_unknown = [SIXTY], True

    client.get()

    assert client.target.read_bytes() == CONTENT
    assert client.server.ranges_asked() == [None, f"bytes={SIXTY}-"]


def test_another_process_continues_where_a_killed_one_was(client, tmp_path, request):
    """kill -9 while nothing comes; the same command asks for what is missing."""
    client.server.stalls = 1
    code = (
        "import sys; from pathlib import Path; from augmark.data.download import download\n"
        "download(sys.argv[1], Path(sys.argv[2]), size=None, sha256=sys.argv[3], say=print)"
    )
    command = [sys.executable, "-c", code, client.server.url, client.target, sha256(CONTENT)]
    env = {**os.environ, "PYTHONPATH": str(request.config.rootpath / "workflow")}
    child = subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 20
    while not (client.part.exists() and client.part.stat().st_size > 1_000_000):
        assert time.monotonic() < until
        assert child.poll() is None
        time.sleep(0.01)
    child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    there = client.part.stat().st_size

    client.get()

    assert client.target.read_bytes() == CONTENT
    assert client.server.ranges_asked() == [None, f"bytes={there}-"]


def test_a_file_that_changed_on_the_server_starts_again(client):
    """Half of the old one and half of the new one are never joined."""
    other = CONTENT[::-1]
    client.server.breaks = [SIXTY]
    client.server.between = lambda: len(client.server.asked) == 2 and changed()

    def changed():
        client.server.content, client.server.etag = other, '"two"'

    client.get(content=other)

    assert client.target.read_bytes() == other
    assert "the file on the server has changed: starting again from the first byte" in client.said


@pytest.mark.parametrize("fault", ["another state", "another place"])
def test_a_part_that_was_not_asked_for_is_not_taken(client, fault):
    """Of a file that has changed meanwhile, or from another byte on: the whole is asked for."""
    client.server.careless = True
    client.server.shift = 5 if fault == "another place" else 0
    client.server.breaks = [SIXTY]

    def changed():
        if len(client.server.asked) == 2 and fault == "another state":
            client.server.content, client.server.etag = CONTENT[::-1], '"two"'

    client.server.between = changed
    expected = CONTENT[::-1] if fault == "another state" else CONTENT

    client.get(content=expected)

    assert client.target.read_bytes() == expected
    assert client.server.ranges_asked() == [None, f"bytes={SIXTY}-", None]


@pytest.mark.parametrize("lack", ["ranges", "state"])
def test_without_ranges_or_a_named_state_it_starts_again(client, lack):
    """Nothing says that the rest would be the rest of the same file."""
    client.server.ranges = lack != "ranges"
    client.server.etag = '"one"' if lack == "ranges" else None
    client.server.breaks = [SIXTY]

    client.get()

    assert client.target.read_bytes() == CONTENT
    assert client.server.ranges_asked() == [None, f"bytes={SIXTY}-" if lack == "ranges" else None]


def test_a_weak_state_joins_nothing(client):
    """By RFC 9110 such bytes may differ."""
    client.server.etag = 'W/"one"'
    client.server.breaks = [SIXTY]

    client.get()

    assert client.server.ranges_asked() == [None, None]


def test_a_server_that_falls_silent_is_given_up_and_asked_again(client):
    """After the seconds of patience, with what came kept."""
    client.server.stalls = 1

    client.get()

    assert client.target.read_bytes() == CONTENT
    assert client.server.ranges_asked() == [None, "bytes=1500000-"]
    assert re.fullmatch(
        r"the connection broke off \(.*timed out.*\) after 1\.5 MB; again in 0 s", client.said[0]
    )


def test_busy_servers_are_asked_again_as_they_say(client):
    """503 with Retry-After, 429, 500; the wait is never longer than the longest."""
    client.server.statuses = [(503, {"Retry-After": "3600"}), (429, {}), (500, {})]
    started = time.monotonic()

    client.get()

    assert client.target.read_bytes() == CONTENT
    assert [line.split(" after ")[0] for line in client.said] == [
        "the server answers 503 (Service Unavailable)",
        "the server answers 429 (Too Many Requests)",
        "the server answers 500 (Internal Server Error)",
    ]
    assert time.monotonic() - started < 10


def test_a_network_that_stays_broken_ends_with_what_to_type(client):
    """So many tries without a step forward; what came is kept for the next time."""
    client.server.breaks = [SIXTY, 10, 10, 10, 10, 10]

    with pytest.raises(AugmarkError, match=r"broke off, 4 times; 1\.8 MB of it .*[\s\S]*same command again"):
        client.get()

    asked = client.server.ranges_asked()
    assert asked == [None, "bytes=1800000-", "bytes=1800010-", "bytes=1800020-"]
    assert client.left() == ["set.tar.part", "set.tar.part.json"]
    client.server.breaks = []
    client.get()
    assert client.target.read_bytes() == CONTENT


def test_steps_forward_begin_the_tries_anew(client):
    """A bad line that gives more than a mebibyte each time gets there, whatever the number of tries."""
    client.server.content = content = random.Random(6).randbytes(9_000_000)
    client.server.breaks = [1_200_000] * 7

    client.get(content=content)

    assert client.target.read_bytes() == content
    assert len(client.server.asked) == 8


def test_waits_double_up_to_the_longest():
    """1, 2, 4 ... 60 seconds."""
    assert [Patience().wait_seconds(n) for n in range(1, 9)] == [1, 2, 4, 8, 16, 32, 60, 60]


def test_nothing_listens(client):
    """No server: tried, and told in words."""
    client.server.url = "https://127.0.0.1:1/set.tar"
    with pytest.raises(AugmarkError, match=r"no connection \(.*refused.*\), 4 times; 0 B of it are here"):
        client.get()


def test_a_size_that_the_server_contradicts_is_found_before_the_transfer(client):
    """Both sizes; not a byte is asked for."""
    with pytest.raises(
        AugmarkError, match="has 3000000 bytes, but 2999999 were declared: nothing was downloaded"
    ):
        client.get(size=2_999_999)
    assert client.left() == []
    assert len(client.server.asked) == 1


def test_a_server_that_promises_more_than_it_has(client):
    """It never gets there; the tries end."""
    client.server.length = 4_000_000
    with pytest.raises(AugmarkError, match=r"the connection broke off, 4 times"):
        client.get(size=None)
    assert not client.target.exists()


def test_a_server_that_tells_no_size(client):
    """The declared one serves; without it nothing is downloaded, as no room could be made sure of."""
    client.server.length = "none"
    with pytest.raises(AugmarkError, match=r"does not say how large it is[\s\S]*size: in config/datasets"):
        client.get(size=None)
    assert client.left() == []

    client.get()

    assert client.target.read_bytes() == CONTENT


def test_a_wrong_digest_names_both_and_keeps_what_came_aside(client):
    """Nothing takes the target's name; the next run downloads anew."""
    with pytest.raises(AugmarkError) as refused:
        client.get(sha256="ab" * 32)

    text = str(refused.value)
    for part in (
        sha256(CONTENT),
        "ab" * 32,
        "set.tar.wrong",
        f"declare sha256: {sha256(CONTENT)}",
        "run again",
    ):
        assert part in text
    assert client.left() == ["set.tar.wrong"]
    assert client.target.with_name("set.tar.wrong").read_bytes() == CONTENT
    client.get()
    assert client.server.ranges_asked() == [None, None]


def test_a_damaged_file_in_the_cache_is_set_aside_and_said(client):
    """What is there is verified, not trusted for its name."""
    client.get()
    client.target.chmod(0o644)
    client.target.write_bytes(CONTENT[:-1] + b"x")

    client.get()

    assert client.target.read_bytes() == CONTENT
    assert client.target.with_name("set.tar.wrong").read_bytes() == CONTENT[:-1] + b"x"
    assert client.said == [f"{client.target} is not the declared file any more: set aside as set.tar.wrong"]


@pytest.mark.parametrize(
    "state", ["", '{"schema": "augmark/part/1"', '{"schema": "augmark/part/1", "total": "x"}', None]
)
def test_a_part_of_which_nothing_is_known_is_not_continued(client, state):
    """Without its description, or with half of one."""
    client.target.parent.mkdir()
    client.part.write_bytes(b"something else")
    if state is not None:
        client.part.with_name("set.tar.part.json").write_text(state)

    client.get()

    assert client.target.read_bytes() == CONTENT
    assert client.server.ranges_asked() == [None]


def test_a_whole_part_is_checked_and_not_asked_for(client):
    """Killed between the last byte and the check."""
    client.target.parent.mkdir()
    client.part.write_bytes(CONTENT)
    state = {"schema": "augmark/part/1", "total": len(CONTENT), "validator": '"one"'}
    client.part.with_name("set.tar.part.json").write_text(json.dumps(state))

    client.get()

    assert client.left() == ["set.tar"]
    assert client.server.asked == []


def test_what_is_killed_while_it_is_kept_is_not_downloaded_again(client, monkeypatch):
    """All bytes had come; the disk was slow to take them."""
    kept = os.fsync

    def killed(descriptor):
        if os.fstat(descriptor).st_size == len(CONTENT):
            raise KeyboardInterrupt
        kept(descriptor)

    monkeypatch.setattr(os, "fsync", killed)
    with pytest.raises(KeyboardInterrupt):
        client.get()
    monkeypatch.setattr(os, "fsync", kept)

    client.get()

    assert client.target.read_bytes() == CONTENT
    assert client.server.ranges_asked() == [None]


def test_no_room_is_found_before_the_transfer(client):
    """What is left to download and what is written beside it; the remedy is the cache's."""
    client.server.breaks = [SIXTY]
    with pytest.raises(AugmarkError, match=r"downloading set\.tar needs 1000000\.0 TB[\s\S]*AUGMARK_CACHE"):
        client.get(beside_bytes=10**18)
    assert client.left() == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_a_disk_that_fills_says_so_and_keeps_what_came(client):
    """Linux has a device that is always full."""
    client.target.parent.mkdir()
    client.part.symlink_to("/dev/full")
    with pytest.raises(AugmarkError, match=r"set\.tar: the disk is full[\s\S]*AUGMARK_CACHE"):
        client.get()


def test_two_processes_download_one_file_once(client):
    """The second waits for the first, says so, and finds the file."""
    client.server.between = lambda: time.sleep(0.3)
    threads = [threading.Thread(target=client.get) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert client.target.read_bytes() == CONTENT
    assert len(client.server.asked) == 1
    assert client.said == [f"waiting: {client.target} is being made"] * 2
