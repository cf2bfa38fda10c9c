# From the records of one stage to which rows get more repeats; written once, and obeyed by the next plan.
#   in:   <output>/records/<machine>/records.parquet, <output>/tables/equivalence.csv
#   out:  <output>/plan/<machine>.<campaign>.<depth>.topup-<stage>.json


rule topup:
    input:
        unpack(RUN.topup_needs),
    output:
        RUN.next_stage(),
    log:
        f"{PLAN.output}/logs/topup.log",
    params:
        plan=PLAN.path,
        python=sys.executable,
        records=RUN.records(),
        classes=CLASSES,
    shell:
        "exec {params.python:q} scripts/topup.py --plan {params.plan:q} --records {params.records:q}"
        " --classes {params.classes:q} --out {output:q} > {log:q} 2>&1"
