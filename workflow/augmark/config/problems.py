"""What is wrong with a configuration: one problem each, all of them in one error."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from augmark.errors import AugmarkError

# Every rule there is. The tests hold a failing example of each.
RULES = {
    "missing-file": "Every file of the configuration is there and can be read.",
    "yaml-syntax": "It is YAML.",
    "yaml-key": "Every key is text (`on` and `yes` are booleans to YAML).",
    "yaml-duplicate": "No key stands twice in one mapping.",
    "unknown-key": "Every key is one that the schema, or the command line, knows.",
    "schema": "Every value has the type and range of the schema.",
    "unknown-library": "A library that is named is declared in libraries.yaml.",
    "unknown-transform": "A transform that is named is declared in transforms.yaml.",
    "unknown-scenario": "A scenario that is named is declared in scenarios.yaml.",
    "unknown-mode": "A mode that is named is one of the scenario's.",
    "unknown-view": "A view that is named is one that items can be made of.",
    "unknown-device": "A device that is named is one of a machine's.",
    "unknown-machine": "A machine that is named is declared in machines.yaml.",
    "unknown-quota": "A quota that a machine's host takes of is limited in a profile.",
    "unknown-depth": "A depth that is named has its file in config/depths.",
    "unknown-dataset": "A dataset that is named is declared in datasets.yaml.",
    "unknown-campaign": "A campaign that is named is declared in tables.yaml.",
    "duplicate": "No list holds a value twice.",
    "announced-and-declared": "A scenario is either announced or declared.",
    "empty-scenario": "Every scenario has transforms.",
    "lonely-transform": "Every transform is offered by two libraries or more in each declared scenario.",
    "outside-scenario": "A library offers only transforms of the scenario's set.",
    "offered-and-unsupported": "No transform is both offered and unsupported.",
    "chunked-nothing": "What runs in chunks of three channels is offered, and there are such chunks.",
    "again-of-control": "What is measured again is a library.",
    "unknown-fact": "What may differ between rows that are compared is a fact that rows have.",
    "unknown-plan": "A plan file that is named is one of config/plans.",
    "plan-name": "A plan file's name is an id: letters, digits and dashes.",
    "plan-roles": "Every group has one baseline, and one group at least a candidate.",
    "plan-condition": "A condition's id is no other condition's and no library's.",
    "plan-alike": "No two conditions of a plan file are alike in everything.",
    "plan-library": "A condition is of a library, no control, that has the scenario, mode and device.",
    "plan-setting": "A condition sets what its mode has, and one axis at most that needs code of its own.",
    "plan-variable": "A variable is one that policy.yaml allows: no secret, no search path, not ours.",
    "plan-key": "A key that a plan file decides is not given on the command line beside it.",
    "missing-loader": "A scenario with DataLoader modes says its batch size and workers.",
    "wrong-channels": "A scenario has three channels for each of its views.",
    "sweep": "A sweep names modes and libraries that have its axis, and values that can be had.",
    "control-transform": "Controls offer the controls' transforms, and libraries all others.",
    "exclusion-of-nothing": "Every exclusion takes out something that the library offers.",
    "missing-adapter": "Every library has its adapter module.",
    "missing-environment": "Every library has its environment's three files.",
    "stray-adapter": "Every adapter module is a library's.",
    "stray-environment": "Every environment file is a library's, or the workflow's own.",
    "pinned-not-param": "A key that is pinned, or other in recipes, is one of the transform's parameters.",
    "not-pinned": "A random transform says how to pin it, or why that cannot be done; never both.",
    "param-unit": "A number's name ends with its unit or quantity.",
    "difference-of-nothing": "A difference is said of a library that offers the transform.",
    "bad-pattern": "A machine's cpu_model, or gpu_model, is a regular expression.",
    "missing-path": "A chosen dataset that is a file or folder is there.",
    "no-source": "A chosen dataset has a source, or is staged already.",
    "undeclared-digest": "A dataset that is downloaded has its digest declared.",
    "unsupported-source": "A dataset comes from where this version can stage it from.",
    "wrong-medium": "A dataset holds what its scenario is made of.",
    "idle-machine": "Every machine of a campaign feeds one of its tables.",
    "empty-table": "Every table has cells in each of its campaigns.",
    "idle-campaign": "Every campaign feeds a table.",
    "missing-items": "A depth says how many items for the medium of every scenario.",
    "out-of-range": "Items, repeats, threads, workers and batch size are numbers that can be had.",
    "selects-nothing": "What is selected is not empty, and every name that is given selects something.",
    "no-effect": "A key that is given on the command line changes something.",
    "claim": "A claim says what its kind needs, of two libraries that can be compared.",
    "claim-of-nothing": "What a claim is about can be measured: by both libraries, there, on that machine.",
}


@dataclass(frozen=True)
class Problem:
    """One thing to mend.

    Attributes:
        rule: Kebab-case id of the rule that is broken.
        file: File relative to the root, or ``--config`` for what the command line said.
        key: Dotted path inside the file; empty for the file as a whole.
        message: What is wrong, with the offending value in it.
        hint: The nearest valid name or what would be valid; may be empty.
    """

    rule: str
    file: str
    key: str
    message: str
    hint: str = ""

    def __post_init__(self) -> None:
        assert self.rule in RULES, f"no such rule: {self.rule}"

    def __str__(self) -> str:
        place = f"{self.file}: {self.key}" if self.key else self.file
        hint = f" ({self.hint})" if self.hint else ""
        return f"{place}: {self.message}{hint} [{self.rule}]"


class ConfigErrors(AugmarkError):
    """Everything that is wrong with the configuration, numbered."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = list(problems)
        count = len(self.problems)
        lines = [f"  {number}. {problem}" for number, problem in enumerate(self.problems, 1)]
        noun = "problem" if count == 1 else "problems"
        super().__init__("\n".join([f"{count} {noun} in the configuration:", *lines]))


def nearest(value: Any, names: Iterable[str]) -> str:
    """The hint for an unknown name: the nearest valid one, or all of them where none is near."""
    valid = sorted(set(names))
    folded = {name.casefold(): name for name in valid}
    close = difflib.get_close_matches(str(value).casefold(), folded, n=1, cutoff=0.6)
    if close:
        return f"did you mean {folded[close[0]]}?"
    if not valid:
        return "there are none"
    shown = ", ".join(valid[:12])
    return f"valid: {shown}" + (", ..." if len(valid) > 12 else "")


class Anything:
    """The names of a file that cannot be read: any name may be one of them, so none is called unknown."""

    def __contains__(self, name: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(())


def unknown(kind: str, file: str, key: str, value: Any, names: Iterable[str]) -> Problem:
    """A name that nothing declares; the rule is ``unknown-<kind>``."""
    return Problem(f"unknown-{kind}", file, key, f"no such {kind}: {value}", nearest(value, names))


def unknown_names(
    kind: str, file: str, key: str, values: Iterable[str], names: Anything | Collection[str]
) -> Iterator[Problem]:
    """A problem for every value that is none of the names."""
    return (unknown(kind, file, key, value, names) for value in values if value not in names)


def duplicates(file: str, key: str, values: Any) -> list[Problem]:
    """A problem for every value that a list holds more than once."""
    if not isinstance(values, list):
        return []
    repeated = sorted({str(value) for value in values if values.count(value) > 1})
    return [Problem("duplicate", file, key, f"listed twice: {value}") for value in repeated]
