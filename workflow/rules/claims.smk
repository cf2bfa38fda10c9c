# What is said of the libraries (config/claims.yaml), held against one machine's records.
#   in:   <output>/records/<machine>/records.parquet, <output>/plan/<machine>.plan.json, <output>/tables/equivalence.csv
#   out:  <output>/tables/claims.{md, csv}


rule claims:
    input:
        records=RUN.records(),
        classes=CLASSES,
        plan=planning.current_file(PLAN),
        again=planning.again_file(PLAN),
    output:
        expand(f"{PLAN.products}/tables/claims.{{ending}}", ending=["md", "csv"]),
    log:
        f"{PLAN.output}/logs/claims.log",
    params:
        plan=PLAN.path,
        python=sys.executable,
    shell:
        "exec {params.python:q} scripts/claims.py --plan {params.plan:q} --records {input.records:q}"
        " --classes {input.classes:q} --out {output:q} > {log:q} 2>&1"
