"""The measured process holds only what is measured, and its parent no library at all."""

import json
import os
import re
import shutil
import subprocess

import pytest

from tests.conftest import ROOT, copy_project
from tests.worker.kit import Jobs

# Python's own, what the worker is allowed (psutil is pyperf's), and the project.
ALLOWED = ("numpy", "pyperf", "psutil", "threadpoolctl", "augmark")
# Of the workflow and of the parent: never beside what is measured.
NEVER = ("snakemake", "pandas", "yaml", "jsonschema", "tqdm", "pyarrow", "matplotlib")
NAMES = {
    "albumentationsx": "albumentations",
    "torchvision": "torchvision",
    "kornia": "kornia",
    "pillow": "PIL",
}
RULES = {path.stem: path.read_text() for path in (ROOT / "workflow" / "rules").glob("*.smk")}

# Stands before the code of scripts/worker.py: what is imported, and by whom, is looked at and written down.
GUARD = """
import sys as _sys

_ALLOWED, _REPORT, _ADAPTERS = {allowed!r}, {report!r}, {adapters!r}
_refused = []


class _Guard:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        python_s_own = top in _sys.stdlib_module_names or top.startswith("_sysconfigdata_")
        if path is not None or python_s_own or top in _ALLOWED or self._for_a_library():
            return None
        if top != "org":  # Jython's, which Python's own copy.py asks for
            _refused.append(name)
        raise ModuleNotFoundError(f"{{name}} has no place in the measured process", name=name)

    def _for_a_library(self):
        frame = _sys._getframe(1)
        while _ADAPTERS and frame is not None:
            if frame.f_globals.get("__name__", "").startswith("augmark.libraries."):
                return True
            frame = frame.f_back
        return False


_sys.meta_path.insert(0, _Guard())
"""
# Stands after it.
REPORT = """
    import json as _json

    with open(_REPORT, "a") as _stream:
        _tops = sorted({name.partition(".")[0] for name in _sys.modules})
        print(_json.dumps({"modules": _tops, "refused": _refused}), file=_stream)
"""


@pytest.fixture(scope="module")
def guarded(real, tmp_path_factory):
    """Run a probe and a measurement with a guarded worker; a report of each."""
    project = copy_project(tmp_path_factory.mktemp("guarded") / "project")
    shutil.copytree(real.project.results, project.results, symlinks=True)
    jobs = Jobs(project, real.words)
    jobs.replan()
    worker = project.root / "scripts" / "worker.py"
    plain = worker.read_text()
    assert plain.rstrip().endswith("main()")

    def run(python, library, adapters):
        report = project.root / f"{library}.jsonl"
        guard = GUARD.format(allowed=ALLOWED, report=str(report), adapters=adapters)
        worker.write_text(guard + plain + REPORT)
        for kind in ("probe", "measure"):
            done = jobs.run(python, kind, library)
            assert 0 == done.returncode, done.stdout + done.stderr
        rows = jobs.record(library)["rows"]
        assert all("ok" == row["status"] for row in rows if row["status"] != "unsupported"), rows
        return [json.loads(line) for line in report.read_text().splitlines()]

    return run


@pytest.mark.parametrize("library", ["control-copy", "control-slow"])
def test_the_control_needs_nothing_else(guarded, real_python, library):
    """With every other import refused, the control is probed and measured, and nothing else was tried."""
    reports = guarded(real_python(library), library, adapters=False)
    assert 2 == len(reports)
    for report in reports:
        assert [] == report["refused"]
        assert not set(NEVER) & set(report["modules"])


@pytest.mark.parametrize("library", ["albumentationsx", "torchvision", "kornia", "pillow"])
def test_only_the_adapter_brings_in_a_library(guarded, real_python, library):
    """What a library depends on comes in through its adapter; the worker itself asks for nothing more."""
    reports = guarded(real_python(library), library, adapters=True)
    code = f"import sys, {NAMES[library]}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run(
        [real_python(library), "-I", "-c", code], capture_output=True, text=True, check=True
    )
    its_own = set(done.stdout.split())  # torch brings tqdm itself, and AlbumentationsX yaml
    assert 2 == len(reports)
    for report in reports:
        assert [] == report["refused"]
        assert set(NEVER) & set(report["modules"]) <= its_own
        assert NAMES[library] in report["modules"]


@pytest.mark.parametrize("library", ["albumentationsx", "torchvision", "kornia", "pillow"])
def test_the_parent_imports_no_library(real_python, library):
    """Supervising is done beside the library, not with it, and without NumPy's threads."""
    code = (
        "import sys; sys.path.insert(0, 'workflow')\n"
        "from augmark.worker import job, measure, probe, supervise\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    command = [real_python(library), "-I", "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "augmark" in loaded
    assert not {"torch", "torchvision", "cv2", "albumentations", "kornia", "PIL", "scipy"} & loaded
    assert not {"snakemake", "pandas", "yaml", "jsonschema"} & loaded


@pytest.mark.parametrize("name", sorted(RULES))
def test_rules_are_shell_commands(name):
    """A preamble of ``script:`` or ``run:`` would import Snakemake into the process."""
    directives = set(re.findall(r"^    ([a-z]+):", RULES[name], flags=re.MULTILINE))
    assert "shell" in directives
    assert not {"script", "run", "notebook", "wrapper", "template_engine"} & directives
    assert RULES[name].count("\nrule ") == RULES[name].count("\n    shell:")


def test_measuring_rules_use_the_library_s_own_python():
    """Isolated from the user's variables and folders, and in the place of the shell."""
    rules = dict(re.findall(r"^rule (\w+):\n(.*?)(?=^rule |\Z)", RULES["measure"], flags=re.M | re.S))
    assert {"probe", "measure", "session"} == rules.keys()
    for rule, text in ((rule, rules[rule]) for rule in ("probe", "measure")):
        assert re.search(rf'"exec {{params\.python(:q)?}} -I scripts/{rule}\.py ', text)
        assert "python=RUN.python," in text
        assert "--watch {params.watch}" in text
        assert "threads: workflow.cores" in text


def test_the_user_s_own_variables_do_not_reach_the_measured_process(real, real_python, tmp_path):
    """PYTHONPATH and sitecustomize of a user change nothing: the interpreter is isolated."""
    (tmp_path / "numpy.py").write_text("raise SystemExit('not this one')")
    (tmp_path / "sitecustomize.py").write_text("raise SystemExit('nor this')")
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONSTARTUP": str(tmp_path / "numpy.py")}
    done = real.run(real_python("control-copy"), "probe", "control-copy", env=env)
    assert 0 == done.returncode, done.stdout + done.stderr
