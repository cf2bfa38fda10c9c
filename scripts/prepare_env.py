"""Make sure that a library's environment is there and is the one of its lock (rule prepare_env)."""

import argparse
import sys
from pathlib import Path

from augmark.environments import lock_digest, prepare_env
from augmark.errors import AugmarkError
from augmark.progress import progress


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lock", type=Path, required=True, help="envs/<environment>.txt")
    parser.add_argument("--out", type=Path, required=True, help="<output>/envs")
    parser.add_argument("--environment", help="its name (default: the lock's)")
    parser.add_argument("--digest", help="refuse a lock that has another digest than this")
    given = parser.parse_args()
    environment = given.environment or given.lock.stem

    def say(line: str) -> None:
        print(f"prepare_env {environment}: {line}", file=sys.stderr, flush=True)

    try:
        if given.digest and given.lock.exists() and lock_digest(given.lock) != given.digest:
            raise AugmarkError(
                f"the lock's digest is {lock_digest(given.lock)}, {given.digest} was asked for",
                where=str(given.lock),
                remedy="the lock was changed after the workflow had started: start it again",
            )
        # Its installer says a line per step and per large download: that many units are not known beforehand.
        with progress(label=f"prepare_env {environment}", total=None, unit="step") as bar:

            def step(line: str) -> None:
                say(line)
                bar.update(1, note=line)

            folder = prepare_env(environment, given.lock, given.out, say=step)
    except (AugmarkError, ValueError) as error:
        say(f"error: {error}")
        return 1
    print(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
