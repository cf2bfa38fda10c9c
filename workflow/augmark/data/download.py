"""Bring a file from a web server: continued where it broke off, checked, and whole or not there.

While it is under way, ``<target>.part`` holds its bytes and ``<target>.part.json`` what continuing needs: the
file's size and the name that the server gives its state. The same command continues from there, whatever
ended the last one. Standard library only.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from augmark import files
from augmark.data import web
from augmark.errors import AugmarkError
from augmark.progress import progress

PART_SCHEMA = "augmark/part/1"
# So much more than at any failure before is a step forward, after which the tries are counted from one again.
STEP_BYTES = 1 << 20
ELSEWHERE = "let AUGMARK_CACHE name a folder with more of it"


class Patience(NamedTuple):
    """How long to wait for a network.

    Attributes:
        silence_seconds: A connection on which nothing comes for so long is given up.
        tries: How often, without a step forward, before all is given up.
        first_seconds: The wait after the first failure; after each further one it is twice as long.
        longest_seconds: No wait is longer.
    """

    silence_seconds: float = 60.0
    tries: int = 8
    first_seconds: float = 1.0
    longest_seconds: float = 60.0

    def wait_seconds(self, failures: int) -> float:
        return min(self.first_seconds * 2 ** (failures - 1), self.longest_seconds)


PATIENCE = Patience()


def download(
    url: str,
    target: Path,
    *,
    size: int | None,
    sha256: str,
    say: Callable[[str], object],
    beside_bytes: int = 0,
    patience: Patience = PATIENCE,
) -> None:
    """Make ``target`` the file of a URL; what is there already and right is left as it is.

    A second process that wants the same target waits for the first. A file whose digest is another is not
    thrown away: it is set aside as ``<target>.wrong``, and the error says so.

    Args:
        url: https alone.
        size: Bytes of the file as declared; a server that has another file is found out before the transfer.
        sha256: Its declared digest.
        say: Told in words what goes on: waits, what starts again and why.
        beside_bytes: What else must fit on the target's disk.
        patience: How long to try.

    Raises:
        AugmarkError: The server refuses, or has other bytes than declared; no room; or the network stays
            broken, and then the same command continues.
    """
    web.check_url(url)
    with files.alone(
        target.with_name(f"{target.name}.lock"), lambda: say(f"waiting: {target} is being made")
    ):
        if target.exists() and not _is_right(target, size, sha256, say):
            target.replace(_wrong(target))
        if not target.exists():
            transfer = _Transfer(url, target, size, say, beside_bytes, patience)
            transfer.run()
            _finish(transfer, sha256)


def _is_right(target: Path, size: int | None, sha256: str, say: Callable[[str], object]) -> bool:
    if size in (None, target.stat().st_size) and files.hash_file(target, f"check {target.name}") == sha256:
        return True
    say(f"{target} is not the declared file any more: set aside as {_wrong(target).name}")
    return False


def _wrong(target: Path) -> Path:
    return target.with_name(f"{target.name}.wrong")


def _finish(transfer: _Transfer, sha256: str) -> None:
    part, target = transfer.part, transfer.target
    found = files.hash_file(part, f"check {target.name}")
    if found != sha256:
        part.replace(_wrong(target))
        transfer.state.unlink(missing_ok=True)
        raise AugmarkError(
            f"has the sha256 {found}, but {sha256} was declared; what came was set aside as {_wrong(target)}",
            where=web.shown(transfer.url),
            remedy=f"if it is the right file, declare sha256: {found} (config/datasets.yaml); otherwise run "
            "again, which downloads it anew",
        )
    with open(part, "rb") as stream:
        os.fsync(stream.fileno())
    part.chmod(0o444)  # datasets are staged as further names of this file: nothing should write to it
    part.replace(target)
    transfer.state.unlink(missing_ok=True)  # last: until then whoever is killed here goes on from the part


class _Transfer:
    """The way of one file to its ``.part``."""

    def __init__(
        self,
        url: str,
        target: Path,
        size: int | None,
        say: Callable[[str], object],
        beside_bytes: int,
        patience: Patience,
    ) -> None:
        self.url, self.target, self.size, self.say = url, target, size, say
        self.beside_bytes, self.patience = beside_bytes, patience
        self.part = target.with_name(f"{target.name}.part")
        self.state = target.with_name(f"{target.name}.part.json")

    def run(self) -> None:
        """Go on until all bytes are there.

        Raises:
            AugmarkError: As ``download``; what came stays, to be continued.
        """
        furthest, failures = self._there(), 0
        while True:
            try:
                return self._attempt()
            except web.Broken as broken:
                there = self._there()
                failures = 1 if there >= furthest + STEP_BYTES else failures + 1
                furthest = max(furthest, there)
                if failures >= self.patience.tries:
                    raise AugmarkError(
                        f"{broken}, {failures} times; {files.human_bytes(there)} of it are here",
                        where=web.shown(self.url),
                        remedy="type the same command again, and it continues from there",
                    ) from broken
                asked = broken.wait_seconds or self.patience.wait_seconds(failures)
                wait = min(asked, self.patience.longest_seconds)
                self.say(f"{broken} after {files.human_bytes(there)}; again in {wait:.0f} s")
                time.sleep(wait)

    def _there(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    def _known(self) -> tuple[int, int | None, str | None]:
        """Where to continue: the bytes that are there, the file's size, its state; 0 if unknown."""
        try:
            state = files.read_json(self.state, PART_SCHEMA, remedy="")
            total, validator = int(state["total"]), state["validator"]
        except (AugmarkError, KeyError, TypeError, ValueError):
            return 0, None, None
        usable = isinstance(validator, str) and 0 < self._there() <= total and self.size in (None, total)
        return (self._there(), total, validator) if usable else (0, None, None)

    def _attempt(self) -> None:
        first, known, validator = self._known()
        if first and first == known:
            return  # all came, and was not checked
        reply = web.open_at(self.url, first, validator, self.patience.silence_seconds)
        with reply.stream:
            # A part of the file may come without the size of the whole, which was told with its beginning.
            total = self._agreed(known if reply.first and reply.total is None else reply.total)
            if reply.first and total != known:
                raise web.Broken(
                    f"the server now says that the file has {total} bytes, before it was {known}"
                )
            if first and not reply.first:
                changed = reply.validator != validator
                why = "the file on the server has changed" if changed else "the server cannot continue"
                self.say(f"{why}: starting again from the first byte")
            files.require_free(
                self.target.parent,
                max(total - self._there(), 0) + self.beside_bytes,
                f"downloading {self.target.name}",
                otherwise=ELSEWHERE,
            )
            if reply.first:
                self.say(f"continuing after {files.human_bytes(first)} of {files.human_bytes(total)}")
            else:
                self._begin(total, reply.validator)
            self._receive(reply, total)

    def _agreed(self, told: int | None) -> int:
        """The file's size, by the declaration and the server."""
        where = web.shown(self.url)
        if told is None and self.size is None:
            remedy = "declare its size in bytes (size: in config/datasets.yaml)"
            raise AugmarkError("the server does not say how large it is", where=where, remedy=remedy)
        if told is not None and self.size not in (None, told):
            what = (
                f"the server's file has {told} bytes, but {self.size} were declared: nothing was downloaded"
            )
            remedy = "correct source or size and sha256 in config/datasets.yaml"
            raise AugmarkError(what, where=where, remedy=remedy)
        return told if told is not None else int(self.size or 0)

    def _begin(self, total: int, validator: str | None) -> None:
        self.state.unlink(missing_ok=True)  # never the new state beside bytes of the old
        with files.disk_words(self.target, self.part, ELSEWHERE):
            self.part.write_bytes(b"")
        files.write_json(self.state, {"schema": PART_SCHEMA, "total": total, "validator": validator})

    def _receive(self, reply: web.Reply, total: int) -> None:
        done = reply.first
        with (
            progress(label=f"download {self.target.name}", total=total, unit="B") as bar,
            files.disk_words(self.target, self.part, ELSEWHERE),
            open(self.part, "ab") as stream,
        ):
            if done:
                bar.update(done, note="were here")
            while done < total:
                chunk = reply.read(min(files.CHUNK_BYTES, total - done))
                if not chunk:
                    break
                stream.write(chunk)
                done += len(chunk)
                bar.update(len(chunk))
        if done < total:
            raise web.Broken("the connection broke off")
