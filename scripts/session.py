"""Rule session: see augmark.sessions."""

import argparse
import json
import sys
from pathlib import Path

from augmark import sessions
from augmark.errors import AugmarkError
from augmark.plan import Plan


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plan", type=Path, required=True, help="the resolved plan (JSON)")
    parser.add_argument("--place", required=True, help="scenario/mode/device")
    parser.add_argument("--out", type=Path, required=True, help="what the session consists of (JSON)")
    args = parser.parse_args()
    scenario, mode, device = args.place.split("/")
    plan = Plan(json.loads(args.plan.read_text(encoding="utf-8")), args.plan.parent.parent)
    try:
        sessions.gather(plan, (scenario, mode, device), args.out)
    except AugmarkError as error:
        print(f"session: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
