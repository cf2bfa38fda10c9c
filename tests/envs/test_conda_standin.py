"""The stand-in conda runs `snakemake --sdm conda` end to end on a toy of two rules."""

import os
import subprocess
import sys

from augmark.locking import conda_yaml
from tests.envs.conda_standin import put_on_path

SNAKEFILE = """\
rule all:
    input: "said.txt"

rule say:
    output: "said.txt"
    conda: "env.yaml"
    shell: "python -I -c 'import sys, tiny; print(sys.executable, tiny.__version__)' > {output}"
"""


def test_toy_workflow_runs_in_the_conda_environment(tmp_path, lines):
    """The rule's python is the environment's, with the version that the conda file pins."""
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    (tmp_path / "env.yaml").write_text(conda_yaml("tiny", lines["tiny-1.0"]))
    path = f"{put_on_path(tmp_path / 'conda')}{os.pathsep}{os.environ['PATH']}"
    command = [sys.executable, "-m", "snakemake", "--sdm", "conda", "--cores", "1", "--quiet"]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True
    )
    assert 0 == done.returncode, done.stdout + done.stderr
    executable, version = (tmp_path / "said.txt").read_text().split()
    assert executable.startswith(str(tmp_path / ".snakemake" / "conda"))
    assert "1.0" == version
