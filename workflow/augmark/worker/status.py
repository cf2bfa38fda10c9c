"""Every failure of a row is a status and a reason."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from augmark.libraries.base import Unsupported
from augmark.worker.contract import Invalid

Row = dict[str, Any]
# What leads to the last part of an absolute path; no part of a URL or of `a/b`.
FOLDERS = re.compile(r"(?<![\w.:/~-])/(?:[\w.+@-]+/)+")


class Raised(Exception):
    """Calls of the transform raised: how many of how many, and the first error."""


def count_failures(
    apply: Callable[[Any], Any], items: Sequence[Any], calls: int, first: BaseException
) -> Raised:
    """Call ``calls`` times, count what raises, and say it with the error that was met first."""
    failed = 0
    for index in range(calls):
        try:
            apply(items[index % len(items)])
        except Exception:
            failed += 1
    # The error that led here was seen on top of these calls and may not come again.
    failed, calls = (failed, calls) if failed else (1, calls + 1)
    return Raised(f"raised in {failed} of {calls} calls: {describe(first)}")


def describe(error: BaseException) -> str:
    """Type and first line of an error, short enough for a footnote."""
    text = without_folders(" ".join(str(error).split()))
    return f"{type(error).__name__}: {text[:300]}" if text else type(error).__name__


def without_folders(text: str) -> str:
    """A message with the last part alone of each absolute path: where a file lies says who measured."""
    return FOLDERS.sub("", text)


def guarded(work: Callable[[], Row]) -> Row:
    """Run one row's work and turn what it raises into a status and a reason."""
    try:
        return work()
    except Invalid as error:
        return {"status": "invalid", "reason": str(error)}
    except Unsupported as error:
        return {"status": "unsupported", "reason": str(error)}
    except Raised as error:
        return {"status": "failed", "reason": str(error)}
    except MemoryError as error:
        return {"status": "oom", "reason": describe(error)}
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a library may even call sys.exit: that is a row's failure, not the job's
        return {"status": "failed", "reason": f"raised while it was built or checked: {describe(error)}"}
