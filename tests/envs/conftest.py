"""A registry of three tiny wheels, the only one that uv sees in these tests."""

import pytest

from tests.envs.wheels import write_wheel


@pytest.fixture
def lines(tmp_path, monkeypatch):
    """Lock lines of the wheels at hand: ``tiny-1.0``, ``tiny-2.0`` and ``other-1.0``."""
    folder = tmp_path / "wheels"
    monkeypatch.setenv("UV_FIND_LINKS", str(folder))
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_NO_CACHE", "1")
    wheels = [("tiny", "1.0"), ("tiny", "2.0"), ("other", "1.0")]
    return {f"{name}-{version}": write_wheel(folder, name, version) for name, version in wheels}
