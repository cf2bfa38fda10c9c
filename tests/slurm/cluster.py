"""A real SLURM on this one host: a controller, seven virtual nodes and their own munge.

It needs root, because the configuration has to stand in ``/etc/slurm``: ``SLURM_CONF`` does not reach the
``srun`` of a job. A SLURM that is not ours is never touched, and whatever a killed session left is cleared
away first. Neither systemd nor cgroups are needed: nothing binds or limits what a job uses.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tests.slurm.jobs import Job, all_jobs, ask

NAME = "augmark-tests"
FOLDER = Path("/run") / NAME
LOCK = Path("/run") / f"{NAME}.lock"
SETTINGS = Path("/etc/slurm")
FILES = ("slurm.conf", "gres.conf")
MARK = "# Written by augmark's tests (tests/slurm/cluster.py), which remove it again.\n"
# What a daemon of ours has in its environment, and what each job of this cluster has in its own.
OURS = {"AUGMARK_TEST_CLUSTER": str(FOLDER), "SLURM_CLUSTER_NAME": NAME}
COMMANDS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scancel", "scontrol", "sinfo", "squeue")
PACKAGES = "slurm-wlm slurmd slurmctld slurm-client munge"
CPU_NODES = tuple(f"cpu{number}" for number in range(1, 7))
GPU_NODES = ("gpu1",)
NODE_CPUS = 16
NODE_MEMORY_MB = 60_000


class Unavailable(Exception):
    """No cluster can be started here; the message says why, in plain words."""


@dataclass
class Cluster:
    """A running cluster; `start` gives one.

    Attributes:
        folder: The daemons' logs (``*.log``), state and sockets.
    """

    folder: Path = FOLDER
    daemons: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def jobs(self, after: int = 0) -> list[Job]:
        """Every submission since the start, ended ones too, in order; or those after job ``after``."""
        return [job for job in all_jobs() if job.id > after]

    def last(self) -> int:
        """The id of the newest submission, 0 before the first: what to give to `jobs` later."""
        return max((job.id for job in self.jobs()), default=0)

    def submit(self, *options: str, command: str) -> int:
        """Submit a shell command with ``sbatch``; its job's id."""
        output = f"--output={self.folder}/job-%j.out"
        return int(ask("sbatch", "--parsable", output, *options, f"--wrap={command}").split(";")[0])

    def output(self, job: int) -> str:
        """What a job of `submit` printed."""
        return (self.folder / f"job-{job}.out").read_text("utf-8")

    def cancel(self, job: int) -> None:
        ask("scancel", str(job))

    def wait_until(self, condition: Callable[[], object], *, what: str = "", seconds: float = 60) -> None:
        """Wait until a condition holds.

        Raises:
            TimeoutError: It did not within ``seconds``; the message shows the jobs and the daemons' logs.
        """
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                jobs = "\n".join(map(str, self.jobs()))
                raise TimeoutError(f"not within {seconds:g} s: {what or condition}\n{jobs}\n{self.tails()}")
            time.sleep(0.1)

    def tails(self, lines: int = 15) -> str:
        """The last lines of every daemon's log."""
        parts = []
        for name in self.daemons:
            # Before a daemon has a log it speaks on stderr.
            said = [self.folder / f"{name}{end}" for end in (".log", ".out")]
            texts = [path.read_text("utf-8", errors="replace") for path in said if path.exists()]
            tail = next(filter(None, texts), "").splitlines()[-lines:]
            parts.append("\n  ".join([f"{name}:", *tail]))
        return "\n".join(parts)


def settings(folder: Path, host: str, ports: dict[str, int]) -> dict[str, str]:
    """The files of ``/etc/slurm``: their names and contents."""

    def node(name: str, more: str = "") -> str:
        size = f"CPUs={NODE_CPUS} RealMemory={NODE_MEMORY_MB}{more} State=UNKNOWN"
        return f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[name]} {size}"

    nodes = [*map(node, CPU_NODES), *(node(name, " Gres=gpu:l4:1") for name in GPU_NODES)]
    lines = [
        f"ClusterName={NAME}",
        f"SlurmctldHost={host}(127.0.0.1)",
        f"SlurmctldPort={ports['slurmctld']}",
        "SlurmUser=root",
        "SlurmdUser=root",
        "AuthType=auth/munge",
        f"AuthInfo=socket={folder}/munge.socket",
        f"StateSaveLocation={folder}/state",
        f"SlurmdSpoolDir={folder}/spool-%n",
        f"SlurmctldPidFile={folder}/slurmctld.pid",
        f"SlurmdPidFile={folder}/slurmd-%n.pid",
        f"SlurmctldLogFile={folder}/slurmctld.log",
        f"SlurmdLogFile={folder}/%n.log",
        # One host plays all nodes: what a node declares counts, whatever the host has.
        "SlurmdParameters=config_overrides",
        # Neither cgroups nor binding: sixteen declared CPUs are not there.
        "ProctrackType=proctrack/linuxproc",
        "TaskPlugin=task/none",
        "JobAcctGatherType=jobacct_gather/none",
        "PropagateResourceLimits=NONE",
        "MpiDefault=none",
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_Core_Memory",
        "DefMemPerCPU=1000",
        "GresTypes=gpu",
        "MailProg=/bin/true",
        "SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1",
        "KillWait=2",
        "ReturnToService=2",
        # The controller keeps what has ended, and so knows each submission of a session.
        "MinJobAge=36000",
        *nodes,
        f"PartitionName=cpu Nodes={','.join(CPU_NODES)} Default=YES MaxTime=60 State=UP",
        f"PartitionName=gpu Nodes={','.join(GPU_NODES)} MaxTime=60 State=UP",
    ]
    gres = [f"NodeName={name} Name=gpu Type=l4 Count=1 File=/dev/null" for name in GPU_NODES]
    return {name: MARK + "\n".join(found) + "\n" for name, found in zip(FILES, (lines, gres), strict=True)}


def marked() -> set[psutil.Process]:
    """The living processes of our cluster: its daemons, its jobs and what these have started."""
    found = set()
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.pid != os.getpid() and is_marked(process):
                found |= {process, *process.children(recursive=True)}
    return {process for process in found if is_alive(process)}


def is_marked(process: psutil.Process) -> bool:
    """Whether a process is ours by its environment; a step's supervisor overwrites that: by its place."""
    if process.name() == "slurmstepd":
        return process.cwd().startswith(str(FOLDER))
    return bool(OURS.items() & process.environ().items())


def is_alive(process: psutil.Process) -> bool:
    """Whether a process runs: one that is dead and only not waited for does not."""
    with contextlib.suppress(psutil.Error):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def check_possible() -> None:
    """Raise `Unavailable` where this host cannot have our cluster."""
    if sys.platform != "linux":
        raise Unavailable("a virtual SLURM needs Linux")
    if os.environ.get("SLURM_CONF"):
        raise Unavailable("SLURM_CONF is set: this host belongs to a cluster, which is left alone")
    for path in (SETTINGS / name for name in FILES):
        if path.exists() and not is_ours(path):
            raise Unavailable(f"{path} is not ours: this host belongs to a cluster, which is left alone")
    if missing := [name for name in COMMANDS if shutil.which(name) is None]:
        raise Unavailable(f"SLURM is not installed (no {', '.join(missing)}): apt-get install {PACKAGES}")
    if os.geteuid() != 0:
        raise Unavailable("only root may write SLURM's configuration in /etc/slurm: run the tests as root")


def is_ours(path: Path) -> bool:
    """Whether a file of ``/etc/slurm`` was written here."""
    return path.exists() and path.read_text("utf-8", errors="replace").startswith(MARK)


def clear() -> None:
    """End what a cluster of ours has running, and remove its files."""
    for _ in range(50):
        if not (left := marked()):
            break
        for process in left:
            with contextlib.suppress(psutil.Error):
                process.kill()
        time.sleep(0.1)
    for path in (SETTINGS / name for name in FILES):
        if is_ours(path):
            path.unlink()
    shutil.rmtree(FOLDER, ignore_errors=True)


def free_ports(count: int) -> list[int]:
    """Ports that nothing listens on."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def launch(cluster: Cluster, name: str, *command: str) -> None:
    """Start a daemon in the foreground, out of reach of the terminal's Ctrl-C."""
    with (cluster.folder / f"{name}.out").open("wb") as log:
        cluster.daemons[name] = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=cluster.folder,
            env={**os.environ, "AUGMARK_TEST_CLUSTER": str(cluster.folder)},
            start_new_session=True,
        )


def bring_up(cluster: Cluster) -> None:
    """Start every daemon and wait until all nodes are idle."""
    folder, nodes = cluster.folder, [*CPU_NODES, *GPU_NODES]
    for part in ("state", *(f"spool-{name}" for name in nodes)):
        (folder / part).mkdir(parents=True)
    folder.chmod(0o755)  # munged refuses a socket that not everybody reaches
    ports = dict(zip([*nodes, "slurmctld"], free_ports(len(nodes) + 1), strict=True))
    SETTINGS.mkdir(exist_ok=True)
    for name, content in settings(folder, socket.gethostname().split(".")[0], ports).items():
        (SETTINGS / name).write_text(content, "utf-8")
    key = folder / "munge.key"
    key.touch(mode=0o600)
    key.write_bytes(os.urandom(128))
    places = {"key-file": key, "socket": folder / "munge.socket", "pid-file": folder / "munge.pid"}
    places |= {"seed-file": folder / "munge.seed", "log-file": folder / "munged.log"}
    launch(cluster, "munged", "munged", "--foreground", *(f"--{name}={at}" for name, at in places.items()))
    wait_for(cluster, (folder / "munge.socket").exists, "munged opens its socket")
    launch(cluster, "slurmctld", "slurmctld", "-D")
    for name in nodes:
        launch(cluster, name, "slurmd", "-D", "-N", name)

    def idle() -> bool:
        states = subprocess.run(["sinfo", "-h", "-N", "-o", "%N %T"], capture_output=True, text=True).stdout
        return sorted(states.split("\n")) == sorted(["", *(f"{name} idle" for name in nodes)])

    wait_for(cluster, idle, "all nodes are idle")


def wait_for(cluster: Cluster, condition: Callable[[], bool], what: str, seconds: float = 30) -> None:
    """Wait for a step of the start, and no longer than the daemons live."""
    deadline = time.monotonic() + seconds
    while not condition():
        dead = [name for name, daemon in cluster.daemons.items() if daemon.poll() is not None]
        if dead or time.monotonic() > deadline:
            why = f"ended at once: {', '.join(dead)}" if dead else f"not within {seconds:g} s"
            raise RuntimeError(f"the virtual SLURM did not start ({what}: {why})\n{cluster.tails()}")
        time.sleep(0.1)


def take_down(cluster: Cluster) -> None:
    """Cancel the jobs, stop the daemons and remove the files, whatever state all of it is in."""
    with contextlib.suppress(Exception):
        waiting = [str(job.id) for job in cluster.jobs() if not job.ended]
        if waiting:
            ask("scancel", *waiting)
            cluster.wait_until(lambda: all(job.ended for job in cluster.jobs()), seconds=10)
    daemons = list(reversed(cluster.daemons.values()))
    for daemon in daemons:
        daemon.terminate()
    for daemon in daemons:
        try:
            daemon.wait(timeout=5)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()
    clear()


@contextlib.contextmanager
def start(patience: float = 600) -> Iterator[Cluster]:
    """A cluster that is taken down at the end, also after an error. One at a time per host: others wait.

    Raises:
        Unavailable: This host cannot have one.
        TimeoutError: Another session kept its cluster for longer than ``patience`` seconds.
        RuntimeError: SLURM did not start; the message ends with the tails of its logs.
    """
    check_possible()
    with LOCK.open("w") as lock:
        deadline = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{LOCK} is held: other tests use the virtual SLURM") from None
                time.sleep(1)
        clear()
        for process in psutil.process_iter(["name"]):
            if process.info["name"] in ("slurmctld", "slurmd") and is_alive(process):
                raise Unavailable(f"a SLURM that is not ours runs here (process {process.pid}): left alone")
        cluster = Cluster()
        try:
            bring_up(cluster)
            yield cluster
        finally:
            take_down(cluster)
