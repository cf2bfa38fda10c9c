"""Nothing in a package says who measured where: names of host and user, and paths, are found and refused."""

from __future__ import annotations

import getpass
import json
import re
import socket
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from augmark.errors import AugmarkError
from augmark.evidence.archive import Member

SHOWN = 5
# A short name is part of many words; in binary files, where any bytes may stand, it needs to be longer still.
SHORTEST, SHORTEST_IN_BINARY = 4, 6
# Where an ordinary word ("runner", "vm") is somebody's name all the same.
NAMING = re.compile(r"(host|user|log(in)?)_?name|node(name)?|user|login|owner|fqdn", re.IGNORECASE)
# An absolute path of two parts or more, no part of a URL or of `a/b`; what the kernel shows is public.
ABSOLUTE = re.compile(r"(?<![\w.:/~-])/(?!(?:proc|sys|dev)/)[\w.+@-]+(?:/[\w.+@-]+)+")
HOMES = re.compile(r"(?<![\w.-])/(?:home|Users)/[\w.+@-]+")


@dataclass(frozen=True)
class Private:
    """A name or a path that is nobody's business.

    Attributes:
        what: In words, e.g. ``the host's name``.
        value: The name itself.
        ordinary: A word that anybody's text may hold: only looked for where a host or a user is named.
        path: A path: longer ones below it count too.
    """

    what: str
    value: str
    ordinary: bool = False
    path: bool = False

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        # `/root` alone is no place of a person, what lies below it is.
        end = r"/[\w.]" if self.value.count("/") == 1 else "(?![A-Za-z0-9])"
        return re.compile(f"(?<![A-Za-z0-9]){re.escape(self.value)}{end}", 0 if self.path else re.IGNORECASE)

    @cached_property
    def bytes_pattern(self) -> re.Pattern[bytes]:
        return re.compile(self.pattern.pattern.encode(), 0 if self.path else re.IGNORECASE)


@dataclass(frozen=True)
class Leak:
    """One place where something private stands: the file, the key in it if there is one, what, the text."""

    file: str
    key: str
    what: str
    text: str

    def __str__(self) -> str:
        place = f"{self.file} ({self.key})" if self.key else self.file
        return f"{place}: {self.what}: {self.text!r}"


def of_this_machine(folders: Iterable[Path], source: Iterable[Member]) -> list[Private]:
    """What to look for: this host's names, this user's, and where their files lie.

    Args:
        folders: The checkout, the output folder.
        source: The project's own files. A name that is a word of its code or pages ("runner") tells nobody
            anything: it is ordinary, as a short one is ("vm").
    """
    pages = "\n".join(
        member.read().decode("utf-8", errors="replace")
        for member in source
        if member.name.startswith(("workflow/", "docs/", "README"))
    )
    found: dict[str, Private] = {}
    for what, value in _names():
        name = Private(what, value)
        if len(value) < SHORTEST or name.pattern.search(pages):
            name = replace(name, ordinary=True)
        if value and not value.lower().startswith("localhost"):
            found.setdefault(value.lower(), name)
    places = [("the user's home", Path.home()), *(("a folder of this machine", path) for path in folders)]
    for what, path in places:
        for shape in {str(path.absolute()), str(path.resolve())} - {"/"}:
            found.setdefault(shape, Private(what, shape, path=True))
    return list(found.values())


def _names() -> Iterator[tuple[str, str]]:
    yield "the host's name", socket.gethostname()
    yield "the host's name", socket.gethostname().split(".")[0]
    yield "the host's full name", socket.getfqdn()
    try:
        yield "the user's name", getpass.getuser()
    except (KeyError, OSError):  # a user without an entry, as containers have
        return


def check_private(members: Iterable[Member], names: Iterable[Private]) -> None:
    """Refuse files in which something private stands.

    Raises:
        AugmarkError: Names the first files with the key, the value and what it is.
    """
    names = list(names)
    leaks = [leak for member in members for leak in leaks_of(member, names)]
    if leaks:
        more = f"\n  and {len(leaks) - SHOWN} more" if len(leaks) > SHOWN else ""
        raise AugmarkError(
            "what would be packed says who measured or where:\n  "
            + "\n  ".join(map(str, leaks[:SHOWN]))
            + more,
            where="package",
            remedy="take it out where it comes from (a path in config/, a name in a title) and make the file "
            "again; a record cannot be edited: move it away, and `snakemake paper_tables` measures its cell",
        )


def leaks_of(member: Member, names: Iterable[Private]) -> Iterator[Leak]:
    """Everything private in one file, its name included."""
    distinct, ordinary = [], []
    for name in names:
        (ordinary if name.ordinary else distinct).append(name)
    yield from _in_text(member.name, "its own name", member.name, distinct, paths=False)
    content = member.read()
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        yield from _in_bytes(member.name, content, distinct)
        return
    if not member.name.endswith(".json"):
        yield from _in_text(member.name, "", text, distinct, paths=member.pathless)
        return
    value = json.loads(text)
    whole = json.dumps(value, ensure_ascii=False)  # key by key only where there is something
    if any(_in_text("", "", whole, distinct, paths=member.pathless)) or any(
        f'"{name.value}"'.lower() in whole.lower() for name in ordinary
    ):
        for key, said in _strings("", value):
            yield from _in_text(member.name, key, said, distinct, paths=member.pathless)
            if NAMING.fullmatch(key.rpartition(".")[2]):
                named = [name for name in ordinary if name.value.lower() == said.strip().lower()]
                yield from (Leak(member.name, key, name.what, said) for name in named)


def _in_text(file: str, key: str, text: str, names: list[Private], *, paths: bool) -> Iterator[Leak]:
    spans = []
    for name in names:
        if match := name.pattern.search(text):
            spans.append(match.span())
            yield Leak(file, key, name.what, _around(text, match))
    for pattern in (ABSOLUTE, HOMES) if paths else ():
        match = pattern.search(text)
        if match and not any(first < match.end() and match.start() < last for first, last in spans):
            spans.append(match.span())
            yield Leak(file, key, "an absolute path", match.group())


def _around(text: str, match: re.Match[str]) -> str:
    return text[max(0, match.start() - 20) : match.end() + 20].strip()


def _in_bytes(file: str, content: bytes, names: Iterable[Private]) -> Iterator[Leak]:
    for name in names:
        if len(name.value) >= SHORTEST_IN_BINARY and (match := name.bytes_pattern.search(content)):
            yield Leak(file, f"byte {match.start()}", name.what, match.group().decode("utf-8", "replace"))


def _strings(key: str, value: Any) -> Iterator[tuple[str, str]]:
    """Every text of a JSON value with the key where it stands; keys of mappings are texts too."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, dict):
        for name, inner in value.items():
            place = f"{key}.{name}" if key else name
            yield place, name
            yield from _strings(place, inner)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _strings(f"{key}.{index}" if key else str(index), inner)
