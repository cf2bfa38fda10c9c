"""Target `fetch`: it says what it will bring, brings it, and afterwards measuring needs no network."""

import json
import shutil
import subprocess

import pytest

from augmark import cache, planning
from augmark.caching import fetch, wheels
from tests.conftest import copy_project, make_fake
from tests.worker.test_network import cut_off

KEYS = ("--config", "transforms=Works", "repeats=1")
WEB = {
    "title": "From the web",
    "kind": "tar",
    "medium": "image",
    "items": 3,
    "source": "https://example.org/web.tar",
    "size": 1000,
    "sha256": "ab" * 32,
    "feeds": ["image-rgb"],
    "origin": "https://example.org/",
    "licence": "none",
}


class Stay:
    """A project with an empty home, an empty cache and no environment; what was said in its course."""

    def __init__(self, folder):
        self.project = make_fake(copy_project(folder / "project"))
        self.home, self.cache, self.empty = folder / "home", folder / "cache", folder / "empty"
        self.home.mkdir()
        self.said = {}

    def snakemake(self, *words, before=(), **variables):
        moved = ("XDG_CACHE_HOME", "UV_CACHE_DIR", "PIP_CACHE_DIR")
        kept = {key: value for key, value in self.project.environment().items() if key not in moved}
        env = {**kept, "HOME": str(self.home), "AUGMARK_CACHE": str(self.cache), **variables}
        command = [*before, shutil.which("snakemake", path=env["PATH"]), *words, *KEYS]
        return run(command, self.project.root, env)

    def at_home(self):
        """Files below the home, but those of Snakemake itself."""
        found = {path.relative_to(self.home).as_posix() for path in self.home.rglob("*") if path.is_file()}
        return {name for name in found if not name.startswith(".cache/snakemake/")}

    def made(self):
        """Files below results, but what every start of the workflow writes."""
        found = {path.relative_to(self.project.results) for path in self.project.results.rglob("*")}
        return {path.as_posix() for path in found if path.parts[0] != "plan"}


def run(command, folder, env):
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stdout[-2000:] + done.stderr[-6000:]
    return done


@pytest.fixture(scope="module")
def stay(tmp_path_factory):
    """A dry run, then `fetch`, then a dry run again."""
    stay = Stay(tmp_path_factory.mktemp("fetched"))
    stay.said["before"] = stay.snakemake("-n", "fetch").stderr
    stay.there_before = stay.made(), stay.cache.exists()
    stay.snakemake("fetch")
    stay.said["after"] = stay.snakemake("-n", "fetch").stderr
    return stay


def table(said):
    """What -> (bytes, note), of the table that a dry run prints."""
    lines = said[said.index("\nfetch: ") :].splitlines()[3:]
    rows = lines[: 1 + next(n for n, line in enumerate(lines) if line.startswith("  in total"))]
    cells = ([cell.strip() for cell in row.strip().split("  ") if cell.strip()] for row in rows)
    return {what: (size, *note) for what, size, *note in cells}


def test_a_dry_run_says_what_and_how_much(stay):
    """Per thing and in total; the demo is no download, the packages are."""
    found = table(stay.said["before"])
    assert {
        "dataset demo": ("0 B", "built here"),
        "manifest of demo": ("0 B", "made here"),
        "items image-rgb (16)": ("0 B", "made here"),
    }.items() <= found.items()
    size, note = found["environment control"]
    assert "5 packages, 5 to download" == note
    sizes = json.loads((stay.project.root / "envs" / "sizes.json").read_text())["wheels"]
    largest = max(size for name, size in sizes.items() if name.startswith("numpy-"))
    # NumPy is the largest of the five by far.
    assert 5e6 < float(size.removesuffix(" MB")) * 1e6 < largest + 3e6
    assert (size,) == found["in total"]


def test_a_dry_run_makes_nothing(stay):
    """No file beside the plan, and no cache."""
    assert (set(), False) == stay.there_before


def test_fetch_brings_everything(stay):
    """Staged dataset, manifest, items and the environment, each by its digest, and no record."""
    patterns = (
        "datasets/demo.*/dataset.tar",
        "datasets/demo.*/manifest.*.json",
        "items/image-rgb.*/items.bin",
    )
    for pattern in (*patterns, "envs/control.*/env.json"):
        assert 1 == len(list(stay.project.results.glob(pattern))), pattern
    assert not (stay.project.results / "records").exists()


def test_everything_lands_where_augmark_cache_says(stay):
    """The packages are below it, and the home's own cache stays empty."""
    assert any((stay.cache / "uv").rglob("numpy"))
    assert set() == stay.at_home()


def test_afterwards_nothing_is_left_to_fetch(stay):
    """The same table says so."""
    found = table(stay.said["after"])
    assert ("0 B",) == found.pop("in total")
    assert {("0 B", "is there")} == set(found.values())


def test_measuring_needs_no_network(stay):
    """With the network cut and another, empty cache, the tables are made."""
    words = cut_off()
    if words is None:
        pytest.skip("this system does not let a test start a process without a network (unshare -n)")
    empty = {"AUGMARK_CACHE": str(stay.empty), "UV_CACHE_DIR": str(stay.empty / "uv")}
    stay.snakemake("paper_tables", before=words, **empty)
    assert (stay.project.results / "tables" / "image-rgb-micro.md").is_file()
    records = stay.project.records()
    assert 5 == len(records)
    row_statuses = {row["status"] for path in records for row in json.loads(path.read_text())["rows"]}
    assert row_statuses <= {"ok", "slow"}
    assert not stay.empty.exists()


def test_the_question_s_targets_are_left_as_they_are(stay):
    """A target that is not `fetch` prints no such table."""
    assert "fetch:" not in stay.snakemake("-n", "paper_tables").stderr


# --- what a thing costs --------------------------------------------------------------------------------


@pytest.fixture
def planned(tmp_path, monkeypatch):
    """What a plan needs whose images are a dataset of the web; the stanza can be changed."""
    project = copy_project(tmp_path / "project")
    monkeypatch.chdir(project.root)
    monkeypatch.setenv("AUGMARK_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("UV_CACHE_DIR", raising=False)

    def needs(conda=False, **stanza):
        project.edit("datasets.yaml", lambda content: content.update(web={**WEB, **stanza}))
        plan = planning.plan_now(project.root, {"images": "web"})
        return plan, {need.what: need for need in fetch.needs(plan, project.root / "envs", conda=conda)}

    return needs


def web_cost(found):
    need = found["dataset web"]
    return need.known_bytes, need.unknown, need.note


def test_a_declared_size_counts(planned):
    """It is what comes."""
    assert (1000, 0, "from the web") == web_cost(planned()[1])


def test_what_came_before_does_not_come_again(planned):
    """A download goes on where it ended; one that is whole costs nothing."""
    kept = cache.download_path("web", WEB["sha256"])
    kept.parent.mkdir(parents=True)
    kept.with_name(f"{kept.name}.part").write_bytes(b"x" * 400)
    assert (600, 0, "from the web; 400 B came before") == web_cost(planned()[1])
    kept.touch()
    assert (0, 0, "downloaded before") == web_cost(planned()[1])


def test_a_size_that_nobody_knows_is_unknown(planned):
    """Until the server has said it once."""
    plan, found = planned(size=None)
    assert (0, 1, "from the web") == web_cost(found)
    said = fetch.render(plan, list(found.values()))
    assert "unknown" in next(line for line in said.splitlines() if "dataset web" in line)
    total = said.splitlines()[-1]
    assert total.split()[2] == ">="
    assert total.endswith("1 of a size that is not known before")
    kept = cache.download_path("web", WEB["sha256"])
    kept.parent.mkdir(parents=True)
    kept.with_name(f"{kept.name}.part").write_bytes(b"x" * 400)
    kept.with_name(f"{kept.name}.part.json").write_text(json.dumps({"total": 2400}))
    assert (2000, 0) == web_cost(planned(size=None)[1])[:2]


def test_conda_s_environments_are_conda_s(planned):
    """`fetch` does not make them, says who does, and does not guess how large they are."""
    plan, found = planned(conda=True)
    need = found["environment control"]
    assert (None, 0, 1) == (need.path, need.known_bytes, need.unknown)
    last = fetch.render(plan, list(found.values())).splitlines()[-1]
    assert last.endswith("snakemake paper_tables --sdm conda --conda-create-envs-only")


def test_shared_packages_count_once(tmp_path, monkeypatch):
    """Four libraries have the same torch: the first is charged for it, the total is that of all wheels."""
    monkeypatch.chdir(copy_project(tmp_path / "project").root)
    monkeypatch.setenv("AUGMARK_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("UV_CACHE_DIR", raising=False)
    plan = planning.plan_now(tmp_path / "project")
    found = fetch.needs(plan, tmp_path / "project" / "envs", conda=False)
    sizes = wheels.read_sizes(tmp_path / "project" / "envs")
    every = {}
    for name in plan.content["locks"]:
        text = (tmp_path / "project" / "envs" / f"{name}.txt").read_text()
        every |= {(wheel.name, wheel.version): wheel.bytes for wheel in wheels.needed(text, sizes).values()}
    assert sum(every.values()) == sum(need.known_bytes for need in found)
    assert 0 == sum(need.unknown for need in found)


@pytest.mark.parametrize(
    ("known", "unknown", "expected"),
    [(0, 0, "0 B"), (1500, 0, "1.5 kB"), (0, 2, "unknown"), (1500, 1, ">= 1.5 kB")],
)
def test_an_amount_is_never_less_than_it_says(known, unknown, expected):
    """What is not known is said to be more."""
    assert expected == fetch.amount(known, unknown)
