"""One environment per library, built from its lock by uv and named after the lock's digest.

Standard library only. An environment is whole when its ``env.json`` is there (written last) and its own
interpreter finds the packages of the lock; anything less is built again.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from augmark.cache import moved_caches
from augmark.errors import AugmarkError
from augmark.files import alone, write_json
from augmark.host import python_tag
from augmark.locks import lock_digest

__all__ = ["environment_dir", "environment_python", "find_uv", "lock_digest", "prepare_env", "read_marker"]

SCHEMA = "augmark/env/1"
MARKER = "env.json"
TAIL_LINES = 20
_WORKFLOW = Path(__file__).resolve().parent.parent
# Runs inside the environment: what is there, in the words of that interpreter.
_INSPECT = """
import json, platform, sys
sys.path.insert(0, sys.argv[1])
from augmark.locks import installed, verify_installed
problems = verify_installed(open(sys.argv[2], encoding="utf-8").read())
found = {"python": platform.python_version(), "implementation": platform.python_implementation(),
         "platform": sys.platform, "machine": platform.machine(), "libc": " ".join(platform.libc_ver())}
print(json.dumps({**found, "distributions": installed(), "problems": problems}))
"""


def environment_dir(out_dir: Path, environment: str, digest: str, python: str) -> Path:
    """Where an environment lives: ``<output>/envs/<environment>.<lock digest>.<python>``.

    Args:
        python: Implementation and minor version, as `augmark.host.python_tag` says them.
    """
    return out_dir / f"{environment}.{digest}.{python}"


def environment_python(folder: Path) -> Path:
    """The interpreter of an environment."""
    return folder / "bin" / "python"


def find_uv() -> str:
    """The uv of the control environment, or else the one on the PATH.

    Raises:
        AugmarkError: There is none.
    """
    beside = Path(sys.executable).parent / "uv"
    found = str(beside) if beside.exists() else shutil.which("uv")
    if found is None:
        raise AugmarkError(
            f"uv is neither beside {sys.executable} nor on the PATH",
            remedy="run `make setup`, which puts it into the control environment",
        )
    return found


def uv_variables() -> dict[str, str]:
    """The variables that uv runs with: where to find packages stays the user's choice, the rest is ours."""
    # PYTHONDONTWRITEBYTECODE costs 7 s at each import of torchvision; the others bend what is imported.
    ours = {
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONPATH",
        "PYTHONHOME",
        "VIRTUAL_ENV",
        "CONDA_PREFIX",
        "UV_NO_VERIFY_HASHES",
    }
    variables = {name: value for name, value in os.environ.items() if name not in ours}
    variables |= {"UV_PYTHON_DOWNLOADS": "never", "NO_COLOR": "1", **moved_caches()}
    # uv gives up on a silent mirror after 30 s and on compiling after 60 s: too little on a busy laptop.
    variables.setdefault("UV_HTTP_TIMEOUT", "180")
    variables.setdefault("UV_COMPILE_BYTECODE_TIMEOUT", "600")
    return variables


def run_uv(
    arguments: Sequence[str | Path], *, where: str, say: Callable[[str], None] = lambda line: None
) -> None:
    """Run uv and hand each line that it prints to ``say``.

    Raises:
        AugmarkError: uv failed; the message ends with the tail of its output.
    """
    command = [find_uv(), *map(str, arguments)]
    tail: deque[str] = deque(maxlen=TAIL_LINES)
    with subprocess.Popen(
        command,
        env=uv_variables(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        for line in process.stdout or ():
            tail.append(line.rstrip())
            say(line.rstrip())
    if process.returncode:
        ending = "\n".join(f"    {line}" for line in tail)
        raise AugmarkError(
            f"`uv {' '.join(command[1:3])}` failed ({process.returncode}); its last lines:\n{ending}",
            where=where,
            remedy="usual causes are no network, a mirror (UV_DEFAULT_INDEX names one) and a full disk. "
            "Then give the same command again",
        )


def inspect_env(folder: Path, lock: Path) -> dict[str, Any] | None:
    """What an environment's own interpreter says of itself; None when it does not run.

    Returns:
        ``python implementation platform machine libc``, ``distributions`` (name -> versions) and
        ``problems`` (see `augmark.locks.verify_installed`).
    """
    python = environment_python(folder)
    command = [str(python), "-I", "-c", _INSPECT, str(_WORKFLOW), str(lock)]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
        return json.loads(answer.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None


def read_marker(folder: Path) -> dict[str, Any] | None:
    """The ``env.json`` of a whole environment; None when there is none or it cannot be read."""
    try:
        marker = json.loads((folder / MARKER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return marker if isinstance(marker, dict) and marker.get("schema") == SCHEMA else None


def is_whole(folder: Path, lock: Path, digest: str) -> bool:
    """Whether an environment holds what its lock says: asked of its interpreter, not of its marker."""
    marker = read_marker(folder)
    if marker is None or marker.get("lock_digest") != digest:
        return False
    found = inspect_env(folder, lock)
    return found is not None and not found["problems"]


def prepare_env(
    environment: str,
    lock: Path,
    out_dir: Path,
    *,
    say: Callable[[str], None] = lambda line: None,
) -> Path:
    """Make sure that an environment is there and is the one of its lock: verified, or built.

    Args:
        environment: Its name, e.g. ``kornia``.
        lock: Its lock, hashed.
        out_dir: ``<output>/envs``; the folder is named after the lock's digest and the Python that runs.
        say: Told each line of progress.

    Returns:
        The environment's folder, with ``bin/python`` and ``env.json``.

    Raises:
        AugmarkError: The lock is missing or none, uv failed, or what it installed is not what the lock says.
    """
    lock, folder_parent = lock.resolve(), out_dir.absolute()
    try:
        digest = lock_digest(lock)
    except FileNotFoundError:
        raise AugmarkError(
            "there is no such lock",
            where=str(lock),
            remedy=f"run `python scripts/lock_envs.py {environment}`",
        ) from None
    except ValueError as error:
        raise AugmarkError(str(error), where=str(lock), remedy="run `python scripts/lock_envs.py`") from None
    folder = environment_dir(folder_parent, environment, digest, python_tag())
    lock_file = folder_parent / f".{folder.name}.lock"
    with alone(lock_file, lambda: say(f"waiting: another process builds {folder.name}")):
        if is_whole(folder, lock, digest):
            say(f"{folder.name} is there and as locked")
            return folder
        _build(environment, lock, digest, folder, say)
    return folder


def _build(environment: str, lock: Path, digest: str, folder: Path, say: Callable[[str], None]) -> None:
    if folder.exists():
        # Without a marker, or with other packages than the lock's: cut off, or changed by hand.
        shutil.rmtree(folder)
    say(f"building {folder.name}")
    where = f"environment {environment}"
    run_uv(["venv", "--no-project", "--quiet", "--python", sys.executable, folder], where=where, say=say)
    # Wheels only: a build on this machine would not be the package that the hashes of the lock name.
    install = ["pip", "sync", "--require-hashes", "--no-build", "--compile-bytecode"]
    run_uv([*install, "--python", environment_python(folder), lock], where=where, say=say)
    found = inspect_env(folder, lock)
    problems = ["its interpreter does not run"] if found is None else found.pop("problems")
    if problems:
        raise AugmarkError(
            "what was installed is not what the lock says: " + "; ".join(problems),
            where=where,
            remedy=f"lock again with `python scripts/lock_envs.py {environment}`",
        )
    write_json(
        folder / MARKER,
        {"schema": SCHEMA, "environment": environment, "lock_digest": digest, **(found or {})},
    )
