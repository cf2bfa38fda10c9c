# From a lock to the environment that a library is measured in (with `--sdm conda`, conda makes it instead).
#   in:   envs/<environment>.txt, named by its digest in the path
#   out:  <output>/envs/<environment>.<digest>/env.json, written last


rule prepare_env:
    output:
        f"{PLAN.output}/envs/{{environment}}.{{digest}}/env.json",
    log:
        f"{PLAN.output}/logs/prepare_env/{{environment}}.{{digest}}.log",
    params:
        lock=RUN.environment_lock,
        out=PLAN.output / "envs",
        python=sys.executable,
    shell:
        "exec {params.python} scripts/prepare_env.py --lock {params.lock} --out {params.out}"
        " --digest {wildcards.digest} > {log} 2>&1"
