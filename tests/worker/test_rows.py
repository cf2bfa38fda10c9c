"""One row in the measured process: every failure a status, every value raw and warm."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augmark.data.itemfile import open_items
from augmark.libraries.base import Unsupported
from augmark.worker import contract, energy, micro, rows, status
from tests.worker.kit import write_items
from tests.worker.tiny import JOB, Tiny, row


@pytest.fixture
def natives():
    return [np.full((6, 4, 3), 10 * number, np.uint8) for number in range(1, 5)]


@pytest.fixture(autouse=True)
def no_counter(monkeypatch):
    """Calls are counted here: none may be repeated where this machine can tell its energy."""
    monkeypatch.setattr(energy, "meter", lambda cuda: energy.Meter(missing={"package": "not looked for"}))


def measure(adapter, told, natives, beats=None):
    subject = micro.Subject(adapter, natives, natives)
    return rows.measure_row(subject, told, JOB, lambda: (beats or []).append(1))


def probe(told, natives, **job):
    return rows.probe_row(micro.Subject(Tiny(), natives, natives), told, {**JOB, **job}, lambda: None)


def test_a_row_has_its_values_loops_and_items(natives):
    """As many raw positive values as declared, over all items, with the loops of the probe."""
    adapter, beats = Tiny(), [1]
    result = measure(adapter, row("Invert"), natives, beats)
    assert ("ok", None, 4, 4) == (result["status"], result["reason"], result["loops"], result["items"])
    assert 3 == len(result["values"])
    assert all(isinstance(value, float) and 0 < value < 1 for value in result["values"])
    assert 1 + 1 + 3 == len(beats)  # the warm-up and every value
    assert 2 + 3 * 4 * 4 == len(adapter.calls)
    assert pytest.approx(sum(result["values"]) * 16) == result["timed_seconds"]
    assert ("6x4x3", "uint8") == (result["shape"], result["dtype"])


def test_a_slow_row_is_timed_once_over_few_items(natives):
    """One value over the first items; the probe's reason is kept."""
    adapter = Tiny()
    told = row("Sleepy", probed="slow", probe_reason="0.06 s per item, floor 0.05 s")
    result = measure(adapter, told, natives)
    assert ("slow", told["probe_reason"]) == (result["status"], result["reason"])
    assert (1, 1, 2) == (len(result["values"]), result["loops"], result["items"])
    assert 0.06 <= result["values"][0] < 0.5
    assert 2 + 2 == len(adapter.calls)


def test_the_first_call_is_in_no_value(natives):
    """A cold call is in the warm-up only, and a row with one is not slow."""
    result = measure(Tiny(), row("Cold", loops=1), natives)
    assert all(0.001 <= value < 0.05 for value in result["values"])
    assert result["warmups"][0] >= 0.2
    assert result["first_call_seconds"] is None
    assert "ok" == probe(row("Cold"), natives)["status"]


def test_a_row_is_slow_by_its_warm_figure(natives):
    """The figure that it was judged by is kept, with the floor in the reason."""
    result = probe(row("Sleepy"), natives)
    assert "slow" == result["status"]
    assert "s per item, floor 0.05 s" in result["reason"]
    assert 0.06 <= result["warm_seconds_per_item"] < 0.5


def test_draws_are_seeded_by_the_row(natives):
    """The same seed draws the same in the same order, however long the warm-up was."""

    def drawn(seed):
        adapter, outputs = Tiny(), []
        built = adapter.build
        adapter.build = lambda *words: lambda item: outputs.append(built(*words)(item))
        measure(adapter, row("Shift", seed=seed, random=True), natives)
        return [int(output[0, 0, 0]) for output in outputs[-3 * 4 * 4 :]]

    assert drawn(7) == drawn(7)
    assert drawn(7) != drawn(8)


@pytest.mark.parametrize(
    ("told", "expected", "words"),
    [
        (row("Warns"), "failed", "raised while it was built or checked: UserWarning: argument 'sigma'"),
        (row("Missing"), "failed", "raised while it was built or checked: KeyError: 'Missing'"),
        (row("Raises", params={"every": 1}), "failed", "raised in 10 of 10 calls: ValueError: this call"),
        (row("Refuses"), "unsupported", "the same work cannot be done so"),
        (row("Identity"), "invalid", "no-op"),
        (row("Identity", random=True), "invalid", "no-op"),
        (row("Invert", random=True), "invalid", "not random: 8 seeds gave the same output"),
        (row("Shift"), "invalid", "random although it is declared deterministic"),
        (row("Forgets", random=True), "invalid", "the same seed gave two different outputs"),
        (row("Invert", output={"shape": [5, 4]}), "invalid", "shape 6x4x3, expected 5x4x3"),
        (row("Invert", output={"shape": "same", "dtype": "float32"}), "invalid", "dtype uint8"),
        (row("Identity", control=True), "ok", ""),
        (row("Shift", random=True), "ok", ""),
        (row("BlackToo", random=True), "ok", ""),
    ],
)
def test_a_probe_says_what_it_saw(natives, told, expected, words):
    """Each way to break the contract is its status, with a reason."""
    result = status.guarded(lambda: probe(told, natives))
    assert expected == result["status"], result["reason"]
    assert words in (result["reason"] or "")


def test_a_call_that_raises_while_it_is_measured_is_a_failure(natives):
    """One bad call in seven: how many of how many, with type and message."""
    told = row("Raises", params={"every": 7})
    result = status.guarded(lambda: measure(Tiny(), told, natives))
    assert "failed" == result["status"]
    assert result["reason"].startswith("raised in 1 of ")
    assert result["reason"].endswith("calls: ValueError: this call")


def test_pinned_samples_are_kept(natives, tmp_path):
    """The randomness of a sample is pinned; a row that cannot be pinned has none."""
    told = row("Shift", random=True, pinned={"shift_levels": [5, 5]})
    assert "Shift.npz" == probe(told, natives, samples_dir=str(tmp_path))["sample"]
    with np.load(tmp_path / "Shift.npz") as kept:
        assert ["item0", "item1"] == sorted(name for name in kept if name.startswith("item"))
        assert contract.same(natives[0] + np.uint8(5), kept["item0"])
        assert contract.same(natives[1] + np.uint8(5), kept["item1"])
    assert "Shift.npz" == probe(row("Shift", random=True), natives, samples_dir=str(tmp_path))["sample"]
    with np.load(tmp_path / "Shift.npz") as kept:
        assert [] == [name for name in kept if name.startswith("item")]


def test_only_plain_rows_keep_samples(natives, tmp_path):
    """What another setting gives is compared with nobody; nor is the picture that a decoder gives."""
    for other in ({"condition": "threads-2", "setting": {"threads": 2}}, {"condition": "compiled"}):
        told = row("Invert", pinned={}, **other)
        assert probe(told, natives, samples_dir=str(tmp_path))["sample"] is None
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("error", "expected", "words"),
    [
        (Unsupported("it is per batch"), "unsupported", "it is per batch"),
        (contract.Invalid("no-op"), "invalid", "no-op"),
        (status.Raised("raised in 1 of 2 calls"), "failed", "raised in 1 of 2 calls"),
        (MemoryError(), "oom", "MemoryError"),
        (SystemExit(3), "failed", "SystemExit: 3"),
        (ValueError("two\n  lines"), "failed", "ValueError: two lines"),
        (RuntimeError("x" * 1000), "failed", "RuntimeError: " + "x" * 300),
    ],
)
def test_what_is_raised_becomes_a_status(error, expected, words):
    """Also what is no Exception: a library may call sys.exit."""

    def work():
        raise error

    result = status.guarded(work)
    assert expected == result["status"]
    assert result["reason"].endswith(words)


def test_an_interrupt_is_no_failure_of_a_row():
    """Ctrl-C ends the job."""

    def work():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        status.guarded(work)


@given(every=st.integers(1, 20), calls=st.integers(1, 60))
def test_failures_are_counted(every, calls):
    """k of n calls; where the error does not come again it was one call more."""
    made = iter(range(1, 1000))

    def apply(item):
        if next(made) % every == 0:
            raise ValueError("this call")

    raised = status.count_failures(apply, ["a", "b"], calls, KeyError("the first"))
    k, n = (calls // every, calls) if calls >= every else (1, calls + 1)
    assert f"raised in {k} of {n} calls: KeyError: 'the first'" == str(raised)


@pytest.mark.parametrize(
    ("limit_bytes", "fitting"),
    [(0, 1), (71, 1), (72, 1), (143, 1), (144, 2), (72 * 4, 4), (10**9, 4)],
)
def test_items_that_do_not_fit_are_left_out(tmp_path, limit_bytes, fitting):
    """The first that fit, in their native form; one always stays."""
    stored = open_items(write_items(tmp_path, 4, (6, 4, 3)))
    items = micro.items_that_fit(stored, 4, "uint8", limit_bytes)
    assert fitting == len(items)
    assert all(contract.same(stored[index], item) for index, item in enumerate(items))
    assert 2 == len(micro.items_that_fit(stored, 2, "uint8", 10**9))


def test_a_wide_native_form_fits_less(tmp_path):
    """Four bytes a value take four times the room."""
    stored = open_items(write_items(tmp_path, 4, (6, 4, 3)))
    assert 1 == len(micro.items_that_fit(stored, 4, "float32", 72 * 7))
    assert 2 == len(micro.items_that_fit(stored, 4, "float32", 72 * 8))
