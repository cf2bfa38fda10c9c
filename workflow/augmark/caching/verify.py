"""``augmark cache verify``: everything that is kept is read and hashed."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from augmark import files
from augmark.caching import places
from augmark.caching.installed import Checked, Hashes, Problem, check_environment
from augmark.caching.places import Thing
from augmark.cell import DIGEST_LENGTH
from augmark.data.audit import read_manifest
from augmark.data.itemfile import ITEMS_SCHEMA, open_items
from augmark.data.staged import STAGED_SCHEMA, read_staged
from augmark.environments import MARKER
from augmark.environments import SCHEMA as MARKER_SCHEMA
from augmark.errors import AugmarkError
from augmark.progress import progress

SCHEMA = "augmark/cache-verify/1"
OK, DAMAGED, UNFINISHED, EARLIER = "ok", "damaged", "unfinished", "earlier"
# Nothing reads these: what is needed of them, the next run makes anew or goes on with.
NOT_READ = {UNFINISHED: "begun and not ended", EARLIER: "made by an earlier version"}
SHOWN = 5  # of the files of one thing that are alike damaged
# What is written last, and its schema: without it nothing reads the folder, and the next run makes it again.
_LAST = {
    places.DATASET: ("staged.json", STAGED_SCHEMA),
    places.ITEMS: ("index.json", ITEMS_SCHEMA),
    places.ENVIRONMENT: (MARKER, MARKER_SCHEMA),
}


def examined(root: Path, args: argparse.Namespace) -> dict[str, Any]:
    """Hash everything.

    Returns:
        ``schema``, ``output`` and ``things``: of each ``kind path status hashed unhashed problems`` (how many
        files have the hash that they should have, how many nobody has a hash for, and of each problem
        ``file what remedy``).

    Raises:
        AugmarkError: A folder that holds them cannot be read.
    """
    output, declared = places.output_folder(root, args), places.declared_digests(root)
    hashes = Hashes()
    checks: dict[str, Callable[[Thing], Checked]] = {
        places.DOWNLOAD: lambda thing: _told(thing, lambda: _download(thing, declared.get(thing.name, ""))),
        places.DATASET: lambda thing: _told(thing, lambda: _dataset(thing)),
        places.ITEMS: lambda thing: _told(thing, lambda: _items(thing)),
        places.ENVIRONMENT: lambda thing: _environment(thing, root / "envs" / f"{thing.name}.txt", hashes),
    }
    results = [_examined(thing, checks.get(thing.kind)) for thing in places.things(output)]
    return {"schema": SCHEMA, "output": str(output), "things": results}


def damaged(found: dict[str, Any]) -> bool:
    """Whether anything is."""
    return any(thing["status"] == DAMAGED for thing in found["things"])


def _examined(thing: Thing, check: Callable[[Thing], Checked] | None) -> dict[str, Any]:
    status, checked = _not_read(thing) if check else UNFINISHED, Checked(0, 0, [])
    if check and status is None:
        checked = check(thing)
        status = DAMAGED if checked.problems else OK
    return {
        "kind": thing.kind,
        "path": str(thing.path),
        "status": status,
        "hashed": checked.hashed,
        "unhashed": checked.unhashed,
        "problems": [problem._asdict() for problem in checked.problems],
    }


def _not_read(thing: Thing) -> str | None:
    """Why nothing reads a folder, by what is written last; None where it is read, damaged or not."""
    if thing.kind not in _LAST:
        return None
    name, schema = _LAST[thing.kind]
    try:
        found = json.loads((thing.path / name).read_text(encoding="utf-8"))["schema"]
    except FileNotFoundError:
        return UNFINISHED
    except (OSError, ValueError, KeyError, TypeError):
        return None
    earlier = str(found).rpartition("/")[0] == schema.rpartition("/")[0] and found != schema
    return EARLIER if earlier else None


def _remedy(thing: Thing) -> str:
    return f"remove {thing.path} and run `snakemake fetch`"


def _told(thing: Thing, look: Callable[[], int]) -> Checked:
    """How many files ``look`` found right; what it raises is the thing's problem."""
    try:
        return Checked(look(), 0, [])
    except AugmarkError as error:
        problem = Problem(error.where, error.what, _remedy(thing))
    except OSError as error:
        place = str(error.filename or thing.path)
        problem = Problem(place, f"cannot be read: {error.strerror}", places.CHECK_PERMISSIONS)
    except (KeyError, TypeError, ValueError) as error:
        problem = Problem(str(thing.path), f"cannot be understood: {error!r}", _remedy(thing))
    return Checked(0, 0, [problem])


def _download(thing: Thing, declared: str) -> int:
    """Hold a download against its declared sha256, or against the part of it that is in its name."""
    wanted = declared if declared.startswith(thing.digest) else thing.digest
    found = files.hash_file(thing.path, f"check {thing.path.name}")
    if not found.startswith(wanted):
        raise AugmarkError(f"has the sha256 {found}, but {wanted} was declared", where=str(thing.path))
    return 1


def _dataset(thing: Thing) -> int:
    """Hold a staged tar and its manifests against what was written of them."""
    staged = read_staged(thing.path / "dataset.tar")
    if staged["sha256"][:DIGEST_LENGTH] != thing.digest:
        what = f"is of {staged['sha256']}, the folder's name says {thing.digest}"
        raise AugmarkError(what, where=str(thing.path / "staged.json"))
    return 1 + sum(1 for path in thing.path.glob("manifest.*.json") if read_manifest(path))


def _items(thing: Thing) -> int:
    items = open_items(thing.path)
    if items.index["items_digest"] != thing.digest:
        what = f"is of the items {items.index['items_digest']}, the folder's name says {thing.digest}"
        raise AugmarkError(what, where=str(thing.path / "index.json"))
    items.verify()
    return 1 + len(items.index["files"])


def _environment(thing: Thing, lock: Path, hashes: Hashes) -> Checked:
    with progress(total=None, label=f"check {thing.path.name}", unit="B") as bar:
        return check_environment(thing.path, thing.digest, lock, _remedy(thing), hashes, bar.update)


def render(found: dict[str, Any]) -> str:
    """A line per thing; below what is damaged its files with their remedies."""
    counts = Counter(thing["status"] for thing in found["things"])
    wide = max(map(len, (OK, DAMAGED, *NOT_READ)))
    lines = []
    for thing in found["things"]:
        lines.append(f"{thing['status']:<{wide}}  {thing['path']}{_counts(thing)}")
        lines += [f"  {line}" for line in _problem_lines(thing["problems"])]
    lines.append(", ".join(f"{counts[status]} {status}" for status in (OK, DAMAGED, *NOT_READ)))
    lines += [f"{status}: {why}; nothing reads it" for status, why in NOT_READ.items() if counts[status]]
    return "\n".join(lines)


def _counts(thing: dict[str, Any]) -> str:
    if thing["status"] in NOT_READ:
        return f"  ({thing['kind']})"
    without = f", {thing['unhashed']} without a hash" if thing["unhashed"] else ""
    return f"  ({thing['kind']}: {thing['hashed']} files hashed{without})"


def _problem_lines(problems: list[dict[str, str]]) -> Iterator[str]:
    """Files with what is wrong, by remedy; of many that are to be mended alike, the first few."""
    by_remedy: dict[str, list[dict[str, str]]] = {}
    for problem in problems:
        by_remedy.setdefault(problem["remedy"], []).append(problem)
    for remedy, alike in by_remedy.items():
        yield from (f"{problem['file']} {problem['what']}" for problem in alike[:SHOWN])
        if len(alike) > SHOWN:
            yield f"and {len(alike) - SHOWN} more files"
        yield f"remedy: {remedy}"


def as_json(found: dict[str, Any]) -> str:
    """The same as JSON, with every file that is damaged."""
    return json.dumps(found, indent=1)
