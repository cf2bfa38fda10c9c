"""Runs inside a library's own environment: what a probe would keep of each transform of an adapter.

Usage: ``<library python> -I keep_samples.py <adapter> <items.npz> <folder>``, with a JSON list of
plan rows on standard input.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workflow"))

from augmark.worker import samples


def main() -> None:
    """Keep the samples of every row that the adapter has."""
    name, photographs, folder = sys.argv[1:]
    adapter = importlib.import_module(f"augmark.libraries.{name}").adapter
    adapter.set_threads(1)
    with np.load(photographs) as arrays:
        items = [arrays[key] for key in arrays.files]
    natives = [adapter.native(item) for item in items]
    job = {"samples_dir": folder, "sample_items": len(items)}
    for row in json.load(sys.stdin):
        if row["transform"] in adapter.builders:
            samples.keep(adapter, row, natives, items, job)


if __name__ == "__main__":
    main()
