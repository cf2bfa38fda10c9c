"""Files whose times lie in the future, because the clock was set back. Standard library only.

Snakemake decides by these times what is to be made again, and fails a job whose output is older than an
input: after the clock was set back every run would make the same tables again, or fail, until the clock is
where it was. So the times that lie ahead are put between the latest that does not and the present, in their
order: what was newer than what stays so, and nothing that is there is made or measured again. No content is
touched.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

# Hosts that share a file system differ by less; and so small a step is over before it matters.
AHEAD_NS = 60 * 10**9
# Below the output folder: what is no input of anything. (Of an environment's many files its marker is one.)
NOT_LOOKED_AT = ("envs", "logs", "running", "failed")


def settle(output: Path, now_ns: int | None = None) -> list[Path]:
    """Put times that lie in the future into the past, in their order.

    Args:
        output: The folder of all products.
        now_ns: Nanoseconds since the epoch; by default the present.

    Returns:
        The files whose time was changed.
    """
    now = time.time_ns() if now_ns is None else now_ns
    times = dict(_times(output))
    ahead = sorted((path for path, at in times.items() if at > now + AHEAD_NS), key=lambda path: times[path])
    if not ahead:
        return []
    # Those a little ahead are newer than the past and older than these.
    earlier = max((at for at in times.values() if at <= now), default=now - 2 * AHEAD_NS)
    ahead = sorted((path for path, at in times.items() if at > now), key=lambda path: times[path])
    places = {at: place for place, at in enumerate(dict.fromkeys(times[path] for path in ahead), 1)}
    step = (now - earlier) / (len(places) + 1)
    for path in ahead:
        at = int(earlier + step * places[times[path]])
        with contextlib.suppress(OSError):  # of another user, on a shared file system
            os.utime(path, ns=(at, at))
    return ahead


def _times(output: Path) -> Iterator[tuple[Path, int]]:
    for path in (*output.glob("envs/*/env.json"), *_files(output)):
        with contextlib.suppress(OSError):
            yield path, path.stat().st_mtime_ns


def _files(output: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(output):
        if Path(folder) == output:
            folders[:] = [name for name in folders if name not in NOT_LOOKED_AT]
        yield from (Path(folder, name) for name in names)
