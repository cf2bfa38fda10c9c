"""The doctor's checks in their order: what each reads, and the verdict that is made of it."""

from __future__ import annotations

import platform
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from augmark import engines, environments, host
from augmark.cache import cache_folder, download_path
from augmark.cgroup import NO_LIMIT, cgroup_limits
from augmark.data.stage import is_url
from augmark.errors import AugmarkError
from augmark.machines import checks, engine, host_facts, plan_needs
from augmark.machines.checks import FAIL, OK, WARN, Check
from augmark.machines.doctor import Case, Look
from augmark.modes import MODES
from augmark.worker import described, job, needs

FETCH = "snakemake fetch"
OUTPUT = "choose another output folder with --config output=FOLDER"
CACHE = "name another folder with AUGMARK_CACHE=FOLDER"


@dataclass(frozen=True)
class Looked:
    """One look at a case.

    Attributes:
        name: What its check is called where it breaks.
        plan: Whether it needs a plan.
        here: Whether it is about a host that measures, and not made where an engine's hosts do.
        there: Whether it is about an engine.
    """

    name: str
    look: Look
    plan: bool = False
    here: bool = False
    there: bool = False


def _python(case: Case) -> Check:
    return checks.python(sys.implementation.name, tuple(sys.version_info[:3]))


def _environments(case: Case) -> Iterator[Check]:
    if case.conda:
        answered, said = host_facts.answer("conda", "--version")
        remedy = "put conda on the PATH, or leave --sdm conda away: uv then builds the environments"
        yield Check("conda", OK if answered else FAIL, said.strip(), "" if answered else remedy)
        return
    for name, digest in case.planned.content["locks"].items():
        yield _environment(case, name, digest)


def _environment(case: Case, name: str, digest: str) -> Check:
    """One environment, as its own interpreter says it is."""
    what, folder = f"environment {name}", case.planned.environment_marker(name).parent
    marker = environments.read_marker(folder)
    if marker is None:
        state = "was not finished" if folder.exists() else "is not built yet"
        return Check(what, WARN, f"{state} (lock {digest})", FETCH)
    found = environments.inspect_env(folder, case.root / "envs" / f"{name}.txt")
    wrong = ["its interpreter does not run"] if found is None else found["problems"]
    if marker.get("lock_digest") != digest:
        wrong.append(f"its marker says lock {marker.get('lock_digest')}")
    if wrong:
        more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        told = f"is not what its lock says: {'; '.join(wrong[:3])}{more}"
        return Check(what, FAIL, told, f"delete {folder}, then {FETCH}")
    python = found["python"] if found else "unknown"
    return Check(what, OK, f"as locked ({digest}), Python {python}")


def _disks(case: Case) -> Iterator[Check]:
    """The folders that are written to, by the disk that they are on."""
    plan, folders = case.planned, {"output": case.planned.output, "cache": cache_folder()}
    missing = {
        key: is_url(str(about.get("source") or ""))
        and not plan.staged(key).exists()
        and not download_path(about["name"], about["digest"]).exists()
        for key, about in plan.content["datasets"].items()
    }
    want = plan_needs.wanted(plan, case.root, downloads=missing, conda=case.conda)
    asked = {"output": want.output, "cache": want.cache}
    if want.packages:
        folders["packages"], asked["packages"] = _uv_cache(), want.packages
    moves = {"output": OUTPUT, "cache": CACHE, "packages": f"{CACHE} or UV_CACHE_DIR=FOLDER"}
    disks: dict[int, list[str]] = {}
    for name, folder in folders.items():
        disks.setdefault(host_facts.disk_of(folder)[0], []).append(name)
    for names in disks.values():
        # On one disk the output folder has its datasets and packages as links into the caches.
        counted = names[:1] if names[0] == "output" else names
        shown = ", ".join(str(folders[name]) for name in names)
        wanted = [part for name in counted for part in asked[name]]
        free = host_facts.disk_of(folders[names[0]])[1]
        yield checks.disk(f"disk: {names[0]}", shown, wanted, free, moves[names[0]])


def _uv_cache() -> Path:
    variables = environments.uv_variables()
    if named := variables.get("UV_CACHE_DIR"):
        return Path(named)
    answered, said = host_facts.answer(environments.find_uv(), "cache", "dir")
    if not answered:
        raise AugmarkError(said, where="uv cache dir", remedy="make setup")
    return Path(said.strip())


def _writable(case: Case) -> Iterator[Check]:
    yield _writes("writable: temp", Path(tempfile.gettempdir()), "name another folder with TMPDIR=FOLDER")
    yield _writes("writable: output", case.planned.output, OUTPUT)
    yield _writes("writable: cache", cache_folder(), CACHE)


def _writes(name: str, folder: Path, moves: str) -> Check:
    return checks.writable(name, str(folder), host_facts.write_problem(folder), moves)


def _clock(case: Case) -> Check:
    output = case.planned.output
    # What measuring writes, and what git wrote; not the thousands of files of environments.
    written = [output / name for name in ("plan", "probes", "records", "tables", "figures")]
    newest = host_facts.newest_file([*written, case.root / "config", case.root / "envs"])
    return checks.clock(time.time(), newest)


def _tree(case: Case) -> Check:
    content = case.planned.content
    return checks.tree(job.git_state(case.root)[1], content["depth"], content["stamp"])


def _host(case: Case) -> Check:
    """This host against the machine that rows will be labelled with."""
    try:
        described.check_machine(case.planned)
    except AugmarkError as error:
        return Check("host", FAIL, error.what, error.remedy)
    return Check("host", OK, described.machine_facts(case.planned)["label"])


def _memory(case: Case) -> Iterator[Check]:
    """Memory, shared memory and open files against what the rows need of them."""
    asked = plan_needs.run_needs(case.planned)
    share = case.planned.content["policy"]["limits"]["memory_limit_share"]
    limit, free = _memory_bytes(case), (host_facts.memory(case.host) or {}).get("MemAvailable")
    there = needs.available(None if limit is None else int(limit * share))
    larger = (
        "a machine with more memory, fewer items (--config items=...) or fewer workers (--config workers=...)"
    )
    yield checks.enough("memory", asked.memory_bytes, there.memory_bytes, larger)
    yield checks.enough("memory free now", asked.memory_bytes, free, "end what else takes memory")
    mounted = (
        f"mount {needs.SHARED_MEMORY} larger (containers: --shm-size), or --config batch_size=... workers=..."
    )
    yield checks.enough("shared memory", asked.shared_memory_bytes, there.shared_memory_bytes, mounted)
    most = max(asked.file_descriptors.values(), default=0)
    yield checks.enough(
        "open files",
        asked.file_descriptors,
        there.file_descriptors,
        f"ulimit -n {most}",
        lambda count: f"{count:,}",
    )


def _memory_bytes(case: Case) -> int | None:
    """Physical memory, or what a control group allows of it."""
    limit = (cgroup_limits(case.host) or {}).get("memory_bytes")
    known = [host.memory_bytes(), None if limit == NO_LIMIT else limit]
    return min((each for each in known if each is not None), default=None)


def _cores(case: Case) -> Check:
    return checks.cores(host.cpus(), cgroup_limits(case.host))


def _load(case: Case) -> Check:
    return checks.load(host_facts.minute_load(case.host), host_facts.busy())


def _machine_lock(case: Case) -> Check:
    path = job.MACHINE_LOCK
    held = host_facts.lock_held(path)
    return checks.machine_lock(str(path), held, host_facts.lock_holder(case.host, path) if held else None)


def _gpu(case: Case) -> Check:
    plan, needed_by = case.plan, None
    if plan is not None:
        devices = plan.content["machine_stanza"]["devices"]
        cells = [cell for cell in plan.cells() if cell["device"] == "cuda"]
        copied = [cell for cell in plan.cells() if MODES[cell["mode"]].copies and "cuda" in devices]
        if cells or copied:
            needed_by = f"{len(cells or copied)} cells"
        elif "cuda" in devices:
            needed_by = f"machine {plan.machine}"
    names = [gpu["name"] for gpu in case.facts["gpus"] or ()]
    cuda = (
        plan_needs.cuda_major(case.root, plan)
        if plan and needed_by and platform.system() == "Linux"
        else None
    )
    return checks.gpu(needed_by, names, case.facts["gpu_driver"], cuda)


def _engine(case: Case) -> Iterator[Check]:
    """The engine's plugin, its commands, and its nodes."""
    profile, name = case.profile, case.engine
    if profile is None or name is None:
        return
    yield engine.plugin(name, engine.plugin_installed(name))
    if name != engines.SLURM:
        yield Check("engine", WARN, f"whether {name} answers is not looked at", "submit a small job")
        return
    said = host_facts.answer(*engines.SINFO)
    yield engine.reachable("sinfo", said)
    yield engine.reachable("squeue", host_facts.answer(*engine.SQUEUE))
    if said[0]:
        nodes = engine.read_nodes(said[1])
        yield engine.partition(nodes, profile.partition, str(profile.file.parent))
        if case.plan is not None:
            yield engine.nodes_are(nodes, profile.partition, case.plan.content["machine_stanza"])


def _elsewhere(case: Case) -> Check:
    assert case.profile is not None
    run = f"srun augmark doctor --profile {case.profile.name}"
    more = f"; `{run}` looks at a node now" if case.engine == engines.SLURM else ""
    return Check(
        "host", OK, f"hosts of {case.engine} measure, and each job checks its own before it times{more}"
    )


LOOKS = (
    Looked("python", _python),
    Looked("environments", _environments, plan=True),
    Looked("disk", _disks, plan=True),
    Looked("writable", _writable, plan=True),
    Looked("clock", _clock, plan=True),
    Looked("tree", _tree, plan=True),
    Looked("engine", _engine, there=True),
    Looked("host", _elsewhere, there=True),
    Looked("host", _host, plan=True, here=True),
    Looked("memory", _memory, plan=True, here=True),
    Looked("swap", lambda case: checks.swap(host_facts.memory(case.host)), here=True),
    Looked("cores", _cores, here=True),
    Looked("governor", lambda case: checks.governor(case.facts), here=True),
    Looked("turbo", lambda case: checks.turbo(case.facts), here=True),
    Looked("load", _load, here=True),
    Looked("machine lock", _machine_lock, here=True),
    Looked("gpu", _gpu, here=True),
)
