"""The plan as it is now: configuration, locks, code and data are read and put together.

Workflow side. What depends on files is here; what follows from them is in ``augmark.plan``.
"""

from __future__ import annotations

import difflib
import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from augmark import clock, codehash, fingerprint, host, topup
from augmark.config.load import Settings, load
from augmark.data import dossier, stage
from augmark.engines import check_engine, completed
from augmark.errors import AugmarkError
from augmark.locks import lock_digest
from augmark.plan import Plan, Sources, make_plan
from augmark.record import replace_json

AUDIT = "augmark.data.audit"
ITEMS = "augmark.data.items"


def plan_now(
    root: Path,
    overrides: Mapping[str, Any] | None = None,
    *,
    machine: str = "local",
    python: str | None = None,
    engine: str | None = None,
    partition: str | None = None,
) -> Plan:
    """Load, check and resolve the configuration.

    Args:
        root: The project's root.
        overrides: Keys of config.yaml as the command line gave them.
        machine: A name of machines.yaml; ``local`` is completed by the host's fingerprint.
        python: What the libraries run on (``cpython-3.11``); by default the Python that runs now.
        engine: What runs the measuring jobs on other hosts (``slurm``); None where this host does.
        partition: Of SLURM, whose nodes they are; None for the cluster's default.

    Raises:
        AugmarkError: The configuration is wrong (all problems at once), or the data is not there.
    """
    settings = load(root, overrides)
    if machine not in settings.machines:
        nearest = difflib.get_close_matches(machine, settings.machines, n=1)
        raise AugmarkError(
            f"unknown machine {machine!r}",
            where="machines.yaml",
            remedy=f"did you mean {nearest[0]}?" if nearest else f"known: {', '.join(settings.machines)}",
        )
    if engine is not None:
        check_engine(engine, machine)
        stanza = {"id": machine, **settings.machines[machine]}
        settings.machines[machine] = completed(stanza, engine, partition)
    campaign = settings.campaigns[settings.config["campaign"]]
    if campaign["records"] == "fetch" and machine == "local":
        raise AugmarkError(
            f"campaign {settings.config['campaign']} is never measured at the desk, and no published "
            f"records of {', '.join(campaign['machines'])} are pinned in this version",
            where="config: campaign",
            remedy="use campaign=demo here (with depth=max for all transforms)",
        )
    threads, named = most_threads(settings)
    if machine == "local" and threads > host.cpus():
        raise AugmarkError(
            f"{named} is {threads}, and this machine has {host.cpus()} processors",
            where="config",
            remedy=f"ask for at most {host.cpus()}",
        )
    sources = _sources(settings, root, machine, python or host.python_tag())
    plan = make_plan(settings, sources)
    if decided := decided_stages(plan):
        plan = make_plan(settings, sources, decided)
    if not plan.cells():
        raise AugmarkError(
            f"campaign {settings.config['campaign']} measures nothing on {machine}",
            where="tables.yaml: campaigns",
            remedy=f"its machines are {', '.join(campaign['machines'])}",
        )
    return plan


def most_threads(settings: Settings) -> tuple[int, str]:
    """The largest number of threads that is asked for, and where; 0 where none is."""
    asked = {"threads": settings.config["threads"] or 0}
    for name, stanza in settings.libraries.items():
        asked[f"threads of {name}"] = stanza.get("setting", {}).get("threads", 0)
    named = max(asked, key=lambda key: asked[key])
    return asked[named], named


def decided_stages(plan: Plan) -> list[dict[str, Any]]:
    """The stages of ``topup`` that have been decided for a plan; none where the number of repeats is fixed.

    Raises:
        AugmarkError: A stage cannot be read, or is not one that schedule and rule of the policy could give.
    """
    found: list[dict[str, Any]] = []
    while not plan.content["repeats"]["fixed"] and (path := plan.topup_file(len(found) + 1)).exists():
        stage = read_json(path)
        wrong = (
            "it is no JSON object" if stage is None else topup.problem(plan.content, stage, len(found) + 1)
        )
        if stage is None or wrong:
            raise AugmarkError(
                f"no stage of topup that can be obeyed: {wrong}",
                where=str(path),
                remedy="bring back the stage (or the policy that it was decided by), or delete it and its "
                "later ones and decide anew with `snakemake topup`",
            )
        found.append(stage)
    return found


def _sources(settings: Settings, root: Path, machine: str, python: str) -> Sources:
    stanzas = settings.libraries.values()
    keys = {scenario["dataset"] for scenario in settings.scenarios.values()}
    return Sources(
        machine=fingerprint.local_machine() if machine == "local" else machine,
        machine_kind=machine,
        python=python,
        datasets={key: _dataset(settings, root, key) for key in sorted(keys)},
        locks={
            name: lock_digest(root / "envs" / f"{name}.txt") for name in {s["environment"] for s in stanzas}
        },
        cpus=settings.machines[machine]["vcpus"] or host.cpus(),
        row_code=_row_code(settings),
        samples_code=codehash.code_digest(codehash.SAMPLES),
        audit_code=codehash.code_digest(AUDIT),
        items_code=codehash.code_digest(ITEMS),
    )


def _row_code(settings: Settings) -> dict[str, str]:
    """``<adapter>/<mode>`` and ``<adapter>/regimes`` -> digest of the code that decides such rows."""
    found: dict[str, str] = {}
    for stanza in settings.libraries.values():
        adapter = stanza["adapter"]
        for mode in {mode for offer in stanza["scenarios"].values() for mode in offer["modes"]}:
            found[f"{adapter}/{mode}"] = codehash.row_code_digest(adapter, mode)
        if regimes := codehash.regimes_code_digest(adapter):
            found[f"{adapter}/regimes"] = regimes
    return found


def _dataset(settings: Settings, root: Path, key: str) -> dict[str, Any]:
    """Name, kind, source, size and digest of the data that a config key names, and its terms."""
    named = settings.config[key]
    output = root / settings.config["output"]
    if named not in settings.datasets:
        return _own_dataset(settings, stage.located(root, named), output)
    stanza = settings.datasets[named]
    # Without a source it is the demo, or staged already.
    source = stage.located(root, stanza["source"]) if stanza.get("source") else named
    digest = stanza["sha256"] or stage.declare(source, output)
    return _about(named, stanza["kind"], source, digest, stanza)


def _own_dataset(settings: Settings, path: str, output: Path) -> dict[str, Any]:
    """Of data that is named by its path; what has the digest of a stanza is that dataset."""
    digest = stage.declare(path, output)
    for name, stanza in settings.datasets.items():
        if stanza["sha256"] == digest:
            return _about(name, stage.kind_of(path), path, digest, stanza)
    return _about(stage.dataset_name(path), stage.kind_of(path), path, digest, {})


def _about(name: str, kind: str, source: str, digest: str, stanza: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "kind": kind,
        "source": source,
        "size": stanza.get("size"),
        "digest": digest,
        **dossier.terms(stanza),
    }


def write_plan(plan: Plan) -> None:
    """Write the plan for the jobs that follow it, and per machine the list of cells that there should be.

    The list is rewritten only when it changes: what gathers the cells has it as an input, so that going
    back to an earlier lock, depth or selection also goes back to its rows.
    """
    if ahead := clock.settle(plan.output):
        what = f"the clock was set back: the times of {len(ahead)} files lay in the future"
        print(f"{what} and are put before now, in their order", file=sys.stderr)
    replace_json(plan.path, plan.content)
    replace_json(cells_file(plan), [cell["path"] for cell in plan.cells()])
    replace_json(current_file(plan), plan.content)
    # What a run under another plan made meanwhile is newer than these files: unless the last run that ended
    # well was of this plan, what is made for readers is made again. (New content: a time alone is ignored.)
    made = read_json(made_file(plan)) or {}
    if made.get("plan") != plan.digest or not again_file(plan).exists():
        replace_json(again_file(plan), {"written_ns": time.time_ns()})


def read_json(path: Path) -> dict[str, Any] | None:
    """A JSON object, or None where there is none that can be read."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def made_file(plan: Plan) -> Path:
    """Names the plan of the last run that ended well; not there while one is at work, or was killed."""
    return plan.output / "plan" / f"{plan.name}.made.json"


def again_file(plan: Plan) -> Path:
    """Newer than the tables whenever they may be another plan's."""
    return plan.output / "plan" / f"{plan.name}.again.json"


def cells_file(plan: Plan) -> Path:
    """The list of the record paths that a machine should have."""
    return plan.output / "plan" / f"{plan.name}.cells.json"


def current_file(plan: Plan) -> Path:
    """The plan under a name that stays: what is made for readers has it as an input."""
    return plan.output / "plan" / f"{plan.name}.plan.json"


def unless_there(product: Path, needs: Mapping[str, Path | list[Path]]) -> dict[str, Any]:
    """Named inputs of a write-once product: none when it is there, whatever the times of what made it say."""
    return {} if product.exists() else as_inputs(needs)


def as_inputs(needs: Mapping[str, Path | list[Path]]) -> dict[str, Any]:
    """Paths as Snakemake wants named inputs."""
    return {
        name: [str(p) for p in paths] if isinstance(paths, list) else str(paths)
        for name, paths in needs.items()
    }
