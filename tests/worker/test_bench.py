"""What the rows of a job are timed on: items in memory, encoded files, and the items of a setting."""

import json
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from augmark.modes import regimes_module
from augmark.worker import micro
from tests.worker.kit import write_items

JOB = {
    "kind": "probe",
    "mode": "micro",
    "adapter": "stub",
    "module": "augmark.libraries.stub",
    "export": "adapter",
    "threads": 1,
    "items": 4,
    "resident_bytes": 10**9,
}


class Stub:
    """An adapter, a decoder and a variant in one; it keeps what it was given."""

    form, dtype, draws, group = "uint8 HWC", "uint8", "per-batch", 2

    def __init__(self):
        self.threads, self.made = [], []

    def set_threads(self, threads):
        self.threads.append(threads)

    def native(self, item):
        return item

    def natives(self, items):
        self.made.append(len(items))
        return [np.stack(items[:2]), np.stack(items[2:4])], [items[0], items[2]]


@pytest.fixture
def stub(monkeypatch):
    """The stub as the library's module, in each of the ways that a mode looks for it."""
    one = Stub()
    variants = []

    def variant(setting):
        variants.append(setting)
        return one

    module = ModuleType("augmark.libraries.stub")
    module.adapter = module.decoder = one
    regimes = ModuleType(regimes_module("stub"))
    regimes.variant = variant
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(sys.modules, regimes.__name__, regimes)
    return SimpleNamespace(adapter=one, variants=variants)


def with_files(folder, formats):
    """Items with encoded files beside them: what each holds is its own name."""
    write_items(folder, len(formats), (6, 4, 3))
    (folder / "files").mkdir()
    names = [f"{number}.{kind.lower()}" for number, kind in enumerate(formats)]
    for name in names:
        (folder / "files" / name).write_bytes(name.encode())
    path = folder / "index.json"
    files = [{"name": name, "format": kind} for name, kind in zip(names, formats, strict=True)]
    path.write_text(json.dumps({**json.loads(path.read_text()), "files": files}))
    return folder


def ready(folder, **more):
    bench = micro.Bench({**JOB, "items_dir": str(folder), **more})
    bench.make_ready()
    return bench


def test_a_decoder_is_given_jpeg_files_alone(stub, tmp_path):
    """Each decoder reads JPEG; beside the bytes stands the item that they decode to."""
    folder = with_files(tmp_path, ["JPEG", "PNG", "JPEG", "WEBP"])
    subject = ready(folder, mode="decode", export="decoder")._subject({"setting": {}})
    assert [b"0.jpeg", b"2.jpeg"] == list(subject.natives)
    assert [0, 2] == [int(item.flat[0]) for item in subject.items]


def test_without_a_jpeg_file_a_row_fails_and_says_so(stub, tmp_path):
    """No number of nothing."""
    bench = ready(with_files(tmp_path, ["PNG", "PNG"]), mode="decode", export="decoder", items=2)
    row = {"setting": {}, "condition": "plain", "transform": "Decode"}
    for work in (bench.probe, bench.measure):
        result = work(row, lambda: None)
        assert ("excluded", "no JPEG file among the 2 items") == (result["status"], result["reason"])


def test_a_setting_s_items_are_made_once_for_its_rows(stub, tmp_path):
    """Batches are made for the first row of a setting, kept for the next, and dropped for another setting."""
    bench = ready(write_items(tmp_path, 4, (6, 4, 3)))
    plain = bench._subject({"setting": {}})
    assert (4, 1) == (len(plain.natives), plain.group)
    first = bench._subject({"setting": {"batched": 2}})
    assert ((2, 6, 4, 3), 2) == (first.natives[0].shape, first.group)
    assert [0, 2] == [int(item.flat[0]) for item in first.items]
    assert first is bench._subject({"setting": {"batched": 2}})
    bench._subject({"setting": {"compile": True}})
    assert [{"batched": 2}, {"compile": True}] == stub.variants
    assert first is not bench._subject({"setting": {"batched": 2}})
    assert plain is bench._subject({"setting": {}})


def test_threads_are_no_setting_of_the_library_s_code(stub, tmp_path):
    """They are the process's: such a row is timed on the plain items, with the threads set at the start."""
    bench = ready(write_items(tmp_path, 4, (6, 4, 3)), threads=2)
    assert bench._plain is bench._subject({"setting": {"threads": 2}})
    assert [] == stub.variants
    assert [2] == stub.adapter.threads
