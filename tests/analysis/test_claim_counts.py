"""Claims that count: a win is a row in which everybody who could have won was compared."""

import pytest

from augmark.analysis.tables import analyse
from tests.analysis.held import COUNT, FAST, TWICE, analysed, verdict
from tests.analysis.synthetic import (
    HOST,
    make_classes,
    make_plan,
    make_record,
    make_records,
    measured,
    measured_again,
    plan_row,
    unmeasured,
)

ROWS = {
    "albumentationsx": {"Won": FAST, "WonToo": FAST, "Tied": FAST, "Lost": TWICE},
    "kornia": {"Won": TWICE, "WonToo": TWICE, "Tied": TWICE, "Lost": TWICE},
    "pillow": {"Won": TWICE, "WonToo": TWICE, "Tied": FAST, "Lost": FAST},
}


def counted(rows=ROWS, *, named=("Won", "WonToo", "Tied", "Lost"), **changed):
    return verdict(analysed(rows), **{**COUNT, "transforms": list(named), **changed})


def test_a_count_has_its_denominator():
    """Fastest alone in two of four rows compared; a tie is no win."""
    found = counted(of=4)
    assert ("holds", 2, 4, 3) == (found.verdict, found.wins, found.compared, found.repeats)
    assert "found fastest alone in 2 of 4 rows compared, tied or undecided in 1" == found.reason


def test_a_count_of_more_rows_needs_as_large_a_share():
    """Two of three are claimed: two of four are not that."""
    assert "refused" == counted().verdict
    assert "holds" == counted(at_least=1, of=3).verdict


def test_a_count_is_refused_where_fewer_rows_are_compared():
    """Two of two is not two of three, although the share is larger."""
    some = {library: {n: rows[n] for n in ("Won", "WonToo")} for library, rows in ROWS.items()}
    found = counted(some, named=("Won", "WonToo"))
    assert "refused" == found.verdict
    assert found.reason.endswith("; the claim is about 3")


def test_rows_that_are_not_compared_are_not_in_the_denominator():
    """A row that no other library can be held against is neither won nor lost."""
    lonely = plan_row("Lonely", "unsupported", "no such operation")
    rows = {**ROWS, "albumentationsx": {**ROWS["albumentationsx"], "Lonely": FAST}}
    plan = make_plan(
        {
            library: [*names, *([] if library == "albumentationsx" else [lonely])]
            for library, names in rows.items()
        },
        again="albumentationsx",
    )
    plan["machine_stanza"] = {"id": "local"}
    records = [
        make_record(plan, library, repeat, {name: measured(values[repeat]) for name, values in its.items()})
        for library, its in rows.items()
        for repeat in range(3)
    ]
    analysis = analyse(make_records(plan, measured_again(plan, records)), plan, make_classes(plan))
    found = verdict(analysis, **{**COUNT, "of": 4, "transforms": list(rows["albumentationsx"])})
    assert (2, 4) == (found.wins, found.compared)
    assert "not compared" not in found.reason


def all_of(seconds, **changes):
    """Four rows, all of them won against kornia; pillow's are given, and what is changed in records."""
    names = ("A", "B", "C", "D")
    rows = {"albumentationsx": dict.fromkeys(names, FAST), "kornia": dict.fromkeys(names, TWICE)}
    rows["pillow"] = dict(zip(names, seconds, strict=True))
    claim = {**COUNT, "transforms": list(names), "at_least": 4, "of": 4}
    return verdict(analysed(rows, changes=changes), **claim)


def test_a_count_does_not_hold_because_the_winner_was_blocked():
    """Pillow is twice as fast, and all of its records are under another governor."""
    half = [seconds / 2 for seconds in FAST]
    found = all_of([half] * 4, pillow=lambda _: {"host": {**HOST, "governor": "powersave"}})
    assert ("refused", 0, 0) == (found.verdict, found.wins, found.compared)
    assert found.reason == (
        "nothing compared; not compared in 4: pillow blocked in 4 "
        "(against albumentationsx: host.governor: performance and powersave)"
    )


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (unmeasured("timeout", "no sign of life"), "pillow timeout in 2 (no sign of life)"),
        (unmeasured("crashed", "signal 11"), "pillow crashed in 2 (signal 11)"),
        (unmeasured("oom", "killed"), "pillow oom in 2 (killed)"),
        (None, "pillow not-run in 2"),
        (measured(0.0001, items=16), "pillow on other items in 2"),
    ],
)
def test_a_row_without_a_rival_is_not_won(told, said):
    """Two rows in which pillow might have won: two are left of the four that are claimed."""
    found = all_of([[told] * 3, [told] * 3, TWICE, TWICE])
    assert ("refused", 2, 2) == (found.verdict, found.wins, found.compared)
    assert f"; not compared in 2: {said}" in found.reason
    assert found.reason.endswith("; the claim is about 4")


def test_a_count_says_who_could_not_win():
    """Other work is left out, and counted."""
    rows = {"albumentationsx": {"A": FAST}, "kornia": {"A": TWICE}, "pillow": {"A": FAST}}
    other = dict.fromkeys((("albumentationsx", "pillow"), ("kornia", "pillow")), ("different", "bilinear"))
    found = verdict(analysed(rows, classes=other), **{**COUNT, "transforms": ["A"], "at_least": 1, "of": 1})
    assert ("holds", 1) == (found.verdict, found.compared)
    assert found.reason.endswith("; left out beside those compared: pillow of other work in 1")


def test_a_rival_of_another_session_is_not_beaten():
    """However slow it was there."""
    found = all_of([TWICE] * 4, pillow=lambda _: {"session": "another"})
    assert ("refused", 0, 4) == (found.verdict, found.wins, found.compared)
