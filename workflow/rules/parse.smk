# Parses sealed transcripts; a new parser version reruns from here.
#
# in:  results/transcripts/<model>/<suite>/<arm>/<block>.parquet
# out: results/answers/<model>/<suite>.parquet


rule parse:
    input:
        transcripts=transcripts,
    output:
        f"{RESULTS}/answers/{{model}}/{{suite}}.parquet",
    log:
        "logs/parse/{model}/{suite}.log",
    benchmark:
        "logs/benchmarks/parse/{model}/{suite}.tsv"
    conda:
        "../../envs/anachron.yaml"
    params:
        protocol=lambda wildcards: PLAN.config.protocols[wildcards.suite],
        name=lambda wildcards: PLAN.models[wildcards.model].name,
        transcripts=lambda wildcards, input: [
            f"--transcripts={path}" for path in input.transcripts
        ],
        depends=lambda wildcards: PLAN.stage_params(
            "parse", wildcards.model, wildcards.suite
        ),
    shell:
        "python -m anachron parse --suite {wildcards.suite:q} --protocol {params.protocol:q}"
        " --model {params.name:q} {params.transcripts:q} --output {output:q} > {log:q} 2>&1"
