"""Rows of other settings than the plain ones, batches and compiled code, and rows of a decoder."""

import time
from types import SimpleNamespace

import numpy as np
import pytest

from augmark.libraries.base import Unsupported
from augmark.worker import micro, rows, status
from tests.worker.tiny import JOB, Tiny, row


@pytest.fixture
def natives():
    return [np.full((6, 4, 3), 10 * number, np.uint8) for number in range(1, 5)]


class Batches(Tiny):
    """Two items a call: natives are (2, H, W, C)."""

    def build(self, transform, params):
        made = super().build(transform, params)

        def apply(batch):
            time.sleep(0.04)
            return np.stack([made(item) for item in batch])

        return apply

    def to_numpy(self, output):
        return output[0]


def test_a_batch_counts_for_its_items(natives):
    """Seconds are per item, not per call, and so is the number of items; a slow row takes fewer batches."""
    batches = [np.stack(natives[:2]), np.stack(natives[2:])]
    subject = micro.Subject(Batches(), batches, [natives[0], natives[2]], group=2)
    told = row("Invert", condition="batched-2", setting={"batched": 2}, loops=1)
    seen = rows.probe_row(subject, told, JOB, lambda: None)
    assert ("ok", "6x4x3") == (seen["status"], seen["shape"])
    assert 0.02 <= seen["warm_seconds_per_item"] < 0.04  # one call of 0.04 s has two items
    result = rows.measure_row(subject, told, JOB, lambda: None)
    assert 4 == result["items"]
    assert all(0.02 <= value < 0.04 for value in result["values"])
    assert pytest.approx(sum(result["values"]) * 4) == result["timed_seconds"]
    slow = rows.measure_row(subject, {**told, "probed": "slow", "probe_reason": "why"}, JOB, lambda: None)
    assert ("slow", 2, 1) == (slow["status"], slow["items"], len(slow["values"]))


class Compiled(Tiny):
    """Is got ready before its first timed call, by one that takes long."""

    def prepare(self, apply, natives):
        begun = time.perf_counter()
        time.sleep(0.3)
        apply(natives[0])
        return SimpleNamespace(first_call_seconds=time.perf_counter() - begun, flags=["graph-breaks"])


def test_what_gets_a_setting_ready_is_in_no_value(natives):
    """Compilation stands apart, with what was seen of it; a row is not slow for its sake."""
    told = row("Invert", condition="compiled", setting={"compile": True})
    subject = micro.Subject(Compiled(), natives, natives)
    assert "ok" == rows.probe_row(subject, told, JOB, lambda: None)["status"]
    result = rows.measure_row(subject, told, JOB, lambda: None)
    assert result["first_call_seconds"] >= 0.3
    assert ["graph-breaks"] == result["flags"]
    assert all(value < 0.05 for value in [*result["values"], *result["warmups"]])


def test_a_setting_that_turns_out_to_do_other_work_is_unsupported(natives):
    """Said while it was got ready, it is no failure."""

    class Refuses(Tiny):
        def prepare(self, apply, natives):
            raise Unsupported("it compiles nothing")

    subject = micro.Subject(Refuses(), natives, natives)
    for work in (rows.probe_row, rows.measure_row):
        result = status.guarded(lambda work=work: work(subject, row("Invert"), JOB, lambda: None))
        assert ("unsupported", "it compiles nothing") == (result["status"], result["reason"])


class Decoder(Tiny):
    """Its natives are the raw bytes of an image of 6 x 4; ``wrong_by`` levels make it another picture."""

    def __init__(self, wrong_by=0):
        super().__init__()
        self.wrong_by = np.uint8(wrong_by)

    def build(self, transform, params):
        return lambda data: np.frombuffer(data, np.uint8).reshape(6, 4, 3) + self.wrong_by


@pytest.mark.parametrize(
    ("wrong_by", "expected", "words"),
    [
        (0, "ok", ""),
        (2, "ok", ""),
        (3, "invalid", "decodes to another picture: 3.0 levels from Pillow's in the mean"),
    ],
)
def test_a_decoder_gives_the_item_s_own_picture(natives, wrong_by, expected, words):
    """Held against the item, which Pillow has decoded: rounding is let pass, another picture is not."""
    subject = micro.Subject(Decoder(wrong_by), [item.tobytes() for item in natives], natives)
    job = {**JOB, "mode": "decode", "tolerance_mean_levels": 2.0}
    result = status.guarded(lambda: rows.probe_row(subject, row("Decode"), job, lambda: None))
    assert expected == result["status"], result["reason"]
    assert words in (result["reason"] or "")


def test_a_decoder_that_turns_the_picture_is_invalid(natives):
    """Its size is part of the contract."""

    class Turned(Decoder):
        def build(self, transform, params):
            return lambda data: np.frombuffer(data, np.uint8).reshape(6, 4, 3).transpose(1, 0, 2)

    subject = micro.Subject(Turned(), [item.tobytes() for item in natives], natives)
    job = {**JOB, "mode": "decode", "tolerance_mean_levels": 2.0}
    result = status.guarded(lambda: rows.probe_row(subject, row("Decode"), job, lambda: None))
    assert ("invalid", "shape 4x6x3, expected 6x4x3") == (result["status"], result["reason"])
