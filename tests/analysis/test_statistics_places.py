"""Of a scenario, mode and device: noise floor, drift, and what is blocked as it was measured otherwise."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from augmark.analysis.classes import Classes
from augmark.analysis.drift import drifts
from augmark.analysis.floor import noise_floor
from augmark.analysis.statistics import Rules, summarize
from tests.analysis.summaries import (
    RULES,
    covered,
    marks_and_winners,
    summarized,
    summary_of,
    summary_of_rows,
)
from tests.analysis.synthetic import HOST, make_classes, make_plan, make_record, measured

PLACE = ("image-rgb", "micro", "cpu")
SLOW_HOST = {**HOST, "governor": "powersave"}


def floor_of(factors, *, repeats=3, **more):
    """The floor where control-aa took a factor of its library's time, transform by transform."""
    names = [f"T{index}" for index in range(len(factors))]
    plan = make_plan({"pillow": names}, repeats=repeats, again="pillow")
    records = [
        make_record(
            plan, library, repeat, {t: measured(s) for t, s in zip(names, seconds, strict=True)}, **how
        )
        for library, seconds, how in (("pillow", [1.0] * len(names), {}), ("control-aa", factors, more))
        for repeat in range(repeats)
    ]
    rows = covered({**plan, "libraries": {}}, records)  # control-aa has records of its own here
    return noise_floor(rows, Rules.of_plan(plan)).get(PLACE)


def test_floor_is_the_largest_difference_of_few_rows():
    """Faster by 1 / 1.04 is as far as slower by 1.04; beyond it lies nothing of eight rows."""
    floor = floor_of([1.01, 1.0, 1.02, 1 / 1.04, 1.03, 1.0, 0.99, 1.0])
    assert floor.ratio == pytest.approx(0.04)
    assert (floor.rows, floor.repeats, floor.library) == (8, 3, "pillow")


def test_floor_of_many_rows_is_a_quantile():
    """Of forty differences of 0.1 % to 4 % the floor is the 38th: 95 % of the rows are not above it."""
    assert floor_of([1 + k / 1000 for k in range(1, 41)]).ratio == pytest.approx(0.038)


def test_floor_needs_repeats_and_the_same_thing():
    """Two repeats, other sessions, or another governor say nothing of the noise."""
    assert floor_of([1.01], repeats=2) is None
    assert floor_of([1.01], session="another") is None
    assert floor_of([1.01], host=SLOW_HOST) is None
    assert floor_of([1.01]).ratio == pytest.approx(0.01)


def test_nothing_is_claimed_below_the_floor():
    """8 % slower is slower on a quiet machine, and undecided where the same thing differs by 10 %."""
    seconds = {"pillow": [1.0, 1.1, 1.2], "kornia": [1.08, 1.188, 1.296]}
    quiet, loud = summary_of(seconds), summary_of(seconds, factor=1.10)
    assert quiet["verdict"].to_dict() == {"pillow": "fastest", "kornia": "slower"}
    assert loud["verdict"].to_dict() == {"pillow": "fastest", "kornia": "undecided"}
    assert loud["floor"].to_list() == pytest.approx([0.10, 0.10])
    assert (quiet.loc["kornia", "p_value"], loud.loc["kornia", "p_value"]) == (
        pytest.approx(0, abs=1e-9),
        1.0,
    )


def test_without_a_floor_nothing_is_claimed():
    """Ratio and interval stand; nobody is best, nothing is decided."""
    plan = make_plan({"kornia": ["Flip"], "pillow": ["Flip"]})
    records = [
        make_record(plan, name, k, {"Flip": measured(s)})
        for name, s in (("kornia", 2.0), ("pillow", 1.0))
        for k in range(3)
    ]
    lines = summarized(plan, records)
    assert lines["best"].to_list() == [False, False]
    assert lines[["floor", "verdict", "p_value", "q_value"]].isna().all(axis=None)
    assert lines.loc["kornia", "ratio_low"] == pytest.approx(2.0)


# --- drift ------------------------------------------------------------------------------------------


def session_rows(logs, *, session="s"):
    """Rows as ``cover`` gives them, from log seconds (libraries, repeats, transforms)."""
    lines = [
        {
            **dict(zip(("scenario", "mode", "device"), PLACE, strict=True)),
            **{"library": f"lib{a}", "repeat": b, "transform": f"T{c}", "condition": "plain"},
            **{"status": "ok", "recorded": True, "session": session, "seconds_per_item": math.exp(value)},
        }
        for (a, b, c), value in np.ndenumerate(np.asarray(logs, dtype=float))
    ]
    return pd.DataFrame(lines)


def test_drift_is_a_t_test_over_libraries():
    """Last against first block, the median row of each library: SciPy's t test of these four."""
    changes = [0.10, 0.11, 0.08, 0.10]
    logs = [[[0.0] * 3, [5.0] * 3, [change - 0.01, change, change + 3.0]] for change in changes]
    found = drifts(session_rows(logs), RULES)[PLACE]
    assert found.p_value == pytest.approx(stats.ttest_1samp(changes, 0.0).pvalue)
    assert (found.change, found.libraries) == (pytest.approx(math.expm1(np.mean(changes))), 4)
    two = pd.concat([session_rows(logs), session_rows(np.zeros((4, 2, 1)), session="quiet")])
    assert drifts(two, RULES)[PLACE].p_value == pytest.approx(2 * found.p_value)
    assert drifts(two, RULES)[PLACE].session == "s"


def test_one_block_or_two_libraries_are_not_tested():
    """Nothing to hold against one another, or too few that do."""
    assert drifts(session_rows(np.zeros((4, 1, 3))), RULES) == {}
    assert drifts(session_rows(np.zeros((2, 3, 3))), RULES) == {}


def test_luck_of_processes_is_no_drift():
    """Rows of a process share its luck: called a drift by a test over rows, and hardly ever by ours."""
    rng = np.random.default_rng(20261130)
    ours = over_rows = 0
    for _ in range(200):
        logs = 0.03 * rng.standard_normal((4, 2, 1)) + 0.01 * rng.standard_normal((4, 2, 20))
        found = drifts(session_rows(logs), RULES)[PLACE]
        ours += found.p_value < RULES.drift_p
        over_rows += stats.ttest_1samp((logs[:, 1] - logs[:, 0]).ravel(), 0).pvalue < RULES.drift_p
    assert ours <= 200 * 0.03
    assert over_rows > 200 * 0.5


def test_drift_is_told_and_ratios_stand():
    """10 % slower in the last block: p and size at every row, and the verdict is that without drift."""
    slow = {"albumentationsx": 1.0, "kornia": 1.5, "pillow": 2.0}
    drifting = [1.0, 1.05, 1.10]
    lines = summary_of(
        {name: [base * f * (1 + 0.001 * k) for f in drifting] for k, (name, base) in enumerate(slow.items())}
    )
    uneven = summary_of({name: [base * f for f in (1.0, 1.3, 1.0)] for name, base in slow.items()})
    assert lines["verdict"].to_list() == uneven["verdict"].to_list() == ["fastest", "slower", "slower"]
    assert lines["drift"].to_list() == pytest.approx([0.10] * 3)
    assert (lines["drift_p"] < RULES.drift_p).all()
    assert (uneven["drift_p"] == 1.0).all()


# --- blocked ----------------------------------------------------------------------------------------


def test_another_governor_is_blocked_by_name():
    """Two alike, the fastest measured otherwise: blocked, and the field is named with both values."""
    lines = summary_of_rows(
        {"kornia": measured(1.0), "pillow": measured(2.0), "torchvision": measured(4.0)},
        kornia={"host": SLOW_HOST},
    )
    assert marks_and_winners(lines) == ({"kornia": ("blocked",), "pillow": (), "torchvision": ()}, {"pillow"})
    assert lines.loc["kornia", "blocked"] == "against pillow: host.governor: performance and powersave"
    assert lines.loc["kornia", "verdict"] == "blocked"
    assert lines.loc["kornia", "throughput"] == 1.0
    assert lines.loc["torchvision", "ratio"] == pytest.approx(2.0)


def test_of_two_groups_of_one_size_the_fastest_leads():
    """One against one: the slower row is the one that is blocked."""
    lines = summary_of_rows({"kornia": measured(1.0), "pillow": measured(2.0)}, kornia={"host": SLOW_HOST})
    assert lines.index[lines["verdict"] == "blocked"].to_list() == ["pillow"]
    assert lines["verdict"].notna().sum() == 1
    assert lines["ratio"].isna().all()


NEW_KERNEL = {**HOST, "kernel": "6.2.0", "microcode": "0x2"}


def mixed(hosts, declared=(), *, libraries=("pillow", "torchvision"), again=(HOST, HOST, HOST), seconds=None):
    """A row of each library; the hosts of its repeats, or else of all. Torchvision takes twice as long."""
    repeats = len(again)
    plan = make_plan({name: ["Flip"] for name in libraries}, again="torchvision", repeats=repeats)
    plan["policy"]["comparison"] = {"may_differ": list(declared)}
    records = [
        make_record(
            plan,
            name,
            k,
            {"Flip": measured((seconds or {}).get((name, k), 2.0 if name == "torchvision" else 1.0))},
            host=hosts.get(name, again)[k],
            session=f"s{int(hosts.get(name, again)[k] is NEW_KERNEL)}",
        )
        for name in libraries
        for k in range(repeats)
    ]
    return summarized(plan, records)


SPOILT = {"pillow": [HOST, HOST, SLOW_HOST]}


def test_repeats_that_differ_are_not_pooled():
    """Two of three repeats are alike: the figure rests on these, and two pairs are not compared."""
    lines = mixed(SPOILT, seconds={("pillow", 2): 9.0})
    assert lines.loc["pillow", ["repeats", "seconds_median", "seconds_high"]].to_list() == [2, 1.0, 1.0]
    assert lines.loc["pillow", "mixed"] == (
        "1 of 3 repeats (r2) were measured otherwise, and are left out of its figure: "
        "host.governor: performance and powersave"
    )
    assert lines.loc["pillow", "marks"] == ("mixed",)
    assert lines.loc["torchvision", "blocked"] == "against pillow: host.governor: powersave and performance"
    assert lines["verdict"].fillna("none").to_list() == ["none", "blocked"]


def test_a_pair_whose_sides_differ_is_left_out():
    """Of five pairs four are alike: compared over these, and said at both rows."""
    again = [HOST] * 5
    lines = mixed({"pillow": [*again[:4], SLOW_HOST]}, again=again, seconds={("pillow", 4): 9.0})
    assert lines["verdict"].to_dict() == {"pillow": "fastest", "torchvision": "slower"}
    assert lines.loc["torchvision", ["ratio_low", "ratio_high"]].to_list() == [2.0, 2.0]
    assert lines.loc["torchvision", "mixed"] == (
        "1 of 5 pairs with pillow are left out: host.governor: performance and powersave"
    )


def test_an_update_between_sessions_blocks_nothing():
    """Kernel and microcode differ between the sessions, for all alike: five pairs, a floor, and verdicts."""
    again = [HOST, *[NEW_KERNEL] * 4]
    slow = {(name, 0): 3 * seconds for name, seconds in (("pillow", 1.0), ("torchvision", 2.0))}
    lines = mixed({}, again=again, seconds=slow)
    assert lines["verdict"].to_dict() == {"pillow": "fastest", "torchvision": "slower"}
    assert lines.loc["torchvision", ["ratio_low", "ratio_high"]].to_list() == [2.0, 2.0]
    assert (lines["floor"] == 0).all()
    assert lines[["repeats", "seconds_high"]].to_numpy().tolist() == [[4, 1.0], [4, 2.0]]
    assert lines.loc["pillow", "mixed"] == (
        "1 of 5 repeats (r0) were measured otherwise, and are left out of its figure: "
        "host.kernel: 6.2.0 and 6.1.0; host.microcode: 0x2 and 0x1"
    )


def test_of_equal_numbers_of_repeats_the_latest_make_the_figure():
    """Two before the update and two after it."""
    again = [HOST, HOST, NEW_KERNEL, NEW_KERNEL]
    lines = mixed({}, again=again, seconds={("pillow", 0): 5.0, ("pillow", 1): 5.0})
    assert lines.loc["pillow", ["repeats", "seconds_median"]].to_list() == [2, 1.0]


def test_what_is_declared_may_differ():
    """The governor is declared: the repeats are pooled, and the row compared."""
    lines = mixed(SPOILT, ["host.governor"], seconds={("pillow", 2): 9.0})
    assert lines[["blocked", "mixed"]].isna().all(axis=None)
    assert lines.loc["pillow", "repeats"] == 3
    assert lines.loc["torchvision", "verdict"] == "undecided"


def test_unknown_contracts_are_alike():
    """Records of before there was a contract: compared with one another, and not with those that have one."""
    plan = make_plan({"kornia": ["Flip"], "pillow": ["Flip"]}, again="pillow")
    records = [
        make_record(plan, name, k, {"Flip": measured(s)})
        for name, s in (("kornia", 1.0), ("pillow", 2.0))
        for k in range(3)
    ]
    rows = covered(plan, records)
    classes = Classes.of_frame(make_classes(plan))
    for unknown, blocked in ((rows["library"].notna(), []), (rows["library"] == "kornia", ["pillow"])):
        lines = summarize(
            rows.assign(contract=rows["contract"].mask(unknown, None)), Rules.of_plan(plan), classes
        )
        assert lines.loc[lines["verdict"] == "blocked", "library"].to_list() == blocked
    assert "known against unknown" in lines.loc[lines["library"] == "pillow", "blocked"].iloc[0]
