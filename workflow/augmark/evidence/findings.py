"""What a check finds: in which file, by which rule, what, and what to do about it. Standard library only."""

from __future__ import annotations

from dataclasses import asdict, dataclass

# Rule -> what it asks of the evidence. `docs/reproducing.md` lists the same.
RULES = {
    "missing-cell": "every planned cell has a record",
    "record-file": "a record is JSON that can be read",
    "record-schema": "a record follows the JSON Schema of the version that it names",
    "record-seal": "a record's content is what was sealed when it was written",
    "record-path": "a record is of the cell and the digest that its path names",
    "record-digest": "a cell's digest follows from its rows",
    "row-digest": "a row's digest follows from what the record says was measured",
    "planned-rows": "a record has the planned rows, all of them and no other",
    "row-status": "a row has numbers where its status says so, else a reason",
    "row-seconds": "seconds are positive and add up",
    "record-facts": "what a record says of lock, items and code is what its definition asks for",
    "order": "the order of measuring follows from the times in the records",
    "records-parquet": "records.parquet is what the records give",
    "pyperf-file": "a pyperf file is what its record gives",
    "probe-file": "a probe is the planned one, and what was sealed when it was written",
    "probe-record": "a record was measured from the probe that is there",
    "sample-file": "a sample archive is the one that its probe kept, and holds what it says",
    "topup": "a stage of topup is what schedule, rule and records give",
    "published-file": "every product is there and is what the records give",
    "published-number": "a printed figure is the one that the records give",
    "claim": "a claim is carried by the records",
}


@dataclass(frozen=True, order=True)
class Finding:
    """Something that does not hold.

    Attributes:
        file: Which file (with a line or row where there is one).
        rule: An id of ``RULES``.
        what: What was found, with the value in it.
        remedy: What to do about it.
    """

    file: str
    rule: str
    what: str
    remedy: str

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise ValueError(f"no such rule: {self.rule}")

    def as_dict(self) -> dict[str, str]:
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.file}: {self.rule}: {self.what}\n  remedy: {self.remedy}"
