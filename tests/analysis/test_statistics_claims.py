"""What a table claims: noise wins no more often than the error rate, and discoveries are counted together."""

import math
from dataclasses import replace

import numpy as np
import pytest

from augmark.analysis.classes import Classes
from augmark.analysis.compare import Comparison, compare, verdict
from augmark.analysis.contracts import Repeats
from augmark.analysis.discoveries import q_values, with_the_fastest
from augmark.analysis.fields import Contest, Entrant, judge, open_contest
from augmark.analysis.statistics import summarize
from tests.analysis.summaries import RULES, covered, summarized, summary_of
from tests.analysis.synthetic import make_classes, make_plan, make_record, measured

SEED = 20261130
EXACT = replace(RULES, margin=1e-9)  # no margin hides the noise: the error rate itself
RATE = RULES.false_discovery_rate


def at_most(rate, count):
    """The error rate, and two standard errors of counting so many."""
    return rate + 2 * math.sqrt(rate * (1 - rate) / count)


def blank(library="a", seconds=1.0):
    """A line as ``summarize`` makes it before rows are compared; decoders have no classes of work."""
    line = dict.fromkeys(("comparison", "ratio", "ratio_low", "ratio_high", "p_value", "q_value", "verdict"))
    place = {"scenario": "image-rgb", "mode": "decode", "library": library, "transform": "Decode"}
    facts = {"condition": "plain", "status": "ok", "items": "32", "items_digest": "x", "dtype": "uint8"}
    return {
        **line,
        **place,
        **facts,
        "seconds_median": seconds,
        "marks": [],
        "best": False,
        "floor": 0.0,
    }


def contest(seconds, rules=EXACT, *, session="s"):
    """The comparison of libraries from their process means, (libraries, repeats).

    ``session``: of all but the first of them.
    """
    entrants = [
        Entrant(
            blank(chr(97 + index), float(np.median(means))),
            Repeats(dict(in_session(means, session if index else "s"))),
        )
        for index, means in enumerate(seconds)
    ]
    return open_contest(entrants, rules, Classes())


def in_session(means, session="s"):
    return (((session, repeat), float(mean)) for repeat, mean in enumerate(means))


def verdicts(contest):
    return [contest.fastest["verdict"], *(line["verdict"] for line, _ in contest.rivals)]


@pytest.mark.parametrize("repeats", [3, 5])
@pytest.mark.parametrize("libraries", [2, 3, 4, 5])
def test_equal_libraries_win_no_more_often_than_the_error_rate(libraries, repeats):
    """Pure noise: nobody is called slower, and nobody wins alone, in more than 5 % of tables of one row."""
    rng = np.random.default_rng([SEED, libraries, repeats])
    tables = 1000
    wrong = alone = 0
    for seconds in np.exp(0.03 * rng.standard_normal((tables, libraries, repeats))):
        field = contest(seconds)
        judge([field], EXACT)
        slower = verdicts(field).count("slower")
        wrong += slower > 0
        alone += slower == libraries - 1
    assert alone <= at_most(RATE, tables) * tables
    assert wrong <= at_most(RATE, tables) * tables


def test_intervals_alone_would_let_noise_win():
    """The check can fail: of five equal ones the luckiest leaves another behind in over 10 % of fields."""
    rng = np.random.default_rng(SEED)
    fields = [contest(seconds) for seconds in np.exp(0.03 * rng.standard_normal((500, 5, 5)))]
    assert sum(any(found.low > 0 for _, found in field.rivals) for field in fields) / 500 > 0.10


def test_equal_libraries_of_different_sessions_do_not_win():
    """Sessions differ by 5 %: Welch's interval is often beyond the margin, and no verdict is made of it."""
    rng = np.random.default_rng([SEED, 9])
    fields, beyond, decided, best = 500, 0, 0, 0
    for session in 0.05 * rng.standard_normal((fields, 2, 1)):
        field = contest(np.exp(session + 0.01 * rng.standard_normal((2, 5))), RULES, session="t")
        judge([field], RULES)
        ((_, found),) = field.rivals
        beyond += min(abs(found.low), abs(found.high)) > math.log(1.05) and found.low * found.high > 0
        decided += set(verdicts(field)) != {"undecided"} or verdict(found, RULES, 0.0) != "undecided"
        best += any(line["best"] for line in (field.fastest, field.rivals[0][0]))
    assert beyond > 0.15 * fields
    assert max(decided, best) <= 0.05 * fields


def test_a_rival_of_another_session_leaves_the_others_their_verdicts():
    """Nobody is best beside it, and what is slower in the same session stays so."""
    lines = summary_of(
        {"pillow": [1.0] * 3, "torchvision": [3.0] * 3, "kornia": [9.0] * 3}, sessions={"kornia": "s2"}
    )
    assert lines["verdict"].to_dict() == {
        "pillow": "undecided",
        "torchvision": "slower",
        "kornia": "undecided",
    }
    assert not lines["best"].any()
    assert lines.loc["kornia", ["ratio_low"]].to_list() == pytest.approx([9.0])
    assert lines.loc["kornia", ["p_value", "q_value"]].isna().all()


@pytest.mark.parametrize("spread", [0.005, 0.02, 0.05])
def test_a_second_look_keeps_the_error_rate(spread):
    """Three repeats, and five where these leave it undecided: at the margin 5 % are called slower at most."""
    rng = np.random.default_rng([SEED, int(1000 * spread)])
    looks, slower = 2000, 0
    for noise in spread * rng.standard_normal((looks, 2, 5)):
        first, second = (dict(in_session(means)) for means in np.exp(noise) * [[1 + RULES.margin], [1.0]])
        for repeats in (3, 5):
            keys = sorted(first)[:repeats]
            found = compare({k: first[k] for k in keys}, {k: second[k] for k in keys}, RULES)
            said = verdict(found, RULES, 0.0)
            if said != "undecided":
                break
        slower += said == "slower"
    assert slower <= at_most(RATE, looks) * looks


def tables_of_rows(rng, *, tables, rows, slower):
    """Process means (tables, rows, 4 libraries, 5 repeats): a process is slow or fast in all of its rows.

    In the first ``slower`` rows the last two libraries are 20 % slower.
    """
    process = 0.02 * rng.standard_normal((tables, 1, 4, 5))
    logs = process + 0.02 * rng.standard_normal((tables, rows, 4, 5))
    logs[:, :slower, 2:] += math.log(1.2)
    return np.exp(logs)


def test_tables_of_noise_claim_nothing():
    """Twenty rows in the same processes, all libraries equal: a difference in 5 % of tables at most."""
    rng = np.random.default_rng(SEED)
    wrong = 0
    for table in tables_of_rows(rng, tables=200, rows=20, slower=0):
        fields = [contest(seconds) for seconds in table]
        judge(fields, EXACT)
        wrong += any("slower" in verdicts(field) for field in fields)
    assert wrong / 200 <= at_most(RATE, 200)


def test_false_discoveries_are_few_of_all():
    """Half of the rows differ: of what is called slower 5 % at most is not, and most that is, is found."""
    rng = np.random.default_rng(SEED + 1)
    shares, found = [], 0
    for table in tables_of_rows(rng, tables=100, rows=20, slower=10):
        fields = [contest(seconds) for seconds in table]
        judge(fields, EXACT)
        claimed = [
            (row < 10 and line["library"] in "cd")
            for row, field in enumerate(fields)
            for line, _ in field.rivals
            if line["verdict"] == "slower"
        ]
        shares.append(1 - np.mean(claimed) if claimed else 0.0)
        found += sum(claimed)
    assert np.mean(shares) <= RATE
    assert found / (100 * 20) > 0.8


def test_control_aa_wins_against_nobody():
    """Through the whole summary, 60 rows of two equal libraries and control-aa, no margin: nobody wins."""
    rng = np.random.default_rng(SEED)
    names = [f"T{index}" for index in range(60)]
    plan = make_plan({"kornia": names, "pillow": names}, repeats=5, again="pillow")
    plan["policy"]["statistics"] = {**plan["policy"]["statistics"], "margin": 1e-9}
    records = [
        make_record(
            plan, name, repeat, {t: measured(float(np.exp(0.03 * rng.standard_normal()))) for t in names}
        )
        for name in ("kornia", "pillow", "control-aa")
        for repeat in range(5)
    ]
    rows = covered({**plan, "libraries": {}}, records)  # control-aa has records of its own here
    lines = summarize(rows, replace(EXACT, again="pillow"), Classes.of_frame(make_classes(plan)))
    compared = lines[lines["comparison"].notna()]
    assert len(compared) == 60
    assert lines["floor"].iloc[0] > 0.02
    assert (compared["verdict"] == "slower").sum() <= 0.05 * 60
    assert set(lines.loc[lines["library"] == "control-aa", "best"]) == {False}


def test_benjamini_hochberg_by_hand():
    """p of .005 .01 .03 .04 among four: 4 * .01 / 2 for the first two, 4 * .04 / 4 for the others."""
    assert q_values([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.02, 0.04, 0.04, 0.02])
    assert q_values([]) == []


def test_p_is_for_all_that_might_have_been_compared():
    """Three rivals: three times p, never above 1."""
    assert (with_the_fastest(0.01, 3), with_the_fastest(0.5, 3)) == (pytest.approx(0.03), 1.0)


def judged(p_values, low=1.2):
    """One table of fields with one rival each, whose interval begins at ``low``; their lines."""
    made = [
        Contest(blank(), [(blank("b"), Comparison(True, 3, 0.5, math.log(low), math.log(2.0), p))], floor=0.0)
        for p in p_values
    ]
    judge(made, RULES)
    return [field.rivals[0][0] for field in made]


def test_a_difference_has_to_be_a_discovery_of_its_table():
    """p = 0.04 is one among four of its like (q = 0.04), and chance beside three of 0.9 (q = 0.16)."""
    assert [line["verdict"] for line in judged([0.01, 0.02, 0.03, 0.04])] == ["slower"] * 4
    lines = judged([0.04, 0.9, 0.9, 0.9])
    assert (lines[0]["q_value"], lines[0]["verdict"]) == (pytest.approx(0.16), "undecided")
    assert lines[0]["best"]
    assert lines[0]["marks"] == ["undecided"]


def test_modes_are_tables_of_their_own():
    """Noise in one mode does not count against a difference in another: q is that of one row alone."""
    lines = summary_of({"kornia": [2.0, 2.1, 2.05], "pillow": [1.0, 1.1, 1.05]})
    own = compare(
        {("s", k): v for k, v in enumerate([2.0, 2.1, 2.05])},
        {("s", k): v for k, v in enumerate([1.0, 1.1, 1.05])},
        RULES,
    )
    assert lines.loc["kornia", "p_value"] == lines.loc["kornia", "q_value"] == own.p_value
    assert lines.loc["kornia", "verdict"] == "slower"


def test_verdicts_of_a_row():
    """Fastest, tied and slower; beside a rival that may be faster the fastest is undecided itself."""
    lines = summary_of(
        {
            "kornia": [1.0, 1.0, 1.0],
            "pillow": [1.01, 1.01, 1.01],
            "torchvision": [3.0, 3.0, 3.0],
        }
    )
    assert lines["verdict"].to_dict() == {"kornia": "fastest", "pillow": "tie", "torchvision": "slower"}
    noisy = summary_of({"kornia": [1.0, 1.0, 1.0], "pillow": [0.7, 1.01, 1.5]})
    assert noisy["verdict"].to_dict() == {"kornia": "undecided", "pillow": "undecided"}
    assert noisy["best"].all()
    assert noisy["marks"].map(lambda marks: "undecided" in marks).all()


def test_too_few_repeats_decide_nothing():
    """One library of two repeats: the field is undecided. A depth that claims nothing has no verdicts."""
    lines = summary_of({"torchvision": [1.0, 1.0, 1.0], "pillow": [9.0, 9.0]})
    assert lines["verdict"].to_list() == ["undecided", "undecided"]
    plan = make_plan({"kornia": ["Flip"], "pillow": ["Flip"]}, again="pillow", stamp="smoke signal")
    records = [
        make_record(plan, name, k, {"Flip": measured(s)})
        for name, s in (("kornia", 1.0), ("pillow", 2.0))
        for k in range(3)
    ]
    assert summarized(plan, records)["verdict"].to_list() == [None, None]
