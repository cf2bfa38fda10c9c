"""The modes: what each times, and which modules measure it. Standard library only: both sides import it.

A mode is one of the library's modules seen by one of the worker's; what code knows of modes stands here.
"""

from __future__ import annotations

from dataclasses import dataclass

PLAIN = "plain"  # the condition of every row that is not part of a sweep


@dataclass(frozen=True)
class Mode:
    """One mode.

    Attributes:
        title: What is timed, in a few words.
        runner: Module of the worker that tries and times its rows (it has a ``Bench``).
        suffix: Of the library's module, after the adapter's name.
        export: What that module exports.
        batched: Whether batches, workers and epochs are part of it.
        decodes: Whether encoded files are read inside the timer.
        copies: Whether batches are copied to a device, so that it is planned only where there is one.
    """

    title: str
    runner: str
    suffix: str
    export: str
    batched: bool = False
    decodes: bool = False
    copies: bool = False


_MICRO, _PIPELINE = "augmark.worker.micro", "augmark.worker.pipeline"
MODES = {
    "micro": Mode("the transform alone, items in memory", _MICRO, "", "adapter"),
    "decode": Mode("JPEG decoding alone, bytes in memory", _MICRO, "_decoder", "decoder", decodes=True),
    "dataloader-memory": Mode(
        "a DataLoader over decoded items", _PIPELINE, "_recipe", "recipe", batched=True
    ),
    "dataloader-decode": Mode(
        "a DataLoader over files on disk", _PIPELINE, "_recipe", "recipe", batched=True, decodes=True
    ),
    "dataloader-copy": Mode(
        "as dataloader-decode, then each batch copied to a device",
        _PIPELINE,
        "_recipe",
        "recipe",
        batched=True,
        decodes=True,
        copies=True,
    ),
}


def mode_facts(mode: str) -> Mode:
    """The facts of a mode; those of ``micro`` for a name that is none (the configuration check says so)."""
    return MODES.get(mode, MODES["micro"])


def library_module(adapter: str, mode: str) -> str:
    """Dotted name of the module that a library is measured through in a mode."""
    return f"augmark.libraries.{adapter}{MODES[mode].suffix}"


def regimes_module(adapter: str) -> str:
    """Dotted name of the module that holds a library's other ways of doing the same transforms."""
    return f"augmark.libraries.{adapter}_regimes"


def accelerator(devices: list[str]) -> str | None:
    """The device that batches are copied to on a machine; None where there is none."""
    return next((device for device in devices if device != "cpu"), None)
