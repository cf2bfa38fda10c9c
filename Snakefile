"""augmark: from a dataset tarball to the tables and figures of a paper. See docs/architecture.md."""

import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.utils import min_version

min_version("9.27")


configfile: "config/config.yaml"


from augmark import planning, running
from augmark.errors import AugmarkError

ROOT = Path(workflow.basedir)
try:
    PLAN = planning.plan_now(ROOT, running.overrides(workflow), machine=config.get("machine", "local"))
except AugmarkError as error:
    raise WorkflowError(str(error)) from None
planning.write_plan(PLAN)
RUN = running.Run(PLAN, workflow)


wildcard_constraints:
    environment="[a-z0-9-]+",
    dataset="[a-z0-9-]+",
    machine="[a-z0-9-]+",
    scenario="[a-z0-9-]+",
    mode="[a-z0-9-]+",
    library="[a-z0-9-]+",
    device="[a-z0-9-]+",
    repeat="[0-9]+",
    digest="[0-9a-f]{10}",
    audit="[0-9a-f]{10}",
    table="[a-z0-9-]+",
    kind="throughput|coverage",


# Every table and figure of the campaign, and the records that they are made from.
rule paper_tables:
    default_target: True
    input:
        RUN.tables(),
        PLAN.record_paths(),


# The records alone.
rule records:
    input:
        RUN.records(),
        PLAN.record_paths(),


include: "workflow/rules/stage.smk"
include: "workflow/rules/environments.smk"
include: "workflow/rules/measure.smk"
include: "workflow/rules/collect.smk"
include: "workflow/rules/tables.smk"


onstart:
    RUN.start()


onsuccess:
    RUN.report()
