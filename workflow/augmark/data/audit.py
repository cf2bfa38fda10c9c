"""Audit a staged dataset: which members are items, which are not, and why, in one manifest.

Every library times the items of the manifest and no others; its digest stands in every record.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from augmark import files
from augmark.cell import short_digest
from augmark.data.archive import (
    junk_kind,
    name_key,
    plain_name,
    read_headers,
    read_members,
    unsafe_name,
    unsafe_type,
)
from augmark.data.decode import DECODERS, VERSIONS, Quarantined, examine
from augmark.data.staged import read_staged
from augmark.errors import AugmarkError

MANIFEST_SCHEMA = "augmark/manifest/1"
POLICY_KEYS = frozenset(
    (
        "formats",
        "modes",
        "min_side_pixels",
        "max_pixels",
        "max_member_bytes",
        "decoders",
        "decoder_tolerance_levels",
        "exif_orientation",
    )
)
EXIF_RULE = "quarantine-where-decoders-disagree"


class Scan(NamedTuple):
    """What the headers of an archive say: members, candidates for items, litter by kind, total bytes."""

    members: int
    candidates: int
    junk: dict[str, int]


def audit_dataset(tar_path: Path, policy: dict[str, Any], manifest_path: Path) -> dict[str, Any]:
    """Judge every member of a staged tar and write the manifest.

    Args:
        tar_path: ``dataset.tar`` with its ``staged.json`` beside it.
        policy: ``audit`` of ``policy.yaml``.
        manifest_path: Where the manifest goes: the same bytes for the same dataset, policy and decoders.

    Returns:
        The manifest.

    Raises:
        AugmarkError: Unsafe members (every one is named), no item at all, or a damaged archive.
    """
    from augmark.progress import progress

    check_policy(policy)
    staged = read_staged(tar_path)
    name = staged["name"]
    scan = scan_members(tar_path, name)
    items: list[dict[str, Any]] = []
    quarantine: list[dict[str, str]] = []
    with progress(total=scan.candidates, label=f"audit {name}", unit="image") as bar:
        for member, tar in read_members(tar_path, name):
            if member.isdir() or junk_kind(member.name):
                continue
            plain = plain_name(member.name)
            try:
                items.append(_item(plain, member, tar, policy))
            except Quarantined as found:
                quarantine.append({"name": plain, "reason": found.reason, "detail": found.detail})
            bar.update(1, note=plain)
    manifest = _manifest(staged, policy, scan, items, quarantine)
    if not items:
        raise AugmarkError(
            f"holds no image that can be measured: {summary(manifest)}",
            where=name,
            remedy=_remedy(quarantine, policy),
        )
    files.write_json(manifest_path, manifest)
    return manifest


def read_manifest(path: Path) -> dict[str, Any]:
    """Read a manifest and check its digest.

    Raises:
        AugmarkError: It is missing, no manifest, or was edited.
    """
    remedy = f"remove {path} and audit again"
    manifest = files.read_json(path, MANIFEST_SCHEMA, remedy=remedy)
    found = manifest_digest(manifest)
    if found != manifest["manifest_digest"]:
        what = f"does not match its digest: {manifest['manifest_digest']} written, {found} found"
        raise AugmarkError(what, where=str(path), remedy=remedy)
    return manifest


def manifest_digest(manifest: dict[str, Any]) -> str:
    """What makes two common sets the same: dataset, policy, items and quarantine."""
    return short_digest(
        [manifest["dataset"]["digest"], manifest["policy"], manifest["items"], manifest["quarantine"]]
    )


def summary(manifest: dict[str, Any]) -> str:
    """One line: ``256 items of 260 members; quarantined: 2 cmyk, 1 truncated; junk: 1 .DS_Store``."""
    counts = manifest["counts"]
    parts = [f"{counts['items']} items of {counts['members']} members"]
    for title, key in (("quarantined", "quarantined"), ("junk", "junk")):
        found = counts[key]
        parts.append(f"{title}: {', '.join(f'{n} {what}' for what, n in sorted(found.items())) or 'none'}")
    return "; ".join(parts)


def check_policy(policy: dict[str, Any]) -> None:
    """Refuse a policy with missing or unknown keys, decoders or rules.

    Raises:
        AugmarkError: With every problem.
    """
    problems = [f"missing key {key}" for key in sorted(POLICY_KEYS - policy.keys())]
    problems += [f"unknown key {key}" for key in sorted(policy.keys() - POLICY_KEYS)]
    decoders = policy.get("decoders") or []
    problems += [
        f"unknown decoder {name!r} (known: {', '.join(DECODERS)})"
        for name in decoders
        if name not in DECODERS
    ]
    if "decoders" in policy and (not decoders or decoders[0] != "pillow"):
        problems.append("the first decoder must be pillow, which also says format and mode")
    if policy.get("exif_orientation", EXIF_RULE) != EXIF_RULE:
        problems.append(f"exif_orientation must be {EXIF_RULE}")
    if problems:
        raise AugmarkError("; ".join(problems), where="policy.yaml: audit", remedy="mend the policy")


def scan_members(tar_path: Path, name: str) -> Scan:
    """Read the headers only: nothing is decoded before the whole archive is known to be safe.

    Raises:
        AugmarkError: Unsafe members, every one named with its reason.
    """
    unsafe: list[str] = []
    junk: Counter[str] = Counter()
    seen: dict[str, list[str]] = {}
    members = 0
    for member in read_headers(tar_path, name, name):
        members += 1
        problem = unsafe_name(member.name) or unsafe_type(member)
        kind = "directory" if member.isdir() else junk_kind(member.name)
        if problem:
            unsafe.append(f"{member.name!r} ({problem})")
        elif kind:
            junk[kind] += 1
        else:
            seen.setdefault(name_key(member.name), []).append(member.name)
    for names in seen.values():
        if len(names) > 1:
            unsafe.append(_duplicate(names))
    if unsafe:
        raise AugmarkError(
            f"{len(unsafe)} unsafe members, so nothing of it is used: {', '.join(unsafe)}",
            where=name,
            remedy="pack the dataset again with plain files under relative, distinct names",
        )
    return Scan(members, len(seen), dict(junk))


def _duplicate(names: list[str]) -> str:
    distinct = sorted({plain_name(name) for name in names})
    if len(distinct) == 1:
        return f"{distinct[0]!r} (duplicate, {len(names)} times)"
    listed = " and ".join(repr(name) for name in distinct)
    return f"{listed} (duplicates but for case or Unicode form)"


def _item(plain: str, member: Any, tar: Any, policy: dict[str, Any]) -> dict[str, Any]:
    if member.size > policy["max_member_bytes"]:
        raise Quarantined("too-many-bytes", f"{member.size} bytes, over {policy['max_member_bytes']}")
    data = tar.extractfile(member).read()
    picture = examine(data, policy)
    return {
        "name": plain,
        "sha256": hashlib.sha256(data).hexdigest(),
        "bytes": len(data),
        **picture._asdict(),
    }


def _manifest(
    staged: dict[str, Any],
    policy: dict[str, Any],
    scan: Scan,
    items: list[dict[str, Any]],
    quarantine: list[dict[str, str]],
) -> dict[str, Any]:
    manifest = {
        "schema": MANIFEST_SCHEMA,
        "dataset": {"name": staged["name"], "digest": staged["sha256"]},
        "policy": policy,
        "decoders": {name: VERSIONS[name] for name in policy["decoders"]},
        "counts": {
            "members": scan.members,
            "junk": dict(Counter(scan.junk) + Counter(staged.get("junk", {}))),
            "items": len(items),
            "quarantined": dict(Counter(entry["reason"] for entry in quarantine)),
        },
        "items": items,
        "quarantine": quarantine,
    }
    return {**manifest, "manifest_digest": manifest_digest(manifest)}


def _remedy(quarantine: list[dict[str, str]], policy: dict[str, Any]) -> str:
    if not quarantine:
        return "give a tarball or folder with images in it"
    first = quarantine[0]
    detail = f" ({first['detail']})" if first["detail"] else ""
    wanted = f"{' or '.join(policy['formats'])} images of mode {' or '.join(policy['modes'])}"
    return f"give {wanted}; the first refused: {first['name']}: {first['reason']}{detail}"
