"""The files of envs/: locks that fit what is asked for, name no place, and conda files with the same pins."""

import shutil
from pathlib import Path

import pytest
import yaml

from augmark.locking import asks_digest, check_lock, conda_yaml, drop_windows, environment_names
from augmark.locks import parse_lock

ROOT = Path(__file__).resolve().parents[2]
ENVS = ROOT / "envs"
NAMES = environment_names(ENVS)
LIBRARIES = [name for name in NAMES if name != "workflow"]


def versions(environment: str) -> dict[str, str]:
    return {pin.name: pin.version for pin in parse_lock((ENVS / f"{environment}.txt").read_text())}


def test_environments_are_the_expected_ones():
    """One per library, the controls' and the workflow's own."""
    assert {"albumentationsx", "control", "kornia", "pillow", "torchvision", "workflow"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_lock_is_the_one_of_its_in(name):
    """Lock and conda file agree with the .in; every pin has hashes; no registry, URL or folder is named."""
    assert [] == check_lock(ENVS, name)


@pytest.mark.parametrize("name", LIBRARIES)
def test_conda_file_has_the_pins_of_the_lock(name):
    """Read as YAML, its pip section is the lock again."""
    lock = (ENVS / f"{name}.txt").read_text()
    dependencies = yaml.safe_load((ENVS / f"{name}.yaml").read_text())["dependencies"]
    assert parse_lock(lock) == parse_lock("\n".join(dependencies[-1]["pip"]))
    assert ["python =3.11", "pip"] == dependencies[:-1]


@pytest.mark.parametrize(
    "shared", ["numpy", "pyperf", "threadpoolctl", "torch", "pillow", "opencv-python-headless"]
)
def test_what_libraries_share_is_the_same_everywhere(shared):
    """A library gains nothing by a newer NumPy, torch or timer than its neighbours."""
    assert 1 == len({versions(name)[shared] for name in LIBRARIES if shared in versions(name)})


def test_one_version_per_package():
    """Whatever Python runs it, an environment holds the same versions."""
    for name in NAMES:
        names = [pin.name for pin in parse_lock((ENVS / f"{name}.txt").read_text())]
        assert sorted(set(names)) == names


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        ("control.in", "tqdm", "tqdm\nrich", "control.txt: rich is asked for and not locked"),
        (
            "control.in",
            "numpy==2.4.6",
            "numpy==2.4.5",
            "control.txt: numpy==2.4.5 is asked for, 2.4.6 is locked",
        ),
        ("control.in", "tqdm", "", "control.txt: was made from another control.in"),
        ("control.txt", "# asks", "--index-url x # asks", "control.txt: not an exact pin: '--index-url x'"),
        ("control.txt", "# asks", "# https://x # asks", "control.txt: names a place: # https://x # asks"),
        ("control.yaml", "2.4.6", "2.4.5", "control.yaml: is not the one of control.txt"),
    ],
)
def test_drift_is_found(tmp_path, file, old, new, expected):
    """Each way in which one of the three files can leave the others, by name."""
    for suffix in (".in", ".txt", ".yaml"):
        shutil.copy(ENVS / f"control{suffix}", tmp_path)
    text = (tmp_path / file).read_text()
    assert old in text
    (tmp_path / file).write_text(text.replace(old, new, 1))
    found = check_lock(tmp_path, "control")
    assert any(problem.startswith(expected) for problem in found), found


def test_missing_lock_is_found(tmp_path):
    """An .in without a lock is named."""
    (tmp_path / "new.in").write_text("tqdm\n")
    assert ["new.txt: is missing"] == check_lock(tmp_path, "new")


def test_windows_pins_are_dropped():
    """Only what Windows alone would install goes, with its hashes and comments."""
    kept = "a==1 ; sys_platform == 'linux' \\\n    --hash=sha256:00\n    # via b\n"
    gone = "c==1 ; sys_platform == 'win32' \\\n    --hash=sha256:00\n    # via d\n"
    assert "# head\n" + kept + kept == drop_windows("# head\n" + kept + gone + kept)


def test_asking_for_the_same_in_another_order_is_no_change():
    """Comments and order of an .in do not count, versions do."""
    assert asks_digest("a==1\nb\n") == asks_digest("# why\nb\na==1  # because\n")
    assert asks_digest("a==1\n") != asks_digest("a==2\n")


def test_conda_file_of_a_small_lock():
    """Written out by hand once."""
    expected = """\
# Made by `python scripts/lock_envs.py` from envs/x.txt, for `snakemake --sdm conda`.
name: augmark-x
channels: [conda-forge, nodefaults]
dependencies:
  - python =3.11
  - pip
  - pip:
    - a==1 ; sys_platform == 'linux'
      --hash=sha256:00
      --hash=sha256:11
"""
    lock = "a==1 ; sys_platform == 'linux' --hash=sha256:11 --hash=sha256:00\n"
    assert expected == conda_yaml("x", lock)
