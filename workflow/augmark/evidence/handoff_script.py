"""The script that goes with a handoff: a clean clone of the same commit, and this, are all that is needed."""

from __future__ import annotations

import json
import shlex
from typing import Any

# Until the end of the script bash reads line by line; what follows `exit` is the handoff itself.
MARK = "# --- the handoff ---"
_SCRIPT = r"""#!/usr/bin/env bash
# Measures {cells} of {campaign}, depth {depth}, which need the machine {machine}; packs the result.
#   interface: {interface}
#   measuring takes: {time}
# Made by `augmark handoff`. In the root of a clean clone of commit {commit}:
#   bash {name}.sh{keys} [output=FOLDER]
# After an interruption run it again: only what is missing is measured. Nothing leaves this machine by itself.
set -euo pipefail

name={name}
commit={commit_word}
config=({config})

fail() {{ echo "handoff: $1" >&2; exit 1; }}

[ -f Snakefile ] && [ -d config ] || fail "no augmark project here: change into the root of the clone"
if [ -n "$commit" ]; then
  here=$(git rev-parse HEAD 2>/dev/null || echo "not known")
  [ "$here" = "$commit" ] || fail "commit: this clone is at $here, not $commit: git checkout $commit"
fi

# The environment of the workflow; AUGMARK_BIN names the folder of another one that has augmark and snakemake.
if [ -z "${{AUGMARK_BIN:-}}" ]; then
  make setup PYTHON="${{PYTHON:-$(command -v {python} || echo python3)}}"
  AUGMARK_BIN=$PWD/.venv/bin
fi
export PATH="$AUGMARK_BIN:$PATH"

mkdir -p results/handoff
handoff=results/handoff/$name.json
sed '1,/^{mark}$/d' "$0" > "$handoff"

# Plan, locks, code, data and this host are those of the handoff, or it says which is not.
augmark handoff --check "$handoff" ${{1:+--config "$@"}}
augmark doctor --config "${{config[@]}}" "$@"

targets=()
while IFS= read -r target; do
  targets+=("$target")
done < <(augmark handoff --targets "$handoff" ${{1:+--config "$@"}})
[ "${{#targets[@]}}" -gt 0 ] || fail "no target was named"
snakemake --config "${{config[@]}}" "$@" -- "${{targets[@]}}"

augmark handoff --pack "$handoff" ${{1:+--config "$@"}}
exit 0

{mark}
"""


def script(handoff: dict[str, Any], name: str, config: list[str], time: str) -> str:
    """The script of a handoff.

    Args:
        name: Of its files, without an ending.
        config: What stands after ``--config``, but data that were named by a path.
        time: How long measuring takes, in words.
    """
    own = [key for key, about in handoff["datasets"].items() if not about["declared"]]
    count, commit = len(handoff["cells"]), handoff["commit"]
    text = _SCRIPT.format(
        cells=f"{count} cell{'s' if count != 1 else ''}",
        campaign=f"campaign {handoff['campaign']}",
        depth=handoff["depth"],
        machine=handoff["machine"]["id"],
        interface=handoff["interface"],
        time=time,
        commit=commit or "(not known: without git)",
        commit_word=shlex.quote(commit or ""),
        name=name,
        keys="".join(f" {key}=/path/of/{handoff['datasets'][key]['name']}" for key in own),
        config=" ".join(map(shlex.quote, config)),
        python=handoff["python"].replace("cpython-", "python"),
        mark=MARK,
    )
    return text + json.dumps(handoff, indent=1) + "\n"
