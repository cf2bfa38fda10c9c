# The answer to a plan file (config/plans), from its records; and a target that says it, with an exit status.
#   in:   <output>/plans/<plan>/records.parquet, <output>/plans/<plan>/tables/equivalence.csv
#   out:  <output>/plans/<plan>/report.{md, json, csv}


rule plan_verdicts:
    input:
        records=RUN.records(),
        classes=CLASSES,
        plan=planning.current_file(PLAN),
        again=planning.again_file(PLAN),
    output:
        expand(f"{PLAN.products}/report.{{ending}}", ending=["md", "json", "csv"]),
    log:
        f"{PLAN.output}/logs/{PLAN.name}.plan_verdicts.log",
    params:
        plan=PLAN.path,
        python=sys.executable,
    shell:
        "exec {params.python:q} scripts/plan_report.py write --plan {params.plan:q} --records {input.records:q}"
        " --classes {input.classes:q} --out {output:q} > {log:q} 2>&1"


# Fails where a candidate's verdict is one that the plan file fails on; the report stays.
rule plan_report:
    input:
        RUN.answer(),
    params:
        python=sys.executable,
    shell:
        "exec {params.python:q} scripts/plan_report.py say {input:q} >&2"
