"""Runs inside a torch library's environment: what ``Compiled`` says of code that is not compiled in truth.

Prints one JSON object: case -> the reason of ``Unsupported``, or None where there was none.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workflow"))

from augmark.libraries.base import Unsupported
from augmark.libraries.regimes_torch import Compiled

drawn: dict[str, Any] = {"words": map(str, itertools.count()), "calls": itertools.count()}


def honest(item: torch.Tensor) -> torch.Tensor:
    return item * 2


def fixed_by_a_draw(item: torch.Tensor) -> torch.Tensor:
    """A text is a constant of the compiled code, and it is another on every call."""
    return add(item, next_word())


@torch._dynamo.disable
def next_word() -> str:
    return next(drawn["words"])


def add(item: torch.Tensor, word: str) -> torch.Tensor:
    return item + int(word)


@torch._dynamo.disable
def out_of_sight(item: torch.Tensor) -> torch.Tensor:
    return item * 2


def hidden(item: torch.Tensor) -> torch.Tensor:
    return out_of_sight(item)


@torch._dynamo.disable
def late_word() -> str:
    return "late" if next(drawn["calls"]) > 300 else "early"


def changes_late(item: torch.Tensor) -> torch.Tensor:
    return item + len(late_word())


class Adapter:
    form, dtype, builders = "float32", "float32", ()

    def build(self, transform: str, params: dict[str, Any]) -> Callable[[torch.Tensor], torch.Tensor]:
        return globals()[transform]


def reason(variant: Compiled, name: str, item: torch.Tensor) -> str | None:
    try:
        apply = variant.build(name, {})
        variant.prepare(apply, [item])
        for _ in range(400):
            apply(item)
    except Unsupported as unsupported:
        return str(unsupported)
    return None


def main() -> None:
    variant = Compiled(Adapter())
    names = ["honest", "fixed_by_a_draw", "hidden", "changes_late", "honest"]
    print(json.dumps({name: reason(variant, name, torch.zeros(4, 5)) for name in names}))


if __name__ == "__main__":
    main()
