"""Where downloads are kept between runs and between checkouts, and the questions about it.

Standard library only; whatever answers a question is imported when it is asked.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from augmark.cell import DIGEST_LENGTH

VARIABLE = "AUGMARK_CACHE"


def cache_folder() -> Path:
    """``$AUGMARK_CACHE``, else ``$XDG_CACHE_HOME/augmark``, else ``~/.cache/augmark``; it need not be there.

    The tarballs that were downloaded are in ``datasets/`` of it and, where ``AUGMARK_CACHE`` is set, the
    packages that uv and pip downloaded in ``uv/`` and ``pip/`` (`moved_caches`).
    """
    if named := os.environ.get(VARIABLE):
        return Path(named).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "augmark"


def download_path(name: str, sha256: str) -> Path:
    """Where the tarball of a dataset with this sha256 is downloaded to."""
    return cache_folder() / "datasets" / f"{name}.{sha256[:DIGEST_LENGTH]}.tar"


def moved_caches() -> dict[str, str]:
    """Variables that move the caches of uv and pip along with ours; those that are set already stay."""
    if not os.environ.get(VARIABLE):
        return {}
    ours = {"UV_CACHE_DIR": str(cache_folder() / "uv"), "PIP_CACHE_DIR": str(cache_folder() / "pip")}
    return {name: folder for name, folder in ours.items() if not os.environ.get(name)}


def add_command(commands: Any, common: argparse.ArgumentParser) -> None:
    """``augmark cache list`` and ``augmark cache verify``. Neither needs a plan, and neither writes."""
    words = "what was downloaded and prepared: list it, or hash it"
    actions = commands.add_parser("cache", help=words).add_subparsers(
        dest="action", required=True, metavar="ACTION"
    )
    questions = {
        list_command: ("list", "path, size, what for, and whether the configuration uses it"),
        verify_command: ("verify", "hash all of it; 1 where something is damaged"),
    }
    for answer, (name, words) in questions.items():
        action = actions.add_parser(name, parents=[common], help=words)
        action.add_argument("--json", action="store_true", help="the same as JSON")
        action.set_defaults(answer=answer, without_plan=True)


def list_command(root: Path, args: argparse.Namespace) -> int:
    """Print what is kept; 0."""
    from augmark.caching import listing

    found = listing.listed(root, args)
    print(listing.as_json(found) if args.json else listing.render(found))
    return 0


def verify_command(root: Path, args: argparse.Namespace) -> int:
    """Hash what is kept; 1 where something is damaged."""
    from augmark.caching import verify

    found = verify.examined(root, args)
    print(verify.as_json(found) if args.json else verify.render(found))
    return 1 if verify.damaged(found) else 0
