"""How the worker has a library build a transform."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from augmark.libraries.base import Adapter


def build(adapter: Adapter, row: Mapping[str, Any], params: Mapping[str, Any]) -> Callable[[Any], Any]:
    """Build the transform of a row, in chunks of three channels where the row says so.

    A warning while it is built is an error, since libraries only warn on unknown arguments and then measure
    their defaults.
    """
    make = adapter.build_chunked if row["chunked"] else adapter.build
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return make(row["transform"], params)
