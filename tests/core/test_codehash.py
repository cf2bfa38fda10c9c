"""The code digest follows what measuring code does, and nothing else."""

from pathlib import Path

import pytest

from augmark import codehash
from augmark.modes import MODES


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A small package in the place of augmark: module ``a`` imports ``b``; ``c`` is nobody's."""
    root = tmp_path / "augmark"
    root.mkdir()
    monkeypatch.setattr(codehash, "PACKAGE", root)
    (root / "a.py").write_text("from augmark import b\n\n\ndef f(x):\n    return b.g(x) + 1\n")
    (root / "b.py").write_text("def g(x):\n    return x * 2\n")
    (root / "c.py").write_text("y = 1\n")
    return root


def rewrite(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_comments_docstrings_and_layout_do_not_count(package):
    """An edit that changes nothing that runs stales nothing."""
    before = codehash.code_digest("augmark.a")
    rewrite(package / "a.py", "def f(x):\n", 'def f(x):\n    """Says what it does."""\n    # why\n\n')
    (package / "b.py").write_text('"""A module."""\n\n\n' + (package / "b.py").read_text())
    assert before == codehash.code_digest("augmark.a")


def test_an_edit_of_an_imported_module_counts(package):
    """The digest covers the whole closure of imports."""
    before = codehash.code_digest("augmark.a")
    rewrite(package / "b.py", "x * 2", "x * 3")
    assert before != codehash.code_digest("augmark.a")


def test_an_edit_of_another_module_does_not_count(package):
    """What is not imported does not decide the rows."""
    before = codehash.code_digest("augmark.a")
    rewrite(package / "c.py", "1", "2")
    assert before == codehash.code_digest("augmark.a")


def test_a_missing_module_is_an_error(package):
    """A misspelt adapter never gives the digest of nothing."""
    with pytest.raises(FileNotFoundError, match=r"augmark\.nowhere"):
        codehash.code_digest("augmark.nowhere")


def test_a_mode_covers_its_timer_and_each_adapter_its_own_module():
    """The real closure of a mode holds what is inside or around its timer, and not the tables."""
    micro = set(codehash.closure(MODES["micro"].runner))
    assert {"augmark.worker.timing", "augmark.worker.rows", "augmark.data.itemfile"} <= micro
    assert not any(name.startswith("augmark.analysis") for name in micro)
    assert codehash.row_code_digest("pillow", "micro") != codehash.row_code_digest("kornia", "micro")


def test_a_mode_is_no_part_of_anothers_code():
    """An edit of the DataLoader's side stales no row of a transform alone."""
    for module in (codehash.MEASURING, MODES["micro"].runner, "augmark.libraries.pillow"):
        assert not {"augmark.worker.loader", "augmark.libraries.pillow_recipe"} & set(
            codehash.closure(module)
        )
    loader = set(codehash.closure(MODES["dataloader-memory"].runner))
    assert {"augmark.worker.loader", "augmark.worker.pipeline"} <= loader
