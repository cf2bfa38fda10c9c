"""equivalence.csv: its columns, writing and reading, and what it says of a pair of libraries."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from augmark.errors import AugmarkError

COLUMNS = [
    "transform",
    "scenario",
    "library_a",
    "library_b",
    "class",
    "psnr_db",
    "mean_abs_error",
    "effect",
    "reason",
]
REFERENCE = "numpy-reference"
SAME = ("identical", "close")


@dataclass(frozen=True)
class Classes:
    """Class and reason of every pair that was compared; the order of the two does not matter."""

    of_pair: Mapping[tuple[str, str, frozenset[str]], tuple[str, str | None]] = field(default_factory=dict)

    @classmethod
    def of_frame(cls, frame: pd.DataFrame) -> Classes:
        """From a frame with the columns of equivalence.csv."""
        return cls(
            {
                (line["scenario"], line["transform"], frozenset((line["library_a"], line["library_b"]))): (
                    line["class"],
                    line["reason"] if isinstance(line["reason"], str) else None,
                )
                for line in frame.to_dict("records")
            }
        )

    def of(self, scenario: str, transform: str, first: str, second: str) -> tuple[str | None, str | None]:
        """Class and reason of a pair; None and None where nothing is known."""
        return self.of_pair.get((scenario, transform, frozenset((first, second))), (None, None))


def frame_of_lines(lines: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """A frame from one mapping per pair."""
    return pd.DataFrame(list(lines), columns=COLUMNS)


def read_classes(path: Path) -> pd.DataFrame:
    """Read equivalence.csv.

    Raises:
        AugmarkError: It is not there, or is no such file.
    """
    remedy = "snakemake paper_tables"
    try:
        missing = {name: [""] for name in ("psnr_db", "mean_abs_error", "effect", "reason")}
        frame = pd.read_csv(path, keep_default_na=False, na_values=missing)
    except (OSError, ValueError) as error:
        raise AugmarkError(f"cannot be read: {error}", where=str(path), remedy=remedy) from error
    if list(frame.columns) != COLUMNS:
        raise AugmarkError("has other columns than equivalence.csv", where=str(path), remedy=remedy)
    return frame


def render(frame: pd.DataFrame) -> str:
    """equivalence.csv: figures to four places, ``inf`` for the PSNR of equal outputs, empty where none."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for line in frame.to_dict("records"):
        writer.writerow([_text(line[name]) for name in COLUMNS])
    return out.getvalue()


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return f"{value:.4f}" if isinstance(value, float) else str(value)
