"""Where two files that should be the same are not, in words: line, row and column, found and recomputed."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

# A figure as tables print it: 82,700, 4.56, 1.16e-05, -3; not the digits in a name (fake2) or a digest.
NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?(?!\w)")
SHOWN_TEXT = 80
NAMING = ("transform", "library", "library_a", "library_b", "device", "condition")  # columns that name a row


@dataclass(frozen=True)
class Difference:
    """One place where a file is not what it should be.

    Attributes:
        where: ``line 7``, ``row 3 (Works, fake), column cv``, or empty: the whole file.
        what: What is found there and what should be.
        number: Whether it is a figure that differs.
    """

    where: str
    what: str
    number: bool = False


def differences(found: Path, expected: Path) -> Iterator[Difference]:
    """Where ``found`` is not ``expected``, by the kind of file; nothing where their bytes are the same."""
    if found.read_bytes() == expected.read_bytes():
        return
    compare = COMPARE.get(expected.suffix, _bytes)
    found_any = False
    for difference in compare(found, expected):
        found_any = True
        yield difference
    if not found_any:  # such as other line ends
        yield from _bytes(found, expected)


def numbers_in(path: Path) -> int:
    """How many figures a text file prints."""
    if path.suffix not in COMPARE:
        return 0
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".csv":
        return sum(_is_number(field) for row in csv.reader(io.StringIO(text)) for field in row)
    return len(NUMBER.findall(text))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", errors="replace")


def _lines(found: Path, expected: Path) -> Iterator[Difference]:
    pairs = zip_longest(_text(found).splitlines(), _text(expected).splitlines())
    for number, (has, should) in enumerate(pairs, 1):
        if has == should:
            continue
        where = f"line {number}"
        if has is None or should is None:
            what = f"is missing: {_short(should)}" if has is None else f"is too many: {_short(has)}"
            yield Difference(where, what)
            continue
        if NUMBER.sub("0", has) == NUMBER.sub("0", should):
            for one, other in zip(NUMBER.findall(has), NUMBER.findall(should), strict=True):
                if one != other:
                    yield Difference(where, f"says {one}, the records give {other}", number=True)
        else:
            begin = max(0, _first(has, should) - 20)
            yield Difference(where, f"says {_short(has[begin:])}, should say {_short(should[begin:])}")


def _first(one: str, other: str) -> int:
    """The first character that differs."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _short(text: str) -> str:
    return repr(text if len(text) <= SHOWN_TEXT else f"{text[:SHOWN_TEXT]}...")


def _fields(found: Path, expected: Path) -> Iterator[Difference]:
    (head, *has), (columns, *should) = (
        list(csv.reader(io.StringIO(_text(path)))) or [[]] for path in (found, expected)
    )
    if head != columns:
        yield Difference("line 1", f"has the columns {_short(', '.join(head))}, should have {len(columns)}")
        return
    if len(has) != len(should):
        yield Difference("", f"has {len(has)} rows, the records give {len(should)}")
    for number, (own, wanted) in enumerate(zip(has, should, strict=False), 1):
        names = [value for column, value in zip(columns, wanted, strict=True) if column in NAMING]
        row = f"row {number} ({', '.join(names)})" if names else f"row {number}"
        if len(own) != len(wanted):
            yield Difference(row, f"has {len(own)} fields, should have {len(wanted)}")
            continue
        for column, one, other in zip(columns, own, wanted, strict=True):
            if one != other:
                what = f"says {one or 'nothing'}, the records give {other or 'nothing'}"
                yield Difference(f"{row}, column {column}", what, number=_is_number(other or one))


def _bytes(found: Path, expected: Path) -> Iterator[Difference]:
    has, should = found.read_bytes(), expected.read_bytes()
    if should.startswith(has):
        yield Difference("", f"is cut off: {len(has)} of {len(should)} bytes")
        return
    at = next((k for k, (a, b) in enumerate(zip(has, should, strict=False)) if a != b), len(should))
    size = "" if len(has) == len(should) else f"; {len(has)} bytes, not {len(should)}"
    yield Difference("", f"differs from byte {at} on from what the records give{size}")


def _json(found: Path, expected: Path) -> Iterator[Difference]:
    try:
        has = json.loads(found.read_bytes())
    except ValueError as error:
        yield Difference("", f"is not JSON: {error}")
        return
    for where, one, other in json_differences(has, json.loads(expected.read_bytes())):
        number = isinstance(other, (int, float))
        yield Difference(where, f"is {_short(str(one))}, the record gives {_short(str(other))}", number)


def json_differences(one: Any, other: Any, where: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Path, value found and value expected of every leaf that differs."""
    if isinstance(one, dict) and isinstance(other, dict):
        pairs = [(key, one.get(key), other.get(key)) for key in dict.fromkeys([*other, *one])]
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = [(str(at), *pair) for at, pair in enumerate(zip(one, other, strict=True))]
    else:
        if one != other:
            yield where, one, other
        return
    for key, has, should in pairs:
        yield from json_differences(has, should, f"{where}/{key}" if where else str(key))


COMPARE: dict[str, Callable[[Path, Path], Iterator[Difference]]] = {
    ".md": _lines,
    ".tex": _lines,
    ".txt": _lines,
    ".csv": _fields,
    ".json": _json,
}
