"""Findings of Snakemake's lint fail unless they are accepted, and accepted ones must still be found."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SNAKEFILE = """\
rule all:
    input:
        "x.txt",


rule toy:
    output:
        "x.txt",
    log:
        "toy.log",
    shell:
        "touch {output} 2> {log}"
"""
FOUND = "Specify a conda environment or container for each rule."


@pytest.mark.parametrize(
    ("accepted", "expected"),
    [
        ("[]", (1, f"snakemake --lint: toy: {FOUND}")),
        (f"[{{in: toy, title: '{FOUND}', reason: a toy}}]", (0, "")),
        (
            f"[{{in: toy, title: '{FOUND}', reason: a toy}}, {{in: all, title: Old, reason: gone}}]",
            (1, "accepted-lint.yaml: all: Old: accepted but no longer found; remove it"),
        ),
    ],
)
def test_findings_are_accepted_in_writing(tmp_path, accepted, expected):
    """A toy workflow with one finding: not accepted, accepted, and one accepted that is gone."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "workflow").mkdir()
    shutil.copy(ROOT / "scripts" / "check_lint.py", tmp_path / "scripts")
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    (tmp_path / "workflow" / "accepted-lint.yaml").write_text(accepted)
    command = [sys.executable, tmp_path / "scripts" / "check_lint.py"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert expected == (done.returncode, done.stderr.strip())
