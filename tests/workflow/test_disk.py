"""A disk that fills while a cell is measured: said with the file and the remedy, and nothing else is lost."""

from tests.disks import small_disk
from tests.watching import processes, wait_for
from tests.workflow.test_interruption import WORDS, snapshot, start, wait_until_measuring
from tests.workflow.test_status import status


def fill(folder):
    """Take all that is free."""
    filler = folder / "filler"
    with open(filler, "wb", buffering=0) as stream:
        try:
            while stream.write(b"\0" * (1 << 16)):
                pass
        except OSError:
            return filler


def test_a_disk_that_fills_while_a_cell_is_measured(fake_project):
    """The cell fails with its path and remedy, whole records stay, no half one is there; then it goes on."""
    with small_disk(fake_project.results / "records") as disk:
        run = start(fake_project)
        wait_until_measuring(fake_project)
        filler = fill(disk)
        assert 0 != run.wait(timeout=300)
        wait_for(lambda: not processes(fake_project.root, "scripts/measure.py"), seconds=10)
        whole = snapshot(fake_project)
        assert 0 < len(whole) < 15
        assert all(content.rstrip().endswith(b"}") for _, content in whole.values())
        assert {filler} | set(whole) == {path for path in disk.rglob("*") if path.is_file()}
        (failed,) = [c for c in status(fake_project)[1]["cells"] if c["state"] == "failed"]
        assert failed["path"] in failed["about"]["message"]
        assert "the disk is full" in failed["about"]["message"]
        assert "free some disk space and run the same command again" in failed["about"]["remedy"]
        log = (fake_project.root / failed["about"]["log"]).read_text()
        assert "the disk is full" in log
        assert "Traceback" not in log

        refused = fake_project.run("snakemake", *WORDS, check=False)  # before anything is measured in vain
        assert 0 != refused.returncode
        (failed,) = [c for c in status(fake_project)[1]["cells"] if c["state"] == "failed"]
        assert "to spare), the disk has 0 B free" in failed["about"]["message"]
        assert whole == snapshot(fake_project)

        filler.unlink()
        fake_project.run("snakemake", *WORDS)
        assert whole.items() <= snapshot(fake_project).items()
        assert 0 == status(fake_project)[0]


def test_a_disk_that_fills_while_samples_are_kept(fake_project):
    """A probe without its samples would stay so for good: it fails instead, and is made again."""
    fake = fake_project.root / "workflow" / "augmark" / "libraries" / "fake.py"
    filling = fake_project.root / "fill"
    place = fake_project.results / "probes"
    code = f"""

def fills(params):
    def apply(item):
        if os.path.exists({str(filling)!r}):
            with open({str(place / "filler")!r}, "wb", buffering=0) as stream:
                try:
                    while stream.write(bytes(1 << 16)):
                        pass
                except OSError:
                    pass
        return 255 - item
    return apply


builds["Works"] = fills
"""
    fake.write_text(fake.read_text() + code)
    words = ("paper_tables", "--until", "probe", "--config", "transforms=Works", "libraries=[fake]")
    filling.touch()
    with small_disk(place):
        done = fake_project.run("snakemake", *words, check=False)
        assert 0 != done.returncode
        # The probes of the controls are no matter here: they come before it, beside it or not at all.
        (log,) = (fake_project.results / "logs" / "probe").glob("*/*/*/fake/cpu/*.log")
        assert "the disk was full when samples of Works were kept" in log.read_text()
        assert "the library is probed again" in log.read_text()
        assert [] == [path for path in place.glob("*/*/*/fake/**/*") if path.is_file()]
        filling.unlink()
        (place / "filler").unlink()
        fake_project.run("snakemake", *words)
        assert 1 == len(list(place.glob("*/*/*/fake/cpu/probe.*.samples.zip")))
