# From a lock to the environment that a library is measured in (with `--sdm conda`, conda makes it instead).
#   in:   envs/<environment>.txt, named by its digest in the path
#   out:  <output>/envs/<environment>.<digest>.<python>/env.json, written last


rule prepare_env:
    output:
        f"{PLAN.output}/envs/{{environment}}.{{digest}}.{{python}}/env.json",
    log:
        f"{PLAN.output}/logs/prepare_env/{{environment}}.{{digest}}.{{python}}.log",
    params:
        lock=RUN.environment_lock,
        out=PLAN.output / "envs",
        python=sys.executable,
    shell:
        "exec {params.python:q} scripts/prepare_env.py --lock {params.lock:q} --out {params.out:q}"
        " --digest {wildcards.digest} > {log:q} 2>&1"
