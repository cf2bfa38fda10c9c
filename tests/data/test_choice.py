"""From the name or path in the configuration to the data of the plan: what is read for it, what is not."""

import pytest
import yaml

from augmark import codehash
from augmark.config.load import load
from augmark.config.problems import ConfigErrors
from augmark.data import stage
from augmark.planning import _dataset
from tests.config.tree import Tree
from tests.data.server import sha256


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path / "project")


def declare(tree, name, **about):
    with tree.edit("datasets") as value:
        value[name] = {"title": name, "kind": "tar", "medium": "image", **about}


def chosen(tree, **overrides):
    return _dataset(load(tree.root, overrides), tree.root, "images")


def memos(tree):
    return sorted(path.name for path in tree.root.rglob("plan/datasets/*"))


def test_datasets_that_are_not_chosen_cost_nothing(tree):
    """Neither the big ones, nor one of which the file is not there: nothing is read, and nothing refused."""
    declare(tree, "elsewhere", source="/not/there.tar", sha256=None)
    declare(tree, "web", source="https://127.0.0.1:1/a.tar", sha256="a" * 64)

    about = chosen(tree)

    assert (about["name"], about["source"], about["size"]) == ("demo", "demo", 12584960)
    assert memos(tree) == []


def test_a_declared_digest_is_taken_without_reading(kit, tree):
    """The file is read when it is staged; a path starts at the project's root wherever the process runs."""
    (tree.root / "data").mkdir()
    kit.pack(tree.root / "data" / "set.tar", kit.photos(1))
    declare(tree, "mine", source="data/set.tar", sha256="ab" * 32, size=5, licence="CC0-1.0")

    assert chosen(tree, images="mine") == {
        "name": "mine",
        "kind": "tar",
        "source": str(tree.root / "data" / "set.tar"),
        "size": 5,
        "digest": "ab" * 32,
        "origin": None,
        "licence": "CC0-1.0",
        "redistribute": False,
    }
    assert memos(tree) == []


def test_a_digest_that_is_null_is_taken_once_from_the_file(kit, tree, monkeypatch):
    """As UCF101's: remembered beside the plan, so that the second plan reads nothing."""
    made = kit.pack(tree.root / "ucf101.tar", kit.photos(1))
    with tree.edit("datasets") as value:
        value["ucf101"]["medium"], value["ucf101"]["feeds"] = "image", ["image-rgb"]
        value["ucf101"]["source"] = "ucf101.tar"

    first = chosen(tree, images="ucf101")
    monkeypatch.setattr(stage, "_read_digest", None)

    assert first == chosen(tree, images="ucf101")
    assert (first["name"], first["digest"]) == ("ucf101", sha256(made.read_bytes()))
    assert len(memos(tree)) == 1


def test_data_named_by_its_path_is_known_by_its_digest(kit, tree):
    """With the name and the terms of its stanza, wherever it lies and whatever the file is called."""
    made = kit.pack(tree.root / "val.tar", kit.photos(1))
    with tree.edit("datasets") as value:
        value["imagenet-val"].update(sha256=sha256(made.read_bytes()), size=made.stat().st_size)

    about = chosen(tree, images="val.tar")

    assert (about["name"], about["source"]) == ("imagenet-val", str(made))
    assert about["licence"].startswith("ImageNet terms of access")
    other = chosen(tree, images=str(kit.pack(tree.root / "other.tar", kit.photos(2))))
    assert (other["name"], other["licence"], other["size"]) == ("other", None, None)


def test_a_dataset_that_must_be_had_by_hand_says_how(tree):
    """Where from, under which terms, and what to type then."""
    with pytest.raises(ConfigErrors) as refused:
        load(tree.root, {"images": "imagenet-val"})
    text = str(refused.value)
    for words in (
        "image-net.org",
        "non-commercial",
        "--config images=/path/of/the.tar",
        "imagenet-val.source",
    ):
        assert words in text


def test_what_is_staged_already_needs_no_source(tree):
    """A host to which the results were copied has no tarball, and needs none."""
    digest = yaml.safe_load((tree.root / "config/datasets.yaml").read_text())["imagenet-val"]["sha256"]
    folder = stage.dataset_folder(tree.root / "results", "imagenet-val", digest)
    folder.mkdir(parents=True)
    (folder / "staged.json").write_text("{}")
    declare(tree, "gone", source="gone.tar", sha256="ab" * 32)

    assert chosen(tree, images="imagenet-val")["digest"] == digest
    with pytest.raises(ConfigErrors, match=r"gone\.source"):
        load(tree.root, {"images": "gone"})


def test_a_url_is_planned_by_its_declaration(tree):
    """No request is made for a plan."""
    declare(tree, "web", source="https://127.0.0.1:1/a.tar", sha256="ab" * 32, size=7)

    about = chosen(tree, images="web")

    assert (about["source"], about["digest"], about["size"]) == ("https://127.0.0.1:1/a.tar", "ab" * 32, 7)
    assert about["origin"] == "https://127.0.0.1:1/a.tar"


def test_how_data_is_brought_stales_no_items():
    """The digest of audit and preparation follows what reads a dataset, not what downloads or packs it."""
    for module in ("augmark.data.audit", "augmark.data.items"):
        read = set(codehash.closure(module))
        assert {"augmark.data.staged", "augmark.data.archive"} <= read
        assert not read & {
            f"augmark.data.{name}" for name in ("stage", "download", "web", "folder", "tarball")
        }
