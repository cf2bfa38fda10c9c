"""The machine as a reader is told it: what it was found to be, from the records and not from the plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from augmark.worker import described


def label_of(record: Mapping[str, Any], source: Mapping[str, Any]) -> str:
    """The label of the host that measured a row.

    Args:
        record: That holds the row.
        source: It, or what is known of the record that the row was carried from.
    """
    told = source.get("machine")
    if told:
        return told["label"]
    # Records before record/4 have facts of their host, those of schema 2 few, and no label of it.
    facts = {name: source["host"].get(name) for name in described.TOLD_BY}
    return described.label(record["cell"]["machine"], facts)


def machine_words(machine: str, rows: pd.DataFrame) -> str:
    """Every label that the rows have, each once; with the machine's id where a label does not name it.

    Args:
        machine: The machine's id.
        rows: With ``machine_label``, empty for rows that have no record.
    """
    labels = sorted(rows["machine_label"].dropna().unique())
    if not labels:
        return f"{machine}, of which there is no record"
    named = [label if machine in label else f"{machine}, {label}" for label in labels]
    return "; ".join(named)
