"""augmark: from a dataset tarball to the tables and figures of a paper. See docs/architecture.md."""

import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.utils import min_version

min_version("9.27")


ROOT = Path(workflow.basedir)
if Path.cwd().resolve() != ROOT.resolve():
    raise WorkflowError(f"run snakemake in the project's root: cd {ROOT}")


configfile: "config/config.yaml"


from augmark import planning, running
from augmark.analysis import sampled
from augmark.caching import fetch as fetching
from augmark.errors import AugmarkError
from augmark.evidence import source as packing

try:
    PLAN = running.planned(ROOT, workflow, config)
    RUN = running.Run(PLAN, workflow)
except AugmarkError as error:
    raise WorkflowError(str(error)) from None


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
    kind="throughput|coverage|bounds",
    python="[a-z]+-[0-9.]+",


# Only what is measured goes to an engine's hosts (probe, measure, session): the rest is done on this one.
localrules:
    paper_tables,
    records,
    fetch,
    stage_dataset,
    audit_dataset,
    prepare_items,
    prepare_env,
    collect,
    equivalence,
    contact_sheets,
    check_coverage,
    summarize,
    tables,
    figures,
    efficiency,
    efficiency_figure,
    energy_table,
    bounds,
    claims,
    topup,
    regimes,
    regimes_figure,
    plan_verdicts,
    plan_report,
    package,


# Every table and figure of the campaign, and the records that they are made from.
rule paper_tables:
    default_target: True
    input:
        RUN.tables(),
        RUN.sessions(),
        PLAN.record_paths(),


# The records alone.
rule records:
    input:
        RUN.records(),
        RUN.sessions(),
        PLAN.record_paths(),


# Everything that is needed before anything is measured; afterwards `paper_tables` needs no network. With -n: what
# there is to download, and how many bytes.
rule fetch:
    input:
        fetching.Fetch(PLAN, ROOT / "envs", conda=running.conda_in_use(workflow)),


include: "workflow/rules/stage.smk"
include: "workflow/rules/environments.smk"
include: "workflow/rules/measure.smk"
include: "workflow/rules/collect.smk"
include: "workflow/rules/equivalence.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/claims.smk"
include: "workflow/rules/topup.smk"
include: "workflow/rules/regimes.smk"
include: "workflow/rules/plans.smk"
include: "workflow/rules/evidence.smk"


onstart:
    jobs = list(workflow.dag.needrun_jobs())
    measured = [job for job in jobs if job.rule.name == "measure"]
    try:
        RUN.start(
            (Path(str(file)) for job in measured for file in job.output), {job.rule.name for job in jobs}
        )
    except AugmarkError as error:
        raise WorkflowError(str(error)) from None
    for line in RUN.submissions(jobs):
        print(line, file=sys.stderr)


onsuccess:
    RUN.report()
