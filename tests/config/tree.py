"""A copy of the shipped configuration in a temporary folder, to be broken by a test."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from augmark.config.load import load
from augmark.config.problems import ConfigErrors, Problem

ROOT = Path(__file__).parents[2]
RELEASE = "albumentationsx-2-5-0"


def _modules(stanza: dict[str, Any]) -> dict[str, str]:
    """Module -> what it exports, of all that a library's modes and the shipped sweeps want."""
    adapter = stanza["adapter"]
    modes = {mode for offer in stanza["scenarios"].values() for mode in offer["modes"]}
    found = {adapter: "adapter"}
    if "decode" in modes:
        found[f"{adapter}_decoder"] = "decoder"
    if any(mode.startswith("dataloader-") for mode in modes):
        found[f"{adapter}_recipe"] = "recipe"
    if stanza["kind"] == "library":
        found[f"{adapter}_regimes"] = "variant"
    return found


class Tree:
    """A project's root: the shipped config/ and profiles/, empty files for environments and adapters."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.overrides: dict[str, Any] = {}
        for folder in ("config", "profiles"):
            shutil.copytree(ROOT / folder, root / folder)
        libraries = yaml.safe_load((root / "config/libraries.yaml").read_text(encoding="utf-8"))
        for suffix in (".in", ".txt", ".yaml"):
            self.write(f"envs/{RELEASE}{suffix}", "")  # of a plan file
        for stanza in libraries.values():
            if "again" in stanza:  # it is measured in the other's environment, by the other's adapter
                continue
            for suffix in (".in", ".txt", ".yaml"):
                self.write(f"envs/{stanza['environment']}{suffix}", "")
            for module, exports in _modules(stanza).items():
                self.write(f"workflow/augmark/libraries/{module}.py", f"{exports} = None\n")

    def write(self, path: str, text: str) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def replace(self, path: str, old: str, new: str) -> None:
        """Replace a text that must be in the file."""
        text = (self.root / path).read_text(encoding="utf-8")
        assert old in text, f"{path} has no {old!r}"
        self.write(path, text.replace(old, new, 1))

    @contextmanager
    def edit(self, name: str) -> Iterator[Any]:
        """The value of ``config/<name>.yaml``, written back when the block ends."""
        path = self.root / "config" / f"{name}.yaml"
        value = yaml.safe_load(path.read_text(encoding="utf-8"))
        yield value
        path.write_text(yaml.safe_dump(value, sort_keys=False, allow_unicode=True), encoding="utf-8")

    def problems(self) -> list[Problem]:
        """All problems of the tree; none if it loads."""
        return problems_of(self.root, self.overrides)


def problems_of(root: Path, overrides: dict[str, Any]) -> list[Problem]:
    """All problems of a configuration; none if it loads."""
    try:
        load(root, overrides)
    except ConfigErrors as error:
        return error.problems
    return []
