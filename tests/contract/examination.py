"""What the tests of the adapters share: what is offered, and what each transform was seen to do."""

from __future__ import annotations

import functools
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]


def _read(name: str) -> dict[str, Any]:
    return yaml.safe_load((ROOT / "config" / name).read_text(encoding="utf-8"))


# What measures another library again has no adapter of its own to hold to a contract.
LIBRARIES = {name: stanza for name, stanza in _read("libraries.yaml").items() if "again" not in stanza}
TRANSFORMS = _read("transforms.yaml")
SCENARIOS = _read("scenarios.yaml")["scenarios"]
# Every (library, scenario, transform).
OFFERS = [
    (library, scenario, name)
    for library, stanza in LIBRARIES.items()
    for scenario, offer in stanza["scenarios"].items()
    for name in offer["transforms"]
]


def stanza_of(library: str, scenario: str, transform: str) -> dict[str, Any]:
    """A transform's stanza in one scenario, with the reason for chunks, and as it is for RGB images."""
    stanza = TRANSFORMS[transform]
    merged = dict(stanza)
    for key, value in stanza.get("by_scenario", {}).get(scenario, {}).items():
        merged[key] = {**stanza.get(key, {}), **value}
    reason = LIBRARIES[library]["scenarios"][scenario].get("chunked", {}).get(transform)
    return {**merged, "rgb": stanza, **({"chunked": reason} if reason else {})}


@functools.cache
def examine(python: str, library: str, scenario: str) -> dict[str, dict[str, Any]]:
    """Run ``check_adapter.py`` once: transform name -> what it does, ``""`` -> the adapter."""
    about = LIBRARIES[library]
    names = about["scenarios"][scenario]["transforms"]
    quiet = {"ALBUMENTATIONS_NO_TELEMETRY": "1", "ALBUMENTATIONS_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    check, channels = ROOT / "tests" / "contract" / "check_adapter.py", SCENARIOS[scenario]["channels"]
    done = subprocess.run(
        [python, "-I", str(check), about["adapter"], str(channels)],
        input=json.dumps({name: stanza_of(library, scenario, name) for name in names}),
        env={**os.environ, **quiet},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {line.get("transform", ""): line for line in lines}
