"""The README's command on the real libraries and the demo photographs, and then on a reader's own images."""

import csv
import json
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from augmark.locks import lock_digest, parse_lock
from augmark.record import read_record
from tests.conftest import copy_project

# Where nothing is cached, four environments are downloaded and built first.
pytestmark = pytest.mark.timeout(1800)

LIBRARIES = ("albumentationsx", "torchvision", "kornia", "pillow")
AGAIN = "control-aa"  # the first of these that is measured, a second time: torchvision, or a reader's choice
CONTROLS = ("control-copy", "control-slow", AGAIN)
# What the demo measures: scenario and mode -> who takes part.
PLACES = {
    ("image-rgb", "micro"): {*LIBRARIES, *CONTROLS},
    ("image-rgb", "decode"): {*LIBRARIES, AGAIN},
    ("image-rgb", "dataloader-memory"): {*LIBRARIES, AGAIN},
    ("image-rgb", "dataloader-decode"): {*LIBRARIES, AGAIN},
    ("image-9ch", "micro"): {*LIBRARIES, *CONTROLS} - {"pillow"},
    ("image-9ch", "dataloader-memory"): {*LIBRARIES, AGAIN} - {"pillow"},
    ("image-9ch", "dataloader-decode"): {*LIBRARIES, AGAIN} - {"pillow"},
}


@pytest.fixture(scope="module")
def ran(tmp_path_factory, environments):
    """Campaign demo at depth min, with nothing given: what `make tables` runs."""
    project = copy_project(tmp_path_factory.mktemp("demo") / "project")
    project.results.mkdir()
    (project.results / "envs").symlink_to(environments)
    said = project.run("snakemake", "paper_tables").stderr
    return project, said


@pytest.fixture(scope="module")
def records(ran):
    return [read_record(path) for path in ran[0].records()]


def plan_of(project):
    (path,) = (project.results / "plan").glob("*.plan.json")
    return json.loads(path.read_text())


def manifest_of(project):
    (path,) = (project.results / "datasets").glob("*/manifest.*.json")
    return json.loads(path.read_text())


def pins(project, environment):
    """The versions that a lock allows of each package (markers may ask for more than one)."""
    found = {}
    for pin in parse_lock((project.root / "envs" / f"{environment}.txt").read_text()):
        found.setdefault(pin.name, set()).add(pin.version)
    return found


# --- the demo ----------------------------------------------------------------------------------------


def test_every_product_is_there(ran):
    """Tables, figures, coverage, records and a pyperf file per cell; each figure opens."""
    results = ran[0].results
    tables = ["-".join(place) for place in PLACES]
    drawn = [f"{name}.{kind}" for name in tables for kind in ("throughput", "coverage")] + ["efficiency"]
    drawn += [f"{name}.bounds" for name in tables if "dataloader" in name]
    names = [f"tables/{name}.{end}" for name in tables for end in ("md", "csv", "tex")]
    names += [f"tables/{name}" for name in ("summary.csv", "efficiency.csv", "bounds.csv", "coverage.txt")]
    names += [f"tables/{name}.{end}" for name in ("equivalence", "energy") for end in ("csv", "md")]
    names += [f"figures/{stem}.{end}" for stem in drawn for end in ("pdf", "png")]
    names += [f"pyperf/{cell['path']}" for cell in plan_of(ran[0])["cells"]]
    assert [] == [name for name in names if not (results / name).stat().st_size]
    assert 1 == len(list(results.glob("records/*/records.parquet")))
    for stem in drawn:
        assert (results / "figures" / f"{stem}.pdf").read_bytes().startswith(b"%PDF-")
        with Image.open(results / "figures" / f"{stem}.png") as image:
            image.load()
            assert min(image.size) > 200
            assert 1 < len(image.convert("RGB").getcolors(1 << 24))


def test_the_run_ends_by_saying_where_things_are(ran):
    """Tables, figures, records, and the share of time inside timers."""
    said = ran[1]
    for line in ("tables   results/tables", "figures  results/figures", "records  results/records/"):
        assert line in said
    assert "inside timers: " in said


def test_every_planned_row_is_ok_or_unsupported(ran, records):
    """Nothing failed, and what is unsupported is what the configuration says."""
    definitions = plan_of(ran[0])["definitions"]
    assert 2 * sum(map(len, PLACES.values())) == len(records)
    found = {place: set() for place in PLACES}
    for record in records:
        found[record["cell"]["scenario"], record["cell"]["mode"]].add(record["cell"]["library"])
    assert PLACES == found
    for record in records:
        place = "/".join(record["cell"][name] for name in ("scenario", "mode", "library", "device"))
        expected = {row["transform"]: row["planned"] for row in definitions[place]["rows"]}
        found = {row["transform"]: row["status"] for row in record["rows"]}
        assert {name: {"run": "ok"}.get(planned, planned) for name, planned in expected.items()} == found
    assert {"ok", "unsupported"} == {row["status"] for record in records for row in record["rows"]}


def test_all_libraries_time_the_same_items(ran, records):
    """One manifest digest in every record: the manifest's own; and no library was given fewer items."""
    assert {manifest_of(ran[0])["manifest_digest"]} == {r["dataset"]["manifest_digest"] for r in records}
    items = {(record["cell"]["scenario"], record["dataset"]["items_digest"]) for record in records}
    assert ["image-9ch", "image-rgb"] == sorted(
        scenario for scenario, _ in items
    )  # one set each, in all modes
    assert {48} == {row["items"] for r in records for row in r["rows"] if row["status"] == "ok"}


def test_each_library_runs_in_the_environment_of_its_lock(ran, records):
    """Versions and lock digest in a record are those of envs/<library>.txt."""
    for record in records:
        library = record["cell"]["library"]
        of_control = "torchvision" if library == AGAIN else "control"
        environment = library if library in LIBRARIES else of_control
        assert (
            lock_digest(ran[0].root / "envs" / f"{environment}.txt") == record["environment"]["lock_digest"]
        )
        allowed = pins(ran[0], environment)
        found = record["environment"]["packages"]
        assert {} == {name: v for name, v in found.items() if v not in allowed.get(name, ())}


def test_one_thread_is_read_back_from_every_library(records):
    """What was declared is what the pools say, row by row; the file formats' flags stay empty."""
    for record in records:
        assert 1 == record["threads"]["declared"]
        for row in record["rows"]:
            # Of a loader's row: in each of its workers.
            inside = row["loader"]["threads_in_workers"] if row["loader"] else [row["threads_read"] or {}]
            for pools in inside:
                assert {1} >= set(pools.values()), (record["cell"], row["transform"])
            assert "threads" not in row["flags"]


def test_a_loader_s_rows_say_how_they_were_loaded_and_what_bounds_them(records):
    """Batches and workers of the depth, two timed epochs after the first, and the parts of an item's time."""
    loaded = [row for r in records if "dataloader" in r["cell"]["mode"] for row in r["rows"]]
    assert 2 * 3 * (5 + 5 + 4 + 4) == len(loaded)
    for row in loaded:
        loader = row["loader"]
        assert (4, 2) == (loader["batch_size"], loader["workers"])
        assert 2 == len(row["values"]) == loader["epochs"]
        assert 2 == len(loader["threads_in_workers"])
        assert loader["startup_seconds"] > 0
        assert loader["first_epoch_seconds"] > 0
        split = loader["split"]
        parts = ("decode", "augment", "collate")
        assert all(split[f"{part}_seconds_per_item"] >= 0 for part in parts)
        assert split["augment_seconds_per_item"] > 0
        assert split["copy_seconds_per_item"] is None  # there is nothing to copy to
        assert loader["bound_by"]


def test_a_row_in_chunks_says_so_up_to_its_record(records):
    """torchvision's Brightness of nine channels, both times, and no row of RGB images."""
    why = {
        (r["cell"]["scenario"], r["cell"]["library"], row["transform"]): row["chunked"]
        for r in records
        for row in r["rows"]
        if row["chunked"]
    }
    expected = "adjust_brightness takes 1 or 3 channels"
    assert {("image-9ch", library, "Brightness"): expected for library in ("torchvision", AGAIN)} == why


def test_the_table_names_the_versions_of_the_locks(ran):
    """As Markdown, each library stands with the version that its lock pins; the depth is stamped."""
    table = (ran[0].results / "tables" / "image-rgb-micro.md").read_text()
    plan = plan_of(ran[0])
    for library in LIBRARIES:
        about = plan["libraries"][library]
        assert any(f"{about['title']} {v}" in table for v in pins(ran[0], library)[about["distribution"]])
    assert "smoke signal, not a score" in table
    assert manifest_of(ran[0])["manifest_digest"] in table


def test_every_library_has_a_share_of_time_inside_timers(ran):
    """A share above 0 and not above 1 for each, controls too."""
    with open(ran[0].results / "tables" / "efficiency.csv", newline="") as stream:
        lines = list(csv.DictReader(stream))
    shares = {(line["scenario"], line["mode"], line["library"]): float(line["timed_share"]) for line in lines}
    assert {(*place, library) for place, its in PLACES.items() for library in its} == shares.keys()
    assert {} == {library: share for library, share in shares.items() if not 0 < share <= 1}


def test_coverage_is_whole(ran):
    """`augmark coverage` agrees by its exit status."""
    assert 0 == ran[0].run("augmark", "coverage", check=False).returncode


def test_a_second_run_does_nothing_and_says_so(ran):
    """The same command again finds everything made."""
    again = ran[0].run("snakemake", "paper_tables")
    assert "Nothing to be done" in again.stdout + again.stderr


# --- a reader's own images ---------------------------------------------------------------------------

OWN = ("modes=micro", "libraries=pillow", "transforms=HorizontalFlip,Invert")
GOOD = ["four corners.jpg", "more of them/a b.png", "plain.jpg"]
BAD = {"cmyk.jpg": "cmyk", "cut.jpg": "truncated"}


@pytest.fixture
def photos(tmp_path):
    """A folder with spaces in its name: three good images, a truncated one, a CMYK one, desktop litter."""
    folder = tmp_path / "My Photos (2026)"
    draw = np.random.default_rng(0)
    for name in [*GOOD, *BAD]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        image = Image.fromarray(draw.integers(0, 256, (240, 320, 3), np.uint8))
        image.convert("CMYK" if name == "cmyk.jpg" else "RGB").save(folder / name)
    cut = folder / "cut.jpg"
    cut.write_bytes(cut.read_bytes()[: cut.stat().st_size // 2])
    (folder / ".DS_Store").write_bytes(b"\0\0\0\1Bud1")
    return folder


def as_tar_gz(folder: Path) -> Path:
    """The folder packed as a Mac would."""
    path = folder.with_name("My Photos.tar.gz")
    with tarfile.open(path, "w:gz") as tar:
        tar.add(folder, arcname="photos")
        tar.add(folder / ".DS_Store", arcname="photos/._plain.jpg")
        tar.add(folder / ".DS_Store", arcname="__MACOSX/photos/._plain.jpg")
    return path


def run_with(project, images):
    project.run("snakemake", "paper_tables", "--config", *OWN, f"images={images}")
    manifest = manifest_of(project)
    assert BAD == {entry["name"].rpartition("/")[2]: entry["reason"] for entry in manifest["quarantine"]}
    assert {"cmyk": 1, "truncated": 1} == manifest["counts"]["quarantined"]
    for path in project.records():
        record = read_record(path)
        assert manifest["manifest_digest"] == record["dataset"]["manifest_digest"]
        assert {("ok", 3)} == {(row["status"], row["items"]) for row in record["rows"]}
    assert {"pillow", *CONTROLS} == {path.parts[-3] for path in project.records()}
    assert "| Invert |" in (project.results / "tables" / "image-rgb-micro.md").read_text()
    return manifest


def test_an_own_folder(project, photos):
    """End to end, with what was left out reported in the manifest, and nothing done the second time."""
    manifest = run_with(project, photos)
    assert GOOD == [item["name"] for item in manifest["items"]]
    assert {".DS_Store": 1} == manifest["counts"]["junk"]
    again = project.run("snakemake", "paper_tables", "--config", *OWN, f"images={photos}")
    assert "Nothing to be done" in again.stdout + again.stderr


def test_an_own_tar_gz(project, photos):
    """The same from an archive; litter is dropped and counted by kind."""
    manifest = run_with(project, as_tar_gz(photos))
    assert [f"photos/{name}" for name in GOOD] == sorted(item["name"] for item in manifest["items"])
    litter = {kind: n for kind, n in manifest["counts"]["junk"].items() if kind != "directory"}
    assert {".DS_Store": 1, "._*": 1, "__MACOSX": 1} == litter


def test_more_items_than_there_are(project, photos):
    """Asked by key, they must be there: the message names both numbers; nothing is measured."""
    words = ("paper_tables", "--config", *OWN, f"images={photos}", "items=100000")
    done = project.run("snakemake", *words, check=False)
    said = " ".join((done.stdout + done.stderr).split())
    assert 0 != done.returncode
    assert "100000 items were asked for, the common set of my-photos-2026 has 3" in said
    assert "remedy" in said
    assert [] == project.records()


@pytest.mark.parametrize("content", [[], [".DS_Store"]])
def test_an_empty_folder(project, tmp_path, content):
    """Nothing in it, or nothing but litter: said before any job starts."""
    folder = tmp_path / "empty folder"
    folder.mkdir()
    for name in content:
        (folder / name).write_bytes(b"x")
    done = project.run("snakemake", "paper_tables", "--config", *OWN, f"images={folder}", check=False)
    assert 0 != done.returncode
    assert f"{folder}: is a folder without files" in done.stderr
    assert "remedy: give a folder with images in it" in done.stderr
    assert not (project.results / "logs").exists()


def test_a_folder_without_one_good_image(project, tmp_path):
    """Every file is refused: the audit says how many, why, and what it would take."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "readme.txt").write_text("no image")
    done = project.run("snakemake", "paper_tables", "--config", *OWN, f"images={folder}", check=False)
    said = " ".join((done.stdout + done.stderr).split())
    assert 0 != done.returncode
    assert "notes: holds no image that can be measured: 0 items of 1 members" in said
    assert "readme.txt: not-an-image" in said
    assert [] == project.records()
