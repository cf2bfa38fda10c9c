# From the records of one machine's cells to one file: the seam. Right of it nothing runs a library.
#   in:   <output>/plan/<machine>.cells.json (the cells that there should be), their records
#   out:  <output>/records/<machine>/records.parquet, <output>/pyperf/<machine>/... (for `pyperf show`)


rule collect:
    input:
        cells=planning.cells_file(PLAN),
        again=planning.again_file(PLAN),
        sessions=RUN.sessions(),
        records=PLAN.record_paths(),
    output:
        RUN.records(),
    log:
        f"{PLAN.output}/logs/collect.log",
    params:
        plan=PLAN.path,
        pyperf=PLAN.output / "pyperf",
        python=sys.executable,
    shell:
        "exec {params.python:q} scripts/collect.py --plan {params.plan:q} --pyperf {params.pyperf:q}"
        " --out {output:q} > {log:q} 2>&1"
