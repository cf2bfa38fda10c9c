"""Environment variables that change what the measured libraries do. Standard library only.

An allow-list, so that no secret gets into a record; the parent reads it from what it starts a worker with.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from augmark.modes import PLAIN
from augmark.worker import threads

_TOLD = re.compile(
    r"""
    # thread pools, where they run, and mathematics
    (OMP|GOMP|KMP|MKL|OPENBLAS|BLIS|VECLIB|NUMEXPR|TBB|ONEDNN|DNNL)_\w+ | GOTO_NUM_THREADS
    | LRU_CACHE_CAPACITY
    # allocators, and what is loaded before all else
    | (MALLOC|JEMALLOC|TCMALLOC)_\w+ | GLIBC_TUNABLES | LD_PRELOAD | DYLD_INSERT_LIBRARIES
    # the libraries, and their instruction sets
    | (ATEN|NPY|OPENCV|JSIMD|TORCHINDUCTOR|DALI|KORNIA|ALBUMENTATIONS)_\w+ | NO_ALBUMENTATIONS_UPDATE
    # devices; not which are visible, which may be a serial number
    | (CUBLAS|CUDNN|CUDA_LAUNCH|CUDA_MODULE|CUDA_DEVICE)_\w+ | NVIDIA_TF32_OVERRIDE
    | PYTORCH_(CUDA_)?ALLOC_CONF | PYTORCH_NO_CUDA_MEMORY_CACHING
    # Python
    | PYTHON(HASHSEED|MALLOC|OPTIMIZE|DEVMODE|_GIL|_JIT)
    """,
    re.VERBOSE,
)
# Parts of names, because words are joined (APIKEY) and in the plural (TOKENS).
_SECRET = re.compile(
    r"""
    KEY | TOKEN | SECRET | PASS | PWD | CRED | AUTH | COOKIE | PROXY | PRIVATE | SIGNATURE | BEARER | JWT
    | CERT | LICEN[CS]E | ACCOUNT | LOGIN | WEBHOOK | SESSION | DSN | _UR[IL] | (?<!COM)PATS?$
    """,
    re.VERBOSE,
)
# Where a process finds its code, files and devices, or what is put before its own code.
_STEERS = re.compile(
    r"""
    (LD|DYLD|PYTHON|CONDA|PIP|UV|GIT|SNAKEMAKE|AUGMARK|XDG|BASH|LC)_\w* | PYTHON\w+ | \w*PATH | (\w+_)?HOME
    | \w+_PRELOAD | \w+_VISIBLE_DEVICES | VIRTUAL_ENV | TMPDIR | TE?MP | SHELL\w* | ENV | IFS | LANG | USER
    | LOGNAME
    """,
    re.VERBOSE,
)
_FOLDERS = re.compile(r"[^\s:;,=]*[/\\]")


def of_plain_rows(inherited: Mapping[str, str], definition: Mapping[str, Any]) -> dict[str, str]:
    """What the worker of a cell's plain rows finds; those of a sweep may have other numbers of threads.

    Args:
        inherited: Variables of whoever starts it.
        definition: The plan's.
    """
    counts = [row["threads"] for row in definition["rows"] if row["condition"] == PLAIN]
    asked = definition["variables"]
    started_with = threads.environment(inherited, counts[0] if counts else None, asked)
    told = {name: value for name, value in asked.items() if not may_hold_secret(name)}
    return dict(sorted({**found(started_with), **told}.items()))


def found(environment: Mapping[str, str]) -> dict[str, str]:
    """Those of the variables that are set, by name; of a path, its last part.

    Args:
        environment: Of a worker, as it is started.
    """
    return {name: _FOLDERS.sub("", environment[name]) for name in sorted(environment) if _is_told(name)}


def may_hold_secret(name: str) -> bool:
    """Whether a variable's name says that a secret may be in it: no record has it."""
    return bool(_SECRET.search(name))


def steers_process(name: str) -> bool:
    """Whether a variable says what a process loads and where it looks: no plan file may set it."""
    return bool(_STEERS.fullmatch(name))


def _is_told(name: str) -> bool:
    return bool(_TOLD.fullmatch(name)) and not may_hold_secret(name)
