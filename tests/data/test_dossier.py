"""What a record says of its data: whose, under which licence, how much; never where it lies."""

import json

import pytest
import yaml
from jsonschema import Draft202012Validator

from augmark.data.dossier import dossier, public_url, terms
from tests.conftest import ROOT

OWN = {"name": "my-photos", "kind": "folder", "source": "/home/me/My Photos", "digest": "a" * 64, **terms({})}
INDEX = {
    "names": ["a.jpg", "b.jpg", "c.jpg", "d.jpg"],
    "shapes": [[300, 400, 3], [500, 375, 3], [224, 1000, 3], [301, 500, 3]],
    "files": [{"bytes": size} for size in (1000, 2000, 3000, 4004)],
    "manifest_digest": "0123456789",
    "items_digest": "abcdef0123",
}


def manifest(folder, digest="0123456789", items=7):
    path = folder / "manifest.json"
    path.write_text(json.dumps({"manifest_digest": digest, "items": [{}] * items}), encoding="utf-8")
    return path


def test_the_dossier_of_a_user_s_own_data(tmp_path):
    """Counted by hand; nothing is known of its licence, so it may not be handed on; its path is not told."""
    found = dossier(OWN, INDEX, manifest(tmp_path))
    assert {
        "name": "my-photos",
        "kind": "folder",
        "origin": None,
        "licence": None,
        "redistribute": False,
        "digest": "a" * 64,
        "manifest_digest": "0123456789",
        "common_items": 7,
        "items_digest": "abcdef0123",
        "items": 4,
        "bytes": 10004,
        "widths": [375, 450, 1000],
        "heights": [224, 300.5, 500],
    } == found


@pytest.mark.parametrize("there", ["nothing", "another's", "half of it"])
def test_a_common_set_that_is_not_there_is_unknown(tmp_path, there):
    """Items are kept when what they were made from is gone; another data's number would be a wrong one."""
    path = manifest(tmp_path, digest="ffffffffff")
    if there == "nothing":
        path.unlink()
    elif there == "half of it":
        path.write_text(path.read_text()[:20])
    assert dossier(OWN, INDEX, path)["common_items"] is None


def test_items_without_their_files_have_unknown_bytes(tmp_path):
    """Not zero."""
    index = {name: value for name, value in INDEX.items() if name != "files"}
    assert dossier(OWN, index, manifest(tmp_path))["bytes"] is None


def test_the_demo_s_terms_are_those_of_its_photographs():
    """Each licence and each package once, in the order of the list."""
    stanza = yaml.safe_load((ROOT / "config" / "datasets.yaml").read_text(encoding="utf-8"))["demo"]
    assert {
        "origin": "scikit-image, scikit-learn",
        "licence": "public domain, CC0-1.0, no known copyright restrictions, CC-BY-2.0",
        "redistribute": True,
    } == terms(stanza)


def test_terms_of_a_declared_dataset():
    """As its stanza says; without a word of it, it may not be handed on."""
    declared = {"origin": "Example Institute", "licence": "CC-BY-4.0", "redistribute": True}
    assert declared == terms({"kind": "tar", "source": "data/x.tar", **declared})
    assert {"origin": None, "licence": None, "redistribute": False} == terms({"source": "data/x.tar"})


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("https://me:secret@example.org:8443/a/x.tar?sig=secret#part", "https://example.org:8443/a/x.tar"),
        ("gs://bucket/x.tar", "gs://bucket/x.tar"),
        ("/home/me/x.tar", None),
        ("~/x.tar", None),
        ("C:\\Users\\me\\x.tar", None),
        ("file:///home/me/x.tar", None),
        ("demo", None),
    ],
)
def test_a_url_may_stay_without_its_secrets(source, shown):
    """User, password and a signed URL's query are left out; a path is never told."""
    assert shown == public_url(source)
    assert shown == terms({"source": source})["origin"]


@pytest.mark.parametrize(
    ("more", "valid"),
    [
        ({}, True),
        ({"redistribute": False}, True),
        ({"redistribute": True}, False),
        ({"redistribute": True, "licence": "CC0-1.0"}, True),
        ({"licence": ""}, False),
        ({"redistribute": "yes"}, False),
    ],
)
def test_what_may_be_handed_on_has_a_licence(more, valid):
    """The schema refuses one without the other."""
    schema = json.loads((ROOT / "workflow/schemas/datasets.schema.json").read_text(encoding="utf-8"))
    stanza = {"title": "X", "kind": "tar", "medium": "image", "sha256": "a" * 64, "source": "x.tar"}
    assert valid == Draft202012Validator(schema).is_valid({"x": {**stanza, **more}})
