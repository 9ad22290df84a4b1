# Asks models. The only stage that may cost money: its answers live in the store, never in a Snakemake output.
#
# in:  results/requests/<suite>/<arm>/<block>.parquet; for planted models the panel (their memory);
#      for replayed models the imported transcripts
# out: results/transcripts/<model>/<suite>/<arm>/<block>.parquet, sealed once every request is answered;
#      results/judged/<model>/<suite>/<arm>/<block>.parquet, the same with what a second model said of each answer,
#      for arms that are graded
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
        # On a cluster too, asking runs on the host that holds the store.
        localrule: True
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
            " --output {output:q} 2>&1 | tee -i {log:q} >&2"


rule judge:
    input:
        f"{RESULTS}/transcripts/{{model}}/{{suite}}/{{arm}}/{{block}}.parquet",
    output:
        f"{RESULTS}/judged/{{model}}/{{suite}}/{{arm}}/{{block}}.parquet",
    log:
        "logs/judge/{model}/{suite}/{arm}/{block}.log",
    benchmark:
        "logs/benchmarks/judge/{model}/{suite}/{arm}/{block}.tsv"
    localrule: True
    conda:
        "../../envs/anachron.yaml"
    resources:
        **{account: judge_slots(account) for account in PLAN.judge_accounts},
    params:
        protocol=lambda wildcards: PLAN.config.protocols[wildcards.suite],
        registry=PLAN.config.registry,
        name=lambda wildcards: PLAN.models[wildcards.model].name,
        judge=lambda wildcards: PLAN.judge_of(
            wildcards.model, wildcards.suite, wildcards.arm
        ).name,
        store=PLAN.config.store,
        depends=lambda wildcards: PLAN.judge_params(
            wildcards.model, wildcards.suite, wildcards.arm
        ),
    shell:
        "python -m anachron judge --suite {wildcards.suite:q} --protocol {params.protocol:q}"
        " --registry {params.registry:q} --model {params.name:q} --by {params.judge:q}"
        " --transcripts {input:q} --store {params.store:q} --output {output:q} 2>&1"
        " | tee -i {log:q} >&2"
