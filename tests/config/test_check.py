"""Every rule of the configuration check, by an example that breaks it."""

import pytest

from augmark.config.load import load
from augmark.config.problems import RULES, ConfigErrors
from augmark.config.settings import KEYS
from tests.config import (  # noqa: F401
    examples_claims,
    examples_machines,
    examples_names,
    examples_plans,
    examples_stanzas,
    examples_tables,
)
from tests.config.example import EXAMPLES
from tests.config.tree import ROOT, Tree, problems_of


def test_shipped_configuration_is_clean():
    """The configuration in the repository loads without a problem."""
    assert load(ROOT).overrides == {}


def test_untouched_tree_is_clean(tree: Tree):
    """What the examples start from has no problem of its own."""
    assert tree.problems() == []


@pytest.mark.parametrize("case", EXAMPLES, ids=lambda case: f"{case.rule} {case.file} {case.key}")
def test_rule_reports_its_example(tree: Tree, case):
    """The broken tree leads to a problem of the rule, with file, key and the nearest valid name."""
    case.break_it(tree)
    place = (case.rule, case.file, case.key)
    problems = tree.problems()
    found = [str(each) for each in problems if (each.rule, each.file, each.key) == place]
    assert any(case.text in text for text in found), problems


def test_every_rule_has_an_example():
    """No rule is without a failing example, and no example is of a rule that is not there."""
    assert sorted({case.rule for case in EXAMPLES}) == sorted(RULES)


def test_all_problems_are_reported_at_once(tree: Tree):
    """Problems of syntax, schema, meaning and command line come numbered in one error."""
    tree.replace("config/machines.yaml", "local:", "local: [\nlocal:")
    with tree.edit("policy") as policy:
        policy["seed"] = "lucky"
    with tree.edit("libraries") as libraries:
        libraries["pillow"]["scenarios"]["image-rgb"]["transforms"].append("Rotat")
    tree.overrides = {"depht": "max", "repeats": 0}
    with pytest.raises(ConfigErrors) as caught:
        load(tree.root, tree.overrides)
    rules = [problem.rule for problem in caught.value.problems]
    assert sorted(rules) == ["out-of-range", "schema", "unknown-key", "unknown-transform", "yaml-syntax"]
    assert "5 problems" in str(caught.value)
    assert all(f"  {number}. " in str(caught.value) for number in range(1, 6))


def test_refused_stanza_leads_to_no_false_problem(tree: Tree):
    """A library that its schema refuses is still known: nothing else is said to be missing because of it."""
    with tree.edit("libraries") as libraries:
        libraries["pillow"]["kind"] = "controll"
    tree.overrides = {"libraries": "pillow"}
    assert [problem.key for problem in tree.problems()] == ["pillow.kind"]


FILES = [*sorted(path.stem for path in (ROOT / "config").glob("*.yaml")), "depths/min", "plans/threads-1-2"]
NONSENSE = [True, 7, 1.5, "", ",", [], [[]], {"a": 1}, [None], "none", "-1"]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("text", ["", "[]\n", "7\n", "a: 1\n", "{a: {b: [c]}}\n"])
def test_nonsense_is_a_problem_and_never_a_traceback(tree: Tree, name: str, text: str):
    """Whatever stands in a file, loading ends with a list of problems."""
    tree.write(f"config/{name}.yaml", text)
    assert tree.problems() != []


@pytest.mark.parametrize("key", KEYS)
def test_any_value_on_the_command_line_is_taken_or_refused(key: str):
    """Whatever is given, loading ends with settings or with problems of that key."""
    for value in NONSENSE:
        found = problems_of(ROOT, {key: value})
        assert all(problem.file == "--config" and key in problem.key for problem in found), value
