"""Digest of measuring code: what it does, not how it is commented. Standard library only.

A comment, a docstring or white space in measuring code must not stale a measurement, and the
digest must be the same under every Python, so it is taken over the syntax tree with empty
fields left out (``ast.dump`` itself changed its output in Python 3.13).
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from augmark.cell import DIGEST_LENGTH
from augmark.modes import MODES, library_module, regimes_module

PACKAGE = Path(__file__).resolve().parent
# What stands inside or around a timer in the measured process; reached from there by import.
MEASURING = "augmark.worker.child"
SEEDS = "augmark.worker.seeds"  # the parent's part of what is drawn
SAMPLES = "augmark.worker.samples"  # what a probe keeps, and no row depends on


def _canonical(node: object) -> str:
    if isinstance(node, ast.AST):
        fields = []
        for name, value in ast.iter_fields(node):
            if name == "body" and isinstance(value, list):
                value = [item for item in value if not _is_docstring(item)]
            if value is None or value == []:
                continue
            fields.append(f"{name}={_canonical(value)}")
        return f"{type(node).__name__}({','.join(fields)})"
    if isinstance(node, list):
        return f"[{','.join(_canonical(item) for item in node)}]"
    return repr(node)


def _is_docstring(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _source_of(module: str) -> Path | None:
    base = PACKAGE.parent.joinpath(*module.split("."))
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path
    return None


def _imports(tree: ast.AST) -> Iterable[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@lru_cache(maxsize=256)
def _told(path: Path, mtime_ns: int) -> tuple[str, tuple[str, ...]]:
    """What a source does, and what it imports: many modes and libraries share a source."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return _canonical(tree), tuple(_imports(tree))


def closure(module: str) -> dict[str, Path]:
    """The module and all of augmark that it imports, directly or not.

    Relative imports are not followed: measuring code uses absolute ones (a test says so).

    Raises:
        FileNotFoundError: ``module`` has no source in this package.
    """
    first = _source_of(module)
    if first is None:
        raise FileNotFoundError(f"no source for module {module}")
    found, todo = {module: first}, [first]
    while todo:
        path = todo.pop()
        for name in _told(path, path.stat().st_mtime_ns)[1]:
            source = _source_of(name) if name.startswith("augmark.") else None
            if source is not None and source not in found.values():
                found[name] = source
                todo.append(source)
    return found


def code_digest(*modules: str) -> str:
    """Short digest of what these modules and their augmark imports do.

    Args:
        modules: Dotted names, e.g. ``augmark.worker.child``.
    """
    sources: dict[Path, str] = {}
    for module in modules:
        for path in closure(module).values():
            sources[path] = _told(path, path.stat().st_mtime_ns)[0]
    text = "\n".join(f"{path.relative_to(PACKAGE).as_posix()}:{sources[path]}" for path in sorted(sources))
    return hashlib.sha256(text.encode()).hexdigest()[:DIGEST_LENGTH]


def row_code_digest(adapter: str, mode: str) -> str:
    """Digest of everything that decides a row of one library in one mode, the worker's part included."""
    return code_digest(MEASURING, SEEDS, MODES[mode].runner, library_module(adapter, mode))


def regimes_code_digest(adapter: str) -> str | None:
    """Digest of a library's other ways of doing the same transforms; None where it has none."""
    module = regimes_module(adapter)
    return code_digest(module) if _source_of(module) else None
