"""What the tests of `verify` share: spoiling a file, and what is found then."""

import json
import re

from augmark.evidence.verify_records import check_file
from augmark.evidence.verify_samples import probe_problems
from augmark.plan import Plan
from augmark.record import seal_of

TABLE = "results/tables/image-rgb-micro"


def found_by(project):
    """(file, rule) -> what is said, of every finding; each says what to do."""
    told = {}
    for finding in project.examine().findings:
        assert finding.remedy
        told.setdefault((finding.file, finding.rule), []).append(finding.what)
    return told


def rules_of(path):
    """The rules that a record alone breaks."""
    return {finding.rule for finding in check_file(path, "record").findings}


def samples_of(project):
    """File and words of what is found in the probes and their samples."""
    plan = Plan(project.plan.content, project.results)
    return [(finding.file, finding.what) for finding in probe_problems(plan, "results/")[1]]


def probe_of(project, library="fake"):
    """The file of a library's probe."""
    (path,) = (project.results / "probes").glob(f"*/*/*/{library}/cpu/probe.*.json")
    return path


def reprobed(path, change, *, sealed=True):
    """A probe as `probe` writes it, with a change in it."""
    probe = json.loads(path.read_text())
    change(probe)
    if sealed:
        probe["seal"] = seal_of(probe)
    path.write_text(json.dumps(probe, indent=1) + "\n")


def replace_once(path, pattern, by):
    text = path.read_text(encoding="utf-8")
    changed, count = re.subn(pattern, by, text, count=1)
    assert 1 == count
    path.write_text(changed, encoding="utf-8")


def rewritten(path, change, *, sealed=False):
    """A record as `measure` writes it, with a change in it."""
    record = json.loads(path.read_text())
    change(record)
    if sealed:
        record["seal"] = seal_of(record)
    path.write_text(json.dumps(record, indent=1))
