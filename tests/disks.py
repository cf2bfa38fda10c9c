"""A disk of its own for a folder: one that can be filled, and that no link of another disk reaches."""

import subprocess
from contextlib import contextmanager

import pytest

SIZE_MB = 80  # less than that with what must stay free, and nothing is started


@contextmanager
def small_disk(folder):
    """Mount one of ``SIZE_MB`` there; skipped where nobody may mount one."""
    folder.mkdir(parents=True)
    words = ["mount", "-t", "tmpfs", "-o", f"size={SIZE_MB}m", "augmark-test", str(folder)]
    mounted = subprocess.run(words, capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        pytest.skip(f"no disk can be mounted here: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
