"""What a loaded configuration is, and what it is while it is being read."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from augmark.config.problems import Anything, Problem

LIST_KEYS = ("scenarios", "modes", "libraries", "transforms", "devices")
NUMBER_KEYS = ("items", "repeats", "batch_size", "workers", "threads")
TEXT_KEYS = ("campaign", "plan", "depth", "images", "clips", "output", "refresh")
KEYS = (*TEXT_KEYS[:5], *LIST_KEYS, *NUMBER_KEYS, *TEXT_KEYS[5:])
COMMAND_LINE = "--config"


@dataclass(frozen=True)
class Settings:
    """The configuration as it holds for this call. Every stanza is a plain dict, in the file's order.

    Attributes:
        root: The project's root; relative paths of the configuration start here.
        config: config.yaml with the overrides in it. List keys are lists, ``"all"`` or None; ``depth`` is
            never None (the campaign's where no other is named).
        overrides: What the command line said, typed; only what differs from the file's own value.
        depth: The chosen depth's file, with its ``name``.
        depths: Every depth by name, in the same form.
        announced: Scenario names that transforms may use although this version does not measure them.
        claims: What is said of the libraries, as it stands in the file.
        again: Stanzas of libraries.yaml that measure another one a second time, as they stand in the file;
            once all is checked, ``libraries`` has them in full (``again.with_again``).
        questions: Every plan file by name, in its normal form (``questions.normalise``).
        question: The plan file that is carried out, normalised; None for a campaign.
    """

    root: Path
    config: dict[str, Any]
    overrides: dict[str, Any]
    libraries: dict[str, Any]
    transforms: dict[str, Any]
    scenarios: dict[str, Any]
    machines: dict[str, Any]
    datasets: dict[str, Any]
    tables: dict[str, Any]
    campaigns: dict[str, Any]
    policy: dict[str, Any]
    depth: dict[str, Any]
    depths: dict[str, Any] = field(default_factory=dict)
    announced: dict[str, str] = field(default_factory=dict)
    claims: dict[str, Any] = field(default_factory=dict)
    again: dict[str, Any] = field(default_factory=dict)
    questions: dict[str, Any] = field(default_factory=dict)
    question: dict[str, Any] | None = None


@dataclass
class Draft:
    """What could be read, before it is known to be right.

    Attributes:
        files: Name of a file of ``config/`` -> its stanzas, without those that their schema refuses.
        depths: Name -> file, without those that the schema refuses.
        plans: Name -> plan file, likewise.
        overrides: As in ``Settings``.
        broken: Names of the files that lost a stanza: rules that need a file whole skip it.
        declared: Section -> every name that it declares, broken stanzas included; ``Anything`` where the file
            cannot be read.
        problems: What the reading found.
    """

    root: Path
    files: dict[str, Any] = field(default_factory=dict)
    depths: dict[str, Any] = field(default_factory=dict)
    plans: dict[str, Any] = field(default_factory=dict)
    overrides: dict[str, Any] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    declared: dict[str, Anything | list[str]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
