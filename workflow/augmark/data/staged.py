"""What was staged, as those see it who read it: they depend on nothing of how it was brought here.

Standard library only.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from augmark import files
from augmark.errors import AugmarkError

STAGED_SCHEMA = "augmark/staged/1"


def read_staged(tar_path: Path) -> dict[str, Any]:
    """The ``staged.json`` beside a staged tar, after checking that the tar is still the one it describes.

    Raises:
        AugmarkError: The tar or its description is missing, or the bytes are others.
    """
    remedy = f"remove the folder {tar_path.parent} and stage again"
    staged = files.read_json(tar_path.parent / "staged.json", STAGED_SCHEMA, remedy=remedy)
    if not tar_path.is_file():
        raise AugmarkError("is not there", where=str(tar_path), remedy=remedy)
    found = files.hash_file(tar_path, f"check {staged['name']}")
    if found != staged["tar_sha256"]:
        what = f"was changed after staging: sha256 {staged['tar_sha256']}, now {found}"
        raise AugmarkError(what, where=str(tar_path), remedy=remedy)
    return staged
