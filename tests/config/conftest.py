from pathlib import Path

import pytest

from tests.config.tree import Tree


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """A valid configuration that the test may break."""
    return Tree(tmp_path)
