"""A failing example of every rule: each breaks one thing in a valid tree.

An example is a function of a tree; its decorator names the rule, the file and key of the problem that it must
lead to, and a text that the problem must hold (the nearest valid name, where there is one).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.config.tree import Tree

LIBRARIES, TRANSFORMS = "config/libraries.yaml", "config/transforms.yaml"
SCENARIOS, MACHINES = "config/scenarios.yaml", "config/machines.yaml"
DATASETS, TABLES = "config/datasets.yaml", "config/tables.yaml"
CLAIMS = "config/claims.yaml"
CONFIG, POLICY, LINE = "config/config.yaml", "config/policy.yaml", "--config"
MIN, MAX = "config/depths/min.yaml", "config/depths/max.yaml"
PRO = "config/depths/pro.yaml"
PILLOW = "pillow.scenarios.image-rgb"
NINE = "torchvision.scenarios.image-9ch"


@dataclass(frozen=True)
class Example:
    """What breaks the tree, and the problem that must come of it."""

    rule: str
    file: str
    key: str
    text: str
    break_it: Callable[[Tree], None]


EXAMPLES: list[Example] = []


def example(rule: str, file: str, key: str, text: str) -> Callable[[Callable[[Tree], None]], None]:
    def register(break_it: Callable[[Tree], None]) -> None:
        EXAMPLES.append(Example(rule, file, key, text, break_it))

    return register


def given(rule: str, key: str, text: str, **overrides: object) -> None:
    """An example of something wrong on the command line."""

    def break_it(tree: Tree) -> None:
        tree.overrides = dict(overrides)

    EXAMPLES.append(Example(rule, LINE, key, text, break_it))
