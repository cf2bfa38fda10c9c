"""What a package says of itself: an in-toto statement and RO-Crate metadata, each read by its own library."""

import copy
import json
from datetime import UTC, datetime

import pytest
from google.protobuf import json_format
from in_toto_attestation.predicates.provenance.v1.provenance_pb2 import Provenance
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement
from rocrate.rocrate import ROCrate

from augmark.errors import AugmarkError
from augmark.evidence import crate, page, provenance
from augmark.evidence.archive import Member
from augmark.evidence.facts import Facts

# sha256 of "a\n" and "b\n", as `printf 'a\n' | sha256sum` says.
SHA256 = {
    "records/a.json": "87428fc522803d31065e7bce3cf03fe475096631e5e07bbd7a0fde60c4cf25c7",
    "tables/b c.csv": "0263829989b6fd954f72baaf2fc64bc2e2f01d692d4de72986ea808f6e99813f",
}
MEMBERS = [Member("tables/b c.csv", b"b\n"), Member("records/a.json", b"a\n")]


def record(session, started, ended, *rows, commit="c" * 40):
    return {
        "schema": "augmark/record/4",
        "cell": {"library": "pillow"},
        "session": session,
        "started": started,
        "ended": ended,
        "library_version": "13.0.0",
        "environment": {"python": "3.11.7"},
        "code": {"git_commit": commit, "git_dirty": False},
        "rows": list(rows),
    }


def at(minute):
    return f"2026-11-30T10:{minute:02}:00.000000+00:00"


def facts(**changed):
    """A package of two records; a row of the second was carried from an earlier session."""
    origin = {"code": {"git_commit": "b" * 40, "git_dirty": False}}
    carried = {"status": "ok", "session": "s0", "started": at(1), "ended": at(2), "carried_from": origin}
    gap = {"status": "failed", "session": "s0", "started": None, "ended": None, "carried_from": None}
    known = {
        "name": "augmark-demo-local-0000-0123456789",
        "plan": {
            "campaign": "demo",
            "depth": "max",
            "machine": "local-0000",
            "stamp": None,
            "config": {"images": "mine", "items": 48},
            "overrides": {"repeats": 2},
            "question": None,
            "locks": {"pillow": "0123456789"},
            "libraries": {"pillow": {"title": "Pillow", "distribution": "pillow"}},
            "scenarios": {"image-rgb": {"dataset": "images"}},
            "datasets": {
                "images": {"name": "mine", "kind": "tar", "digest": "d" * 64, "licence": "CC-BY-4.0"},
                "clips": {"name": "unused", "kind": "tar", "digest": "e" * 64},
            },
        },
        "records": {
            "a.json": record("s1", at(10), at(20)),
            "b.json": record("s1", at(21), at(30), carried, gap),
        },
        "commit": "c" * 40,
        "dirty": False,
        "lock_files": {"envs/pillow.txt": "1" * 64, "envs/workflow.txt": "2" * 64},
        "samples": False,
        "doubts": [],
    }
    return Facts(**{**known, **changed})


def test_the_statement_is_valid_for_in_toto_and_names_every_file_by_its_digest():
    """The package in-toto-attestation reads it without an unknown field, and its subjects are the files."""
    content = json.loads(provenance.render(provenance.statement(facts(), MEMBERS)))
    read = Statement.copy_from_pb(json_format.ParseDict(content, statement_pb2.Statement()))
    read.validate()
    assert SHA256 == {each.name: each.digest["sha256"] for each in read.pb.subject}
    assert "https://in-toto.io/Statement/v1" == read.pb.type
    assert "https://slsa.dev/provenance/v1" == read.pb.predicate_type
    run = json_format.ParseDict(content["predicate"], Provenance()).run_details
    assert datetime(2026, 11, 30, 10, 1, tzinfo=UTC) == run.metadata.started_on.ToDatetime(UTC)
    assert datetime(2026, 11, 30, 10, 30, tzinfo=UTC) == run.metadata.finished_on.ToDatetime(UTC)


def test_the_statement_says_what_the_records_depend_on():
    """Commits (of carried rows too), locks, and the data that is not packed; that nobody signed it."""
    definition = provenance.statement(facts(), MEMBERS)["predicate"]["buildDefinition"]
    named = [(each["name"], each["digest"]) for each in definition["resolvedDependencies"]]
    assert [
        ("augmark (packed)", {"gitCommit": "c" * 40}),
        ("augmark (measured)", {"gitCommit": "b" * 40}),
        ("augmark (measured)", {"gitCommit": "c" * 40}),
        ("envs/pillow.txt", {"sha256": "1" * 64}),
        ("envs/workflow.txt", {"sha256": "2" * 64}),
        ("dataset mine", {"sha256": "d" * 64}),
    ] == named
    assert "CC-BY-4.0" == definition["resolvedDependencies"][-1]["annotations"]["licence"]
    assert ("demo", {"repeats": 2}) == tuple(
        definition["externalParameters"][key] for key in ("campaign", "overrides")
    )
    inside = definition["internalParameters"]
    assert inside["signature"].startswith("none")
    assert ["augmark/record/4"] == inside["schemas"]["records"]
    assert [
        {"id": "s0", "startedOn": "2026-11-30T10:01:00.000000Z", "finishedOn": "2026-11-30T10:02:00.000000Z"},
        {"id": "s1", "startedOn": "2026-11-30T10:10:00.000000Z", "finishedOn": "2026-11-30T10:30:00.000000Z"},
    ] == inside["sessions"]


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.update(_type="https://in-toto.io/Statement/v0"),
        lambda content: content.update(subject=[]),
        lambda content: content["subject"][0].pop("digest"),
        lambda content: content.update(signature="mine"),
        lambda content: content["predicate"]["runDetails"].update(host="mine"),
        lambda content: content["predicate"]["runDetails"]["metadata"].update(startedOn="yesterday"),
    ],
)
def test_a_statement_with_a_wrong_missing_or_unknown_field_is_refused(change):
    """The check is that of the specification's own messages."""
    content = copy.deepcopy(provenance.statement(facts(), MEMBERS))
    change(content)
    with pytest.raises(AugmarkError, match="no valid in-toto statement"):
        provenance.check_statement(content)


def test_rocrate_reads_the_metadata_and_finds_every_file(tmp_path):
    """Files with sum, size and format below their folders; names with spaces; what data it rests on."""
    (tmp_path / crate.NAME).write_bytes(crate.metadata(facts(), MEMBERS))
    for member in MEMBERS:
        (tmp_path / member.name).parent.mkdir()
        (tmp_path / member.name).write_bytes(member.read())
    read = ROCrate(tmp_path)
    files = {each.id: each for each in read.get_by_type("File")}
    assert {"records/a.json": SHA256["records/a.json"], "tables/b%20c.csv": SHA256["tables/b c.csv"]} == {
        name: file["sha256"] for name, file in files.items()
    }
    assert ("2", "text/csv") == tuple(
        files["tables/b%20c.csv"][key] for key in ("contentSize", "encodingFormat")
    )
    assert files["records/a.json"] == read.get("records/")["hasPart"]
    assert all(entity.source.is_file() for entity in files.values())
    assert "Apache License 2.0" == read.license["name"]
    assert datetime(2026, 11, 30, 10, 30, tzinfo=UTC) == read.datePublished
    dataset = read.isBasedOn
    assert ("d" * 64, "CC-BY-4.0") == (dataset["sha256"], dataset["license"]["name"])
    assert "Not in this package" in dataset["conditionsOfAccess"]
    software = read.get("#software-pillow")
    assert ("13.0.0", "pkg:pypi/pillow@13.0.0") == (software["version"], software["url"])
    assert ["#session-s0", "#session-s1"] == [session.id for session in read.root_dataset["mentions"]]
    assert "2026-11-30T10:10:00.000000Z" == read.get("#session-s1")["startTime"]


def test_the_metadata_is_the_same_whatever_the_day_and_the_order():
    """Nothing in it is of the moment of packing."""
    assert crate.metadata(facts(), MEMBERS) == crate.metadata(facts(), MEMBERS[::-1])


def test_metadata_that_names_what_is_not_there_is_refused():
    """A reference into the air, an entity without a kind: neither is given out."""
    whole = crate.metadata(facts(), MEMBERS)
    crate.check_metadata(whole)
    loose = whole.replace(b'"@id": "#software-pillow",', b'"@id": "#software-other",', 1)
    with pytest.raises(AugmarkError, match="which is not there"):
        crate.check_metadata(loose)
    with pytest.raises(AugmarkError, match="is no RO-Crate"):
        crate.check_metadata(whole.replace(b'"about"', b'"above"'))


def test_the_page_names_the_data_the_commits_and_what_is_left_out():
    """A reader knows how to go on, and what this package does not hold."""
    text = page.render(facts(doubts=["the checkout: the tree has changes that are not committed"]))
    assert "scripts/rebuild.py --package . --out rebuilt --check" in text
    assert f"`mine`: sha256 `{'d' * 64}`, licence CC-BY-4.0" in text
    assert "may not be given away" in text
    assert f"measured at commit `{'b' * 40}`, `{'c' * 40}`" in text
    assert "## Warnings" in text
    assert "changes that are not committed" in text
    assert "## Warnings" not in page.render(facts())
    assert "may not be given away" not in page.render(facts(samples=True))
