# From items and environments to one record per cell. Probes and cells have the machine to themselves. A session, which
# is all of one scenario, mode and device, is one group on an engine: one submission on one host, and since its jobs take
# all cores one after the other it asks for what one of them asks for.
#   in:   <output>/items/<scenario>.<digest>/index.json, <output>/envs/<environment>.<digest>.<python>/env.json
#   out:  <output>/probes/<machine>/<scenario>/<mode>/<library>/<device>/probe.<digest>.{json, samples.zip}
#         <output>/records/<machine>/<scenario>/<mode>/<library>/<device>/r<repeat>.<digest>.json
#         <output>/sessions/<machine>/<scenario>/<mode>/<device>.<digest>.json


rule probe:
    input:
        unpack(RUN.probe_needs),
    output:
        json=f"{PLAN.output}/probes/{{machine}}/{{scenario}}/{{mode}}/{{library}}/{{device}}/probe.{{digest}}.json",
        samples=f"{PLAN.output}/probes/{{machine}}/{{scenario}}/{{mode}}/{{library}}/{{device}}/probe.{{digest}}.samples.zip",
    log:
        f"{PLAN.output}/logs/probe/{{machine}}/{{scenario}}/{{mode}}/{{library}}/{{device}}/{{digest}}.log",
    group:
        RUN.group
    conda:
        RUN.conda
    threads: workflow.cores
    resources:
        **RUN.request,
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
    group:
        RUN.group
    conda:
        RUN.conda
    threads: workflow.cores
    resources:
        **RUN.request,
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


# What makes the cells of a session one submission: it wants all that are left.
rule session:
    input:
        unpack(RUN.session_needs),
    output:
        f"{PLAN.output}/sessions/{{machine}}/{{scenario}}/{{mode}}/{{device}}.{{digest}}.json",
    log:
        f"{PLAN.output}/logs/session/{{machine}}/{{scenario}}/{{mode}}/{{device}}.{{digest}}.log",
    group:
        RUN.group
    threads: workflow.cores
    resources:
        **RUN.request,
        runtime=RUN.minutes,
    params:
        plan=PLAN.path,
        python=sys.executable,
    shell:
        "exec {params.python:q} scripts/session.py --plan {params.plan:q}"
        " --place {wildcards.scenario}/{wildcards.mode}/{wildcards.device} --out {output:q} > {log:q} 2>&1"
