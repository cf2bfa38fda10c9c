"""What stands under a table about its mode and its scenario: what is timed, in which loader, on what."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from augmark.analysis.numbers import joined
from augmark.analysis.planned import PlanContent, definition_key, library_title
from augmark.modes import MODES, PLAIN, library_module
from augmark.record import MEASURED

PACKAGE = Path(__file__).resolve().parents[1]
_LOADER = (
    "Timed: whole epochs of a PyTorch DataLoader, from the start of an epoch until its last batch has "
    "arrived {where}. In a worker process each item{read} goes through the library's recipe: RandomCrop224 "
    "(a row that crops takes its place), the transform, Normalize, ToTensor; then default collation."
)
_FILE = ", read from its JPEG file and decoded by the library's decoder,"
# One sentence per mode of what lies inside the timer.
TIMED = {
    "micro": (
        "Timed: the transform alone, one item after the other, and its output made real (contiguous in "
        "memory, loaded for Pillow); the items are decoded and in the library's native form beforehand."
    ),
    "decode": (
        "Timed: JPEG decoding alone, one file after the other, from bytes in memory to RGB pixels in the "
        "decoder's own form, all of them there."
    ),
    "dataloader-memory": _LOADER.format(
        where="in the main process", read=", decoded and in memory beforehand,"
    ),
    "dataloader-decode": _LOADER.format(where="in the main process", read=_FILE),
    "dataloader-copy": _LOADER.format(where="on the device, synchronised", read=_FILE),
}
POLICIES = {
    "pipeline-single-worker": "one thread in every pool of a worker",
    "pipeline-default": "the pools of a worker as torch and the library leave them",
}


def notes_of_mode(plan: PlanContent, summary: pd.DataFrame, raw: pd.DataFrame) -> list[str]:
    """Sentences about what was timed.

    Args:
        summary, raw: The table's lines without controls: over the repeats, and one per repeat.
    """
    if summary.empty:
        return []
    scenario, mode = summary["scenario"].iloc[0], summary["mode"].iloc[0]
    notes = [TIMED[mode]]
    if MODES[mode].decodes:
        notes.append(_decoders(plan, summary, mode))
    if MODES[mode].batched:
        notes += [_loader(plan, summary, raw), _apart(raw)]
    return [note for note in [*notes, _channels(plan, scenario), _chunked(plan, summary)] if note]


@cache
def decoder_title(adapter: str) -> str | None:
    """The name of a library's JPEG decoder, read from its module, which only its environment can import."""
    path = PACKAGE / "libraries" / f"{library_module(adapter, 'decode').rpartition('.')[2]}.py"
    if not path.is_file():
        return None
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["title"]:
            return str(ast.literal_eval(node.value))
    return None


def _definitions(plan: PlanContent, summary: pd.DataFrame) -> dict[str, Any]:
    """Library -> its definition in the table's scenario and mode."""
    places = summary[["scenario", "mode", "library", "device"]].drop_duplicates()
    return {place[2]: plan["definitions"][definition_key(*place)] for place in places.itertuples(index=False)}


def _decoders(plan: PlanContent, summary: pd.DataFrame, mode: str) -> str:
    named, definitions = [], _definitions(plan, summary)
    for library, definition in definitions.items():
        if title := decoder_title(definition.get("adapter", "")):
            named.append(f"{library_title(plan, library)}: {title}")
    if not named:
        return ""
    tolerance = _words(each["timing"].get("tolerance_mean_levels", "?") for each in definitions.values())
    exact = (
        f" Pixels may be {tolerance} levels off Pillow's, in the mean of an image."
        if mode == "decode"
        else ""
    )
    return f"Decoders: {'; '.join(named)}. JPEG files only.{exact}"


def _loader(plan: PlanContent, summary: pd.DataFrame, raw: pd.DataFrame) -> str:
    """Workers, batches and epochs: of rows in full, whose slow ones take fewer items in smaller batches."""
    rows = raw[raw["status"].isin(MEASURED) & raw["workers"].notna()]
    if rows.empty:
        return ""
    full = rows[rows["status"] == "ok"]
    rows = full if len(full) else rows
    definitions = _definitions(plan, summary).values()
    loaders = [row["loader"] for each in definitions for row in each["rows"] if row.get("loader")]
    starts = _words(loader["start_method"] for loader in loaders)
    policies = [f"{name} ({POLICIES[name]})" for name in dict.fromkeys(rows["thread_policy"].dropna())]
    copied = _words(rows["copy_to"].dropna())
    epochs = _words(each["timing"]["values"] for each in definitions)
    slow = " Slow rows: one timed epoch of fewer items." if (raw["status"] == "slow").any() else ""
    return (
        f"Loader: {_words(rows['workers'])} workers (started by {starts or 'an unknown method'}, kept over "
        f"the epochs), batches of {_words(rows['batch_size'])}, {_words(rows['prefetch_factor'])} batches "
        f"ahead per worker, thread policy {joined(policies)}"
        f"{f', batches copied to {copied}' if copied else ''}; a whole epoch of warm-up, then {epochs} timed "
        f"epoch{'' if epochs == '1' else 's'} of {_words(rows['items'])} items in each repeat, in a drawn "
        f"order that is the same for every library.{slow}"
    )


def _apart(raw: pd.DataFrame) -> str:
    there = raw[raw["startup_seconds"].notna()]
    if there.empty:
        return ""
    start, first = there["startup_seconds"].median(), there["first_epoch_seconds"].median()
    return (
        f"Not in these figures: the start of the workers (median of all rows {start:.2g} s) and the first "
        f"epoch ({first:.2g} s). Both are in bounds.csv for every row, with what the row is bound by."
    )


def _channels(plan: PlanContent, scenario: str) -> str:
    about = plan.get("scenarios", {}).get(scenario, {})
    if not about.get("views"):
        return ""
    return (
        f"An item has {about['channels']} channels: {len(about['views'])} different views of an RGB image, "
        f"stacked ({', '.join(about['views'])})."
    )


def _chunked(plan: PlanContent, summary: pd.DataFrame) -> str:
    """Which rows run on chunks of three channels; their footnotes say why."""
    rows = summary[summary["chunked"].notna() & (summary["condition"] == PLAIN)]
    named = [
        f"{library_title(plan, library)}: {', '.join(dict.fromkeys(lines['transform']))}"
        for library, lines in rows.groupby("library", sort=False)
    ]
    return f"On chunks of three channels, one after the other: {'; '.join(named)}." if named else ""


def _words(values: Iterable[Any]) -> str:
    """Different values, in their order; whole numbers without a point."""
    found = sorted(set(values))
    return joined([_word(value) for value in found]) if found else ""


def _word(value: Any) -> str:
    whole = pd.api.types.is_number(value) and float(value).is_integer()
    return f"{int(value):,}" if whole else str(value)
