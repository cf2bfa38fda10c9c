# From items and environments to one record per cell. Both rules have the machine to themselves.
#   in:   <output>/items/<scenario>.<digest>/index.json, <output>/envs/<environment>.<digest>.<python>/env.json
#   out:  <output>/probes/<machine>/<scenario>/<mode>/<library>/<device>/probe.<digest>.{json, samples.zip}
#         <output>/records/<machine>/<scenario>/<mode>/<library>/<device>/r<repeat>.<digest>.json


rule probe:
    input:
        unpack(RUN.probe_needs),
    output:
        json=f"{PLAN.output}/probes/{{machine}}/{{scenario}}/{{mode}}/{{library}}/{{device}}/probe.{{digest}}.json",
        samples=f"{PLAN.output}/probes/{{machine}}/{{scenario}}/{{mode}}/{{library}}/{{device}}/probe.{{digest}}.samples.zip",
    log:
        f"{PLAN.output}/logs/probe/{{machine}}/{{scenario}}/{{mode}}/{{library}}/{{device}}/{{digest}}.log",
    conda:
        RUN.conda
    threads: workflow.cores
    params:
        plan=PLAN.path,
        python=RUN.python,
        session=RUN.session,
        watch=RUN.pid,
    shell:
        "exec {params.python:q} -I scripts/probe.py --plan {params.plan:q} --session {params.session}"
        " --cell {wildcards.scenario}/{wildcards.mode}/{wildcards.library}/{wildcards.device}"
        " --watch {params.watch} --out {output.json:q} > {log:q} 2>&1"


rule measure:
    input:
        unpack(RUN.cell_needs),
    output:
        f"{PLAN.output}/records/{{machine}}/{{scenario}}/{{mode}}/{{library}}/{{device}}/r{{repeat}}.{{digest}}.json",
    log:
        f"{PLAN.output}/logs/measure/{{machine}}/{{scenario}}/{{mode}}/{{library}}/{{device}}/r{{repeat}}.{{digest}}.log",
    priority: RUN.priority
    conda:
        RUN.conda
    threads: workflow.cores
    params:
        plan=PLAN.path,
        python=RUN.python,
        session=RUN.session,
        fresh=RUN.fresh,
        watch=RUN.pid,
    shell:
        "exec {params.python:q} -I scripts/measure.py --plan {params.plan:q} --session {params.session}"
        " --cell {wildcards.scenario}/{wildcards.mode}/{wildcards.library}/{wildcards.device}"
        " --repeat {wildcards.repeat} {params.fresh} --watch {params.watch} --out {output:q} > {log:q} 2>&1"
