"""An in-toto statement: which files there are, and what they were made from, as SLSA provenance.

The statement's form (https://in-toto.io/Statement/v1) and the predicate's (https://slsa.dev/provenance/v1)
are held against the messages of the package ``in-toto-attestation``. Nobody has signed it, and it says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from augmark import __version__
from augmark.errors import AugmarkError
from augmark.evidence.archive import Member
from augmark.evidence.facts import Facts, licence_of, way_to
from augmark.plan import SCHEMA as PLAN_SCHEMA

NAME = "provenance.json"
BUILD_TYPE = "urn:augmark:package:1"
BUILDER = "urn:augmark:workflow"
STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://slsa.dev/provenance/v1"
UNSIGNED = "none: this statement says what was packed and has not been signed by anybody"


def statement(facts: Facts, members: Iterable[Member]) -> dict[str, Any]:
    """The statement of a package, checked.

    Args:
        members: Every file that it vouches for.

    Raises:
        AugmarkError: It is no valid statement.
    """
    content = {
        "_type": STATEMENT,
        "subject": [
            {"name": member.name, "digest": {"sha256": member.sha256}}
            for member in sorted(members, key=lambda each: each.name)
        ],
        "predicateType": PREDICATE,
        "predicate": {"buildDefinition": _definition(facts), "runDetails": _run(facts)},
    }
    check_statement(content)
    return content


def _definition(facts: Facts) -> dict[str, Any]:
    plan = facts.plan
    schemas = sorted({record["schema"] for record in facts.records.values()})
    return {
        "buildType": BUILD_TYPE,
        "externalParameters": {
            "campaign": plan["campaign"],
            "depth": plan["depth"],
            "machine": plan["machine"],
            "config": plan["config"],
            "overrides": plan["overrides"],
            "question": (plan["question"] or {}).get("digest"),
            "plan": facts.plan_digest,
        },
        "internalParameters": {
            "schemas": {"plan": PLAN_SCHEMA, "records": schemas},
            "sessions": [
                {"id": each.name, "startedOn": each.started, "finishedOn": each.ended}
                for each in facts.sessions
            ],
            "signature": UNSIGNED,
            "doubts": list(facts.doubts),
        },
        "resolvedDependencies": [*_commits(facts), *_locks(facts), *_datasets(facts)],
    }


def _commits(facts: Facts) -> list[dict[str, Any]]:
    """The tree that is packed, and the commits that measured; unknown ones have no digest."""
    packed = {"name": "augmark (packed)", "annotations": {"version": __version__, "dirty": facts.dirty}}
    if facts.commit:
        packed["digest"] = {"gitCommit": facts.commit}
    measured = [{"name": "augmark (measured)", "digest": {"gitCommit": commit}} for commit in facts.commits]
    return [packed, *measured]


def _locks(facts: Facts) -> list[dict[str, Any]]:
    locks = facts.plan["locks"]
    found = []
    for name, sha256 in sorted(facts.lock_files.items()):
        short = locks.get(name.removeprefix("envs/").removesuffix(".txt"))
        note = {"annotations": {"lockDigest": short}} if short else {}
        found.append({"name": name, "digest": {"sha256": sha256}, **note})
    return found


def _datasets(facts: Facts) -> list[dict[str, Any]]:
    return [
        {
            "name": f"dataset {about['name']}",
            "digest": {"sha256": about["digest"]},
            "annotations": {"licence": licence_of(about), "packed": False, "how": way_to(about)},
        }
        for about in facts.datasets.values()
    ]


def _run(facts: Facts) -> dict[str, Any]:
    sessions = facts.sessions
    return {
        "builder": {"id": BUILDER, "version": {"augmark": __version__}},
        "metadata": {
            "invocationId": sessions[-1].name,
            "startedOn": sessions[0].started,
            "finishedOn": max(each.ended for each in sessions),
        },
    }


def check_statement(content: Mapping[str, Any]) -> None:
    """Hold a statement against the messages of in-toto, field by field.

    Raises:
        AugmarkError: A field is missing, unknown or of the wrong kind.
    """
    from google.protobuf import json_format
    from in_toto_attestation.predicates.provenance.v1.provenance_pb2 import Provenance
    from in_toto_attestation.v1 import statement_pb2
    from in_toto_attestation.v1.statement import Statement

    try:
        parsed = Statement.copy_from_pb(json_format.ParseDict(dict(content), statement_pb2.Statement()))
        parsed.validate()
        json_format.ParseDict(content["predicate"], Provenance())
    except (json_format.ParseError, ValueError, KeyError, TypeError) as error:
        raise AugmarkError(
            f"is no valid in-toto statement: {error}", where=NAME, remedy="report this"
        ) from error


def render(content: Mapping[str, Any]) -> bytes:
    """The statement as a file."""
    return (json.dumps(content, indent=1) + "\n").encode()
