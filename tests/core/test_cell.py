"""A cell and its path are one thing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from augmark.cell import Cell, canonical_json, parse_record_path, short_digest

ids = st.from_regex(r"[a-z0-9]{1,8}(-[a-z0-9]{1,8}){0,2}", fullmatch=True)
digests = st.from_regex(r"[0-9a-f]{10}", fullmatch=True)
cells = st.builds(Cell, ids, ids, ids, ids, ids, st.integers(0, 10**6))


@given(cells, digests)
def test_a_record_path_round_trips(cell, digest):
    """Printing and parsing lose nothing, whatever stands before the path."""
    path = cell.record_path(digest)
    assert (cell, digest) == parse_record_path(path)
    assert (cell, digest) == parse_record_path(f"/some/where/results/records/{path}")


def test_the_path_is_the_one_of_the_design():
    """machine/scenario/mode/library/device/r<repeat>.<digest>.json."""
    cell = Cell("local-3f9a", "image-rgb", "micro", "kornia", "cpu", 2)
    expected = "local-3f9a/image-rgb/micro/kornia/cpu/r2.0123456789.json"
    assert expected == str(cell.record_path("0123456789"))


@pytest.mark.parametrize(
    "path",
    [
        "image-rgb/micro/kornia/cpu/r0.0123456789.json",  # no machine
        "m/image-rgb/micro/kornia/cpu/r00.0123456789.json",  # a second name of r0
        "m/image-rgb/micro/kornia/cpu/r0.012345678.json",  # short digest too short
        "m/image_rgb/micro/kornia/cpu/r0.0123456789.json",  # not kebab-case
        "m/image-rgb/micro/kornia/cpu/.r0.0123456789.json.part",  # half written
    ],
)
def test_what_is_no_record_path_is_refused(path):
    """A path that no cell prints is not read as one."""
    with pytest.raises(ValueError, match="not the path of a record"):
        parse_record_path(path)


def test_ids_are_checked():
    """An id that could leave its folder never becomes a path."""
    with pytest.raises(ValueError, match="kebab-case"):
        Cell("..", "image-rgb", "micro", "kornia", "cpu", 0)


def test_digest_does_not_depend_on_the_order_of_keys():
    """Equal values have equal digests; the expected one was worked out with sha256sum."""
    assert short_digest({"a": 1, "b": [2]}) == short_digest({"b": [2], "a": 1})
    # printf '{"a":1,"b":[2]}' | sha256sum
    assert canonical_json({"b": [2], "a": 1}) == '{"a":1,"b":[2]}'
