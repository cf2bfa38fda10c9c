# From everything that is there to one archive that the tables can be made again from, on another machine.
#   in:   <output>/records/<machine>/..., the plan's tables and figures, the project's own files
#   out:  <output>/package/augmark-<campaign>-<machine>-<plan digest>.tar.gz


rule package:
    input:
        products=RUN.tables(),
        records=PLAN.record_paths(),
        source=lambda wildcards: packing.source_files(ROOT),
        state=lambda wildcards: packing.state_file(PLAN, ROOT),
        plan=planning.current_file(PLAN),
        again=planning.again_file(PLAN),
    output:
        packing.package_path(PLAN),
    log:
        f"{PLAN.output}/logs/package.log",
    params:
        plan=PLAN.path,
        python=sys.executable,
    shell:
        "exec {params.python:q} scripts/package.py --plan {params.plan:q} --out {output:q} > {log:q} 2>&1"
