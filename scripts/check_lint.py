"""Hold the findings of `snakemake --lint` against those accepted in workflow/accepted-lint.yaml."""

import re
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
ACCEPTED = ROOT / "workflow" / "accepted-lint.yaml"
# The text is read because Snakemake 9.27 takes `--lint json` and prints text all the same.
_PLACE = re.compile(r"Lints for (?:rule (?P<rule>\S+) \(line .*\)|snakefile (?P<file>.+)):")
_TITLE = re.compile(r" {4}\* (?P<title>.+):")


def findings() -> set[tuple[str, str]]:
    """What Snakemake finds: (rule, or file from the root; title)."""
    command = [sys.executable, "-m", "snakemake", "--lint"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    found, where = set(), ""
    for line in answer.stderr.splitlines():
        if place := _PLACE.fullmatch(line):
            where = place["rule"] or str(Path(place["file"]).resolve().relative_to(ROOT))
        elif title := _TITLE.fullmatch(line):
            found.add((where, title["title"]))
    if answer.returncode and not found:
        sys.exit(f"snakemake --lint failed:\n{answer.stderr}")
    return found


def main() -> int:
    accepted = {(entry["in"], entry["title"]) for entry in yaml.safe_load(ACCEPTED.read_text()) or []}
    found = findings()
    for where, title in sorted(found - accepted):
        print(f"snakemake --lint: {where}: {title}", file=sys.stderr)
    for where, title in sorted(accepted - found):
        print(f"{ACCEPTED.name}: {where}: {title}: accepted but no longer found; remove it", file=sys.stderr)
    return 1 if found ^ accepted else 0


if __name__ == "__main__":
    sys.exit(main())
