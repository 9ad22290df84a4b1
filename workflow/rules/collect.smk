# Asks models. The only stage that may cost money: its answers live in the store, never in a Snakemake output.
#
# in:  results/requests/<suite>/<arm>/<block>.parquet; for planted models the panel (their memory);
#      for replayed models the imported transcripts
# out: results/transcripts/<model>/<suite>/<arm>/<block>.parquet, sealed once every request is answered
#
# One rule per account, because a resource of that account's name lets only one of its jobs run at a time.


for account, members in PLAN.accounts.items():

    rule:
        name:
            f"collect_{account}"
        input:
            requests=collect_requests,
            memory=collect_memory,
            source=collect_source,
        output:
            f"{RESULTS}/transcripts/{{model}}/{{suite}}/{{arm}}/{{block}}.parquet",
        log:
            "logs/collect/{model}/{suite}/{arm}/{block}.log",
        benchmark:
            "logs/benchmarks/collect/{model}/{suite}/{arm}/{block}.tsv"
        wildcard_constraints:
            model=one_of(members),
        conda:
            "../../envs/anachron.yaml"
        resources:
            **{account: 1},
        params:
            protocol=lambda wildcards: PLAN.config.protocols[wildcards.suite],
            registry=PLAN.config.registry,
            name=lambda wildcards: PLAN.models[wildcards.model].name,
            requests=lambda wildcards, input: [
                f"--requests={path}" for path in [input.requests] if path
            ],
            panels=lambda wildcards, input: [f"--panel={path}" for path in input.memory],
            store=PLAN.config.store,
            depends=lambda wildcards: PLAN.collect_params(
                wildcards.model, wildcards.suite
            ),
        shell:
            "python -m anachron collect --suite {wildcards.suite:q} --protocol {params.protocol:q}"
            " --registry {params.registry:q} --model {params.name:q} --arm {wildcards.arm:q}"
            " --block {wildcards.block:q} {params.requests:q} {params.panels:q} --store {params.store:q}"
            " --output {output:q} 2>&1 | tee {log:q} >&2"
