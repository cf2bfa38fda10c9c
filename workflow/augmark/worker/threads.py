"""Thread counts: asked for before a library is imported, and read back inside the process."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

POOL_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)
# No call home, no update check, no write into the home folder while something is measured.
QUIET = {"ALBUMENTATIONS_NO_TELEMETRY": "1", "ALBUMENTATIONS_OFFLINE": "1", "NO_ALBUMENTATIONS_UPDATE": "1"}

# glibc starts by giving every large block back to the system, and stops doing so once it has seen some:
# the same row took four times as long when it came first (Kornia Brightness 709 against 3,089 items/s).
# These are the values at which that adaptation ends (mallopt(3)), so every row finds the allocator as a
# long-running process has it, whatever ran before. Other systems' allocators do not look at them.
ALLOCATOR = {"MALLOC_MMAP_THRESHOLD_": str(32 << 20), "MALLOC_TRIM_THRESHOLD_": str(64 << 20)}


def environment(
    inherited: Mapping[str, str], threads: int | None, asked: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The variables that a worker is started with.

    Args:
        inherited: Those of whoever starts it.
        threads: Of every pool; None leaves pools as the libraries do, whatever the user's shell says.
        asked: What the condition of a plan file asks for.
    """
    pools = {} if threads is None else {name: str(threads) for name in POOL_VARIABLES}
    others = {name: value for name, value in inherited.items() if name not in POOL_VARIABLES}
    return {**others, **pools, **QUIET, **ALLOCATOR, **(asked or {})}


def read_back() -> dict[str, int]:
    """Pool -> threads, for every pool that is loaded in this process."""
    from threadpoolctl import threadpool_info

    pools: dict[str, int] = {}
    for pool in threadpool_info():
        name = f"{pool['user_api']}:{pool['prefix']}"
        pools[name] = max(pools.get(name, 0), pool["num_threads"])
    torch: Any = sys.modules.get("torch")
    if torch is not None:
        pools["torch"] = torch.get_num_threads()
    cv2: Any = sys.modules.get("cv2")
    if cv2 is not None:
        # 0 is OpenCV's word for "no pool": the calling thread alone.
        pools["opencv"] = max(1, cv2.getNumThreads())
    return pools
