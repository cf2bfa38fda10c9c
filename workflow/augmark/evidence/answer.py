"""What `augmark verify` prints."""

from __future__ import annotations

import json

from augmark.evidence.verify import Verification


def render(found: Verification) -> str:
    """Findings, what else is to be known, and a summary."""
    lines = [str(finding) for finding in found.findings]
    lines += [""] if lines else []
    lines += [f"note: {note}" for note in found.notes]
    compared = found.compared
    lines += [
        f"{found.records} records ({found.sealed} sealed), {found.rows} rows, {found.values:,} raw values",
        f"{compared.files} files compared, {compared.numbers:,} figures in them",
        f"{_findings(found)} in {found.seconds:.1f} s",
        *(f"not verified: {what}" for what in found.unverified),
    ]
    return "\n".join(lines)


def _findings(found: Verification) -> str:
    if count := len(found.findings):
        return f"{count} finding{'s' if count > 1 else ''}"
    return "everything that could be verified holds" if found.unverified else "everything holds: no finding"


def render_json(found: Verification) -> str:
    """The same for programs."""
    return json.dumps(found.as_dict(), indent=1, ensure_ascii=False)
