# The sweeps of the depth, from one machine's records; asked for only where the plan has conditions.
#   in:   <output>/records/<machine>/records.parquet, <output>/plan/<machine>.plan.json
#   out:  <output>/tables/regimes.{md, csv, tex}, <output>/figures/regimes.{pdf, png}


rule regimes:
    input:
        records=RUN.records(),
        plan=planning.current_file(PLAN),
        again=planning.again_file(PLAN),
    output:
        expand(f"{PLAN.products}/tables/regimes.{{ending}}", ending=["md", "csv", "tex"]),
    log:
        f"{PLAN.output}/logs/regimes.log",
    params:
        plan=PLAN.path,
        python=sys.executable,
    shell:
        "exec {params.python:q} scripts/regimes.py table --plan {params.plan:q} --records {input.records:q}"
        " --out {output:q} > {log:q} 2>&1"


rule regimes_figure:
    input:
        records=RUN.records(),
        plan=planning.current_file(PLAN),
        again=planning.again_file(PLAN),
    output:
        expand(f"{PLAN.products}/figures/regimes.{{ending}}", ending=["pdf", "png"]),
    log:
        f"{PLAN.output}/logs/figures/regimes.log",
    params:
        plan=PLAN.path,
        python=sys.executable,
    shell:
        "exec {params.python:q} scripts/regimes.py figure --plan {params.plan:q} --records {input.records:q}"
        " --out {output:q} > {log:q} 2>&1"
