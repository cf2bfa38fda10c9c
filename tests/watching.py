"""Waiting for what another process does, and looking for the processes of a copy of the project."""

import time
from pathlib import Path

import psutil


def wait_for(condition, what="it", seconds=120.0):
    """What ``condition`` gives, as soon as that is something; the test fails if it stays nothing."""
    until = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < until, f"not within {seconds:g} s: {what}"
        time.sleep(0.05)
    return found


def processes(folder, words=""):
    """Running processes whose working folder is ``folder`` and whose command line holds ``words``.

    The shells that a workflow starts its commands with have these words too, and are left out.
    """
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        try:
            command = process.info["cmdline"] or []
            ours = words in " ".join(command) and not (words and "bash" in command[0])
            if ours and process.info["status"] != psutil.STATUS_ZOMBIE and Path(process.cwd()) == folder:
                found.append(process)
        except psutil.Error:
            continue
    return found
