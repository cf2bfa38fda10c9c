"""Rules about datasets.yaml, and about where data is staged from. What is not chosen need not be there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from augmark.config.problems import Anything, Problem, unknown_names
from augmark.config.settings import Draft, Settings
from augmark.data import stage
from augmark.data.dossier import public_url

FILE = "config/datasets.yaml"
MEDIA = {"images": "image", "clips": "video"}


def check_datasets(draft: Draft, settings: Settings) -> Iterator[Problem]:
    """A stanza feeds scenarios of its medium and can be staged from its source; a chosen one's is there."""
    chosen = {settings.config[key] for key in MEDIA}
    for name, stanza in settings.datasets.items():
        yield from _feeds(draft, settings, name, stanza)
        yield from _url(name, stanza)
        if name in chosen and not _is_staged(settings, name, stanza):
            yield from _whereabouts(draft.root, name, stanza)


def _feeds(draft: Draft, settings: Settings, name: str, stanza: dict[str, Any]) -> Iterator[Problem]:
    known = (draft.declared["scenarios"], draft.declared["announced"])
    names = Anything() if any(isinstance(each, Anything) for each in known) else {*known[0], *known[1]}
    place = f"{name}.feeds"
    yield from unknown_names("scenario", FILE, place, stanza.get("feeds", []), names)
    for scenario in stanza.get("feeds", []):
        medium = settings.scenarios.get(scenario, {}).get("medium", stanza["medium"])
        if medium != stanza["medium"]:
            what = f"{scenario} is made of {medium} data, {name} holds {stanza['medium']} data"
            yield Problem("wrong-medium", FILE, place, what)


def _url(name: str, stanza: dict[str, Any]) -> Iterator[Problem]:
    source = stanza.get("source") or ""
    if not stage.is_url(source):
        return
    if not stage.is_https(source):
        yield _unsupported(FILE, f"{name}.source", source)
    elif stanza["sha256"] is None:
        what = f"null, but what comes from {_shown(source)} must be known before"
        hint = "download it once by hand: `sha256sum FILE` prints it"
        yield Problem("undeclared-digest", FILE, f"{name}.sha256", what, hint)


def _whereabouts(root: Path, name: str, stanza: dict[str, Any]) -> Iterator[Problem]:
    if stanza["kind"] == "demo":
        return
    place, source = f"{name}.source", stanza.get("source")
    if source is None:
        key = next(key for key, medium in MEDIA.items() if medium == stanza["medium"])
        origin = f" from {stanza['origin']}" if "origin" in stanza else ""
        terms = f", under: {stanza['licence']}" if "licence" in stanza else ""
        what = f"null: it must be had by hand{origin}{terms}"
        hint = f"then give the file's path: here, or as `--config {key}=/path/of/the.tar`"
        yield Problem("no-source", FILE, place, what, hint)
    elif not stage.is_url(source):
        yield from _missing(root, FILE, place, source)


def _is_staged(settings: Settings, name: str, stanza: dict[str, Any]) -> bool:
    """What was staged needs no source any more."""
    output, digest = settings.config["output"], stanza["sha256"]
    if not digest or not isinstance(output, str):
        return False
    return (stage.dataset_folder(settings.root / output, name, digest) / "staged.json").exists()


def source_problems(root: Path, file: str, key: str, source: Any) -> Iterator[Problem]:
    """What is wrong with a path, given instead of a dataset's name."""
    if stage.is_https(str(source)):
        what = f"a URL, of which the digest is not known: {_shown(source)}"
        hint = "put it into config/datasets.yaml with its size and sha256, and give its name"
        yield Problem("unsupported-source", file, key, what, hint)
    elif stage.is_url(str(source)):
        yield _unsupported(file, key, str(source))
    else:
        yield from _missing(root, file, key, source)


def _missing(root: Path, file: str, key: str, source: Any) -> Iterator[Problem]:
    if not (root / Path(source).expanduser()).exists():
        yield Problem("missing-path", file, key, f"no such file or folder: {source}")


def _unsupported(file: str, key: str, source: str) -> Problem:
    what = f"cannot be staged from here: {_shown(source)}"
    hint = "this version stages the demo, a tar or tar.gz file, a folder, or a tarball's https URL"
    return Problem("unsupported-source", file, key, what, hint)


def _shown(source: str) -> str:
    return public_url(source) or source
