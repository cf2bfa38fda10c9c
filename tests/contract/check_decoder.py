"""Runs inside a library's own environment: what its decoder makes of some files.

Usage: ``<library python> -I check_decoder.py <adapter> <folder>``, where the folder holds ``*.jpg`` and,
for those that can be decoded, the pixels to compare with as ``*.npy``. Prints one JSON line about the
decoder, then one per file. It reports and judges nothing: the expectations are in ``test_decoders.py``.
"""

from __future__ import annotations

import importlib
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workflow"))


def attempt(decode: Callable[[], Any]) -> tuple[Any, str | None]:
    """What it gives, and the type of what it raises."""
    try:
        return decode(), None
    except Exception as error:
        return None, type(error).__name__


def examine(decoder: Any, path: Path) -> dict[str, Any]:
    """What one file comes to, as plain values."""
    data = path.read_bytes()
    native = decoder.native(data)
    apply = decoder.build("Decode", {})
    output, raised = attempt(lambda: apply(native))
    from_disk, raised_from_disk = attempt(lambda: decoder.read(str(path)))
    report: dict[str, Any] = {"raised": raised, "raised_from_disk": raised_from_disk}
    report["encoded_unchanged"] = decoder.to_numpy(native).tobytes() == data
    if raised or raised_from_disk:
        return report
    pixels = np.array(decoder.to_numpy(output))
    expected = np.load(path.with_suffix(".npy"))
    return report | {
        "shape": list(pixels.shape),
        "dtype": str(pixels.dtype),
        "same_from_disk": bool(np.array_equal(pixels, decoder.to_numpy(from_disk))),
        "same_again": bool(np.array_equal(pixels, decoder.to_numpy(apply(native)))),
        "channels_equal": bool((pixels == pixels[..., :1]).all()),
        "corner": pixels[0, 0].tolist(),
        "mean_levels": float(np.abs(pixels.astype(float) - expected).mean())
        if pixels.shape == expected.shape
        else None,
    }


def main() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        decoder = importlib.import_module(f"augmark.libraries.{sys.argv[1]}_decoder").decoder
        decoder.build("Decode", {})
    decoder.set_threads(1)
    decoder.seed(0)
    about = {key: getattr(decoder, key) for key in ("title", "form", "dtype")}
    print(json.dumps({**about, "builders": sorted(decoder.builders), "torch": "torch" in sys.modules}))
    for path in sorted(Path(sys.argv[2]).glob("*.jpg")):
        print(json.dumps({"file": path.stem, **examine(decoder, path)}), flush=True)


if __name__ == "__main__":
    main()
