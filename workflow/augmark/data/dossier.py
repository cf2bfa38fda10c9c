"""What a record says of its data: whose, under which licence, how much of it. Standard library only.

Never where it lies: a path says more of whoever measures than of the data.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlsplit, urlunsplit


def terms(stanza: Mapping[str, Any]) -> dict[str, Any]:
    """Where a declared dataset comes from, its licence, and whether it may be handed on.

    Args:
        stanza: Of ``datasets.yaml``; empty for data that was named by its path, of which nothing is known.
    """
    photographs = stanza.get("photographs", [])
    packages = dict.fromkeys(each["package"] for each in photographs)
    licences = dict.fromkeys(each["licence"] for each in photographs)
    return {
        "origin": stanza.get("origin") or _joined(packages) or public_url(stanza.get("source") or ""),
        "licence": stanza.get("licence") or _joined(licences),
        "redistribute": stanza.get("redistribute", False),
    }


def public_url(source: str) -> str | None:
    """A URL without user, password, query (a signed URL's key) and fragment; None for what is a path."""
    parts = urlsplit(source)
    if not (parts.scheme and parts.netloc):
        return None
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _joined(words: Iterable[str]) -> str | None:
    return ", ".join(words) or None


def dossier(dataset: Mapping[str, Any], index: Mapping[str, Any], manifest: Path) -> dict[str, Any]:
    """The dossier of the items that a cell measures.

    Args:
        dataset: The plan's stanza of the dataset.
        index: ``index.json`` of the prepared items.
        manifest: Of the common set that they were taken from; it need not be there any more.

    Returns:
        Names, digests and terms; ``items`` that are measured with the ``bytes`` of their encoded files and
        ``widths`` and ``heights`` in pixels (smallest, median, largest); ``common_items`` of the common set.
    """
    files = index.get("files")
    return {
        "name": dataset["name"],
        "kind": dataset["kind"],
        **{name: dataset[name] for name in ("origin", "licence", "redistribute")},
        "digest": dataset["digest"],
        "manifest_digest": index["manifest_digest"],
        "common_items": _common_items(manifest, index["manifest_digest"]),
        "items_digest": index["items_digest"],
        "items": len(index["names"]),
        "bytes": None if files is None else sum(stored["bytes"] for stored in files),
        "widths": _spread([shape[1] for shape in index["shapes"]]),
        "heights": _spread([shape[0] for shape in index["shapes"]]),
    }


def _spread(pixels: list[int]) -> list[float]:
    return [min(pixels), median(pixels), max(pixels)]


def _common_items(manifest: Path, digest: str) -> int | None:
    try:
        found = json.loads(manifest.read_text(encoding="utf-8"))
        return len(found["items"]) if found["manifest_digest"] == digest else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
