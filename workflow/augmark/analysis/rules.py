"""What the policy says about statistics, as the analysis reads it from a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from augmark.errors import AugmarkError

AGAIN = "control-aa"  # one of the libraries a second time
_OF_THE_PLAN = ("claims", "again", "may_differ")


@dataclass(frozen=True)
class Rules:
    """The stanza ``statistics`` of policy.yaml, whose comments say why each value is what it is.

    ``claims``: whether the fastest and its ties may be called so. ``again``: the library that ``control-aa``
    is; None where nothing is measured again. ``may_differ``: fields of the contract that may differ between
    rows that are compared.
    """

    confidence: float
    margin: float
    unstable_cv: float
    interval_from_repeats: int
    bca_from_repeats: int
    p95_from_values: int
    false_discovery_rate: float
    drift_p: float
    floor_quantile: float
    claims: bool = True
    again: str | None = None
    may_differ: tuple[str, ...] = ()

    @classmethod
    def of_plan(cls, plan: Mapping[str, Any]) -> Rules:
        """Take the rules from the plan's policy.

        Raises:
            AugmarkError: One of them is not there.
        """
        stanza = plan["policy"].get("statistics", {})
        names = [name for name in cls.__dataclass_fields__ if name not in _OF_THE_PLAN]
        if missing := [name for name in names if name not in stanza]:
            raise AugmarkError(
                f"statistics/{missing[0]} is missing",
                where="policy of the plan",
                remedy="make the plan again: its policy is of another version of augmark",
            )
        return cls(
            **{name: stanza[name] for name in names},
            # A depth with a stamp says of itself that it claims nothing, however many repeats it is given.
            claims=not plan.get("stamp"),
            again=plan.get("libraries", {}).get(AGAIN, {}).get("again"),
            may_differ=tuple(plan["policy"].get("comparison", {}).get("may_differ", ())),
        )
