# From a dataset to the items that every library times.
#   in:   a tarball, a folder, a file of the web (by the cache), or the photographs of installed packages (demo)
#   out:  <output>/datasets/<name>.<digest>/{staged.json, dataset.tar}
#         <output>/datasets/<name>.<digest>/manifest.<digest>.json
#         <output>/items/<scenario>.<digest>/{index.json, items.bin, files/}


rule stage_dataset:
    output:
        staged=f"{PLAN.output}/datasets/{{dataset}}.{{digest}}/staged.json",
        tar=f"{PLAN.output}/datasets/{{dataset}}.{{digest}}/dataset.tar",
    log:
        f"{PLAN.output}/logs/stage_dataset/{{dataset}}.{{digest}}.log",
    params:
        python=sys.executable,
        source=RUN.dataset("source"),
        kind=RUN.dataset("kind"),
        sha256=RUN.dataset("digest"),
        size=RUN.dataset("size"),
        output=PLAN.output,
    shell:
        "exec {params.python:q} scripts/stage_dataset.py --source {params.source:q} --kind {params.kind}"
        " --sha256 {params.sha256} --size {params.size} --name {wildcards.dataset} --output {params.output:q}"
        " > {log:q} 2>&1"


rule audit_dataset:
    input:
        unpack(RUN.manifest_needs),
    output:
        f"{PLAN.output}/datasets/{{dataset}}.{{digest}}/manifest.{{audit}}.json",
    log:
        f"{PLAN.output}/logs/audit_dataset/{{dataset}}.{{digest}}.{{audit}}.log",
    params:
        python=sys.executable,
        policy=RUN.audit_policy,
    shell:
        "exec {params.python:q} scripts/audit_dataset.py --dataset {input.tar:q} --policy {params.policy:q}"
        " --manifest {output:q} > {log:q} 2>&1"


rule prepare_items:
    input:
        unpack(RUN.items_needs),
    output:
        index=f"{PLAN.output}/items/{{scenario}}.{{digest}}/index.json",
        pixels=f"{PLAN.output}/items/{{scenario}}.{{digest}}/items.bin",
        files=directory(f"{PLAN.output}/items/{{scenario}}.{{digest}}/files"),
    log:
        f"{PLAN.output}/logs/prepare_items/{{scenario}}.{{digest}}.log",
    params:
        python=sys.executable,
        wanted=RUN.item_count,
        seed=RUN.scenario("seed"),
        channels=RUN.scenario("channels"),
        views=RUN.scenario("views"),
        out=lambda w, output: Path(output.index).parent,
    shell:
        "exec {params.python:q} scripts/prepare_items.py --dataset {input.tar:q}"
        " --manifest {input.manifest:q} --items {params.wanted} --seed {params.seed}"
        " --channels {params.channels} --views={params.views:q} --scenario {wildcards.scenario}"
        " --digest {wildcards.digest} --out {params.out:q} > {log:q} 2>&1"
