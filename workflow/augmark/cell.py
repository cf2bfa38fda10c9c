"""A cell (machine x scenario x mode x library x device x repeat) and its path: one thing.

Standard library only: the control environment and the measured process both import it.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

DIGEST_LENGTH = 10
ID = r"[a-z0-9]+(?:-[a-z0-9]+)*"
_RECORD = re.compile(
    rf"(?P<machine>{ID})/(?P<scenario>{ID})/(?P<mode>{ID})/(?P<library>{ID})/(?P<device>{ID})"
    rf"/r(?P<repeat>0|[1-9][0-9]*)\.(?P<digest>[0-9a-f]{{{DIGEST_LENGTH}}})\.json"
)


def canonical_json(value: Any) -> str:
    """One text for one value: sorted keys, no spaces, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def short_digest(value: Any) -> str:
    """The first ten hexadecimal digits of the sha256 of a JSON value."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:DIGEST_LENGTH]


def file_sha256(path: Path) -> str:
    """The sha256 of a file's bytes, in hexadecimal."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@dataclass(frozen=True, order=True)
class Cell:
    """One job and one record file. Every field but ``repeat`` is a kebab-case id."""

    machine: str
    scenario: str
    mode: str
    library: str
    device: str
    repeat: int

    def __post_init__(self) -> None:
        for field in ("machine", "scenario", "mode", "library", "device"):
            if not re.fullmatch(ID, getattr(self, field)):
                raise ValueError(f"{field} is not a kebab-case id: {getattr(self, field)!r}")
        if self.repeat < 0:
            raise ValueError(f"repeat is negative: {self.repeat}")

    @property
    def label(self) -> str:
        """As progress bars and logs name it: ``micro image-rgb kornia r0``."""
        device = "" if self.device == "cpu" else f" {self.device}"
        return f"{self.mode} {self.scenario} {self.library}{device} r{self.repeat}"

    def record_path(self, digest: str) -> PurePosixPath:
        """The record's path below ``<output>/records``."""
        if not re.fullmatch(rf"[0-9a-f]{{{DIGEST_LENGTH}}}", digest):
            raise ValueError(f"not a short digest: {digest!r}")
        return PurePosixPath(
            self.machine, self.scenario, self.mode, self.library, self.device, f"r{self.repeat}.{digest}.json"
        )

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def parse_record_path(path: str | PurePosixPath) -> tuple[Cell, str]:
    """Read a record's path (below ``<output>/records``, or any path that ends in one).

    Returns:
        The cell and the short digest.

    Raises:
        ValueError: The path is not a record's.
    """
    tail = "/".join(PurePosixPath(path).parts[-6:])
    match = _RECORD.fullmatch(tail)
    if match is None:
        raise ValueError(f"not the path of a record: {path}")
    fields = match.groupdict()
    digest = fields.pop("digest")
    return Cell(**{**fields, "repeat": int(fields["repeat"])}), digest
