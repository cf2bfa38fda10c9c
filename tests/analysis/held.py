"""Records made by hand and a claim about them, for the tests of claims."""

from augmark.analysis.claims import judge
from augmark.analysis.tables import analyse
from tests.analysis.synthetic import (
    make_classes,
    make_plan,
    make_record,
    make_records,
    measured,
    measured_again,
)

CLAIM = {
    "kind": "faster",
    "library": "albumentationsx",
    "than": "pillow",
    "transforms": ["Flip"],
    "scenario": "image-rgb",
    "mode": "micro",
    "device": "cpu",
    "machine": "local",
    "at_least": 1.2,
}
COUNT = {"kind": "count", "than": None, "against": ["kornia", "pillow"], "at_least": 2, "of": 3}
FAST = [0.001, 0.0011, 0.0009]
TWICE = [0.002, 0.0023, 0.0018]  # ratios 2, 2.0909 and 2


def analysed(seconds, *, factor=1.001, again="albumentationsx", classes=None, changes=None, **plan_keys):
    """Library -> transform -> seconds of each repeat, as an analysis; ``factor``: of control-aa.

    ``changes``: library -> what is otherwise in its records (``session``, ``host``), with a function of the
    repeat.
    """
    repeats = max(len(values) for rows in seconds.values() for values in rows.values())
    offers = {library: list(rows) for library, rows in seconds.items()}
    plan = make_plan(offers, repeats=repeats, again=again, **plan_keys)
    plan["machine_stanza"] = {"id": "local"}
    records = []
    for library, rows in seconds.items():
        for repeat in range(repeats):
            found = {name: values[repeat] for name, values in rows.items() if values[repeat] is not None}
            told = {name: measured(v) if isinstance(v, float) else v for name, v in found.items()}
            more = (changes or {}).get(library, lambda repeat: {})(repeat)
            records.append(make_record(plan, library, repeat, told, **more))
    both = measured_again(plan, records, factor=factor)
    return analyse(make_records(plan, both), plan, make_classes(plan, classes))


def flips(mine=FAST, other=TWICE, **keys):
    return analysed({"albumentationsx": {"Flip": mine}, "pillow": {"Flip": other}}, **keys)


def verdicts(analysis, **changed):
    stanza = {key: value for key, value in {**CLAIM, **changed}.items() if value is not None}
    return judge({"flip": stanza}, analysis)


def verdict(analysis, **changed):
    (found,) = verdicts(analysis, **changed)
    return found
