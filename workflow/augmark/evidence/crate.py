"""RO-Crate metadata of a package: what its files are, whose, and what made them."""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rocrate.model.contextentity import ContextEntity
from rocrate.model.softwareapplication import SoftwareApplication
from rocrate.rocrate import ROCrate

from augmark import __version__
from augmark.errors import AugmarkError
from augmark.evidence.archive import Member
from augmark.evidence.facts import Facts, licence_of, way_to

NAME = "ro-crate-metadata.json"
VERSION = "1.2"
PACKAGES = "pkg:pypi/{}@{}"  # a package URL: it names no host that may move or be mirrored
LICENCE = "https://spdx.org/licenses/Apache-2.0"
FORMATS = {
    ".cfg": "text/plain",
    ".csv": "text/csv",
    ".in": "text/plain",
    ".json": "application/json",
    ".md": "text/markdown",
    ".parquet": "application/vnd.apache.parquet",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".py": "text/x-python",
    ".smk": "text/plain",
    ".tex": "application/x-tex",
    ".toml": "application/toml",
    ".txt": "text/plain",
    ".yaml": "application/yaml",
    ".zip": "application/zip",
}
FOLDERS = {
    "config": "What was asked for: libraries, transforms, scenarios, policy",
    "docs": "What each number means, and what is not claimed",
    "envs": "What the environments hold: as asked for (.in) and as locked, with hashes (.txt, .yaml)",
    "figures": "Figures as published",
    "probes": "What each transform did before it was timed",
    "pyperf": "The timings of each cell as a file of pyperf",
    "records": "One record of raw timings per cell, written once",
    "scripts": "One command per rule",
    "tables": "Tables as published, equivalence.csv among them: which libraries do the same work",
    "workflow": "The code that measured and that makes tables and figures from records",
}
SAID = {
    "REBUILD.md": "How the tables and figures are made again from the records",
    "plan.json": "The resolved plan: every row of every cell",
    "provenance.json": "In-toto statement with SLSA provenance, not signed",
    "records.parquet": "All records in one file",
    "report.csv": "The answer to the plan file's question, a line per row",
    "report.json": "The answer to the plan file's question",
    "report.md": "The answer to the plan file's question, in words",
}


def metadata(facts: Facts, members: Iterable[Member]) -> bytes:
    """The file ``ro-crate-metadata.json``: the same bytes for the same package.

    Args:
        members: Every file of the package but this one and the sums.
    """
    crate = ROCrate(version=VERSION)
    root = crate.root_dataset
    root["name"] = facts.name
    root["description"] = _description(facts)
    root["datePublished"] = facts.ended.isoformat()  # not the day of packing: same bytes
    root["license"] = _licence(crate, LICENCE, "Apache License 2.0")
    root["isBasedOn"] = [crate.add(_dataset(crate, about)) for about in facts.datasets.values()]
    folders = _files(crate, members)
    software = [crate.add(each) for each in _software(crate, facts)]
    root["mentions"] = [crate.add(each) for each in _sessions(crate, facts, software, folders["records"])]
    content = {"@context": crate.metadata.generate()["@context"], "@graph": _graph(crate)}
    return (json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()


def _graph(crate: ROCrate) -> list[Mapping[str, Any]]:
    """Every entity, by id, the crate's own description of itself first; a list of one is the one."""
    entities = sorted(crate.get_entities(), key=lambda entity: (entity.id != NAME, entity.id))
    return [
        {
            key: value[0] if isinstance(value, list) and len(value) == 1 else value
            for key, value in entity.properties().items()
        }
        for entity in entities
    ]


def _description(facts: Facts) -> str:
    plan = facts.plan
    stamp = f" At this depth the numbers are a {plan['stamp']}." if plan["stamp"] else ""
    return (
        f"Measurements of image augmentation libraries by augmark {__version__}: campaign "
        f"{plan['campaign']}, depth {plan['depth']}, machine {plan['machine']}, {len(facts.records)} cells."
        f"{stamp} Tables and figures are made again from the records as REBUILD.md says. The data that was "
        "measured on is named by digest, not packed."
    )


def _licence(crate: ROCrate, place: str, name: str) -> ContextEntity:
    description = f"As it is stated with what it covers: {name}"
    about = {"@type": "CreativeWork", "name": name, "description": description}
    return crate.add(ContextEntity(crate, place, about))


def _dataset(crate: ROCrate, about: Mapping[str, Any]) -> ContextEntity:
    properties = {
        "@type": "Dataset",
        "name": str(about.get("title") or about["name"]),
        "identifier": f"sha256:{about['digest']}",
        "sha256": about["digest"],
        "license": _licence(crate, f"#licence-{about['name']}", licence_of(about)),
        "conditionsOfAccess": f"Not in this package. How to get it: {way_to(about)}",
    }
    return ContextEntity(crate, f"#dataset-{about['name']}", properties)


def _files(crate: ROCrate, members: Iterable[Member]) -> dict[str, Any]:
    """Every file, below its folder; returns the folders by name."""
    folders: dict[str, Any] = {}
    for member in sorted(members, key=lambda each: each.name):
        top, slash, _ = member.name.partition("/")
        if slash and top not in folders:
            said = {"name": top, "description": FOLDERS.get(top, "Part of the workflow")}
            folders[top] = crate.add_dataset(dest_path=top, properties=said)
        properties = {
            "name": member.name.rpartition("/")[2],
            "description": SAID.get(member.name) or FOLDERS.get(top, "Part of the workflow"),
            "encodingFormat": FORMATS.get(Path(member.name).suffix, "text/plain"),
            "contentSize": str(member.size),
            "sha256": member.sha256,
        }
        file = crate.add_file(dest_path=member.name, properties=properties)
        if slash:
            folders[top].append_to("hasPart", file)
    return folders


def _software(crate: ROCrate, facts: Facts) -> list[SoftwareApplication]:
    known = {"augmark": __version__, **facts.versions}
    found = []
    for name, version in known.items():
        library = facts.plan["libraries"].get(name, {})
        distribution = library.get("distribution")
        url = PACKAGES.format(distribution, version) if distribution else "README.md"
        properties = {"name": library.get("title", name), "version": version, "url": url}
        if name == "augmark" and facts.commit:
            properties["identifier"] = f"git:{facts.commit}{' with changes' if facts.dirty else ''}"
        found.append(SoftwareApplication(crate, f"#software-{name}", properties))
    for version in facts.pythons:
        properties = {"name": "Python", "version": version, "url": "https://www.python.org/"}
        found.append(SoftwareApplication(crate, f"#software-python-{version}", properties))
    return found


def _sessions(crate: ROCrate, facts: Facts, software: list[Any], records: Any) -> list[ContextEntity]:
    return [
        ContextEntity(
            crate,
            f"#session-{session.name}",
            {
                "@type": "CreateAction",
                "name": f"Session {session.name}",
                "startTime": session.started,
                "endTime": session.ended,
                "instrument": software,
                "object": [crate.get(f"#dataset-{about['name']}") for about in facts.datasets.values()],
                "result": records,
            },
        )
        for session in facts.sessions
    ]


def check_metadata(content: bytes) -> None:
    """Read the metadata again, as any other program would.

    Raises:
        AugmarkError: It cannot be read as an RO-Crate, or an entity hangs in the air.
    """
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, NAME).write_bytes(content)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                crate = ROCrate(folder)
            except (ValueError, KeyError, Warning) as error:
                raise AugmarkError(f"is no RO-Crate: {error}", where=NAME, remedy="report this") from error
    for entity in crate.get_entities():
        for value in entity.properties().values():
            for part in value if isinstance(value, list) else [value]:
                named = part.get("@id", "") if isinstance(part, dict) else ""
                if named and not named.startswith("https://w3id.org/ro/crate/") and crate.get(named) is None:
                    raise AugmarkError(f"{entity.id} names {named}, which is not there", where=NAME)
