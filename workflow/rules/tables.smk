# From one machine's records to what a reader is given. Nothing here runs a library.
#   in:   <output>/records/<machine>/records.parquet, <output>/plan/<machine>.plan.json (titles, notes, policy),
#         <output>/tables/equivalence.csv
#   out:  <output>/tables/{<table>.md, <table>.csv, <table>.tex, summary.csv, efficiency.csv, energy.{csv, md},
#                           bounds.csv, coverage.txt}
#         <output>/figures/{<table>, <table>.coverage, <table>.bounds, efficiency}.{pdf, png}

# What is the same work (rule equivalence): only such rows are compared.
CLASSES = f"{PLAN.products}/tables/equivalence.csv"


rule check_coverage:
    input:
        records=RUN.records(),
        plan=planning.current_file(PLAN),
        again=planning.again_file(PLAN),
    output:
        f"{PLAN.products}/tables/coverage.txt",
    log:
        f"{PLAN.output}/logs/check_coverage.log",
    params:
        plan=PLAN.path,
        python=sys.executable,
    shell:
        "exec {params.python:q} scripts/check_coverage.py --plan {params.plan:q} --records {input.records:q}"
        " --out {output:q} > {log:q} 2>&1"


rule summarize:
    input:
        records=RUN.records(),
        classes=CLASSES,
        plan=planning.current_file(PLAN),
        again=planning.again_file(PLAN),
    output:
        f"{PLAN.products}/tables/summary.csv",
    log:
        f"{PLAN.output}/logs/summarize.log",
    params:
        plan=PLAN.path,
        python=sys.executable,
    shell:
        "exec {params.python:q} scripts/summarize.py --plan {params.plan:q} --records {input.records:q}"
        " --classes {input.classes:q} --out {output:q} > {log:q} 2>&1"


rule tables:
    input:
        records=RUN.records(),
        classes=CLASSES,
        plan=planning.current_file(PLAN),
        again=planning.again_file(PLAN),
    output:
        expand(f"{PLAN.products}/tables/{{{{table}}}}.{{ending}}", ending=["md", "csv", "tex"]),
    log:
        f"{PLAN.output}/logs/tables/{{table}}.log",
    params:
        plan=PLAN.path,
        python=sys.executable,
    shell:
        "exec {params.python:q} scripts/tables.py --plan {params.plan:q} --records {input.records:q}"
        " --classes {input.classes:q} --table {wildcards.table} --out {output:q} > {log:q} 2>&1"


rule efficiency:
    input:
        records=RUN.records(),
        plan=planning.current_file(PLAN),
        again=planning.again_file(PLAN),
    output:
        f"{PLAN.products}/tables/efficiency.csv",
    log:
        f"{PLAN.output}/logs/efficiency.log",
    params:
        plan=PLAN.path,
        python=sys.executable,
    shell:
        "exec {params.python:q} scripts/efficiency.py --plan {params.plan:q} --records {input.records:q}"
        " --out {output:q} > {log:q} 2>&1"


rule energy_table:
    input:
        records=RUN.records(),
        plan=planning.current_file(PLAN),
        again=planning.again_file(PLAN),
    output:
        expand(f"{PLAN.products}/tables/energy.{{ending}}", ending=["csv", "md"]),
    log:
        f"{PLAN.output}/logs/energy_table.log",
    params:
        plan=PLAN.path,
        python=sys.executable,
    shell:
        "exec {params.python:q} scripts/energy_table.py --plan {params.plan:q} --records {input.records:q}"
        " --out {output:q} > {log:q} 2>&1"


rule bounds:
    input:
        records=RUN.records(),
        plan=planning.current_file(PLAN),
        again=planning.again_file(PLAN),
    output:
        f"{PLAN.products}/tables/bounds.csv",
    log:
        f"{PLAN.output}/logs/bounds.log",
    params:
        plan=PLAN.path,
        python=sys.executable,
    shell:
        "exec {params.python:q} scripts/bounds.py --plan {params.plan:q} --records {input.records:q}"
        " --out {output:q} > {log:q} 2>&1"


rule figures:
    input:
        records=RUN.records(),
        classes=CLASSES,
        plan=planning.current_file(PLAN),
        again=planning.again_file(PLAN),
    output:
        expand(f"{PLAN.products}/figures/{{{{table}}}}.{{{{kind}}}}.{{ending}}", ending=["pdf", "png"]),
    log:
        f"{PLAN.output}/logs/figures/{{table}}.{{kind}}.log",
    params:
        plan=PLAN.path,
        python=sys.executable,
    shell:
        "exec {params.python:q} scripts/figures.py {wildcards.kind} --plan {params.plan:q}"
        " --records {input.records:q} --classes {input.classes:q} --table {wildcards.table}"
        " --out {output:q} > {log:q} 2>&1"


rule efficiency_figure:
    input:
        records=RUN.records(),
        plan=planning.current_file(PLAN),
        again=planning.again_file(PLAN),
    output:
        expand(f"{PLAN.products}/figures/efficiency.{{ending}}", ending=["pdf", "png"]),
    log:
        f"{PLAN.output}/logs/figures/efficiency.log",
    params:
        plan=PLAN.path,
        python=sys.executable,
    shell:
        "exec {params.python:q} scripts/figures.py efficiency --plan {params.plan:q}"
        " --records {input.records:q} --out {output:q} > {log:q} 2>&1"
