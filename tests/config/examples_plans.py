"""Examples of plan files that cannot be carried out, or ask nothing."""

from contextlib import contextmanager

from tests.config.example import CONFIG, POLICY, example, given

PLAN = "config/plans/threads-1-2.yaml"
GROUP = "groups.pillow"
ONE, TWO = f"{GROUP}.pillow-1-thread", f"{GROUP}.pillow-2-threads"


@contextmanager
def pillow(tree, condition="pillow-2-threads"):
    """One condition of the shipped plan file, to be broken."""
    with tree.edit("plans/threads-1-2") as value:
        yield value["groups"]["pillow"][condition]


@example("unknown-key", PLAN, "repaets", "did you mean repeats?")
def _(tree):
    with tree.edit("plans/threads-1-2") as value:
        value["repaets"] = 5


@example("unknown-key", PLAN, f"{TWO}.thread", "did you mean threads?")
def _(tree):
    with pillow(tree) as condition:
        condition["thread"] = condition.pop("threads")


@example("schema", PLAN, TWO, "required and missing: role")
def _(tree):
    with pillow(tree) as condition:
        del condition["role"]


@example("schema", PLAN, f"{TWO}.role", "one of baseline, candidate, condition")
def _(tree):
    with pillow(tree) as condition:
        condition["role"] = "control"


@example("schema", PLAN, GROUP, "two conditions or more")
def _(tree):
    with tree.edit("plans/threads-1-2") as value:
        del value["groups"]["pillow"]["pillow-2-threads"]


@example("schema", PLAN, "groups.pillow", "Pillow-2")
def _(tree):
    with tree.edit("plans/threads-1-2") as value:
        value["groups"]["pillow"]["Pillow-2"] = value["groups"]["pillow"].pop("pillow-2-threads")


@example("schema", PLAN, "margin", "a share above 0")
def _(tree):
    with tree.edit("plans/threads-1-2") as value:
        value["margin"] = 0


@example("schema", PLAN, "fail_on.0", "one of faster, slower, same, undecided, blocked")
def _(tree):
    with tree.edit("plans/threads-1-2") as value:
        value["fail_on"] = ["lost"]


@example("schema", PLAN, f"{TWO}.variables.OMP_PROC_BIND", "YAML reads yes, no, on and off")
def _(tree):
    with pillow(tree) as condition:
        condition["variables"] = {"OMP_PROC_BIND": True}


@example("schema", PLAN, f"{TWO}.variables.OMP_PLACES", "letters, digits")
def _(tree):
    with pillow(tree) as condition:
        condition["variables"] = {"OMP_PLACES": "$(cat ~/.netrc)"}


@example("yaml-duplicate", PLAN, "pillow-1-thread", "stands twice")
def _(tree):
    tree.replace(PLAN, "    pillow-2-threads:", "    pillow-1-thread:")


@example("plan-name", "config/plans/two_threads.yaml", "", "not an id: two_threads")
def _(tree):
    (tree.root / PLAN).rename(tree.root / "config/plans/two_threads.yaml")


@example("unknown-scenario", PLAN, "scenario", "did you mean image-rgb?")
def _(tree):
    with tree.edit("plans/threads-1-2") as value:
        value["scenario"] = "image-rbg"


@example("unknown-mode", PLAN, "mode", "did you mean micro?")
def _(tree):
    with tree.edit("plans/threads-1-2") as value:
        value["mode"] = "mirco"


@example("unknown-device", PLAN, "device", "did you mean cuda?")
def _(tree):
    with tree.edit("plans/threads-1-2") as value:
        value["device"] = "cuda:0"


@example("unknown-depth", PLAN, "depth", "did you mean max?")
def _(tree):
    with tree.edit("plans/threads-1-2") as value:
        value["depth"] = "maxi"


@example("unknown-transform", PLAN, "transforms", "did you mean Rotate?")
def _(tree):
    with tree.edit("plans/threads-1-2") as value:
        value["transforms"] = ["Rotat"]


@example("control-transform", PLAN, "transforms", "Delay is a control's")
def _(tree):
    with tree.edit("plans/threads-1-2") as value:
        value["transforms"] = ["Rotate", "Delay"]


@example("outside-scenario", PLAN, "transforms", "Decode is not in the transform set of image-rgb")
def _(tree):
    with tree.edit("transforms") as value:
        value["Decode"]["scenarios"] = []
    with tree.edit("plans/threads-1-2") as value:
        value["transforms"] = ["Rotate", "Decode"]


@example("duplicate", PLAN, "transforms", "listed twice: Rotate")
def _(tree):
    with tree.edit("plans/threads-1-2") as value:
        value["transforms"] = ["Rotate", "Rotate"]


@example("selects-nothing", PLAN, "transforms", "no condition of threads-1-2 has a row to measure: Transpose")
def _(tree):
    with tree.edit("plans/threads-1-2") as value:
        value["transforms"] = ["Transpose"]
        value["groups"] = {"kornia": value["groups"]["kornia"]}
    tree.overrides = {"plan": "threads-1-2"}


@example("out-of-range", PLAN, "repeats", "at least 3 (policy.yaml: interval_from_repeats): 2")
def _(tree):
    with tree.edit("plans/threads-1-2") as value:
        value["repeats"] = 2


@example("plan-roles", PLAN, GROUP, "2 baselines: pillow-1-thread, pillow-2-threads")
def _(tree):
    with pillow(tree) as condition:
        condition["role"] = "baseline"


@example("plan-roles", PLAN, GROUP, "has no baseline to hold the others against")
def _(tree):
    with pillow(tree, "pillow-1-thread") as condition:
        condition["role"] = "condition"


@example("plan-roles", PLAN, "groups", "no group has a candidate, so that nothing would be decided")
def _(tree):
    with tree.edit("plans/threads-1-2") as value:
        for group, conditions in value["groups"].items():
            conditions[f"{group}-2-threads"]["role"] = "condition"


@example("plan-roles", PLAN, GROUP, "no baseline to hold the others against")
def _(tree):
    with tree.edit("plans/threads-1-2") as value:
        for condition in value["groups"]["pillow"].values():
            condition["role"] = "condition"


@example(
    "plan-condition", PLAN, "groups.pillow.control-aa-other", "what measures a group's baseline a second"
)
def _(tree):
    with tree.edit("plans/threads-1-2") as value:
        other = {"role": "condition", "library": "pillow", "threads": 4}
        value["groups"]["pillow"]["control-aa-other"] = other


@example("plan-condition", PLAN, "groups.pillow.kornia-1-thread", "is in the group kornia too")
def _(tree):
    with tree.edit("plans/threads-1-2") as value:
        value["groups"]["pillow"]["kornia-1-thread"] = {
            "role": "condition",
            "library": "pillow",
            "threads": 4,
        }


@example("plan-condition", PLAN, "groups.pillow.pillow", "whose own records lie under this id")
def _(tree):
    with tree.edit("plans/threads-1-2") as value:
        value["groups"]["pillow"]["pillow"] = {"role": "condition", "library": "pillow", "threads": 4}


@example("plan-alike", PLAN, TWO, "is like pillow-1-thread in everything")
def _(tree):
    with pillow(tree) as condition:
        condition["threads"] = 1


@example("plan-alike", PLAN, f"{GROUP}.plain", "is like pillow-1-thread in everything")
def _(tree):
    with tree.edit("plans/threads-1-2") as value:  # one thread is the policy's
        value["groups"]["pillow"]["plain"] = {"role": "condition", "library": "pillow", "compile": False}


@example("unknown-library", PLAN, f"{TWO}.library", "did you mean pillow?")
def _(tree):
    with pillow(tree) as condition:
        condition["library"] = "pilow"


@example("plan-library", PLAN, f"{TWO}.library", "control-copy is a control")
def _(tree):
    with pillow(tree) as condition:
        condition["library"] = "control-copy"


@example("plan-library", PLAN, f"{TWO}.library", "control-aa is a control")
def _(tree):
    with pillow(tree) as condition:
        condition["library"] = "control-aa"


@example("plan-library", PLAN, f"{ONE}.library", "pillow does not have image-9ch, micro, cpu")
def _(tree):
    with tree.edit("plans/threads-1-2") as value:
        value.update(scenario="image-9ch", transforms="all")


@example("missing-environment", PLAN, f"{TWO}.environment", "did you mean pillow?")
def _(tree):
    with pillow(tree) as condition:
        condition["environment"] = "pillow-9"


@example("stray-environment", "envs/albumentationsx-2-5-0.txt", "", "no plan file")
def _(tree):
    (tree.root / "config/plans/albumentationsx-releases.yaml").unlink()


@example("plan-setting", PLAN, f"{TWO}.workers", "mode micro has no workers")
def _(tree):
    with pillow(tree) as condition:
        condition["workers"] = 2


@example("plan-setting", PLAN, f"{GROUP}.both", "sets batched and compile at once")
def _(tree):
    with tree.edit("plans/threads-1-2") as value:
        both = {"role": "condition", "library": "torchvision", "batched": 8, "compile": True}
        value["groups"]["pillow"]["both"] = both


@example("out-of-range", PLAN, f"{TWO}.threads", "threads is at least 1: 0")
def _(tree):
    with pillow(tree) as condition:
        condition["threads"] = 0


@example("sweep", PLAN, f"{TWO}.dtype", 'dtype cannot be "float16"')
def _(tree):
    with pillow(tree) as condition:
        condition["dtype"] = "float16"


@example("plan-variable", PLAN, f"{TWO}.variables.OMP_PROCBIND", "did you mean OMP_PROC_BIND?")
def _(tree):
    with pillow(tree) as condition:
        condition["variables"] = {"OMP_PROCBIND": "close"}


@example("plan-variable", PLAN, f"{TWO}.variables.OMP_NUM_THREADS", "a condition says `threads: n`")
def _(tree):
    with pillow(tree) as condition:
        condition["variables"] = {"OMP_NUM_THREADS": 2}


@example("plan-variable", POLICY, "plans.variables", "GITHUB_TOKEN may hold a secret")
def _(tree):
    with tree.edit("policy") as value:
        value["plans"]["variables"].append("GITHUB_TOKEN")


@example("plan-variable", POLICY, "plans.variables", "LD_PRELOAD says where a process finds its code")
def _(tree):
    with tree.edit("policy") as value:
        value["plans"]["variables"].append("LD_PRELOAD")


@example("plan-variable", POLICY, "plans.variables", "MKL_NUM_THREADS is set by the workflow")
def _(tree):
    with tree.edit("policy") as value:
        value["plans"]["variables"].append("MKL_NUM_THREADS")


@example("unknown-plan", CONFIG, "plan", "did you mean threads-1-2?")
def _(tree):
    with tree.edit("config") as value:
        value["plan"] = "threads-1-3"


given("unknown-plan", "plan", "did you mean threads-1-2?", plan="thread-1-2")
given("plan-key", "libraries", "the plan file threads-1-2 decides it", plan="threads-1-2", libraries="pillow")
given("plan-key", "campaign", "the plan file threads-1-2 decides it", plan="threads-1-2", campaign="demo")
given("plan-key", "threads", "the plan file threads-1-2 decides it", plan="threads-1-2", threads=2)
given("out-of-range", "repeats", "at least 1: 0", plan="threads-1-2", repeats=0)
given("selects-nothing", "transforms", "no condition of threads-1-2", plan="threads-1-2", transforms="Decode")
