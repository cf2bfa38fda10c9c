"""Rule probe: see augmark.worker.probe. Runs in the library's own interpreter (``python -I``)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow"))

from augmark.worker.job import command
from augmark.worker.probe import probe

if __name__ == "__main__":
    sys.exit(command("probe", probe))
