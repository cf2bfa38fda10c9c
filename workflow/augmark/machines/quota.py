"""How many hosts the quotas of a profile allow at once, and requests that none of them can ever satisfy.

Snakemake cuts a request down to its limit and then runs it alone, and takes a limit of 0 for none: that a
request fits is therefore checked here, before anything is submitted.
"""

from __future__ import annotations

import argparse
import heapq
import json
import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from augmark.errors import AugmarkError
from augmark.profiles import FOLDER

if TYPE_CHECKING:
    from augmark.plan import Plan
    from augmark.profiles import Profile

SCHEMA = "augmark/quota/1"
JOBS = "jobs"  # of a profile: submissions at once, whatever they ask for


def at_once(limits: Mapping[str, int], ask: Mapping[str, int]) -> tuple[int | None, list[str]]:
    """How many hosts fit in all quotas, and which quotas allow no more.

    Args:
        limits: Quota -> how much there is.
        ask: Quota -> how much one host takes; what has no limit does not bind.

    Returns:
        The number (None: nothing limits it) and the names of the quotas that bind, sorted.
    """
    fitting = {name: limits[name] // each for name, each in ask.items() if each and name in limits}
    if not fitting:
        return None, []
    count = min(fitting.values())
    return count, sorted(name for name, fits in fitting.items() if fits == count)


def impossible(limits: Mapping[str, int], ask: Mapping[str, int]) -> list[str]:
    """What one host takes more of than there is, in words: such a host can never be had."""
    return [
        f"{name}: one host takes {each}, and the limit is {limits[name]}"
        for name, each in sorted(ask.items())
        if name in limits and each > limits[name]
    ]


def unlimited(limits: Mapping[str, int], ask: Mapping[str, int]) -> list[str]:
    """The quotas that one host takes of and that have no limit, sorted."""
    return sorted(name for name, each in ask.items() if each and name not in limits)


def check(limits: Mapping[str, int], stanza: Mapping[str, Any], *, engine: str | None, where: str) -> None:
    """Refuse what the quotas can never give, and on an engine what no quota holds back.

    This host is there already and measures one cell at a time: without a limit it takes no more. An engine
    starts as many hosts as nothing forbids: there a quota that is not given, and above all one that
    ``--resources`` on the command line has dropped, would be overrun.

    Args:
        limits: Quota -> limit, as they are in force.
        stanza: Of machines.yaml, with its ``id``.
        engine: What starts the hosts; None where this host measures.
        where: The file and key that a user can mend.

    Raises:
        AugmarkError: See above.
    """
    ask: Mapping[str, int] = stanza.get("host", {})
    machine = f"machine {stanza['id']} (machines.yaml: host)"
    if wrong := impossible(limits, ask):
        raise AugmarkError(
            f"{machine} can never run: {'; '.join(wrong)}",
            where=where,
            remedy="raise the limit to what your project really has, or choose a machine that takes less",
        )
    if engine is not None and (missing := unlimited(limits, ask)):
        given = " ".join(f"{name}={limit}" for name, limit in sorted(limits.items())) or "none"
        raise AugmarkError(
            f"{machine} takes of {', '.join(missing)}, and no limit is given, so that {engine} would start "
            f"any number of hosts (limits given: {given})",
            where=where,
            remedy="give every limit there; --resources on the command line replaces all of the profile's: "
            f"--resources {' '.join(f'{name}=...' for name in sorted(ask))}",
        )


def check_start(workflow: Any, stanza: Mapping[str, Any], engine: str | None) -> None:
    """``check`` with the limits that are in force at this start of Snakemake (profile and command line).

    Raises:
        AugmarkError: See ``check``.
    """
    named = [Path(file).parent for file in workflow.config_settings.configfiles]
    profile = next((folder.name for folder in named if folder.parent.name == FOLDER), "NAME")
    found = workflow.resource_settings.resources.items()
    values = {name: getattr(limit, "value", limit) for name, limit in found if not name.startswith("_")}
    limits = {name: value for name, value in values.items() if isinstance(value, int)}
    check(limits, stanza, engine=engine, where=f"{FOLDER}/{profile}/profile.yaml: resources")
    for rule, asked in workflow.resource_settings.overwrite_resources.items():
        values = {name: getattr(each, "value", each) for name, each in asked.items()}
        ask = {name: each for name, each in values.items() if isinstance(each, int)}
        if wrong := impossible(limits, ask):
            remedy = "ask for less, or raise the limit to what your project really has"
            raise AugmarkError(f"{rule}: {'; '.join(wrong)}", where="--set-resources", remedy=remedy)


def profile_limits(profile: Profile) -> dict[str, int]:
    """All that holds a profile's hosts back: its quotas, and how many submissions there may be at once."""
    return {**profile.limits, **({JOBS: profile.jobs} if profile.jobs else {})}


def host_ask(stanza: Mapping[str, Any]) -> dict[str, int]:
    """What one host takes of ``profile_limits``."""
    return {**stanza.get("host", {}), JOBS: 1}


def left_beside(
    limits: Mapping[str, int], other: Mapping[str, int], ask: Mapping[str, int]
) -> dict[str, int]:
    """What another profile leaves of shared quotas while it has all the hosts that it may have.

    Args:
        limits: Of the profile that is asked about.
        other: Limits of the other; the smaller holds where both name a quota.
        ask: What one host of the other takes.
    """
    count = at_once(other, ask)[0] or 0
    shared = {name: min(limit, other.get(name, limit)) for name, limit in limits.items() if name != JOBS}
    left = {name: max(0, limit - count * ask.get(name, 0)) for name, limit in shared.items()}
    return {**limits, **left}


def seconds_at(sessions: Iterable[float], hosts: int) -> float:
    """How long sessions take on so many hosts: each begins, in its order, where a host is free first."""
    free = [0.0] * hosts
    ended = 0.0
    for seconds in sessions:
        end = heapq.heappop(free) + seconds
        heapq.heappush(free, end)
        ended = max(ended, end)
    return ended


@dataclass(frozen=True)
class Allowed:
    """What a profile may have at once, and what is left for it to do.

    Attributes:
        profile, machine: Their names.
        engine: What starts the hosts; None where ``snakemake`` is started on each.
        limits, ask: Quota -> limit, and what one host takes.
        hosts: How many at once; None where nothing limits it.
        binding: The quotas that allow no more.
        sessions, left: Scenario x mode x device, all and those with something left to do.
        rounds: How often all hosts are taken; None where no host can be had.
        seconds: Until the last session ends; None likewise.
        seconds_known: False where probes are missing: then it is the least.
        problems: Why no host can be had; empty where there can.
    """

    profile: str
    machine: str
    engine: str | None
    limits: dict[str, int]
    ask: dict[str, int]
    hosts: int | None
    binding: list[str]
    sessions: int
    left: int
    rounds: int | None
    seconds: float | None
    seconds_known: bool
    problems: list[str]


def allowed(plan: Plan, profile: Profile, limits: Mapping[str, int]) -> Allowed:
    """A profile's plan against limits.

    Args:
        plan: Of the profile's machine.
        profile: Its engine and names.
        limits: As ``profile_limits`` or ``left_beside`` give them.
    """
    from augmark import sessions
    from augmark.estimate import cell_estimate

    stanza = plan.content["machine_stanza"]
    ask = host_ask(stanza)
    hosts, binding = at_once(limits, ask)
    places = sessions.places(plan)
    waiting = [place for place in places if sessions.left(plan, place)]
    times = [[cell_estimate(plan, cell) for cell in sessions.cells(plan, place)] for place in waiting]
    used = len(waiting) if hosts is None else min(hosts, len(waiting))
    stopped = hosts == 0
    return Allowed(
        profile=profile.name,
        machine=plan.machine,
        engine=profile.engine,
        limits=dict(limits),
        ask=ask,
        hosts=hosts,
        binding=binding,
        sessions=len(places),
        left=len(waiting),
        rounds=None if stopped and waiting else math.ceil(len(waiting) / used) if used else 0,
        seconds=None
        if stopped and waiting
        else seconds_at((sum(cell.seconds for cell in each) for each in times), max(1, used)),
        seconds_known=all(cell.known for each in times for cell in each),
        problems=impossible(limits, ask),
    )


def add_command(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add ``augmark quota``: it makes one plan for each profile itself."""
    words = "how many hosts the quotas of a profile allow at once, and what binds; 1 where it is none"
    quota = commands.add_parser("quota", parents=[common], help=words, description=words)
    text = "what is left for --profile while another, which shares its quotas, has all the hosts it may have"
    quota.add_argument("--beside", metavar="NAME", help=text)
    quota.add_argument("--json", action="store_true", help="the same as JSON")
    quota.set_defaults(answer=answer, without_plan=True)


def answer(root: Path, args: argparse.Namespace) -> int:
    """Print what each profile may have at once; 1 where one may have no host, else 0.

    Raises:
        AugmarkError: The plan of the profile that is named cannot be made, or ``--beside`` has none to stand
            beside.
    """
    from augmark.profiles import names, read_profile

    if args.beside and not args.selected:
        remedy = "augmark quota --profile gcp-c4d --beside gcp-c4"
        raise AugmarkError("--beside needs --profile", where="augmark quota", remedy=remedy)
    asked = [args.selected] if args.selected else [read_profile(root, name) for name in names(root)]
    limited = [profile for profile in asked if args.selected or profile_limits(profile)]
    found = []
    for profile in limited:
        try:
            found.append(_answered(root, args, profile))
        except AugmarkError as error:
            if args.selected:
                raise
            # Of several profiles one may have nothing to do, or an engine that does not answer here.
            print(f"{profile.name}: {error}", file=sys.stderr)
    print(_as_json(found, args.beside) if args.json else render(found, args.beside))
    return 1 if any(each.hosts == 0 for each in found) else 0


def _answered(root: Path, args: argparse.Namespace, profile: Profile) -> Allowed:
    from augmark.profiles import read_profile

    limits = profile_limits(profile)
    if args.beside:
        other = read_profile(root, args.beside)
        ask = host_ask(_plan(root, args, other).content["machine_stanza"])
        limits = left_beside(limits, profile_limits(other), ask)
    return allowed(_plan(root, args, profile), profile, limits)


def _plan(root: Path, args: argparse.Namespace, profile: Profile) -> Plan:
    from augmark.cli import plan_of

    return plan_of(root, argparse.Namespace(**{**vars(args), "selected": profile}))


def render(found: list[Allowed], beside: str | None = None) -> str:
    """A line per profile, and below it how each quota comes out."""
    if not found:
        return "no profile has limits"
    head = ("profile", "machine", "hosts at once", "bound by", "sessions left", "rounds", "time")
    rows = [head, *(_row(each) for each in found)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    lines.append("")
    for each in found:
        lines += [f"{each.profile}: {words}" for words in _reasons(each, beside)]
    return "\n".join(lines)


def _row(each: Allowed) -> tuple[str, ...]:
    from augmark.estimate import duration

    words = "" if each.seconds_known else "at least "
    return (
        each.profile,
        each.machine,
        "no limit" if each.hosts is None else str(each.hosts),
        ", ".join(each.binding) or "-",
        f"{each.left} of {each.sessions}",
        "-" if each.rounds is None else str(each.rounds),
        "-" if each.seconds is None else words + duration(each.seconds),
    )


def _reasons(each: Allowed, beside: str | None) -> list[str]:
    fits = [
        f"{name} {each.limits[name]} / {one} = {each.limits[name] // one}"
        for name, one in sorted(each.ask.items())
        if name in each.limits
    ]
    lines = [f"{'left beside ' + beside + ': ' if beside else ''}{', '.join(fits) or 'nothing limits it'}"]
    lines += [] if beside else each.problems
    if beside and each.problems:
        lines.append(f"none can be had until hosts of {beside} have ended")
    elif each.engine is None:
        lines.append("started on each host by hand (no engine): there its sessions run one after the other")
    return lines


def _as_json(found: list[Allowed], beside: str | None) -> str:
    content = {"schema": SCHEMA, "beside": beside, "profiles": [asdict(each) for each in found]}
    return json.dumps(content, indent=1, ensure_ascii=False)
