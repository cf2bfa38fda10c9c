"""What the tests of the worker share: tiny items, and jobs that are run without the workflow."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from augmark.cell import Cell
from augmark.data.itemfile import ALIGNMENT_BYTES, ITEMS_SCHEMA
from augmark.plan import Plan
from tests.conftest import Project


def write_items(folder: Path, count: int, shape: tuple[int, int, int]) -> Path:
    """Items of one shape, each of one colour, as the preparation writes them."""
    step = -(-int(np.prod(shape)) // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
    flat = np.zeros((count, step), np.uint8)
    for number in range(count):
        flat[number, : np.prod(shape)] = number
    flat.tofile(folder / "items.bin")
    index = {
        "schema": ITEMS_SCHEMA,
        "names": [f"{number}.png" for number in range(count)],
        "offsets": [number * step for number in range(count)],
        "shapes": [list(shape)] * count,
        "total_bytes": flat.nbytes,
    }
    (folder / "index.json").write_text(json.dumps(index), encoding="utf-8")
    return folder


@dataclass
class Jobs:
    """Jobs of a project whose items are prepared, run as its rules run them.

    Attributes:
        project: The copy of the project.
        words: The keys that its plan is made with.
        mode: Of the cells that are run.
    """

    project: Project
    words: tuple[str, ...]
    mode: str = "micro"

    def prepare(self) -> Jobs:
        """Make the items, and the plan with them."""
        self.project.run("snakemake", "paper_tables", "--until", "prepare_items", *self._config())
        return self

    def replan(self) -> None:
        """Write the plan of what is there now."""
        self.project.run("snakemake", "paper_tables", "-n", "--quiet", *self._config())

    def _config(self) -> list[str]:
        return ["--config", *self.words] if self.words else []

    @property
    def plan_path(self) -> Path:
        return next((self.project.results / "plan").glob("*.plan.json"))

    @property
    def plan(self) -> Plan:
        content = json.loads(self.plan_path.read_text(encoding="utf-8"))
        return Plan(content, self.project.results)

    def out(self, kind: str, library: str, repeat: int = 0) -> Path:
        """Where a job's result belongs."""
        where, plan = ("image-rgb", self.mode, library, "cpu"), self.plan
        if kind == "probe":
            return plan.probe_path(*where)
        digest = plan.definition(*where)["digest"]
        return self.project.results / "records" / Cell(plan.machine, *where, repeat).record_path(digest)

    def command(self, python: Path, kind: str, library: str, *words: str, repeat: int = 0) -> list[str]:
        """The command line of a rule."""
        return [
            *(str(python), "-I", f"scripts/{kind}.py", "--plan", str(self.plan_path), "--session", "a-test"),
            *(
                "--cell",
                f"image-rgb/{self.mode}/{library}/cpu",
                "--out",
                str(self.out(kind, library, repeat)),
            ),
            *(("--repeat", str(repeat)) if kind == "measure" else ()),
            *words,
        ]

    def run(
        self,
        python: Path,
        kind: str,
        library: str,
        *words: str,
        before: tuple[str, ...] = (),
        repeat: int = 0,
        **more: Any,
    ) -> subprocess.CompletedProcess[str]:
        """Run one job to its end.

        Args:
            before: What stands before the command, e.g. ``unshare -n``.
        """
        return subprocess.run(
            [*before, *self.command(python, kind, library, *words, repeat=repeat)],
            cwd=self.project.root,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
            **more,
        )

    def record(self, library: str, repeat: int = 0) -> dict[str, Any]:
        return json.loads(self.out("measure", library, repeat).read_text(encoding="utf-8"))
