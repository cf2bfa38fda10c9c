"""What the doctor reads of a host: from copies of ``/proc``, and of real locks, files and processes here."""

import fcntl
import os
import subprocess
import sys
import time

import pytest

from augmark.machines import host_facts, stanza


def tree(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def test_memory_and_load_of_another_host(tmp_path):
    """In bytes, of a copy of its files."""
    meminfo = "MemTotal:       24684092 kB\nMemAvailable:   23648424 kB\nHugePages_Total:       0\n"
    root = tree(tmp_path, {"proc/meminfo": meminfo, "proc/loadavg": "1.25 0.50 0.10 2/300 4711\n"})
    assert host_facts.memory(root) == {"MemTotal": 24684092 * 1024, "MemAvailable": 23648424 * 1024}
    assert host_facts.minute_load(root) == 1.25


def test_a_host_without_these_files(tmp_path):
    """Memory is unknown, and the load is asked of the system itself."""
    assert host_facts.memory(tmp_path) is None
    assert host_facts.minute_load(tmp_path) == pytest.approx(os.getloadavg()[0], abs=1.0)


def test_a_busy_process_is_named():
    """A real one, which takes most of a processor; this one is not counted."""
    name = os.path.basename(os.path.realpath(sys.executable))
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        try:
            time.sleep(0.2)
            shares = dict(reversed(host_facts.busy(0.5)))
        finally:
            process.kill()
    assert any(name.startswith(each) and share > 0.2 for each, share in shares.items()), shares


def test_a_held_lock_is_seen_and_stays_held(tmp_path):
    """No file, a free one, one that another open file holds; and looking takes nothing."""
    path = tmp_path / "lock"
    assert host_facts.lock_held(path) is False
    path.touch()
    assert host_facts.lock_held(path) is False
    with open(path) as holder:
        fcntl.flock(holder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert host_facts.lock_held(path) is True
        assert host_facts.lock_held(path) is True
    assert host_facts.lock_held(path) is False


def test_the_holder_of_a_lock(tmp_path):
    """As the kernel lists locks: by process and by the file's number; one that only waits has an arrow."""
    path = tmp_path / "lock"
    path.touch()
    number = path.stat().st_ino
    lines = (
        f"1: POSIX  ADVISORY  WRITE 11 fe:00:{number} 0 EOF\n"
        f"2: FLOCK  ADVISORY  WRITE 12 fe:00:{number}1 0 EOF\n"
        f"3: FLOCK  ADVISORY  WRITE 13 fe:00:{number} 0 EOF\n"
        f"3: -> FLOCK  ADVISORY  WRITE 14 fe:00:{number} 0 EOF\n"
    )
    root = tree(tmp_path / "root", {"proc/locks": lines})
    assert host_facts.lock_holder(root, path) == "process 13"
    tree(root, {"proc/13/comm": "python3.11\n"})
    assert host_facts.lock_holder(root, path) == "process 13 (python3.11)"
    assert host_facts.lock_holder(tmp_path / "nothing", path) is None


def test_the_newest_file(tmp_path):
    """Below several folders, of which one may not be there."""
    tree(tmp_path, {"a/b/old": "", "c/new": ""})
    os.utime(tmp_path / "a/b/old", (1, 1))
    os.utime(tmp_path / "c/new", (2, 2))
    folders = [tmp_path / name for name in ("a", "c", "missing")]
    assert host_facts.newest_file(folders) == (str(tmp_path / "c/new"), 2.0)
    assert host_facts.newest_file(folders[2:]) is None


def test_writing_is_tried_and_leaves_nothing(tmp_path):
    """In a folder that is there, or in the one above; a file in its place is no folder."""
    assert host_facts.write_problem(tmp_path / "not" / "yet") is None
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    assert host_facts.write_problem(tmp_path / "file") == "Not a directory"


@pytest.mark.skipif(not os.path.ismount("/proc"), reason="no /proc to be refused by")
def test_a_folder_that_refuses_says_why():
    """Nobody makes files in the kernel's own."""
    assert host_facts.write_problem(host_facts.Path("/proc")) is not None


def test_an_answer_and_its_absence():
    """What a command prints, its last words where it fails, and one that is not there."""
    assert host_facts.answer("echo", "hello") == (True, "hello\n")
    words = "import sys; print('first', file=sys.stderr); sys.exit('at last')"
    assert host_facts.answer(sys.executable, "-c", words) == (False, "at last")
    assert host_facts.answer(sys.executable, "-c", "raise SystemExit(3)") == (
        False,
        f"{sys.executable} ended with 3",
    )
    assert host_facts.answer("no-such-command") == (False, "no-such-command is not on the PATH")


def test_a_pattern_matches_its_text_and_nothing_else():
    """Brackets, dots and pluses of model names are no regular expression."""
    text = "Intel(R) Xeon(R) CPU @ 2.20GHz [a+b]"
    assert stanza.re.search(stanza.pattern(text), text)
    assert not stanza.re.search(stanza.pattern(text), text.replace(".", "x"))
    assert not stanza.re.search(stanza.pattern(text), f"{text} v2")
