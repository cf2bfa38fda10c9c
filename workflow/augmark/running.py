"""What the rules ask of the plan: paths, inputs, priorities, and what is said at start and end.

Rules stay data; this is the one place where wildcards become parts of the plan.
"""

from __future__ import annotations

import fcntl
import math
import os
import secrets
import sys
from collections.abc import Callable, Iterable, Mapping, Set
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from augmark import engines, host, planning, profiles, progress, refresh, sessions, topup
from augmark.cell import canonical_json
from augmark.errors import AugmarkError
from augmark.estimate import cell_estimate
from augmark.evidence.source import package_line
from augmark.locking import OLDEST_PYTHON
from augmark.machines import quota
from augmark.plan import Plan
from augmark.products import ANSWER, product_paths, products
from augmark.record import replace_json
from augmark.worker import described, notice

# Keys of a machine profile's configfile, and none of config.yaml: they say where, and a user chooses what.
MACHINE, ENGINE, PARTITION = PROFILE_KEYS = "machine", "engine", "partition"


# What a row may take that has not been probed, beside the least that is known: slow ones are minutes.
UNKNOWN_ROW_MINUTES = 0.25


def overrides(workflow: Any) -> dict[str, Any]:
    """What ``--config`` and ``--configfile`` say on top of config.yaml."""
    said = workflow.config_settings.overwrite_config
    return {key: value for key, value in said.items() if key not in PROFILE_KEYS}


def planned(root: Path, workflow: Any, config: Mapping[str, Any]) -> Plan:
    """The plan of this start; on an engine's host the one that was submitted, and no other.

    Raises:
        AugmarkError: See ``planning.plan_now``; or the plan is not the one that was submitted.
    """
    engine = config.get(ENGINE)
    files = [Path(file) for file in workflow.config_settings.configfiles]
    profile = next((file for file in files if profiles.FOLDER in file.parts), None)
    given = workflow.config_settings.config
    # A host of an engine is told everything as if somebody had typed it.
    if profile and MACHINE in given and not workflow.remote_exec:
        raise profiles.another_machine(given[MACHINE], f"{profiles.FOLDER}/{profile.parent.name}")
    plan = planning.plan_now(
        root,
        overrides(workflow),
        machine=config.get(MACHINE, "local"),
        python=python_tag(workflow),
        engine=engine,
        partition=config.get(PARTITION),
    )
    if not workflow.remote_exec:
        quota.check_start(workflow, plan.content["machine_stanza"], engine)
        planning.write_plan(plan)
    elif not plan.path.exists():
        raise AugmarkError(
            f"this host plans {plan.digest}, and that is not the plan that was submitted",
            where=str(plan.path),
            remedy="configuration, locks or code were changed since: give the same command again",
        )
    return plan


def conda_in_use(workflow: Any) -> bool:
    """Whether ``--sdm conda`` is given: then conda makes the environments, and ``prepare_env`` none."""
    return any(str(method) == "conda" for method in workflow.deployment_settings.deployment_method)


def python_tag(workflow: Any) -> str:
    """What the libraries run on: the Python of ``envs/*.yaml`` with conda, else the one that runs now."""
    return f"cpython-{OLDEST_PYTHON}" if conda_in_use(workflow) else host.python_tag()


class Run:
    """One start of the workflow.

    Args:
        plan: The resolved plan.
        workflow: Snakemake's workflow, for its settings.
    """

    def __init__(self, plan: Plan, workflow: Any) -> None:
        self.plan = plan
        self._workflow = workflow
        self._conda = conda_in_use(workflow)
        self._lock: IO[str] | None = None
        self.pid = os.getpid()
        # One start on one host without interruption: blocks are paired only inside it. Two hosts may
        # start one in the same second under the same number of process.
        self.session = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{self.pid}-{secrets.token_hex(2)}"
        self._refreshed = (
            refresh.blocks_to_refresh(plan) if plan.content["config"]["refresh"] == "blocks" else set()
        )
        self._there = {path for path in plan.record_paths() if path.exists()}
        self._refresh_mark = plan.output / "plan" / "refresh.mark"
        config = workflow.globals["config"]
        self.engine: str | None = config.get(ENGINE)
        self._partition: str | None = config.get(PARTITION)
        # Only an engine knows groups; here Snakemake would take minutes to find them among thousands of jobs.
        self.group = "session_{scenario}_{mode}_{device}" if self.engine else None
        # What one measuring job asks for: all of a session's together ask for no more.
        self.request = engines.request(plan.content["machine_stanza"], self.engine, self._partition)
        if self._refreshed and not workflow.remote_exec:
            # Newer than every record: as an input it makes their cells run, in a dry run too.
            self._refresh_mark.write_text(self.session, encoding="utf-8")

    # --- targets -------------------------------------------------------------------------------------

    def records(self) -> Path:
        return self.plan.records_file

    def tables(self) -> list[Path]:
        """Every file that a reader is given."""
        return product_paths(self.plan)

    def next_stage(self) -> Path:
        """Where the next stage of ``topup`` is written."""
        return self.plan.topup_file(len(self.plan.content["repeats"]["decided"]) + 1)

    def answer(self) -> list[Path]:
        """The report on the plan file; none where a campaign is planned."""
        made = [product for product in products(self.plan) if product.rule == ANSWER]
        return [self.plan.products / name for product in made for name in product.files]

    def sessions(self) -> list[Path]:
        """What gathers the sessions that have something left to do: each is one submission on an engine."""
        return [
            sessions.session_file(self.plan, place)
            for place in sessions.places(self.plan)
            if self._left(place)
        ]

    def _left(self, place: sessions.Place) -> list[Path]:
        """What is missing of a session, and the records that are asked for again."""
        again = {
            self.plan.output / "records" / cell["path"]
            for cell in sessions.cells(self.plan, place)
            if refresh.block_of(cell) in self._refreshed
        }
        return sessions.left(self.plan, place, again)

    # --- inputs --------------------------------------------------------------------------------------

    def manifest_needs(self, w: Any) -> dict[str, str]:
        """The staged tarball, unless the manifest is there."""
        folder = self.plan.output / "datasets" / f"{w.dataset}.{w.digest}"
        needs = {"tar": folder / "dataset.tar", "staged": folder / "staged.json"}
        return planning.unless_there(folder / f"manifest.{w.audit}.json", needs)

    def items_needs(self, w: Any) -> dict[str, str]:
        """The staged tarball and its manifest, unless the items are there."""
        key = self.plan.content["scenarios"][w.scenario]["dataset"]
        product = self.plan.output / "items" / f"{w.scenario}.{w.digest}" / "index.json"
        tar = self.plan.staged(key).with_name("dataset.tar")
        return planning.unless_there(product, {"tar": tar, "manifest": self.plan.manifest(key)})

    def probe_needs(self, w: Any) -> dict[str, Any]:
        """Environment and items, unless the probe is there."""
        product = self.plan.probe_path(w.scenario, w.mode, w.library, w.device)
        return planning.unless_there(product, self._ready(w))

    def cell_needs(self, w: Any) -> dict[str, Any]:
        """Environment, items and the probes of the whole block, unless the record is there."""
        record = self.plan.output / "records" / self._record_name(w)
        needs = {**self._ready(w), "probes": self.plan.block_probes(w.scenario, w.mode, w.device)}
        if refresh.block_of(w) in self._refreshed:
            return planning.as_inputs({**needs, "refresh": self._refresh_mark})
        return planning.unless_there(record, needs)

    def session_needs(self, w: Any) -> dict[str, Any]:
        """What is left of a session; nothing where all is there and gathered."""
        left = self._left((w.scenario, w.mode, w.device))
        return planning.as_inputs({"left": left}) if left else {}

    def topup_needs(self, w: Any) -> dict[str, Any]:
        """Every record of the stage that is reached, and what is the same work; nothing for no stage."""
        if topup.refusal(self.plan.content):
            return {}
        classes = self.plan.products / "tables" / "equivalence.csv"
        return planning.as_inputs({"records": self.records(), "classes": classes})

    def _ready(self, w: Any) -> dict[str, Any]:
        environment = self.plan.environment_marker(self._definition(w)["environment"])
        made = {} if self._conda else {"marker": environment}
        return {**made, "items_index": self.plan.items_index(w.scenario, w.mode)}

    def _definition(self, w: Any) -> dict[str, Any]:
        return self.plan.definition(w.scenario, w.mode, w.library, w.device)

    # --- params --------------------------------------------------------------------------------------

    def dataset(self, fact: str) -> Callable[[Any], str]:
        """A fact of the plan's dataset that a rule makes, by wildcard."""
        named = {about["name"]: about for about in self.plan.content["datasets"].values()}
        return lambda w: str(named[w.dataset][fact])

    def scenario(self, fact: str) -> Callable[[Any], str]:
        """A fact of the plan's scenario that a rule prepares, by wildcard; a list as ``a,b``."""

        def told(w: Any) -> str:
            value = self.plan.content["scenarios"][w.scenario][fact]
            return ",".join(value) if isinstance(value, list) else str(value)

        return told

    def item_count(self, w: Any) -> str:
        """How many items to prepare, ``--exact`` where so many must be there."""
        sets = self.plan.content["scenarios"][w.scenario]["item_sets"].values()
        wanted = next(each for each in sets if each["digest"] == w.digest)
        return f"{wanted['items']}{' --exact' if wanted['exact'] else ''}"

    def audit_policy(self, w: Any) -> str:
        return canonical_json(self.plan.content["policy"]["audit"])

    def python(self, w: Any) -> str:
        """The library's interpreter: conda's where it is in use, else that of the built environment."""
        if self._conda:
            return "python"
        marker = self.plan.environment_marker(self._definition(w)["environment"])
        return str(marker.parent / "bin" / "python")

    def minutes(self, w: Any) -> int:
        """How long a session may take on an engine: twice what is expected of its cells, and a margin."""
        cells = sessions.cells(self.plan, (w.scenario, w.mode, w.device))
        expected = [cell_estimate(self.plan, cell) for cell in cells]
        # Of what has not been probed only the least is known.
        unknown = [cell for cell, each in zip(cells, expected, strict=True) if not each.known]
        rows = sum(len(self.plan.cell_definition(cell)["rows"]) for cell in unknown)
        minutes = math.ceil(30 + sum(each.seconds for each in expected) / 30 + UNKNOWN_ROW_MINUTES * rows)
        limit = engines.time_limit_minutes(self._partition) if self.engine == engines.SLURM else None
        # What is longer than the partition allows would wait for ever; what is cut off is gone on with.
        return min(minutes, limit) if limit else minutes

    def conda(self, w: Any) -> str:
        return str(Path("..", "..", "envs", f"{self._definition(w)['environment']}.yaml"))

    def environment_lock(self, w: Any) -> str:
        return f"envs/{w.environment}.txt"

    def fresh(self, w: Any) -> str:
        """Nothing is carried over into a record that was there: it is measured because somebody asked."""
        forced = self.plan.output / "records" / self._record_name(w) in self._there
        return "--fresh" if forced or refresh.block_of(w) in self._refreshed else ""

    @staticmethod
    def _record_name(w: Any) -> Path:
        return Path(w.machine, w.scenario, w.mode, w.library, w.device, f"r{w.repeat}.{w.digest}.json")

    def priority(self, w: Any) -> int:
        """The planned order, as the scheduler wants it: the first cell has the highest priority."""
        return self._priorities[(w.scenario, w.mode, w.library, w.device, int(w.repeat))]

    @cached_property
    def _priorities(self) -> Mapping[tuple[str, str, str, str, int], int]:
        names = ("scenario", "mode", "library", "device", "repeat")
        return {tuple(cell[name] for name in names): cell["priority"] for cell in self.plan.cells()}

    # --- start and end -------------------------------------------------------------------------------

    def submissions(self, jobs: Iterable[Any]) -> list[str]:
        """What will be asked of an engine, a line per submission; nothing where this host measures.

        Args:
            jobs: Snakemake's, that will run.
        """
        if self.engine is None:
            return []
        dag = self._workflow.dag
        groups = {id(group): group for job in jobs if (group := dag.get_job_group(job)) is not None}
        lines = []
        for group in groups.values():
            asked = ", ".join(f"{name} {group.resources.get(name)}" for name in sorted(self.request))
            minutes, jobs_in_it = group.resources.get("runtime"), len(group.jobs)
            lines.append(
                f"submission: {group.groupid}, {jobs_in_it} jobs; {asked}, {minutes} minutes at most"
            )
        return sorted(lines)

    def start(self, again: Iterable[Path], rules: Set[str]) -> None:
        """Refuse a second run in this folder, and let one job at a time draw its bar on the terminal.

        Args:
            again: Outputs of ``measure`` that will run: records among them that are there are kept.
            rules: That will run: what one would refuse in the end is refused before anything is measured.

        The lock is held by this process and falls with it, however it ends (Snakemake's own lock stays
        after a ``kill -9`` and has to be removed by hand).
        """
        if self._workflow.non_local_exec != (self.engine is not None):
            executor = "an engine" if self._workflow.non_local_exec else "this host"
            raise AugmarkError(
                f"jobs would run on {executor}, and the plan is for {self.engine or 'this host'}",
                where="profiles: executor, and engine in the configfile",
                remedy="choose a profile (snakemake --profile slurm), which sets both",
            )
        if self.engine is None and {"probe", "measure"} & rules:
            described.check_machine(self.plan)  # each job looks again, on the host that it runs on
        if "package" in rules and not self.plan.content["stamp"]:
            from augmark.evidence.doubts import check_tree  # it needs pandas, and parsing does not

            check_tree(self.plan.content["depth"])
        if "topup" in rules and (error := topup.refusal(self.plan.content)):
            raise error
        folder = self.plan.output / "plan"
        # Not emptied by a run that is refused: it says who has it.
        self._lock = open(folder / notice.RUN_LOCK, "a")  # noqa: SIM115 (held until the process ends)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AugmarkError(
                f"another run is at work in {self.plan.output}",
                remedy="wait for it, or give this one another folder with --config output=...",
            ) from None
        self._lock.truncate(0)
        self._lock.write(notice.of_run())
        self._lock.flush()
        planning.made_file(self.plan).unlink(missing_ok=True)
        refresh.keep_history(path for path in again if path.exists())
        if sys.stderr.isatty():
            os.environ[progress.TERMINAL] = str((folder / "terminal.lock").resolve())

    def report(self) -> None:
        """Say where everything is, and what was left out of the data."""
        products, content = self.plan.products, self.plan.content
        replace_json(planning.made_file(self.plan), {"plan": self.plan.digest})
        places = {
            "tables": products / "tables",
            "figures": products / "figures",
            "records": self.records(),
        }
        lines = [
            f"{self.plan.asked}, depth {content['depth']}, {self.plan.machine}",
            # `fetch` makes none of them.
            *(f"{name:<8} {path}" for name, path in places.items() if path.exists()),
            # Read again: this run may have decided a stage.
            *topup.schedule_lines(content, planning.decided_stages(self.plan)),
            *self._quarantined(),
            *self._timed_shares(),
            *package_line(self.plan),
        ]
        print("\n".join(lines), file=sys.stderr)

    def _quarantined(self) -> list[str]:
        lines = []
        for key, about in self.plan.content["datasets"].items():
            manifest = planning.read_json(self.plan.manifest(key))
            reasons = manifest["counts"]["quarantined"] if manifest else {}
            if reasons:
                why = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
                lines.append(f"left out of {about['name']}: {why}; by name in {self.plan.manifest(key)}")
        return lines

    def _timed_shares(self) -> list[str]:
        path = self.plan.products / "tables" / "efficiency.csv"
        if not path.is_file():
            return []
        head, *lines = path.read_text(encoding="utf-8").splitlines()
        names = head.split(",")
        rows = [dict(zip(names, line.split(","), strict=True)) for line in lines]
        shares: dict[str, list[str]] = {}
        for row in rows:
            if row["timed_share"]:
                share = f"{row['library']} {float(row['timed_share']):.0%}"
                shares.setdefault(f"{row['scenario']} {row['mode']}", []).append(share)
        return [f"inside timers: {place}: {', '.join(each)}" for place, each in shares.items()]
