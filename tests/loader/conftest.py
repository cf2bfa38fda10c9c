"""A few items, and the driver that runs rows of the fake recipe in a library's own environment."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from augmark.data.itemfile import open_items
from augmark.worker.threads import QUIET
from tests.worker.kit import write_items

DRIVE = Path(__file__).resolve().parent / "drive.py"
ITEMS, SIDE = 24, (226, 240, 3)
LOADER = {
    "batch_size": 3,
    "workers": 2,
    "prefetch_factor": 2,
    "policy": "pipeline-single-worker",
    "start_method": "fork",
    "timeout_seconds": 20,
    "copy_to": None,
}
JOB = {
    "mode": "dataloader-memory",
    "adapter": "fake",
    "items": ITEMS,
    "values": 2,
    "crop": {"height_pixels": 224, "width_pixels": 224, "position_pixels": None},
    "mean": [0.485, 0.456, 0.406],
    "std": [0.229, 0.224, 0.225],
    "views": None,
    "order_seed": 20261130,
    "slow_measured_items": 4,
    "split_items": 4,
}


def row(transform: str, *, random: bool = False, slow: bool = False, **loader: Any) -> dict[str, Any]:
    """A row of the plan, as ``run_row`` takes it."""
    return {
        "transform": transform,
        "condition": "plain",
        "params": {},
        "random": random,
        "crops": False,
        "chunked": None,
        "output": {"shape": "same", "dtype": "native"},
        "seed": 7,
        "probed": "slow" if slow else "ok",
        "probe_reason": "0.06 s per item, floor 0.05 s" if slow else None,
        "loader": {**LOADER, **loader},
    }


class Driver:
    """Runs the driver script."""

    def __init__(self, python: Path, items_dir: Path) -> None:
        self.python, self.items_dir = python, items_dir

    def command(self, *rows: dict[str, Any], what: str = "run", held: int = 0, **job: Any) -> list[str]:
        told = {
            "what": what,
            "rows": rows,
            "job": {**JOB, **job},
            "items_dir": str(self.items_dir),
            "held": held,
        }
        return [str(self.python), "-I", str(DRIVE), json.dumps(told)]

    def __call__(self, *rows: dict[str, Any], **more: Any) -> list[Any]:
        """One answer per row."""
        done = subprocess.run(
            self.command(*rows, **more), capture_output=True, text=True, timeout=300, env=QUIET, check=False
        )
        assert 0 == done.returncode, done.stdout + done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="session")
def drive(library_python, tmp_path_factory) -> Driver:
    """The driver in torchvision's environment, over items of noise but for the first, with a file each."""
    folder = items_with_files(tmp_path_factory.mktemp("items"), noisy=range(1, ITEMS))
    return Driver(library_python("torchvision"), folder)


@pytest.fixture(scope="session")
def drive_flat(library_python, tmp_path_factory) -> Driver:
    """The same over items each of one grey."""
    return Driver(library_python("torchvision"), items_with_files(tmp_path_factory.mktemp("flat")))


def items_with_files(folder: Path, noisy: Iterable[int] = ()) -> Path:
    """Items each of one grey, and files that the fake recipe reads.

    Args:
        noisy: The items with noise in all channels but the first, which still is the item's number.
    """
    write_items(folder, ITEMS, SIDE)
    offsets = open_items(folder).index["offsets"]
    flat = np.memmap(folder / "items.bin", np.uint8, "r+")
    for number in noisy:
        pixels = flat[offsets[number] : offsets[number] + int(np.prod(SIDE))].reshape(SIDE)
        pixels[..., 1:] = np.random.default_rng(number).integers(0, 256, (*SIDE[:2], 2))
    flat.flush()
    items = open_items(folder)
    (folder / "files").mkdir(exist_ok=True)
    for position in range(ITEMS):
        np.save(folder / "files" / f"{position}.npy", items[position])
    files = [{"name": f"{position}.npy", "format": "JPEG"} for position in range(ITEMS)]
    (folder / "index.json").write_text(json.dumps({**items.index, "files": files}), encoding="utf-8")
    return folder
