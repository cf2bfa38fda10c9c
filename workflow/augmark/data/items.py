"""Prepare items: the chosen part of the common set, decoded into one flat file, and the encoded originals.

The flat file is for whoever starts from decoded items, the originals for whoever decodes: both from one
reading of the archive, so that they are the same images. ``index.json`` is written last; nothing counts
without it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from augmark import files
from augmark.data.archive import junk_kind, plain_name, read_members
from augmark.data.audit import read_manifest
from augmark.data.decode import decode_pillow, strict_pillow
from augmark.data.itemfile import ALIGNMENT_BYTES, BIN_NAME, FILES_NAME, INDEX_NAME, ITEMS_SCHEMA, open_items
from augmark.data.staged import read_staged
from augmark.data.views import alike, check_views, stack
from augmark.errors import AugmarkError

RGB_CHANNELS = 3
SUFFIXES = {"JPEG": "jpg", "PNG": "png", "WEBP": "webp", "BMP": "bmp"}  # of the formats, by Pillow's names


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
    channels: int = RGB_CHANNELS,
    views: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Write ``items.bin``, ``files/`` and, last, ``index.json``; leave them when they are whole and the same.

    Args:
        tar_path: The staged ``dataset.tar``.
        manifest_path: Its manifest.
        items: How many; None for all.
        seed: Of the order in which items are chosen.
        out_dir: The folder that is made.
        scenario: The name in the progress bar and in the index.
        digest: The planned digest of these items, kept in the index for whoever measures them.
        exact: Refuse when there are fewer than ``items`` (asked by key); otherwise take all there are.
        channels: Of an item: 3 for each view.
        views: Of each RGB image, stacked (``augmark.data.views``); none for the image itself.

    Returns:
        The index. Its ``alike`` names the items of which two views are equal, because the image is symmetric.
        They are kept, so that every scenario has the same images, and stated, because their channels are not
        as different as those of the others.

    Raises:
        AugmarkError: Too few items, a manifest of another dataset, unfit views, not enough disk, an image
            that is no longer the one audited, or nothing but symmetric images.
    """
    views = list(views) if views else None
    _check_channels(channels, views)
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
    index = {**_layout(chosen, manifest, seed, scenario, channels), "items_digest": digest, "views": views}
    if (known := _already(out_dir, index)) is not None:
        return known
    (out_dir / INDEX_NAME).unlink(missing_ok=True)
    needed_bytes = index["total_bytes"] + sum(stored["bytes"] for stored in index["files"])
    files.require_free(out_dir, needed_bytes, f"preparing {scenario}")
    with _whole_folder(out_dir / FILES_NAME) as originals, files.whole_file(out_dir / BIN_NAME) as part:
        index["alike"] = _decode_into(part, originals, tar_path, chosen, index, name)
        index["sha256"] = files.hash_file(part, f"hash {scenario}")
    files.write_json(out_dir / INDEX_NAME, index)
    return index


def summary(index: dict[str, Any]) -> str:
    """What was prepared, in one line; in a second one the symmetric images, if there are any."""
    line = f"{index['scenario']}: {index['items']} items, {index['total_bytes']} bytes"
    return "\n".join([line, *(f"symmetric, with views that are alike: {name}" for name in index["alike"])])


def _check_channels(channels: int, views: Sequence[str] | None) -> None:
    if views is not None:
        check_views(views)
    made = RGB_CHANNELS * (1 if views is None else len(views))
    if channels != made:
        said = f"{len(views)} views" if views is not None else "no views"
        raise AugmarkError(
            f"{channels} channels are asked for, {said} of an RGB image make {made}",
            where="channels",
            remedy="name one view for every three channels",
        )


@contextmanager
def _whole_folder(folder: Path) -> Iterator[Path]:
    """Give a folder beside ``folder`` to write to; on a clean exit it takes its place, otherwise it goes."""
    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)  # of a preparation that was killed
    part.mkdir(parents=True)
    try:
        yield part
        shutil.rmtree(folder, ignore_errors=True)
        os.replace(part, folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


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
    chosen: list[dict[str, Any]], manifest: dict[str, Any], seed: int, scenario: str, channels: int
) -> dict[str, Any]:
    """The index without the sha256: every offset is known before anything is decoded."""
    offsets, end = [], 0
    shapes = [[entry["height"], entry["width"], channels] for entry in chosen]
    for height, width, _ in shapes:
        offsets.append(-(-end // ALIGNMENT_BYTES) * ALIGNMENT_BYTES)
        end = offsets[-1] + height * width * channels
    return {
        "schema": ITEMS_SCHEMA,
        "scenario": scenario,
        "dataset": manifest["dataset"],
        "manifest_digest": manifest["manifest_digest"],
        "seed": seed,
        "items": len(chosen),
        "channels": channels,
        "dtype": "uint8",
        "names": [entry["name"] for entry in chosen],
        "offsets": offsets,
        "shapes": shapes,
        "total_bytes": end,
        "files": [_original(position, entry) for position, entry in enumerate(chosen)],
    }


def _original(position: int, entry: dict[str, Any]) -> dict[str, Any]:
    """What the index says of an encoded original. Named by position: names of members may not fit a disk."""
    name = f"{position:06d}.{SUFFIXES[entry['format']]}"
    return {"name": name, **{key: entry[key] for key in ("bytes", "sha256", "format")}}


def _already(out_dir: Path, index: dict[str, Any]) -> dict[str, Any] | None:
    try:
        there = open_items(out_dir)
        if {**index, **{key: there.index.get(key) for key in ("sha256", "alike")}} != there.index:
            return None
        there.verify()
    except AugmarkError:
        return None
    return there.index


def _decode_into(
    part: Path,
    originals: Path,
    tar_path: Path,
    chosen: list[dict[str, Any]],
    index: dict[str, Any],
    name: str,
) -> list[str]:
    """Decode the chosen members, in the archive's order, each to its place; which have views alike."""
    from augmark.progress import progress

    places = {entry["name"]: (position, entry) for position, entry in enumerate(chosen)}
    symmetric: dict[int, str] = {}
    label = f"prepare {index['scenario']}"
    with open(part, "wb") as target, progress(total=len(places), label=label, unit="image") as bar:
        target.truncate(index["total_bytes"])
        for member, tar in read_members(tar_path, name):
            plain = plain_name(member.name)
            if plain not in places or not member.isfile() or junk_kind(member.name):
                continue
            position, entry = places.pop(plain)
            data = tar.extractfile(member).read()
            item = _item(data, entry, tuple(index["shapes"][position]), index["views"], name)
            target.seek(index["offsets"][position])
            target.write(item.data)
            (originals / index["files"][position]["name"]).write_bytes(data)
            if alike(item):
                symmetric[position] = plain
            bar.update(1, note=plain)
            if not places:
                break
    if places:
        raise _changed(sorted(places)[0], name, "is not in the archive")
    if len(symmetric) == len(chosen):
        raise AugmarkError(
            f"all images are symmetric, {len(chosen)} of {len(chosen)}: their views are alike",
            where=name,
            remedy="give others, or more of them, or leave nine channels out: scenarios=image-rgb",
        )
    return [symmetric[position] for position in sorted(symmetric)]


def _item(
    data: bytes, entry: dict[str, Any], shape: tuple[int, ...], views: list[str] | None, name: str
) -> np.ndarray:
    """The item, contiguous uint8 (H, W, C), of an RGB image decoded by the policy's first decoder."""
    if hashlib.sha256(data).hexdigest() != entry["sha256"]:
        raise _changed(entry["name"], name, "has other bytes")
    with strict_pillow():
        pixels = decode_pillow(data)
    wanted = (*shape[:2], RGB_CHANNELS)
    if pixels.shape != wanted:
        raise _changed(entry["name"], name, f"decodes to {pixels.shape}, not {wanted}")
    return np.ascontiguousarray(pixels) if views is None else stack(pixels, views)


def _changed(member: str, name: str, how: str) -> AugmarkError:
    return AugmarkError(
        f"{member} {how}, unlike at the audit", where=name, remedy="stage and audit the dataset again"
    )
