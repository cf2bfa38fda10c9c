"""What was not measured alike is refused."""

import dataclasses

import pytest

from augmark.analysis.checks import check_records
from augmark.errors import AugmarkError
from tests.analysis.synthetic import (
    ORIGIN,
    carried,
    make_plan,
    make_record,
    make_records,
    measured,
    unmeasured,
)

OFFERS = {"kornia": ["Flip"], "pillow": ["Flip"]}
FLIP = {"Flip": measured(1.0)}


def both(plan, **changed):
    """Records of both libraries; the fields of pillow's changed."""
    return [make_record(plan, "kornia", 0, FLIP), make_record(plan, "pillow", 0, FLIP, **changed)]


def test_the_plans_own_records_pass():
    """Also where a cell has no record yet: that is coverage's to say."""
    plan = make_plan(OFFERS, repeats=1)
    check_records(make_records(plan, both(plan)), plan)
    check_records(make_records(plan, both(plan)[:1]), plan)
    check_records(make_records(plan, []), plan)


def test_records_of_another_plan_are_refused():
    """The parquet is older than the plan: the remedy is the target that makes it anew."""
    old, new = make_plan(OFFERS, repeats=1), make_plan(OFFERS, repeats=1, salt="new lock")
    records = make_records(old, both(old))
    with pytest.raises(AugmarkError, match=r"not those of the plan(.|\n)*remedy: snakemake wave1"):
        check_records(records, new, target="wave1")


def test_a_plan_that_has_grown_is_refused():
    """More repeats are planned than the parquet was collected for."""
    plan = make_plan(OFFERS, repeats=1)
    with pytest.raises(AugmarkError, match="2 planned ones are missing"):
        check_records(make_records(plan, both(plan)), make_plan(OFFERS, repeats=2))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"depth": "min"}, "depths are mixed: max, min"),
        ({"dataset": {"digest": "e" * 64}}, "datasets of image-rgb are mixed"),
        ({"dataset": {"manifest_digest": "n" * 64}}, "item manifests of image-rgb are mixed"),
        ({"dataset": {"items_digest": "other00000"}}, "prepared items of image-rgb micro are mixed"),
    ],
)
def test_mixed_records_are_refused(changed, message):
    """One library at another depth, on another dataset or on other items."""
    plan = make_plan(OFFERS, repeats=1)
    records = both(plan)
    for field, value in changed.items():
        old = records[1][field]
        records[1][field] = {**old, **value} if isinstance(value, dict) else value
    with pytest.raises(AugmarkError, match=message):
        check_records(make_records(plan, records), plan)


def test_mixed_machines_are_refused():
    """A row of another machine under this one's name."""
    plan = make_plan(OFFERS, repeats=1)
    records = make_records(plan, both(plan))
    frame = records.frame.assign(machine=["local-3f9a", "c4-standard-16"])
    with pytest.raises(AugmarkError, match="machines are mixed: c4-standard-16, local-3f9a"):
        check_records(dataclasses.replace(records, frame=frame), plan)


def test_another_depth_than_the_plans_is_refused():
    """All records of depth min, a plan of depth max."""
    plan = make_plan(OFFERS, repeats=1)
    records = [make_record(plan, library, 0, FLIP, depth="min") for library in OFFERS]
    with pytest.raises(AugmarkError, match="depth is min, the plan's is max"):
        check_records(make_records(plan, records), plan)


def test_another_dataset_than_the_plans_is_refused():
    """All records of one dataset, which is not the plan's."""
    plan = make_plan(OFFERS, repeats=1)
    records = make_records(plan, both(plan))
    plan["datasets"] = {"images": {**plan["datasets"]["images"], "digest": "f" * 64}}
    with pytest.raises(AugmarkError, match="which is not in the plan"):
        check_records(records, plan)


def of_python(version, found=None):
    """A repeat of pillow by this Python; ``found``: another row than a measured one."""
    plan = make_plan({"pillow": ["Flip"]})
    environment = {"lock_digest": "lock000000", "python": version, "packages": {}, "variables": {}}
    return lambda repeat: make_record(plan, "pillow", repeat, found or FLIP, environment=environment)


def check_repeats(*repeats):
    """Check a plan of three repeats of one row of pillow."""
    plan = make_plan({"pillow": ["Flip"]})
    check_records(make_records(plan, [make(index) for index, make in enumerate(repeats)]), plan)


def test_repeats_of_two_pythons_are_refused():
    """3.11 and 3.12 make no one figure; two patch releases do."""
    check_repeats(of_python("3.11.7"), of_python("3.11.9"), of_python("3.11.7"))
    with pytest.raises(AugmarkError, match=r"python_version differs .* pillow Flip \(cpu\): 3\.11, 3\.12"):
        check_repeats(of_python("3.11.7"), of_python("3.12.1"), of_python("3.11.7"))


def test_the_python_of_a_carried_row_is_that_of_its_own_record():
    """Carried from 3.11 into records by 3.12: alike with 3.11, and not with 3.12."""
    old = {"Flip": carried(1.0)}
    assert ORIGIN["environment"]["python"] == "3.11.5"
    check_repeats(of_python("3.11.7"), of_python("3.12.1", old), of_python("3.13.0", old))
    with pytest.raises(AugmarkError, match=r"python_version differs .*3\.11, 3\.12"):
        check_repeats(of_python("3.12.1"), of_python("3.12.1", old), of_python("3.12.1"))


def test_a_repeat_without_a_number_may_be_of_any_python():
    """What is not pooled cannot be pooled wrongly."""
    failed = {"Flip": unmeasured("failed", "raised")}
    check_repeats(of_python("3.11.7"), of_python("3.12.1", failed), of_python("3.11.7"))
