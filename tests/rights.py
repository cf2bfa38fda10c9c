"""Running a command as somebody whom permissions bind."""

import os
import shutil

import pytest


def bound_by_permissions() -> list[str]:
    """What goes before a command: root lays down the right to read everything; nobody else has it."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("root may read everything, and there is no setpriv to lay that down with")
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
