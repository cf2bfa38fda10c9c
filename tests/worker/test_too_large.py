"""A row whose loader cannot fit is not started: its status and reason, without touching the others."""

from types import SimpleNamespace

from augmark.worker import measure

REASON = "Resize needs 12 GB of shared memory, 0.1 GB are free"


def planned(transform):
    return {
        "id": transform,
        "transform": transform,
        "condition": "plain",
        "digest": "0" * 10,
        "planned": "run",
        "reason": None,
        "chunked": None,
    }


def probed(status="ok", reason=None):
    return {"status": status, "reason": reason, "loops": 1, "shape": "3x224x224", "dtype": "float32"}


def job_of(*rows):
    cell = SimpleNamespace(scenario="image-rgb", mode="dataloader-memory", repeat=0)
    definition = {"rows": list(rows), "timing": {"seed": 1}}
    return SimpleNamespace(cell=cell, definition=definition, session="s", too_large={"Resize": REASON})


def test_what_cannot_fit_is_not_timed():
    """The other row is."""
    job = job_of(planned("Resize"), planned("Rotate"))
    seen = {"Resize": probed(), "Rotate": probed()}
    assert ["Rotate"] == [row["id"] for row in measure.rows_to_time(job, seen, {})]


def test_its_status_says_that_it_was_not_started():
    """oom, with what is short."""
    row = measure._final_row(job_of(), planned("Resize"), {"Resize": probed()}, {}, SimpleNamespace(rows=[]))
    assert ("oom", f"not started: {REASON}") == (row["status"], row["reason"])
    assert row["values"] is None


def test_what_failed_in_the_probe_keeps_that_status():
    """A fault of the row comes before the size of the machine."""
    seen = {"Resize": probed("failed", "raised in 1 of 1 calls: ValueError")}
    row = measure._final_row(job_of(), planned("Resize"), seen, {}, SimpleNamespace(rows=[]))
    assert ("failed", "in the probe: raised in 1 of 1 calls: ValueError") == (row["status"], row["reason"])
