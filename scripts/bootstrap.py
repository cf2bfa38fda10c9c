"""Make .venv, the control environment, or leave it where it is already as locked (make setup).

Runs with any Python from 3.11 on that has nothing installed.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "workflow"))

from augmark.bootstrap import make_control_environment  # noqa: E402
from augmark.errors import AugmarkError  # noqa: E402

if __name__ == "__main__":
    try:
        make_control_environment(ROOT, say=lambda line: print(f"setup: {line}", file=sys.stderr, flush=True))
    except AugmarkError as error:
        sys.exit(f"setup: error: {error}")
