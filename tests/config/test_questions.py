"""Plan files: their normal form, what they make of the configuration, and what may stand beside them."""

import pytest
import yaml

from augmark.config.load import load
from augmark.config.questions import DECIDED, GIVEN, conditions_of
from augmark.config.select import combinations, planned_rows, scenario_transforms
from augmark.config.settings import KEYS
from augmark.worker.threads import POOL_VARIABLES
from augmark.worker.variables import may_hold_secret, of_plain_rows, steers_process
from tests.config.tree import RELEASE, ROOT, Tree

THREADS, RELEASES = {"plan": "threads-1-2"}, {"plan": "albumentationsx-releases"}
FILE = "config/plans/threads-1-2.yaml"
CONTROLS = ["control-copy", "control-slow", "control-aa"]
OTHERS = [f"control-aa-{group}" for group in ("kornia", "pillow", "torchvision")]  # of the further groups


def digest(tree: Tree) -> str:
    return load(tree.root).questions["threads-1-2"]["digest"]


def content(tree: Tree) -> dict:
    return yaml.safe_load((tree.root / FILE).read_text(encoding="utf-8"))


def test_the_shipped_questions_are_two():
    """The last two releases of AlbumentationsX; one and two threads, each library against itself."""
    questions = load(ROOT).questions
    assert ["albumentationsx-releases", "threads-1-2"] == sorted(questions)
    roles = {
        name: [(condition["id"], condition["role"]) for _, condition in conditions_of(question)]
        for name, question in questions.items()
    }
    assert [("release-2-5-0", "baseline"), ("release-2-5-1", "candidate")] == roles[
        "albumentationsx-releases"
    ]
    assert [
        (f"{library}-{words}", role)
        for library in ("albumentationsx", "kornia", "pillow", "torchvision")
        for words, role in (("1-thread", "baseline"), ("2-threads", "candidate"))
    ] == roles["threads-1-2"]


def test_the_releases_are_of_every_family():
    """What stands for the whole set has each of its families."""
    settings = load(ROOT)
    named = settings.questions["albumentationsx-releases"]["transforms"]
    every = {settings.transforms[name]["family"] for name in scenario_transforms(settings, "image-rgb")}
    assert every == {settings.transforms[name]["family"] for name in named}


def test_the_digest_is_of_the_meaning(tree: Tree):
    """Comments, the order of keys, groups and transforms, and defaults written out change nothing."""
    before, value = digest(tree), content(tree)
    value["groups"] = {
        group: {name: dict(reversed(its.items())) for name, its in reversed(conditions.items())}
        for group, conditions in reversed(value["groups"].items())
    }
    value["transforms"].reverse()
    value.update(items=32, depth="max", margin=None, energy=False)
    value["groups"]["pillow"]["pillow-1-thread"].update(environment="pillow", compile=False)
    text = yaml.safe_dump(dict(reversed(value.items())), sort_keys=False)
    tree.write(FILE, f"# another comment\n{text}")
    assert before == digest(tree)


@pytest.mark.parametrize(
    "change",
    [
        {"question": "Another?"},
        {"repeats": 6},
        {"margin": 0.02},
        {"transforms": "all"},
        {"fail_on": ["blocked", "slower"]},
    ],
)
def test_the_digest_notices(tree: Tree, change):
    """Another sentence, number or set is another question."""
    before = digest(tree)
    tree.write(FILE, yaml.safe_dump({**content(tree), **change}))
    assert before != digest(tree)


def test_conditions_take_the_place_of_the_libraries():
    """A condition is its library's stanza with another setting, under its own id; the controls stay."""
    plain, settings = load(ROOT), load(ROOT, THREADS)
    assert [*(c["id"] for _, c in conditions_of(settings.question)), *CONTROLS, *OTHERS] == list(
        settings.libraries
    )
    stanza = settings.libraries["kornia-2-threads"]
    own = {"title": "kornia-2-threads", "of": "kornia", "setting": {"threads": 2}, "variables": {}}
    assert {**plain.libraries["kornia"], **own} == stanza
    assert "albumentationsx-1-thread" == settings.libraries["control-aa"]["again"]
    assert {"threads": 1} == settings.libraries["control-aa"]["setting"]


def test_each_groups_baseline_is_measured_a_second_time():
    """A noise floor is of what was measured twice; one group has the one control of a campaign."""
    libraries = load(ROOT, THREADS).libraries
    again = {name: its["again"] for name, its in libraries.items() if "again" in its}
    assert {
        "control-aa": "albumentationsx-1-thread",
        "control-aa-kornia": "kornia-1-thread",
        "control-aa-pillow": "pillow-1-thread",
        "control-aa-torchvision": "torchvision-1-thread",
    } == again
    assert {"control"} == {libraries[name]["kind"] for name in again}
    assert libraries["kornia-1-thread"]["environment"] == libraries["control-aa-kornia"]["environment"]
    assert len(again) == len({libraries[name]["title"] for name in again})
    released = {name: its["again"] for name, its in load(ROOT, RELEASES).libraries.items() if "again" in its}
    assert {"control-aa": "release-2-5-0"} == released


@pytest.mark.parametrize(
    "name",
    [
        *("MY_APIKEY", "GITHUB_PAT", "HUGGINGFACE_TOKENS", "DB_PASS", "GIT_PWD", "AWS_CREDS", "BASIC_AUTH"),
        *(
            "SESSION_COOKIE",
            "HTTP_PROXY",
            "HTTPS_PROXY",
            "PRIVATE",
            "DATABASE_URL",
            "SENTRY_DSN",
            "GITHUBPAT",
        ),
        *("LD_PRELOAD", "LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES", "PATH", "PYTHONPATH", "PYTHONSTARTUP"),
        *("PYTHON_GIL", "HOME", "TORCH_HOME", "HF_HOME", "BASH_ENV", "TMPDIR", "CUDA_VISIBLE_DEVICES"),
    ],
)
def test_what_no_plan_file_may_ever_set(tree: Tree, name):
    """Secrets, however their names are written, and what a process finds its code by."""
    with tree.edit("policy") as value:
        value["plans"]["variables"].append(name)
    (problem,) = tree.problems()
    assert ("plan-variable", "plans.variables") == (problem.rule, problem.key)
    assert name in problem.message


def test_what_the_shipped_policy_allows_is_no_secret():
    """Neither is what is much like one in its letters."""
    allowed = load(ROOT).policy["plans"]["variables"]
    assert 16 == len(allowed)
    for name in (
        *allowed,
        *POOL_VARIABLES,
        "OMP_DISPLAY_AFFINITY",
        "KMP_COMPAT",
        "TORCHINDUCTOR_COMPILE_THREADS",
    ):
        assert not may_hold_secret(name)
        assert not steers_process(name)


def test_a_secret_gets_into_no_record_by_way_of_a_plan_file():
    """What the checks let through is held against the same list once more where it is written down."""
    definition = {"rows": [], "variables": {"KORNIA_APIKEY": "x", "OMP_PLACES": "cores"}}
    assert {"OMP_PLACES": "cores"}.items() <= of_plain_rows({}, definition).items()
    assert "KORNIA_APIKEY" not in of_plain_rows({"KORNIA_APIKEY": "y"}, definition)


def test_a_release_has_its_own_lock():
    """The two conditions are one library from two environments."""
    libraries = load(ROOT, RELEASES).libraries
    found = {name: libraries[name]["environment"] for name in ("release-2-5-0", "release-2-5-1")}
    assert {"release-2-5-0": RELEASE, "release-2-5-1": "albumentationsx"} == found
    pins = {
        name: {
            line.split(" ")[0]
            for line in (ROOT / "envs" / f"{name}.txt").read_text(encoding="utf-8").splitlines()
            if "==" in line and not line.startswith((" ", "#"))
        }
        for name in found.values()
    }
    assert {"albumentationsx==2.5.0", "albumentationsx==2.5.1"} == pins[RELEASE] ^ pins["albumentationsx"]


def test_the_question_decides_what_is_measured():
    """One scenario, mode and device; one table; the depth's rules without its sweeps; its own repeats."""
    settings = load(ROOT, RELEASES)
    assert {("image-rgb", "micro", "cpu")} == {(s, m, d) for _, s, m, _, d in combinations(settings)}
    assert ["albumentationsx-releases"] == list(settings.tables)
    assert ("max", 32, 5) == tuple(settings.config[key] for key in ("depth", "items", "repeats"))
    rows = planned_rows(settings, "release-2-5-0", "image-rgb", "micro", "cpu")
    assert sorted(settings.question["transforms"]) == sorted(name for name, planned, _ in rows)
    assert {"run"} == {planned for _, planned, _ in rows}
    assert "sweeps" not in load(ROOT, {**RELEASES, "depth": "pro"}).depth


def test_the_margin_is_the_questions(tree: Tree):
    """Its own where it has one, else the policy's."""
    assert load(ROOT).policy["statistics"]["margin"] == load(ROOT, THREADS).policy["statistics"]["margin"]
    tree.write(FILE, yaml.safe_dump({**content(tree), "margin": 0.02}))
    assert 0.02 == load(tree.root, THREADS).policy["statistics"]["margin"]


def test_the_command_line_holds_above_the_plan_file():
    """What is given beside it is taken and recorded, also where config.yaml says the same."""
    given = {**THREADS, "transforms": "all", "repeats": "3", "items": 16, "depth": "min"}
    settings = load(ROOT, given)
    expected = {"transforms": "all", "repeats": 3, "items": 16, "depth": "min"}
    assert expected == {key: settings.config[key] for key in expected}
    assert {**THREADS, **expected} == settings.overrides
    assert load(ROOT, THREADS).question == settings.question


def test_what_a_plan_file_says_stands_in_place_of_config_yaml(tree: Tree):
    """A file that narrows campaigns narrows no question."""
    with tree.edit("config") as value:
        value.update(libraries=["pillow"], transforms=["Blur"], repeats=1, threads=1, items=8)
    settings = load(tree.root, THREADS)
    assert 8 == len(settings.question["transforms"])
    assert ("all", 5, 32) == (
        settings.config["libraries"] or "all",
        *map(settings.config.get, ("repeats", "items")),
    )
    assert {"plan": "threads-1-2"} == settings.overrides


def test_every_key_is_either_decided_or_may_be_given():
    """Of the keys that say what is measured, none is silently without effect."""
    others = {"plan", "images", "clips", "output", "refresh"}
    assert {*KEYS} == {*DECIDED, *GIVEN, *others}


def test_a_plan_file_can_be_chosen_in_config_yaml(tree: Tree):
    """The key is one like the others."""
    with tree.edit("config") as value:
        value["plan"] = "threads-1-2"
    assert "threads-1-2" == load(tree.root).question["name"]
    assert load(tree.root, {"plan": "null"}).question is None
