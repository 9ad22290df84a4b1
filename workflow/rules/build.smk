# Builds what was true and known on each decision date.
#
# in:  resources/snapshot/*.parquet, and the tables that `sources` names (`ancient`: a new month of data must not
#      touch earlier spans; `depends` carries the digest of the data each span can see)
# out: results/panel/<suite>/<span>.parquet


rule panel:
    input:
        snapshot=ancient(f"{PLAN.config.sources.snapshot}/digests.json"),
        tables=panel_tables,
    output:
        f"{RESULTS}/panel/{{suite}}/{{span}}.parquet",
    log:
        "logs/panel/{suite}/{span}.log",
    benchmark:
        "logs/benchmarks/panel/{suite}/{span}.tsv"
    conda:
        "../../envs/anachron.yaml"
    params:
        protocol=lambda wildcards: PLAN.config.protocols[wildcards.suite],
        sources=PLAN.sources_json(),
        depends=lambda wildcards: PLAN.panel_params(wildcards.suite, wildcards.span),
    shell:
        "python -m anachron panel --suite {wildcards.suite:q} --protocol {params.protocol:q}"
        " --span {wildcards.span:q} --sources {params.sources:q} --output {output:q} > {log:q} 2>&1"
