"""What stands under a table about its claims, word for word, and how many repeats its rows rest on."""

import pandas as pd

from augmark.analysis import latex, longform, markdown
from augmark.analysis.claim_notes import notes_of_claims
from augmark.analysis.rules import Rules
from augmark.analysis.tables import Entry, analyse, build_table, repeats_text
from tests.analysis.synthetic import (
    HOST,
    TABLE,
    make_classes,
    make_plan,
    make_record,
    make_records,
    measured,
    measured_again,
    unmeasured,
)


def table_of(seconds, *, repeats=3, factor=1.0, again="pillow", hosts=None, sessions=None, **more):
    """Library -> transform -> seconds, or the seconds of each repeat; its table."""
    plan = make_plan(
        {library: list(rows) for library, rows in seconds.items()}, repeats=repeats, again=again, **more
    )
    records = [
        make_record(
            plan,
            library,
            repeat,
            {
                name: told
                if isinstance(told, dict)
                else measured(told[repeat] if isinstance(told, list) else told)
                for name, told in rows.items()
                if not isinstance(told, list) or repeat < len(told)
            },
            host=(hosts or {}).get(library, HOST),
            session=(sessions or {}).get(library, "s1"),
        )
        for library, rows in seconds.items()
        for repeat in range(repeats)
    ]
    records = measured_again(plan, records, factor=factor)
    return build_table(analyse(make_records(plan, records), plan, make_classes(plan)), TABLE), plan


def notes(table, *begins):
    """The notes that begin so, in order."""
    return [text for text in table.notes if text.startswith(begins)]


def test_floor_is_told_with_its_figures():
    """Three of four per cent: below the margin, which then says what is claimed; above it the floor does."""
    rows = {"Flip": 1.0, "Blur": 2.0}
    seconds = {"kornia": {"Flip": 4.0, "Blur": 4.0}, "pillow": rows}
    table, _ = table_of(seconds, factor=1.031)
    assert notes(table, "Noise floor") == [
        "Noise floor (cpu): two measurements of Pillow differed by up to 3.1% in 2 rows (3 repeats or more); "
        "the margin is 5%, and no difference within it is claimed."
    ]
    table, _ = table_of({"kornia": {"Flip": 4.0}, "pillow": {"Flip": 1.0}}, factor=1.12)
    assert notes(table, "Noise floor") == [
        "Noise floor (cpu): two measurements of Pillow differed by up to 12% in 1 row (3 repeats or more); "
        "no difference below that is claimed (the margin alone would be 5%)."
    ]


def test_without_control_aa_nothing_is_claimed_and_the_note_says_why():
    """No floor, nothing bold, no count of winners."""
    table, _ = table_of({"kornia": {"Flip": 4.0}, "pillow": {"Flip": 1.0}}, again=None)
    assert notes(table, "No noise floor", "Bold", "Fastest") == [
        "No noise floor (cpu): control-aa has no row there with 3 repeats beside those of its library, so "
        "that what the machine cannot tell apart is not known: nothing is claimed, nothing is bold."
    ]
    assert "**" not in markdown.render(table)


def test_winners_stand_with_their_denominators():
    """Four rows: one each, one tied, one that a library has not; each count with what it is of."""
    none = unmeasured("failed", "raised")
    table, _ = table_of(
        {
            "kornia": {"A": 1.0, "B": 2.0, "C": 1.0, "D": none},
            "pillow": {"A": 2.0, "B": 1.0, "C": 1.01, "D": 1.0},
        }
    )
    assert notes(table, "Fastest") == [
        "Fastest or tied: Kornia in 2 of 3 rows compared (of 4 planned); Pillow in 2 of 3 rows compared "
        "(of 4 planned)."
    ]


def test_rivals_that_could_have_won_are_told():
    """Pillow is blocked in both rows, torchvision failed in one: the winner won without them."""
    slow, none = {**HOST, "governor": "powersave"}, unmeasured("failed", "raised")
    table, _ = table_of(
        {
            "albumentationsx": {"A": 1.0, "B": 1.0},
            "kornia": {"A": 2.0, "B": 2.0},
            "torchvision": {"A": none, "B": 3.0},
            "pillow": {"A": 0.5, "B": 0.5},
        },
        again="kornia",
        hosts={"pillow": slow},
    )
    (note,) = notes(table, "Fastest")
    assert note.startswith("Fastest or tied: AlbumentationsX in 2 of 2 rows compared (of 2 planned); ")
    assert note.endswith(
        " In 2 of 2 rows compared a library that could have won was not: torchvision failed in 1 and "
        "Pillow blocked in 2."
    )


def test_other_sessions_make_nothing_bold():
    """The note says why, and how it can be mended; nobody is counted as a winner."""
    seconds = {"kornia": {"A": 1.0}, "pillow": {"A": 2.0}}
    table, _ = table_of(seconds, sessions={"kornia": "another"})
    assert notes(table, "Nothing is bold", "Fastest") == [
        "Nothing is bold: in every row compared a library was measured in different sessions: refresh=blocks "
        "measures them side by side.",
        "Fastest or tied: Kornia in 0 of 1 rows compared, undecided in 1 (of 1 planned); Pillow in 0 of 1 "
        "rows compared, undecided in 1 (of 1 planned).",
    ]
    assert table.rows[0][1][1].marks == "xqd"


def test_undecided_rows_are_nobodys():
    """Noise in a row makes nobody its winner: it is counted apart, and marked q."""
    table, _ = table_of(
        {"kornia": {"A": [1.0, 1.0, 1.0], "B": 1.0}, "pillow": {"A": [0.7, 1.01, 1.5], "B": 9.0}}
    )
    assert notes(table, "Fastest") == [
        "Fastest or tied: Kornia in 1 of 2 rows compared, undecided in 1 (of 2 planned); Pillow in 0 of 2 "
        "rows compared, undecided in 1 (of 2 planned)."
    ]
    assert "q" in dict(table.legend)
    assert table.rows[0][1][0].marks == "q"


def test_nobody_wins_where_nothing_is_claimed():
    """A stamped depth, and two repeats: no count of winners."""
    rows = {"kornia": {"A": 1.0}, "pillow": {"A": 2.0}}
    assert notes(table_of(rows, stamp="smoke signal")[0], "Fastest", "Noise floor") == []
    assert notes(table_of(rows, repeats=2)[0], "Fastest", "Noise floor") == []


def test_devices_are_counted_apart():
    """A library on two devices is two columns, and two counts."""
    table, plan = table_of({"kornia": {"A": 1.0}, "pillow": {"A": 2.0}})
    shown = table.summary[table.summary["library"] != "control-aa"]
    both = pd.concat([shown, shown.assign(device="cuda")], ignore_index=True)
    told = notes_of_claims(plan, both, table.raw, Rules.of_plan(plan))
    assert [text for text in told if text.startswith("Fastest")] == [
        "Fastest or tied: Kornia (cpu) in 1 of 1 rows compared (of 1 planned); Pillow (cpu) in 0 of 1 rows "
        "compared (of 1 planned); Kornia (cuda) in 1 of 1 rows compared (of 1 planned); Pillow (cuda) in 0 "
        "of 1 rows compared (of 1 planned)."
    ]
    assert sum(text.startswith("No noise floor (cuda): ") for text in told) == 1


def test_drift_is_told_with_its_size():
    """Two libraries and control-aa took 10 % longer in the last block, almost alike."""
    table, _ = table_of({"kornia": {"A": [1.0, 1.05, 1.101]}, "pillow": {"A": [2.0, 2.1, 2.2]}})
    (note,) = notes(table, "The machine drifted")
    assert "rows took 10% longer than in the first (paired t over 3 libraries, p = " in note
    steady, _ = table_of({"kornia": {"A": [1.0, 1.05, 1.0]}, "pillow": {"A": 2.0}})
    assert notes(steady, "The machine drifted") == []


def test_blocked_rows_name_what_differs():
    """A mark, a footnote, and the same in the CSV."""
    slow = {**HOST, "governor": "powersave"}
    seconds = {"kornia": {"A": 1.0}, "pillow": {"A": 2.0}, "torchvision": {"A": 3.0}}
    table, plan = table_of(seconds, hosts={"kornia": slow})
    assert table.rows[0][1][0].marks == "m"
    assert table.footnotes == [
        "measured under other conditions: against pillow: host.governor: performance and powersave"
    ]
    assert "against pillow: host.governor: performance and powersave" in longform.render(table, plan)


def test_every_row_says_on_how_many_repeats_it_rests():
    """One number where the columns agree, else one for each in their order; in Markdown and LaTeX alike."""
    assert repeats_text([Entry(repeats=3), Entry(), Entry(repeats=3)]) == "3"
    assert repeats_text([Entry(repeats=3), Entry(), Entry(repeats=5)]) == "3/–/5"
    assert repeats_text([Entry(), Entry()]) == "–"
    seconds = {"kornia": {"A": [1.0] * 5, "B": [1.0] * 3}, "pillow": {"A": [1.0] * 5, "B": [1.0] * 5}}
    table, _ = table_of(seconds, repeats=5)
    assert table.repeats == ["5", "3/5"]
    assert "| Transform | n | Kornia | Pillow |" in markdown.render(table)
    assert r"B & 3/5 & " in latex.render(table)
    (note,) = notes(table, "Median throughput")
    assert "over 3 to 5 repeats (fresh processes; n: of each row" in note


def test_one_repeat_is_no_median():
    """What was measured once is said to be so."""
    table, _ = table_of({"kornia": {"A": 1.0}}, repeats=1, again=None)
    assert notes(table, "Throughput", "Median") == [
        "Throughput in items per second of one repeat (a fresh process)."
    ]


def test_twenty_repeats_have_a_bootstrap_interval():
    """The note names it, and its bounds stand in brackets."""
    table, _ = table_of({"kornia": {"A": [1.0 + 0.01 * k for k in range(20)]}}, repeats=20, again=None)
    assert "in [ ] the 95% BCa bootstrap interval over repeats" in notes(table, "Median")[0]
    assert table.rows[0][1][0].bounds.startswith("[0.")
