"""Plan files and their answers, of records made by hand: whose intervals were worked out on paper."""

import math

from augmark.analysis.question import report
from augmark.analysis.tables import analyse
from augmark.config.questions import normalise
from tests.analysis import synthetic
from tests.analysis.synthetic import make_classes, make_plan, make_record, measured, unmeasured

# Logarithms of candidate's over baseline's seconds, in three repeats. Their mean, plus and minus 4.302653
# (Student, two degrees of freedom, 95 %) standard errors, against the margin of log(1.05) = 0.04879:
SLOWER = [0.18, 0.20, 0.22]  # 0.2 +- 0.04968
FASTER = [-0.22, -0.20, -0.18]
SAME = [-0.005, 0.0, 0.005]  # 0 +- 0.0124
WIDE = [0.0, 0.1, 0.2]  # 0.1 +- 0.248
# 0.10519 +- 0.04303: just beyond. t = 0.0564 / 0.01 = 5.64: twice the tail at two degrees is 0.030.
CLOSE = [0.08787, 0.10519, 0.12251]
BASE = 0.001  # seconds per item
GROUPS = {
    "only": {
        "before": {"role": "baseline", "library": "kornia", "environment": "old"},
        "after": {"role": "candidate", "library": "kornia"},
    }
}


def asked(groups=GROUPS, **more):
    stanza = {"title": "Old and new", "question": "Is it?", "scenario": "image-rgb", "mode": "micro"}
    stanza.update(device="cpu", transforms="all", repeats=3, groups=groups, **more)
    return normalise("old-new", stanza, {"kornia": {"environment": "kornia"}})


def planned(offers, question=None, *, again="before", **more):
    plan = make_plan(offers, again=again, **more)
    for name in offers:
        plan["libraries"][name].update(kind="library", of="kornia")
    item_sets = {"micro": {"items": 32, "exact": True, "digest": "items00000"}}
    plan.update(question=question or asked(), scenarios={"image-rgb": {"item_sets": item_sets}})
    return plan


def records_of(plan, rows, change=None):
    """Records in which each transform of a condition is slower than BASE by its logarithms.

    Args:
        rows: Condition -> transform -> logarithms, one per repeat, or a status and its reason.
        change: Condition -> what its records have otherwise.
    """
    found = []
    for name, transforms in rows.items():
        for repeat in range(plan["repeats"]["first"]):
            told = {
                transform: unmeasured(*logs)
                if isinstance(logs, tuple)
                else measured(BASE * math.exp(logs[repeat]))
                for transform, logs in transforms.items()
            }
            record = make_record(plan, name, repeat, told, **(change or {}).get(name, {}))
            found.append(record)
    return found


def answered(logs, *, change=None, classes=None, mend=None, noise=1.0, question=None, again="before", **more):
    """The answer where ``after`` is slower than ``before`` by these logarithms, by transform."""
    plan = planned({"before": list(logs), "after": list(logs)}, question, again=again, **more)
    level = {name: [0.0] * plan["repeats"]["first"] for name in logs}
    records = records_of(plan, {"before": level, "after": logs}, change)
    for record in records:
        (mend or (lambda record: None))(record)
    records = synthetic.measured_again(plan, records, factor=noise)
    made = synthetic.make_records(plan, records)
    return report(analyse(made, plan, make_classes(plan, classes)))


def only(answer):
    (line,) = answer.lines.to_dict("records")
    return line


def mended(library, **row):
    """Change every row of a condition's records."""

    def mend(record):
        if record["cell"]["library"] == library:
            for each in record["rows"]:
                each.update(row)

    return mend


def three(**more):
    """A candidate that is the same and a condition that is slower, beside one baseline."""
    aside = {"role": "condition", "library": "kornia", "compile": True}
    question = asked({"only": {**GROUPS["only"], "aside": aside}}, **more)
    plan = planned({name: ["Rotate"] for name in ("before", "after", "aside")}, question)
    logs = {"before": [0.0] * 3, "after": SAME, "aside": SLOWER}
    records = records_of(plan, {name: {"Rotate": each} for name, each in logs.items()})
    made = synthetic.make_records(plan, synthetic.measured_again(plan, records))
    return analyse(made, plan, make_classes(plan))
