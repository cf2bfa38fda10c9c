"""What a plan will write, download and need of a host, as far as that is known before anything is made.

Sizes that nobody has told are assumed, each by the figure that stands here: they are meant to be too large.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from augmark.data.stage import is_url
from augmark.environments import read_marker
from augmark.files import human_bytes
from augmark.locks import parse_lock
from augmark.modes import MODES, PLAIN
from augmark.plan import Plan

# On a disk, measured: PyTorch with the CUDA libraries of the locks 5.6 GB, what else an environment holds 17
# to 190 MB. Elsewhere than on Linux PyTorch has none of these libraries, and its size is assumed.
TORCH_BYTES = {"Linux": 5_600_000_000}
TORCH_BYTES_ELSEWHERE = 600_000_000
ENVIRONMENT_BYTES = 250_000_000
FRAME_BYTES = 1 << 20  # three channels, decoded: 500 x 375 are 0.56 MB, the average of ImageNet is 0.55 MB
FRAMES = {"image": 1, "video": 16}
FILE_BYTES = 150_000  # of an encoded image
RECORD_ROW_BYTES = 12_000  # a row of a record and its share of logs and pyperf file; seen: 2 to 7 kB
ASSUMED_SIDE = (
    512  # of items that are not prepared yet; a DataLoader's batches are of 224 x 224 whatever it is
)

Parts = list[tuple[str, int | None]]


@dataclass(frozen=True)
class Wanted:
    """What is still to come, in parts with their bytes (None: not known).

    Attributes:
        output: Into the output folder.
        cache: Into the cache for datasets.
        packages: Into the cache of uv.
    """

    output: Parts
    cache: Parts
    packages: Parts


def wanted(plan: Plan, root: Path, *, downloads: Mapping[str, bool], conda: bool) -> Wanted:
    """What a plan still has to write.

    Args:
        root: The project's root.
        downloads: Key of a dataset -> whether it still has to be downloaded.
        conda: Environments are made by conda, elsewhere.
    """
    environments = [] if conda else unbuilt(plan)
    torch = [name for name in environments if _has_torch(root / "envs" / f"{name}.txt")]
    output: Parts = []
    if environments:
        # uv links packages from its cache: what two environments share is there once.
        size = ENVIRONMENT_BYTES * len(environments) + (_torch_bytes() if torch else 0)
        once = ", PyTorch once" if torch else ""
        output.append((f"{len(environments)} environments{once}", size))
    packages = list(output)
    for key, about in plan.content["datasets"].items():
        if not plan.staged(key).exists():
            output.append((f"dataset {about['name']}", dataset_bytes(about, root)))
    output += _items(plan)
    if samples := sum(_samples(plan)):
        output.append(("samples of probes, of the same size", samples))
    if rows := sum(_rows_left(plan)):
        output.append(("records", rows * RECORD_ROW_BYTES))
    datasets = plan.content["datasets"]
    cache = [
        (f"dataset {datasets[key]['name']}", dataset_bytes(datasets[key], root))
        for key, missing in downloads.items()
        if missing
    ]
    return Wanted(output, cache, packages)


def unbuilt(plan: Plan) -> list[str]:
    """The environments of a plan that are not there yet."""
    locks = plan.content["locks"]
    return [name for name in locks if read_marker(plan.environment_marker(name).parent) is None]


def _has_torch(lock: Path) -> bool:
    return any(pin.name == "torch" for pin in parse_lock(lock.read_text(encoding="utf-8")))


def _torch_bytes() -> int:
    return TORCH_BYTES.get(platform.system(), TORCH_BYTES_ELSEWHERE)


def cuda_major(root: Path, plan: Plan) -> int | None:
    """Major version of CUDA that the locks of a plan bring."""
    for name in plan.content["locks"]:
        for pin in parse_lock((root / "envs" / f"{name}.txt").read_text(encoding="utf-8")):
            if pin.name.startswith("nvidia-cuda-runtime"):
                return int(pin.version.partition(".")[0])
    return None


def dataset_bytes(about: Mapping[str, Any], root: Path) -> int | None:
    """The size of a dataset: as declared, or that of the file or folder that it comes from."""
    if about.get("size") is not None:
        return int(about["size"])
    source = str(about.get("source") or "")
    if not source or is_url(source):
        return None
    path = root / Path(source).expanduser()
    if path.is_file():
        return path.stat().st_size
    if path.is_dir():
        return sum(each.stat().st_size for each in path.rglob("*") if each.is_file())
    return None


def _item_sets(plan: Plan) -> Iterator[tuple[str, str, Mapping[str, Any], int]]:
    """Scenario, one of its modes, the set of items and the bytes of one of them decoded; each set once."""
    for name, about in plan.content["scenarios"].items():
        seen = set()
        size = FRAME_BYTES * about["channels"] // 3 * FRAMES[about["medium"]]
        for mode, each in about["item_sets"].items():
            if each["digest"] not in seen:
                seen.add(each["digest"])
                yield name, mode, each, size


def _items(plan: Plan) -> Iterator[tuple[str, int]]:
    for scenario, mode, each, size in _item_sets(plan):
        if not plan.items_index(scenario, mode).exists():
            count, one = each["items"], size + FILE_BYTES
            yield f"items {scenario}, {count:,} of {human_bytes(one)} assumed", count * one


def _samples(plan: Plan) -> Iterator[int]:
    """Bytes of the outputs that each missing probe keeps."""
    keep = plan.content["policy"]["probe"]["sample_items"]
    for key, definition in plan.content["definitions"].items():
        about = plan.content["scenarios"][key.split("/")[0]]
        if not plan.probe_path(*key.split("/")).exists():
            size = FRAME_BYTES * about["channels"] // 3 * FRAMES[about["medium"]]
            rows = sum(row["planned"] == "run" and row["condition"] == PLAIN for row in definition["rows"])
            yield rows * keep * size


def _rows_left(plan: Plan) -> Iterator[int]:
    for cell, path in zip(plan.cells(), plan.record_paths(), strict=True):
        if not path.exists():
            yield len(plan.cell_definition(cell)["rows"])


# --- what rows need while they run ------------------------------------------------------------------------


def items_index(plan: Plan, scenario: str, mode: str) -> dict[str, Any]:
    """The index of the prepared items; until they are, one of the planned number and of assumed sizes."""
    try:
        return json.loads(plan.items_index(scenario, mode).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        about, count = plan.content["scenarios"][scenario], plan.item_set(scenario, mode)["items"]
        size = FRAME_BYTES * about["channels"] // 3 * FRAMES[about["medium"]]
        return {
            "shapes": [[ASSUMED_SIDE, ASSUMED_SIDE, about["channels"]]] * count,
            "files": [{"format": "JPEG"}] * count,
            "total_bytes": count * size,
        }


@dataclass(frozen=True)
class RunNeeds:
    """Row or job -> how much it needs; bytes, and open files of one process."""

    memory_bytes: dict[str, int]
    shared_memory_bytes: dict[str, int]
    file_descriptors: dict[str, int]


def run_needs(plan: Plan) -> RunNeeds:
    """What the rows of a plan need of the host while they run."""
    from augmark.worker import needs

    found = RunNeeds({}, {}, {})
    share = plan.content["policy"]["limits"]["resident_share"]
    for key, definition in plan.content["definitions"].items():
        scenario, mode, *_ = key.split("/")
        index = items_index(plan, scenario, mode)
        if not MODES[mode].batched:
            # Items are made resident within this share of the limit, or there are fewer of them.
            found.memory_bytes[key] = int(index["total_bytes"] / share)
            found.file_descriptors[key] = needs.OPEN_BEFORE
            continue
        for row in definition["rows"]:
            if row["planned"] == "run" and row["loader"]:
                need = needs.loader_needs(row, index, mode)
                name = f"{key} {row['id']}"
                found.memory_bytes[name] = need.memory_bytes
                found.file_descriptors[name] = need.file_descriptors
                if need.shared_memory_bytes:
                    found.shared_memory_bytes[name] = need.shared_memory_bytes
    return found
