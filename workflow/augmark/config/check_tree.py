"""Rules about what must lie on disk for a stanza: modules, locks, data. And the other way round."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from augmark.config.problems import Problem, nearest
from augmark.config.questions import conditions_of
from augmark.config.settings import Draft, Settings
from augmark.modes import MODES

LIBRARIES = "config/libraries.yaml"
ENVIRONMENT_FILES = (".in", ".txt", ".yaml")
OWN_ENVIRONMENT = "workflow"  # of the workflow itself, in which no library runs
SHARED_MODULES = {"base", "__init__"}
_ADAPTER = re.compile(r"^(adapter\s*[:=]|from .+ import .*\badapter\b)", re.MULTILINE)


def check_adapters(draft: Draft, settings: Settings) -> Iterator[Problem]:
    """A stanza has its module (or package) below workflow/augmark/libraries, and an adapter its stanza.

    An adapter is a module that has ``adapter`` at its top level; others there are what adapters share.
    """
    folder = draft.root / "workflow" / "augmark" / "libraries"
    paths = [*folder.glob("*.py"), *folder.glob("*/__init__.py")]
    files = {
        (path.parent if path.parent != folder else path).stem: path.relative_to(draft.root).as_posix()
        for path in paths
    }
    wanted = {module for stanza in settings.libraries.values() for module in _modules(stanza)}
    # A library's other ways of doing its transforms are there for whoever sweeps them.
    wanted |= {f"{stanza['adapter']}_regimes" for stanza in settings.libraries.values()}
    for library, stanza in settings.libraries.items():
        for module in _modules(stanza):
            if module not in files:
                what = f"no module workflow/augmark/libraries/{module}.py"
                hint = nearest(module, set(files) - SHARED_MODULES)
                yield Problem("missing-adapter", LIBRARIES, f"{library}.adapter", what, hint)
    if "libraries" in draft.broken:
        return
    for module in sorted(set(files) - wanted - SHARED_MODULES):
        if _ADAPTER.search((draft.root / files[module]).read_text(encoding="utf-8")):
            what = "no stanza of libraries.yaml has this adapter"
            yield Problem("stray-adapter", files[module], "", what, nearest(module, wanted))


def _modules(stanza: dict[str, Any]) -> list[str]:
    """The adapter, and a module for each further way in which the stanza's modes need the library."""
    modes = [mode for offer in stanza["scenarios"].values() for mode in offer["modes"] if mode in MODES]
    return list(
        dict.fromkeys([stanza["adapter"], *(stanza["adapter"] + MODES[mode].suffix for mode in modes)])
    )


def check_environments(draft: Draft, settings: Settings) -> Iterator[Problem]:
    """A stanza has ``envs/<environment>.in``, ``.txt`` and ``.yaml``, and such a file its stanza."""
    folder = draft.root / "envs"
    present = {path.name for path in folder.glob("*") if path.suffix in ENVIRONMENT_FILES}
    had = {Path(name).stem for name in present} - {OWN_ENVIRONMENT}
    wanted: set[str] = set()
    for library, stanza in settings.libraries.items():
        environment = stanza["environment"]
        missing = missing_files(draft.root, environment)
        if missing and environment not in wanted:
            what = f"missing: {', '.join(missing)}"
            place = f"{library}.environment"
            yield Problem("missing-environment", LIBRARIES, place, what, nearest(environment, had))
        wanted.add(environment)
    wanted |= {
        each["environment"] for asked in settings.questions.values() for _, each in conditions_of(asked)
    }
    if draft.broken & {"libraries", "plans"}:
        return
    for name in sorted(present):
        if Path(name).stem not in {*wanted, OWN_ENVIRONMENT}:
            what = "no stanza of libraries.yaml has this environment, and no plan file"
            yield Problem("stray-environment", f"envs/{name}", "", what, nearest(Path(name).stem, wanted))


def missing_files(root: Path, environment: str) -> list[str]:
    """The files of an environment that are not there."""
    names = [f"envs/{environment}{suffix}" for suffix in ENVIRONMENT_FILES]
    return [name for name in names if not (root / name).is_file()]
