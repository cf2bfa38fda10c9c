# From the samples that the probes kept to what is the same work. Nothing here runs a library.
#   in:   <output>/probes/<machine>/<scenario>/<mode>/<library>/<device>/probe.<digest>.samples.zip
#   out:  <output>/tables/{equivalence.csv, equivalence.md}
#         <output>/figures/equivalence/<scenario>.<transform>.png


rule equivalence:
    input:
        samples=sampled.archive_paths(PLAN),
        plan=planning.current_file(PLAN),
        again=planning.again_file(PLAN),
    output:
        csv=f"{PLAN.products}/tables/equivalence.csv",
        md=f"{PLAN.products}/tables/equivalence.md",
    log:
        f"{PLAN.output}/logs/equivalence.log",
    params:
        plan=PLAN.path,
        python=sys.executable,
    shell:
        "exec {params.python:q} scripts/equivalence.py --plan {params.plan:q} --out {output.csv:q}"
        " --summary {output.md:q} > {log:q} 2>&1"


rule contact_sheets:
    input:
        samples=sampled.archive_paths(PLAN),
        classes=f"{PLAN.products}/tables/equivalence.csv",
        plan=planning.current_file(PLAN),
        again=planning.again_file(PLAN),
    output:
        sampled.sheet_paths(PLAN),
    log:
        f"{PLAN.output}/logs/contact_sheets.log",
    params:
        plan=PLAN.path,
        python=sys.executable,
    shell:
        "exec {params.python:q} scripts/contact_sheets.py --plan {params.plan:q} --classes {input.classes:q}"
        " > {log:q} 2>&1"
