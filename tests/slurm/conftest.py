"""One virtual SLURM for all tests that want it."""

import os
import sys
from collections.abc import Iterator

import pytest

from tests.slurm import cluster as slurm


@pytest.fixture(scope="session")
def cluster() -> Iterator[slurm.Cluster]:
    """A running cluster of six nodes ``cpu1`` to ``cpu6`` and ``gpu1``; the test is skipped without one."""
    try:
        with slurm.start() as running:
            yield running
    except slurm.Unavailable as error:
        if os.environ.get("CI") and sys.platform == "linux":
            pytest.fail(f"in CI the tests on SLURM have to run: {error}")
        pytest.skip(str(error))
