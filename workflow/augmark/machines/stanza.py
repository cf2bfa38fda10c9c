"""The stanza of ``machines.yaml`` for the machine that this runs on, to be pasted there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from augmark.worker import described

_SPECIAL = re.compile(r"([.^$*+?{}\[\]\\|()])")


def pattern(text: str) -> str:
    """A regular expression that matches exactly this text; ``re.escape`` would escape its spaces too."""
    return "^" + _SPECIAL.sub(r"\\\1", text) + "$"


def quoted(text: str) -> str:
    """Text in YAML's single quotes, in which nothing but the quote is special."""
    return "'" + text.replace("'", "''") + "'"


def render(found: Mapping[str, Any], devices: list[str]) -> str:
    """YAML of the stanza, under a name that has to be chosen.

    Args:
        found: As ``described.identity`` gives it.
        devices: What this host can run on, ``cpu`` first.
    """
    memory = found["memory_bytes"]
    lines = [
        f"# {described.described(found)}",
        "my-machine:               # choose a name: it stands in paths and tables",
        f"  title: {quoted(_title(found))}",
        f"  vcpus: {_shown(found['cpus'])}",
        f"  cpu_model: {'null' if found['cpu_model'] is None else quoted(pattern(found['cpu_model']))}",
        f"  memory_gb: {'null' if memory is None else f'{memory / described.GIB:.1f}'}",
        f"  devices: [{', '.join(devices)}]",
    ]
    if found["gpus"]:
        names = "|".join(pattern(name) for name in dict.fromkeys(found["gpus"]))
        lines.append(f"  gpu_model: {quoted(names)}")
    return "\n".join(lines)


def _title(found: Mapping[str, Any]) -> str:
    return found["hardware"] or found["cpu_model"] or "a machine of mine"


def _shown(value: object) -> str:
    return "null" if value is None else str(value)


def devices_of(found: Mapping[str, Any], system: str) -> list[str]:
    """What a host can run on: Apple's own processors have a GPU that PyTorch calls ``mps``."""
    apple = system == "Darwin" and found["architecture"] == "arm64"
    return ["cpu", *(["cuda"] if found["gpus"] else []), *(["mps"] if apple else [])]
