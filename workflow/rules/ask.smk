# Writes the prompts, the same for every model.
#
# in:  results/panel/<suite>/<span>.parquet of the spans the block reaches into
# out: results/requests/<suite>/<arm>/<block>.parquet


rule ask:
    input:
        panel=block_panels,
    output:
        f"{RESULTS}/requests/{{suite}}/{{arm}}/{{block}}.parquet",
    log:
        "logs/ask/{suite}/{arm}/{block}.log",
    benchmark:
        "logs/benchmarks/ask/{suite}/{arm}/{block}.tsv"
    conda:
        "../../envs/anachron.yaml"
    params:
        protocol=lambda wildcards: PLAN.config.protocols[wildcards.suite],
        panels=lambda wildcards, input: [f"--panel={path}" for path in input.panel],
        depends=lambda wildcards: PLAN.ask_params(wildcards.suite, wildcards.block),
    shell:
        "python -m anachron ask --suite {wildcards.suite:q} --protocol {params.protocol:q}"
        " --arm {wildcards.arm:q} --block {wildcards.block:q} {params.panels:q}"
        " --output {output:q} > {log:q} 2>&1"
