"""One way of showing how far work is: a labelled bar with its unit on a terminal, whole lines in a log."""

import ast
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import time

import pytest

from augmark import progress
from tests.conftest import ROOT

LABEL = "micro image-rgb kornia r0"
WORK = f"""
import sys, time
from augmark.progress import progress
with progress(label={LABEL!r}, total=3, unit="row") as bar:
    for name in ("Rotate", "MotionBlur", "Blur"):
        bar.update(0, note=name)
        time.sleep({{seconds}})
        bar.update(1, note=name)
"""
SOURCES = [*(ROOT / "workflow" / "augmark").rglob("*.py"), *(ROOT / "scripts").glob("*.py")]


class Screen:
    """A terminal of 100 columns: what was written to it, and the lines that it shows.

    Knows what the bar and its surroundings use: CR, LF, index and reverse index, save and restore, up, down.
    """

    def __init__(self, rows=6):
        self.main, self.name = pty.openpty()
        fcntl.ioctl(self.name, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 100, 0, 0))
        self.rows, self.raw = rows, ""

    def read(self):
        """All that has been written; the other end is closed then."""
        os.close(self.name)
        while True:
            try:
                chunk = os.read(self.main, 1 << 16)
            except OSError:  # Linux's way of saying that nobody writes any more
                chunk = b""
            if not chunk:
                os.close(self.main)
                return self.raw
            self.raw += chunk.decode()

    def frames(self):
        """The lines shown after each write of a bar, and at the end, with the cursor's row."""
        lines, row, column, kept = [[] for _ in range(self.rows)], 0, 0, (0, 0)
        for token in re.findall(r"\x1b\[[0-9]*[A-Za-z]|\x1b.|[^\x1b]", self.raw):
            if token == "\r":
                column = 0
            elif token in ("\n", "\x1bD"):
                if row == self.rows - 1:
                    lines = [*lines[1:], []]
                else:
                    row += 1
            elif token == "\x1bM":
                row -= 1
            elif token == "\x1b7":
                kept = row, column
            elif token == "\x1b8":
                row, column = kept
                yield ["".join(line).rstrip() for line in lines], row
            elif token == "\x1b[B":
                row = min(row + 1, self.rows - 1)
            elif token.startswith("\x1b"):
                raise AssertionError(f"not understood: {token!r}")
            else:
                line = lines[row]
                line.extend(" " * (column + 1 - len(line)))
                line[column] = token
                column += 1
        yield ["".join(line).rstrip() for line in lines], row


def run(code, *, stderr, terminal=None, lock=None):
    """Start a job whose terminal is ``terminal``, and whose stderr may be something else."""

    def take_terminal():
        os.setsid()
        if terminal is not None:
            fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)

    env = {**os.environ, "PYTHONPATH": str(ROOT / "workflow")}
    env.pop(progress.TERMINAL, None)
    if lock is not None:
        env[progress.TERMINAL] = str(lock)
    command = [sys.executable, "-c", code]
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stderr=stderr, env=env, preexec_fn=take_terminal
    )


def test_a_bar_on_ones_own_terminal():
    """Label, count, unit and what is in hand, drawn in place, taken away at the end; no lines beside it."""
    screen = Screen()
    job = run(WORK.format(seconds=0.15), stderr=screen.name, terminal=screen.name)
    assert 0 == job.wait(timeout=60)
    raw = screen.read()
    drawn = re.split(r"[\r\n]+", raw)
    assert any(re.match(rf"{LABEL}: .*1/3 .*row/s, MotionBlur\]", frame) for frame in drawn), drawn
    assert "\n" not in raw
    assert "started" not in raw
    assert "" == drawn[-1].strip()


def test_a_job_draws_below_the_panel_and_writes_lines_to_its_log(tmp_path):
    """The bar is one line below the cursor, which stays where it was; the log has whole lines only."""
    screen, log = Screen(), tmp_path / "log"
    os.write(screen.name, b"the panel\r\nits last line")
    with open(log, "w") as stream:
        job = run(WORK.format(seconds=0.15), stderr=stream, terminal=screen.name, lock=tmp_path / "lock")
        assert 0 == job.wait(timeout=60)
    screen.read()
    *frames, (last, row) = screen.frames()
    for lines, where in frames:
        assert 1 == where
        assert ["the panel", "its last line"] == lines[:2]
        assert lines[2] == "" or lines[2].startswith(f"{LABEL}: ")
        assert ["", "", ""] == lines[3:]
    assert any("1/3" in lines[2] and lines[2].endswith("MotionBlur]") for lines, _ in frames)
    assert (["the panel", "its last line", "", "", "", ""], 1) == (last, row)
    assert [f"{LABEL}: 0/3 row started", f"{LABEL}: 3/3 row Blur"] == log.read_text().split("\n")[:-1]


def test_at_the_last_line_of_the_terminal_the_screen_moves_up(tmp_path):
    """There is always a line below: all moves up by one, once."""
    screen, log = Screen(rows=3), tmp_path / "log"
    os.write(screen.name, b"one\r\ntwo\r\nthree")
    with open(log, "w") as stream:
        job = run(WORK.format(seconds=0.15), stderr=stream, terminal=screen.name, lock=tmp_path / "lock")
        assert 0 == job.wait(timeout=60)
    screen.read()
    *frames, (last, row) = screen.frames()
    assert any(lines[2].startswith(f"{LABEL}: ") for lines, _ in frames)
    assert all(["two", "three"] == lines[:2] for lines, _ in frames)
    assert (["two", "three", ""], 1) == (last, row)


def test_every_write_is_whole(tmp_path):
    """What moves the cursor away brings it back in the same write: another process draws there too."""
    read, write = os.pipe()
    with open(write, "wb", buffering=0) as terminal:
        progress.LineBelow(terminal).write("\r 12/58")
        assert f"{progress.BELOW}\r 12/58{progress.BACK}" == os.read(read, 100).decode()
        progress.LineBelow(terminal).write("")
    assert b"" == os.read(read, 100)
    os.close(read)


@pytest.mark.parametrize("lock", [True, False])
def test_without_a_terminal_there_are_whole_lines_only(tmp_path, lock):
    """In a log, on a cluster: label, count and unit, never a carriage return."""
    log = tmp_path / "log"
    with open(log, "w") as stream:
        job = run(WORK.format(seconds=0), stderr=stream, lock=tmp_path / "lock" if lock else None)
        assert 0 == job.wait(timeout=60)
    assert f"{LABEL}: 0/3 row started\n{LABEL}: 3/3 row Blur\n" == log.read_text()


def test_without_tqdm_the_lines_say_the_same():
    """As on a bare host: on one's own terminal too there are whole lines, and no bar."""
    screen = Screen()
    bare = "import sys; sys.modules['tqdm'] = None\n"
    job = run(bare + WORK.format(seconds=0), stderr=screen.name, terminal=screen.name)
    assert 0 == job.wait(timeout=60)
    assert f"{LABEL}: 0/3 row started\r\n{LABEL}: 3/3 row Blur\r\n" == screen.read()


def test_long_work_says_how_far_it_is_now_and_then(capfd, monkeypatch):
    """A line after some seconds, not one per unit; bytes and unknown totals too."""
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.2)
    with progress.progress(label="hash demo", total=None, unit="B") as bar:
        for _ in range(10):
            bar.update(1000, note="a.jpg")
            time.sleep(0.05)
    lines = capfd.readouterr().err.splitlines()
    assert "hash demo: 0 B started" == lines[0]
    assert 2 <= len(lines) <= 4
    assert all(re.fullmatch(r"hash demo: \d+ B a\.jpg", line) for line in lines[1:])


def test_of_two_jobs_one_draws(tmp_path):
    """Who holds the terminal's lock; the other writes its lines to its log, and may draw afterwards."""
    screen, lock = Screen(), tmp_path / "lock"
    code = WORK.replace(LABEL, "a job")
    both = f"""
import os, subprocess, sys
first = subprocess.Popen([sys.executable, "-c", {code.format(seconds=0.5)!r}], stderr=open("first", "w"))
import time
time.sleep(0.7)
second = subprocess.run([sys.executable, "-c", {code.format(seconds=0).replace("a job", "late")!r}],
                        stderr=open("second", "w"))
first.wait()
third = subprocess.run([sys.executable, "-c", {code.format(seconds=0.15).replace("a job", "third")!r}],
                       stderr=open("third", "w"))
"""
    log = tmp_path / "log"
    with open(log, "w") as stream:
        job = run(
            f"import os; os.chdir({str(tmp_path)!r})\n{both}", stderr=stream, terminal=screen.name, lock=lock
        )
        assert 0 == job.wait(timeout=60)
    raw = screen.read()
    assert "" == log.read_text()
    assert "a job: " in raw
    assert "late: " not in raw
    assert "third: " in raw
    assert "late: 0/3 row started\nlate: 3/3 row Blur\n" == (tmp_path / "second").read_text()


def calls(path, name):
    """Calls of a function in a file, by its bare name."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", None)) == name
    ]


def test_there_is_one_way_of_showing_progress():
    """No other module draws a bar of its own."""
    drawing = {path.name for path in SOURCES if calls(path, "tqdm") or calls(path, "trange")}
    assert {"progress.py"} == drawing
    importing = {
        path.name for path in SOURCES if re.search(r"^\s*(import|from) tqdm", path.read_text(), re.M)
    }
    assert {"progress.py"} == importing


def test_every_bar_has_a_label_and_a_unit():
    """A label is words, or composed of words; a unit is a word."""
    found = [(path, call) for path in SOURCES for call in calls(path, "progress")]
    assert len(found) >= 8
    for path, call in found:
        told = {keyword.arg: keyword.value for keyword in call.keywords}
        where = f"{path.name}:{call.lineno}"
        assert [] == call.args, where
        assert {"label", "total", "unit"} == told.keys(), where
        assert isinstance(told["unit"], ast.Constant), where
        assert told["unit"].value, where
        label = told["label"]
        words = [part.value for part in ast.walk(label) if isinstance(part, ast.Constant)]
        assert isinstance(label, ast.Name) or any(str(word).strip() for word in words), where
