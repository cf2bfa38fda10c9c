"""Thread counts: set before anything is imported, and read back in the process that has them."""

import json
import os
import platform
import subprocess

import pytest

from augmark.worker import threads
from tests.conftest import ROOT

READ_BACK = """
import json, sys
sys.path.insert(0, {workflow!r})
{imports}
from augmark.worker import threads
print(json.dumps(threads.read_back()))
"""


def read_back(python, imports, asked):
    """What a process of an environment says of its own pools."""
    done = subprocess.run(
        [python, "-I", "-c", READ_BACK.format(workflow=str(ROOT / "workflow"), imports=imports)],
        env=threads.environment(os.environ, asked),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def test_every_pool_gets_its_variable_and_nothing_calls_home():
    """The variables are words; telemetry and update checks are off."""
    asked = threads.environment({"OMP_NUM_THREADS": "7", "HOME": "/home/me"}, 3)
    assert "/home/me" == asked["HOME"]
    assert {"3"} == {asked[name] for name in threads.POOL_VARIABLES}
    assert {"1"} == {asked[name] for name in threads.QUIET}
    assert all(isinstance(value, str) for value in asked.values())


def test_without_a_count_pools_are_the_libraries_own():
    """What the user's shell says of pools does not reach the process, and nothing else is said of them."""
    shell = dict.fromkeys(threads.POOL_VARIABLES, "7") | {"HOME": "/home/me"}
    given = threads.environment(shell, None)
    assert set() == set(threads.POOL_VARIABLES) & given.keys()
    assert "/home/me" == given["HOME"]
    assert {"1"} == {given[name] for name in threads.QUIET}


@pytest.mark.parametrize("asked", [1, 2])
def test_the_count_of_numpys_pool_is_read_back(library_python, asked):
    """The control's only pool is that of NumPy's linear algebra."""
    found = read_back(library_python("control"), "import numpy", asked)
    assert {"blas:libscipy_openblas": asked} == found


@pytest.mark.parametrize("asked", [1, 2])
def test_torch_and_opencv_are_read_from_themselves(library_python, asked):
    """AlbumentationsX brings torch, OpenCV and OpenMP: all obey, and OpenCV's none is one."""
    imports = f"import numpy, torch, cv2; cv2.setNumThreads({asked if asked > 1 else 0})"
    found = read_back(library_python("albumentationsx"), imports, asked)
    assert {"torch", "opencv"} <= found.keys()
    assert {asked} == set(found.values()), found


def test_a_pool_that_does_not_obey_is_seen(library_python):
    """What is read back is what is there, not what was asked for."""
    imports = "import torch; torch.set_num_threads(2)"
    assert 2 == read_back(library_python("torchvision"), imports, 1)["torch"]


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc's allocator adapts in this way")
def test_the_allocator_keeps_what_it_was_given(library_python):
    """Large arrays made and dropped again and again cost no new pages: no row pays for being first."""
    code = (
        "import resource, numpy as np\n"
        "def work(): return [np.ones(6 << 20, np.uint8) for _ in range(3)]\n"
        "work(); work()\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt\n"
        "for _ in range(50): work()\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)\n"
    )
    command = [str(library_python("control")), "-I", "-c", code]
    env = threads.environment(os.environ, 1)
    faults = int(subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout)
    # One round touches 18 MiB: 4,608 pages of 4 KiB. Fifty rounds must not fault even one round's.
    assert faults < 18 * 256
