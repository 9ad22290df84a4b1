# Joins estimates in audit rows, and publishes tables and figures from rows only.
#
# in:  results/estimates/<model>/<suite>.json
# out: results/rows/<model>.json, results/leaderboard/* (the page is index.html; transcripts/<model>/<suite>/ beside it
#      holds what its browser reads); `freeze` adds to resources/frozen/


rule row:
    input:
        estimates=estimates,
    output:
        report(
            f"{RESULTS}/rows/{{model}}.json",
            caption="../report/row.rst",
            category="Audit rows",
        ),
    log:
        "logs/row/{model}.log",
    benchmark:
        "logs/benchmarks/row/{model}.tsv"
    localrule: True
    conda:
        "../../envs/anachron.yaml"
    params:
        registry=PLAN.config.registry,
        margin=PLAN.config.safe_margin_months,
        name=lambda wildcards: PLAN.models[wildcards.model].name,
        estimates=lambda wildcards, input: [
            f"--estimates={path}" for path in input.estimates
        ],
        prices=lambda wildcards: (
            [f"--prices={PLAN.config.prices}"] if PLAN.priced(wildcards.model) else []
        ),
        depends=lambda wildcards: PLAN.row_params(wildcards.model),
    shell:
        "python -m anachron row --registry {params.registry:q} --model {params.name:q}"
        " {params.estimates:q} --safe-margin-months {params.margin} {params.prices:q}"
        " --output {output:q} > {log:q} 2>&1"


rule browse:
    input:
        transcripts=transcripts,
        answers=f"{RESULTS}/answers/{{model}}/{{suite}}.parquet",
        requests=browse_requests,
    output:
        directory(f"{RESULTS}/leaderboard/transcripts/{{model}}/{{suite}}"),
    log:
        "logs/browse/{model}/{suite}.log",
    benchmark:
        "logs/benchmarks/browse/{model}/{suite}.tsv"
    conda:
        "../../envs/anachron.yaml"
    params:
        name=lambda wildcards: PLAN.models[wildcards.model].name,
        transcripts=lambda wildcards, input: [
            f"--transcripts={path}" for path in input.transcripts
        ],
        requests=lambda wildcards, input: (
            [f"--requests={RESULTS}/requests/{wildcards.suite}"]
            if input.requests
            else []
        ),
        depends=lambda wildcards: PLAN.browse_params(wildcards.suite),
    shell:
        "python -m anachron browse --suite {wildcards.suite:q} --model {params.name:q}"
        " --answers {input.answers:q} {params.transcripts:q} {params.requests:q}"
        " --output {output:q} > {log:q} 2>&1"


rule leaderboard:
    input:
        rows=rows,
        transcripts=browsable,
    output:
        report(
            multiext(
                f"{RESULTS}/leaderboard/",
                "index.html",
                "leaderboard.csv",
                "leaderboard.parquet",
                "leaderboard.md",
                "leaderboard.tex",
            ),
            caption="../report/leaderboard.rst",
            category="Leaderboard",
        ),
        report(
            multiext(f"{RESULTS}/leaderboard/cost_per_row", ".svg", ".png"),
            caption="../report/cost_per_row.rst",
            category="Figures",
            subcategory="Cost",
        ),
        [
            report(
                path,
                caption=f"../report/{suite}_{name}.rst",
                category="Figures",
                subcategory=f"{suite}, {protocol}",
            )
            for suite, protocol, name in PLAN.figures()
            for path in figure_files(protocol, name)
        ],
    log:
        "logs/publish/leaderboard.log",
    benchmark:
        "logs/benchmarks/publish/leaderboard.tsv"
    localrule: True
    conda:
        "../../envs/anachron.yaml"
    params:
        scoring=PLAN.config.scoring,
        rows=lambda wildcards, input: [f"--row={path}" for path in input.rows],
        folder=lambda wildcards, output: Path(output[0]).parent,
        depends=PLAN.publish_params(),
    shell:
        "python -m anachron publish {params.rows:q} --scoring {params.scoring:q}"
        " --output {params.folder:q} > {log:q} 2>&1"


rule check:
    log:
        "logs/publish/check.log",
    localrule: True
    conda:
        "../../envs/anachron.yaml"
    params:
        frozen=PLAN.config.frozen,
        rows=f"{RESULTS}/rows",
    shell:
        "python -m anachron check --frozen {params.frozen:q} --rows {params.rows:q} 2>&1 | tee -i {log:q}"


rule freeze:
    input:
        rows=rows,
    log:
        "logs/publish/freeze.log",
    localrule: True
    conda:
        "../../envs/anachron.yaml"
    params:
        frozen=PLAN.config.frozen,
        rows=lambda wildcards, input: [f"--row={path}" for path in input.rows],
        reason=[f"--reason={PLAN.config.reason}"] if PLAN.config.reason else [],
    shell:
        "python -m anachron freeze {params.rows:q} --frozen {params.frozen:q} {params.reason:q}"
        " 2>&1 | tee -i {log:q}"
