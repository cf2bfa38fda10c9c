"""What a SLURM controller says of the jobs that were submitted to it."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from datetime import datetime

ENDED = ("COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE")
NOT_KNOWN = ("Unknown", "None", "N/A")


@dataclass(frozen=True)
class Job:
    """One submission, as the controller knows it.

    Attributes:
        name: What the submitter called it: all jobs of one ``snakemake`` have the same.
        comment: ``rule_<rule>_wildcards_<values>`` or ``rule_<group>_<its rules>`` from ``snakemake``.
        state: As ``scontrol`` writes it: ``PENDING``, ``RUNNING``, ``COMPLETED``, ``CANCELLED``, ...
        nodes: Where it ran or runs; empty while it waits.
        cpus: What it holds or asks for, in logical CPUs.
        memory_mb: What it holds or asks for, in MiB.
        gres: The devices that it has asked for, ``{"gpu": 1}`` or ``{"gpu:l4": 1}``.
        exclusive: Whether it has asked for whole nodes.
        start, end: In the host's own time; None where it has not happened.
    """

    id: int
    name: str
    comment: str
    state: str
    partition: str
    nodes: tuple[str, ...]
    cpus: int
    memory_mb: int
    gres: dict[str, int]
    exclusive: bool
    start: datetime | None
    end: datetime | None

    @property
    def ended(self) -> bool:
        return self.state in ENDED


def all_jobs() -> list[Job]:
    """Every job that the controller knows, oldest first."""
    shown = ask("scontrol", "--oneliner", "show", "jobs").splitlines()
    return sorted((read_job(line) for line in shown if line.startswith("JobId=")), key=lambda job: job.id)


def read_job(line: str) -> Job:
    """One line of ``scontrol --oneliner show jobs``."""
    about = dict(re.findall(r"(?:^| )([A-Za-z][\w:/]*)=(.*?)(?= [A-Za-z][\w:/]*=|$)", line.strip()))
    held = next(
        about[key] for key in ("AllocTRES", "ReqTRES", "TRES") if about.get(key, "(null)") != "(null)"
    )
    size = dict(part.split("=", 1) for part in held.split(","))
    asked = about.get("TresPerNode", about.get("TresPerJob", ""))
    devices = re.findall(r"gres[:/]([\w:]+?)(?:[:=](\d+))?(?=,|$)", asked)
    ended = about["JobState"] in ENDED
    nodes = about.get("NodeList", "(null)")
    return Job(
        id=int(about["JobId"]),
        name=about["JobName"],
        comment=about.get("Comment", "").strip(),
        state=about["JobState"],
        partition=about["Partition"],
        nodes=() if nodes in ("", "(null)") else expand(nodes),
        cpus=int(size.get("cpu", 0)),
        memory_mb=mebibytes(size.get("mem", "0")),
        gres={name: int(count or 1) for name, count in devices},
        exclusive=about.get("OverSubscribe") == "NO",
        start=read_time(about["StartTime"]) if about["JobState"] != "PENDING" else None,
        end=read_time(about["EndTime"]) if ended else None,
    )


def expand(nodes: str) -> tuple[str, ...]:
    """``cpu[1-2],gpu1`` as ``("cpu1", "cpu2", "gpu1")``."""
    return tuple(ask("scontrol", "show", "hostnames", nodes).split())


def mebibytes(text: str) -> int:
    """``60000M``, ``1.50G`` or ``1T`` in MiB."""
    units = {"K": 1 / 1024, "M": 1, "G": 1024, "T": 1024**2}
    return round(float(text.rstrip("KMGT")) * units.get(text[-1:], 1))


def read_time(text: str) -> datetime | None:
    return None if text in NOT_KNOWN else datetime.fromisoformat(text)


def ask(*command: str) -> str:
    """What a command of SLURM prints.

    Raises:
        RuntimeError: It failed; the message holds what it said.
    """
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} gave {done.returncode}: {done.stderr.strip()}")
    return done.stdout
