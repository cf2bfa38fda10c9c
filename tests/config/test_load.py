"""Loading: what the command line says, typed and on top of the file."""

import pytest

from augmark.config.load import load
from augmark.config.problems import ConfigErrors
from tests.config.tree import ROOT, Tree


@pytest.mark.parametrize(
    ("key", "given", "expected"),
    [
        ("libraries", "pillow,kornia", ["pillow", "kornia"]),
        ("libraries", " pillow , kornia ", ["pillow", "kornia"]),
        ("libraries", ("pillow", "kornia"), ["pillow", "kornia"]),
        ("libraries", "pillow", ["pillow"]),
        ("transforms", ["Rotate"], ["Rotate"]),
        ("items", "32", 32),
        ("items", 32, 32),
        ("repeats", "5", 5),
        ("depth", "max", "max"),
        ("output", "elsewhere", "elsewhere"),
        ("refresh", "blocks", "blocks"),
        ("devices", "null", None),
    ],
)
def test_override_is_typed_and_recorded(key, given, expected):
    """An override holds in the configuration and is listed as one."""
    settings = load(ROOT, {key: given})
    assert settings.config[key] == expected
    assert settings.overrides == {key: expected}


def test_override_equal_to_the_file_is_none():
    """Saying what the file says changes nothing, so that it makes no other plan."""
    assert load(ROOT, {"campaign": "demo", "libraries": "all"}).overrides == {}


def test_depth_is_the_campaigns_until_named():
    """The campaign's depth holds where no other is named, and the file comes with its name."""
    assert load(ROOT).config["depth"] == "min"
    assert load(ROOT).depth["name"] == "min"
    assert load(ROOT, {"campaign": "paper"}).depth["name"] == "max"
    assert load(ROOT, {"campaign": "paper", "depth": "min"}).depth["name"] == "min"


def test_command_line_mistake_is_said_of_the_command_line():
    """The problem names --config and not the file, which is right."""
    with pytest.raises(ConfigErrors) as caught:
        load(ROOT, {"images": True})
    assert [problem.file for problem in caught.value.problems] == ["--config"]


def test_own_images_may_be_a_file_or_a_folder(tree: Tree):
    """A path that is there is taken as it is, relative to the root or absolute."""
    tree.write("data/mine/one.jpg", "")
    tree.write("mine.tar.gz", "")
    for source in ("data/mine", "mine.tar.gz", str(tree.root / "mine.tar.gz")):
        assert load(tree.root, {"images": source}).config["images"] == source


def test_stanzas_keep_the_order_of_their_file():
    """Declared order is what plans and tables follow."""
    assert list(load(ROOT).libraries)[:4] == ["albumentationsx", "torchvision", "kornia", "pillow"]
