"""The measured process (started by probe.py and measure.py with ``python -I``)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow"))

from augmark.worker.child import main

if __name__ == "__main__":
    main()
