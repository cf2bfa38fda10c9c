"""Lock the environments of envs/ (needs the registry), or check the locks with --check (does not)."""

import argparse
import sys
from pathlib import Path

from augmark.errors import AugmarkError
from augmark.locking import REMEDY, check_lock, check_sizes, environment_names, write_lock, write_sizes

ENVS = Path(__file__).resolve().parent.parent / "envs"


def main() -> int:
    names = environment_names(ENVS)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="*", help=f"which (default: all): {', '.join(names)}")
    parser.add_argument("--check", action="store_true", help="write nothing; report what does not agree")
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions that the .in allows")
    given = parser.parse_args()
    if unknown := sorted(set(given.name) - set(names)):
        parser.error(f"no such environment: {', '.join(unknown)} (there are {', '.join(names)})")
    problems = []
    for name in given.name or names:
        if given.check:
            problems += check_lock(ENVS, name)
            continue
        print(f"lock_envs {name}", file=sys.stderr, flush=True)
        try:
            write_lock(ENVS, name, upgrade=given.upgrade)
        except AugmarkError as error:
            problems.append(str(error))
    try:
        if given.check:
            problems += check_sizes(ENVS)
        else:
            write_sizes(ENVS)
    except AugmarkError as error:
        problems.append(str(error))
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems and given.check:
        print(f"remedy: {REMEDY}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
