"""`augmark matrix`: rows planned and of each status, by scenario, mode, library and device."""

import re

import pytest

from tests.conftest import copy_project

FOUR = ("albumentationsx", "torchvision", "kornia", "pillow")
NO_DEVICE = "not-run, no row here: needs a device to copy to (cuda or mps), and machine local has cpu alone"
# Of the whole demo, counted by hand in config/: the libraries of each scenario and mode, how many rows each
# has, what a library lacks of them, and whether the controls take part (with one row each).
DEMO = {
    ("image-rgb", "micro"): (FOUR, 9, {"torchvision": 2, "pillow": 4}, True),
    ("image-rgb", "decode"): (FOUR, 1, {}, False),
    ("image-rgb", "dataloader-memory"): (FOUR, 3, {}, False),
    ("image-rgb", "dataloader-decode"): (FOUR, 3, {}, False),
    ("image-9ch", "micro"): (FOUR[:3], 6, {}, True),
    ("image-9ch", "dataloader-memory"): (FOUR[:3], 3, {}, False),
    ("image-9ch", "dataloader-decode"): (FOUR[:3], 3, {}, False),
}


def read(said):
    """What was printed: (scenario, mode, library, device) -> column -> count, the totals, the last lines."""
    lines = said.splitlines()
    heads = lines[2].split()
    end = next(number for number, line in enumerate(lines) if line.startswith("all "))
    table = {}
    for line in lines[3:end]:
        words = line.split()
        counts = [0 if word == "." else int(word) for word in words[4:]]
        table[tuple(words[:4])] = dict(zip(heads[4:], counts, strict=True))
    totals = dict(zip(heads[6:], map(int, lines[end].split()[1:]), strict=True))
    return table, totals, lines[end + 1 :]


def statuses(line):
    return {name: count for name, count in line.items() if name not in ("rows", "repeats", "planned")}


def test_before_anything_has_run(tmp_path):
    """All of the demo: nothing has run, what is unsupported is known, and what has no row says why."""
    bare = copy_project(tmp_path / "project")
    table, totals, words = read(bare.run("augmark", "matrix").stdout)
    expected = {}
    for place, (libraries, rows, lacking, controls) in DEMO.items():
        for library in libraries:
            lacks = lacking.get(library, 0)
            expected[(*place, library, "cpu")] = (rows, 2, 2 * rows, 2 * (rows - lacks), 2 * lacks)
        # torchvision again: what it runs (eight rows at most), and nothing that it lacks.
        runs = rows - lacking.get("torchvision", 0)
        expected[(*place, "control-aa", "cpu")] = (runs, 2, 2 * runs, 2 * runs, 0)
        for control in ("control-copy", "control-slow") if controls else ():
            expected[(*place, control, "cpu")] = (1, 2, 2, 2, 0)
    columns = ("rows", "repeats", "planned", "not-run", "unsupported")
    assert expected == {place: tuple(line[name] for name in columns) for place, line in table.items()}
    assert set(columns) == set(next(iter(table.values())))
    assert {name: sum(line[name] for line in table.values()) for name in totals} == totals
    assert [
        f"image-rgb dataloader-copy: {NO_DEVICE}",
        "image-9ch micro: not offered by Pillow (libraries.yaml)",
        "image-9ch dataloader-memory: not offered by Pillow (libraries.yaml)",
        "image-9ch dataloader-decode: not offered by Pillow (libraries.yaml)",
        f"image-9ch dataloader-copy: {NO_DEVICE}",
    ] == words
    assert not (bare.results / "records").exists()


def test_after_a_run(finished):
    """Every planned row has its status: two of each library, and of one again, one of each other control."""
    table, totals, words = read(finished.run("augmark", "matrix", *finished.words[1:]).stdout)
    assert {
        "fake": {"ok": 6},
        "fake-too": {"ok": 6},
        "control-copy": {"ok": 3},
        "control-slow": {"ok": 3},
        "control-aa": {"ok": 6},
    } == {place[2]: statuses(line) for place, line in table.items()}
    assert {("image-rgb", "micro", "cpu")} == {(*place[:2], place[3]) for place in table}
    assert {"planned": 24, "ok": 24} == totals
    assert [] == words


def test_statuses_add_up_to_what_is_planned(finished, tmp_path):
    """Also where a record is missing, or a row failed: with other transforms planned, each has one status."""
    done = finished.run("augmark", "matrix", "--config", "transforms=Works,WorksAtRandom,Aborts", "repeats=3")
    table, _, _ = read(done.stdout)
    for line in table.values():
        assert line["planned"] == sum(statuses(line).values()) == line["rows"] * line["repeats"]
    assert {9} == {line["planned"] for place, line in table.items() if place[2].startswith("fake")}
    fake = next(line for place, line in table.items() if place[2] == "fake")
    assert {"not-run": 9} == {name: count for name, count in statuses(fake).items() if count}


@pytest.mark.parametrize("keys", [["libraries=pilow"], ["modes=mirco"]])
def test_a_typing_error_is_named(finished, keys):
    """As by every other question: exit status 2."""
    done = finished.run("augmark", "matrix", "--config", *keys, check=False)
    assert 2 == done.returncode
    assert re.search(r"no such (library|mode)", done.stderr)
