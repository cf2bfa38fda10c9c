"""Prepare items: decode the chosen part of the common set into one flat file with an index."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from augmark import files
from augmark.data.archive import junk_kind, plain_name, read_members
from augmark.data.audit import read_manifest
from augmark.data.decode import decode_pillow, strict_pillow
from augmark.data.itemfile import ALIGNMENT_BYTES, BIN_NAME, INDEX_NAME, ITEMS_SCHEMA, open_items
from augmark.data.stage import read_staged
from augmark.errors import AugmarkError

CHANNELS = 3


def select_items(entries: list[dict[str, Any]], count: int | None, seed: int) -> list[dict[str, Any]]:
    """The first ``count`` entries of a manifest in an order drawn from the seed; all for None.

    Each entry is ranked by a hash of the seed and itself, so that the choice of 32 is the beginning of the
    choice of 64, and does not depend on the order of the archive or on a random generator's release.
    """

    def rank(entry: dict[str, Any]) -> bytes:
        return hashlib.sha256(f"{seed}\0{entry['name']}\0{entry['sha256']}".encode()).digest()

    return sorted(entries, key=rank)[:count]


def prepare_items(
    tar_path: Path,
    manifest_path: Path,
    *,
    items: int | None,
    seed: int,
    out_dir: Path,
    scenario: str = "image-rgb",
    exact: bool = False,
    digest: str | None = None,
) -> dict[str, Any]:
    """Write ``items.bin`` and, last, ``index.json``; leave them when they are whole and the same already.

    Args:
        tar_path: The staged ``dataset.tar``.
        manifest_path: Its manifest.
        items: How many; None for all.
        seed: Of the order in which items are chosen.
        out_dir: The folder that is made.
        scenario: The name in the progress bar and in the index.
        digest: The planned digest of these items, kept in the index for whoever measures them.
        exact: Refuse when there are fewer than ``items`` (asked by key); otherwise take all there are.

    Returns:
        The index.

    Raises:
        AugmarkError: Too few items, a manifest of another dataset, not enough disk, or an image that is no
            longer the one audited.
    """
    manifest = read_manifest(manifest_path)
    chosen = _choose(manifest, items, seed, exact)
    staged = read_staged(tar_path)
    name = manifest["dataset"]["name"]
    if staged["sha256"] != manifest["dataset"]["digest"]:
        raise AugmarkError(
            f"is the manifest of the dataset {manifest['dataset']['digest']}, not of {staged['sha256']}",
            where=str(manifest_path),
            remedy="audit the dataset again",
        )
    index = {**_layout(chosen, manifest, seed, scenario), "items_digest": digest}
    if (known := _already(out_dir, index)) is not None:
        return known
    (out_dir / INDEX_NAME).unlink(missing_ok=True)
    files.require_free(out_dir, index["total_bytes"], f"preparing {scenario}")
    with files.whole_file(out_dir / BIN_NAME) as part:
        _decode_into(part, tar_path, chosen, index, name)
        index["sha256"] = files.hash_file(part, f"hash {scenario}")
    files.write_json(out_dir / INDEX_NAME, index)
    return index


def _choose(manifest: dict[str, Any], items: int | None, seed: int, exact: bool) -> list[dict[str, Any]]:
    there = len(manifest["items"])
    if items is not None and items < 1:
        raise AugmarkError(f"items={items}", where="items", remedy="ask for at least one")
    if exact and items is not None and items > there:
        raise AugmarkError(
            f"{items} items were asked for, the common set of {manifest['dataset']['name']} has {there}",
            where="items",
            remedy=f"ask for at most {there} (`--config items={there}`), or give more images",
        )
    return select_items(manifest["items"], items, seed)


def _layout(
    chosen: list[dict[str, Any]], manifest: dict[str, Any], seed: int, scenario: str
) -> dict[str, Any]:
    """The index without the sha256: every offset is known before anything is decoded."""
    offsets, end = [], 0
    shapes = [[entry["height"], entry["width"], CHANNELS] for entry in chosen]
    for height, width, channels in shapes:
        offsets.append(-(-end // ALIGNMENT_BYTES) * ALIGNMENT_BYTES)
        end = offsets[-1] + height * width * channels
    return {
        "schema": ITEMS_SCHEMA,
        "scenario": scenario,
        "dataset": manifest["dataset"],
        "manifest_digest": manifest["manifest_digest"],
        "seed": seed,
        "items": len(chosen),
        "channels": CHANNELS,
        "dtype": "uint8",
        "names": [entry["name"] for entry in chosen],
        "offsets": offsets,
        "shapes": shapes,
        "total_bytes": end,
    }


def _already(out_dir: Path, index: dict[str, Any]) -> dict[str, Any] | None:
    try:
        there = open_items(out_dir)
        if {**index, "sha256": there.index.get("sha256")} != there.index:
            return None
        there.verify()
    except AugmarkError:
        return None
    return there.index


def _decode_into(
    part: Path, tar_path: Path, chosen: list[dict[str, Any]], index: dict[str, Any], name: str
) -> None:
    """Decode the chosen members in the archive's order, each to its place in the file."""
    from augmark.progress import progress

    places = {
        entry["name"]: (entry, offset, tuple(shape))
        for entry, offset, shape in zip(chosen, index["offsets"], index["shapes"], strict=True)
    }
    label = f"prepare {index['scenario']}"
    with open(part, "wb") as target, progress(total=len(places), label=label, unit="image") as bar:
        target.truncate(index["total_bytes"])
        for member, tar in read_members(tar_path, name):
            plain = plain_name(member.name)
            if plain not in places or not member.isfile() or junk_kind(member.name):
                continue
            entry, offset, shape = places.pop(plain)
            target.seek(offset)
            target.write(_pixels(tar.extractfile(member).read(), entry, shape, name))
            bar.update(1, note=plain)
            if not places:
                break
    if places:
        raise _changed(sorted(places)[0], name, "is not in the archive")


def _pixels(data: bytes, entry: dict[str, Any], shape: tuple[int, ...], name: str) -> bytes:
    """RGB uint8 (H, W, 3) as bytes, by the policy's first decoder."""
    if hashlib.sha256(data).hexdigest() != entry["sha256"]:
        raise _changed(entry["name"], name, "has other bytes")
    with strict_pillow():
        pixels = decode_pillow(data)
    if pixels.shape != shape:
        raise _changed(entry["name"], name, f"decodes to {pixels.shape}, not {shape}")
    return pixels.tobytes()


def _changed(member: str, name: str, how: str) -> AugmarkError:
    return AugmarkError(
        f"{member} {how}, unlike at the audit", where=name, remedy="stage and audit the dataset again"
    )
