"""Reading locks, their digest, and what is installed against what is locked."""

import pytest

from augmark.locks import Pin, compare_installed, lock_digest, lock_text_digest, normalise, parse_lock

LOCK = """\
# a comment
b_lib==2.0 ; sys_platform == 'linux' \\
    --hash=sha256:bb \\
    --hash=sha256:aa
    # via something
A.lib==1.0 --hash=sha256:cc
"""
SAME = """\
a-lib==1.0 \\
    --hash=sha256:cc
b-lib==2.0 ; sys_platform == 'linux' --hash=sha256:aa --hash=sha256:bb  # why
"""
PINS = [
    Pin("a-lib", "1.0", "", ("sha256:cc",)),
    Pin("b-lib", "2.0", "sys_platform == 'linux'", ("sha256:aa", "sha256:bb")),
]


def test_lock_is_read():
    """Continuations, comments, markers, hashes and names come out in one form."""
    assert parse_lock(LOCK) == PINS


def test_digest_ignores_layout(tmp_path):
    """Comments, order and line breaks do not change the digest; a file's is its text's."""
    (tmp_path / "lock.txt").write_text(SAME)
    assert lock_text_digest(LOCK) == lock_text_digest(SAME) == lock_digest(tmp_path / "lock.txt")


@pytest.mark.parametrize(
    ("old", "new"),
    [("2.0", "2.1"), ("sha256:bb", "sha256:bd"), ("'linux'", "'darwin'"), ("A.lib", "C.lib")],
)
def test_digest_notices(old, new):
    """Another version, hash, marker or name is another digest."""
    assert lock_text_digest(LOCK) != lock_text_digest(LOCK.replace(old, new))


@pytest.mark.parametrize("line", ["tiny>=1.0", "--index-url x", "tiny @ file:tiny.whl", "-e ."])
def test_only_exact_pins_are_a_lock(line):
    """A range, an option, a URL or a folder is refused and named."""
    with pytest.raises(ValueError, match="not an exact pin"):
        parse_lock(line)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("Kornia_RS", "kornia-rs"), ("ruamel.yaml", "ruamel-yaml"), ("a-_.b", "a-b")],
)
def test_names_compare_as_the_standards_say(name, expected):
    """Case, dots, dashes and underscores do not tell two names apart."""
    assert expected == normalise(name)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ({"a-lib": ["1.0"], "b-lib": ["2.0"]}, []),
        ({"a-lib": ["1.0"], "pip": ["25"], "setuptools": ["80"]}, []),
        ({"a-lib": ["1.1"]}, ["a-lib 1.1 is installed, the lock says 1.0"]),
        ({"a-lib": ["0.9", "1.0"]}, ["a-lib 0.9 is installed, the lock says 1.0"]),
        ({"a-lib": ["1.0"], "c-lib": ["3"]}, ["c-lib 3 is installed and not in the lock"]),
        ({"b-lib": ["2.0"]}, ["a-lib is in the lock and not installed"]),
    ],
)
def test_installed_against_lock(found, expected):
    """Pins with a marker may be missing; another version, a stranger or a gap is said in words."""
    assert expected == compare_installed(PINS, found)
