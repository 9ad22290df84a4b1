# Estimates a suite's metrics with intervals and gates; a new estimator version reruns from here.
#
# in:  results/answers/<model>/<suite>.parquet, the panel, the sealed transcripts (for hashes and usage)
# out: results/estimates/<model>/<suite>.json, full precision


rule estimate:
    input:
        answers=f"{RESULTS}/answers/{{model}}/{{suite}}.parquet",
        transcripts=transcripts,
        panel=estimate_panel,
    output:
        f"{RESULTS}/estimates/{{model}}/{{suite}}.json",
    log:
        "logs/estimate/{model}/{suite}.log",
    benchmark:
        "logs/benchmarks/estimate/{model}/{suite}.tsv"
    conda:
        "../../envs/anachron.yaml"
    params:
        protocol=lambda wildcards: PLAN.config.protocols[wildcards.suite],
        registry=PLAN.config.registry,
        name=lambda wildcards: PLAN.models[wildcards.model].name,
        transcripts=lambda wildcards, input: [
            f"--transcripts={path}" for path in input.transcripts
        ],
        panels=lambda wildcards, input: [
            f"--panel={path}" for path in input.get("panel", [])
        ],
        depends=lambda wildcards: PLAN.stage_params(
            "estimate", wildcards.model, wildcards.suite
        ),
    shell:
        "python -m anachron estimate --suite {wildcards.suite:q} --protocol {params.protocol:q}"
        " --registry {params.registry:q} --model {params.name:q} --answers {input.answers:q}"
        " {params.transcripts:q} {params.panels:q} --output {output:q} > {log:q} 2>&1"
