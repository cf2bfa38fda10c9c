"""Batched and compiled: what Kornia's and torchvision's variants share."""

from __future__ import annotations

import functools
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
import torch._dynamo
import torch._inductor.config

from augmark.libraries.base import Adapter, Apply, Params, Unsupported
from augmark.libraries.regimes_common import Prepared, Variant, equal_groups

FROZEN = "fail_on_recompile"  # torch's stance while a row is timed, and a word of its error
# Draws that must pass without anything being compiled, before a row is timed, and how many are tried.
SETTLED, TRIED = 64, 400


class Batched(Variant):
    """Batches of ``size`` items of one shape, transformed by one call: tensors (B, C, H, W).

    Args:
        draws: What the library does for a batch: ``per-sample`` or ``per-batch``.
        per_sample: Transforms that draw per sample all the same.
    """

    def __init__(
        self,
        adapter: Adapter,
        size: int,
        *,
        draws: str,
        per_sample: frozenset[str] = frozenset(),
    ) -> None:
        super().__init__(adapter)
        self.group, self.draws, self._per_sample = size, draws, per_sample
        self.form = f"{adapter.dtype} BCHW, B = {size}{' in [0, 1]' if adapter.dtype == 'float32' else ''}"

    def draws_of(self, transform: str) -> str | None:
        """``draws`` of one transform, where it is random."""
        return "per-sample" if transform in self._per_sample else self.draws

    def groups(self, items: Sequence[np.ndarray]) -> list[list[int]]:
        """Which items each batch holds: those of the commonest shape, in their order.

        Raises:
            Unsupported: No shape has enough items for a batch.
        """
        return equal_groups(items, self.group)

    def together(self, items: Sequence[np.ndarray]) -> torch.Tensor:
        """Make a contiguous tensor (B, C, H, W) of B decoded items of one shape."""
        return torch.stack([self._single(item) for item in items])

    def _single(self, item: np.ndarray) -> torch.Tensor:
        """One item as (C, H, W), whether the adapter's native has an axis for a batch of one or none."""
        native = self.native(item)
        return native.reshape(native.shape[-3:])

    def samples(self, output: torch.Tensor) -> list[np.ndarray]:
        """Turn a batch (B, C, H, W) into B arrays, H x W x C."""
        return list(output.permute(0, 2, 3, 1).contiguous().numpy())

    def to_numpy(self, output: torch.Tensor) -> np.ndarray:
        """Turn the first item of a batch into H x W x C."""
        return output[0].permute(1, 2, 0).contiguous().numpy()


class Compiled(Variant):
    """``torch.compile`` of what the adapter builds, with its defaults: inductor, graph breaks allowed.

    Where dynamo cannot follow the code (``Tensor.item()`` of a drawn number, a branch on one), it breaks the
    graph: the parts are compiled, what lies between runs in Python. Such a row is flagged ``graph-breaks``.
    What would be eager code under the name of compiled is ``Unsupported``: nothing is compiled at all, or
    code is compiled anew for other draws until dynamo reaches its limit (eight times) and goes on in eager
    (torch 2.14: torchvision's ``Rotate``, whose angle becomes a constant of the code). A new shape of item is
    compiled with variable sizes, as by default.

    Compilation runs in this process, not in a pool of others, so that nothing works beside a timer. Its cache
    is a folder of this object: a first call is that of a machine that has not compiled this before. What
    every first compilation needs (imports, the compiler's start) is done once when the object is made.
    """

    def __init__(self, adapter: Adapter) -> None:
        super().__init__(adapter)
        self.form = f"{adapter.form}, compiled"
        self._cache = tempfile.TemporaryDirectory(prefix="augmark-compiled-")
        self._lacking = _start_compiler(self._cache.name)

    def build(self, transform: str, params: Params) -> Apply:
        """Return the compiled transform; it is compiled by its first call.

        Raises:
            KeyError: The library does not offer ``transform``.
            Unsupported: This machine cannot compile; from the callable, that it would go on in eager.
        """
        if self._lacking:
            raise Unsupported(self._lacking)
        torch.compiler.set_stance("default")  # what the last row was timed under forbids to compile
        torch.compiler.reset()
        torch._dynamo.utils.counters.clear()
        code = torch.compile(self.adapter.build(transform, params))

        def apply(item: torch.Tensor) -> torch.Tensor:
            try:
                return code(item)
            except torch._dynamo.exc.FailOnRecompileLimitHit as error:
                raise Unsupported(_limit_reached()) from error
            except torch._dynamo.exc.TorchDynamoException as error:
                raise Unsupported(f"torch.compile cannot compile it: {_first_line(str(error))}") from error
            except RuntimeError as error:
                if FROZEN not in str(error):
                    raise
                raise Unsupported(
                    "torch.compile compiles anew while it is timed, for another draw"
                ) from error

        return apply

    def prepare(self, apply: Apply, natives: Sequence[torch.Tensor]) -> Prepared:
        """Compile for every shape and for what the draws lead to; from then on, compiling again is an error.

        Raises:
            Unsupported: Nothing is compiled, or it would be compiled again and again.
        """
        start = time.perf_counter()
        apply(natives[0])
        first = time.perf_counter() - start
        for native in {native.shape: native for native in natives}.values():
            apply(native)
        quiet = 0
        for call in range(TRIED):
            before = _compilations()
            apply(natives[call % len(natives)])
            quiet = quiet + 1 if _compilations() == before else 0
            if quiet == SETTLED:
                break
        else:
            raise Unsupported(f"torch.compile still compiles anew after {TRIED} calls, for other draws")
        counters = torch._dynamo.utils.counters
        if not counters["stats"]["calls_captured"]:
            why = _first_line(next(iter(counters["graph_break"]), "it does not say why"))
            raise Unsupported(f"torch.compile falls back to eager, nothing is compiled: {why}")
        torch.compiler.set_stance(FROZEN)
        return Prepared(first, ["graph-breaks"] if counters["graph_break"] else [])


@functools.cache
def compiled(adapter: Adapter) -> Compiled:
    """The one ``Compiled`` of an adapter in this process: starting the compiler takes seconds."""
    return Compiled(adapter)


def _compilations() -> int:
    return torch._dynamo.utils.counters["stats"]["unique_graphs"]


def _first_line(text: str) -> str:
    return text.strip().split("\n")[0][:160]


def _limit_reached() -> str:
    limit = torch._dynamo.config.recompile_limit
    return f"torch.compile falls back to eager: it compiles anew for other draws, up to its limit of {limit}"


def _start_compiler(folder: str) -> str | None:
    """Configure the compiler and try it on a trivial function.

    Returns:
        Why nothing can be compiled here, or None.
    """
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
    torch._inductor.config.compile_threads = 1
    torch._dynamo.config.fail_on_recompile_limit_hit = True
    trial: Callable[[Any], Any] = torch.compile(lambda item: item * 2 + 1)
    try:
        trial(torch.zeros(8))
    except Exception as error:
        return f"torch.compile needs a C++ compiler and Python's headers here: {_first_line(str(error))}"
    return None
