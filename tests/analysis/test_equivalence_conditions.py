"""Classes of two conditions of a plan file: of one library more can be held against one another."""

import numpy as np

from augmark.analysis.equivalence import compare_scenario, judge, judge_conditions
from augmark.analysis.samples import Sample
from augmark.worker.samples import CHANGE
from tests.analysis.synthetic import make_plan, plan_row

GREY = np.full((40, 50, 3), 100, np.uint8)
DARK = np.full((40, 50, 3), 20, np.uint8)
DRAWS = np.array([[10.0, 40.0], [-12.0, 41.0], [3.0, 39.0]])


def drawn(output, draws=DRAWS):
    """A sample of a transform that cannot be pinned: one seeded draw, and figures over seeds."""
    return Sample({}, draws, CHANGE, drawn={"item0": output}, inputs={"item0": GREY}, inputs_digest="a")


def test_seeded_draws_that_agree_are_the_same_work():
    """What cannot be pinned is identical where every seed gives the same, and that seed the same output."""
    found = judge_conditions(drawn(GREY + np.uint8(40)), drawn(GREY + np.uint8(40)))
    assert ("identical", 40.0) == (found.name, found.effect)
    assert "unpinnable" == judge(drawn(GREY + np.uint8(40)), drawn(GREY + np.uint8(40))).name


def test_fewer_seeds_are_held_against_as_many():
    """A slower condition is drawn fewer times; what both have must agree."""
    assert (
        "identical"
        == judge_conditions(drawn(GREY + np.uint8(40)), drawn(GREY + np.uint8(40), DRAWS[:2])).name
    )


def test_draws_that_do_not_agree_stay_unpinnable():
    """Another output of the same seed, other figures over seeds, or another shape: nothing is shown."""
    first = drawn(GREY + np.uint8(40))
    others = [
        drawn(GREY - np.uint8(40)),
        drawn(GREY + np.uint8(40), DRAWS + 2),
        drawn(GREY[:20] + np.uint8(40)),
    ]
    assert ["unpinnable"] * 3 == [judge_conditions(first, other).name for other in others]


def batched(output):
    """A sample whose first native began with the second item of the other's."""
    return Sample({"item0": output}, inputs={"item0": DARK}, inputs_digest="b")


def test_items_that_both_were_given_are_compared():
    """Batches begin with other items: those that both have count, under whatever name."""
    both = {"item0": GREY, "item1": DARK}
    first = Sample({name: item + np.uint8(40) for name, item in both.items()}, inputs=both, inputs_digest="a")
    assert judge(first, batched(DARK + np.uint8(40))) is None
    assert "identical" == judge_conditions(first, batched(DARK + np.uint8(40))).name
    assert "different" == judge_conditions(first, batched(DARK + np.uint8(90))).name
    assert (
        judge_conditions(Sample(first.outputs, inputs={"item0": GREY}, inputs_digest="a"), batched(DARK))
        is None
    )


def lines(first_of, second_of, row):
    plan = make_plan({"one": [row], "other": [row]})
    plan["libraries"]["one"]["of"], plan["libraries"]["other"]["of"] = first_of, second_of
    outputs = {"one": GREY + np.uint8(20), "other": GREY + np.uint8(90)}
    samples = {
        name: {"Swirl": Sample({"item0": output}, inputs={"item0": GREY}, inputs_digest="a")}
        for name, output in outputs.items()
    }
    return compare_scenario(plan, "image-rgb", samples)


def test_other_work_under_two_conditions_has_a_reason_of_its_own():
    """Nobody writes words for a release that does something else: what was measured says it."""
    row = plan_row("Swirl", control=False, differences={"kornia": "of another size"})
    (line,) = lines("kornia", "kornia", row)
    assert "different" == line["class"]
    assert line["reason"].startswith(
        "the library itself does something else under the two conditions; off by 70 "
    )


def test_conditions_of_two_libraries_have_the_words_of_their_libraries():
    """transforms.yaml knows libraries, not conditions."""
    row = plan_row("Swirl", control=False, differences={"kornia": "of another size"})
    (line,) = lines("kornia", "pillow", row)
    assert line["reason"].startswith("kornia: of another size; off by 70 ")
