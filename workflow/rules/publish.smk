# Joins estimates in audit rows, and publishes tables and figures from rows only.
#
# in:  results/estimates/<model>/<suite>.json
# out: results/rows/<model>.json, results/leaderboard/*; `freeze` adds to resources/frozen/


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
    conda:
        "../../envs/anachron.yaml"
    params:
        registry=PLAN.config.registry,
        margin=PLAN.config.safe_margin_months,
        name=lambda wildcards: PLAN.models[wildcards.model].name,
        estimates=lambda wildcards, input: [
            f"--estimates={path}" for path in input.estimates
        ],
        depends=lambda wildcards: PLAN.row_params(wildcards.model),
    shell:
        "python -m anachron row --registry {params.registry:q} --model {params.name:q}"
        " {params.estimates:q} --safe-margin-months {params.margin} --output {output:q} > {log:q} 2>&1"


rule leaderboard:
    input:
        rows=rows,
    output:
        report(
            multiext(f"{RESULTS}/leaderboard/leaderboard", ".csv", ".md", ".html"),
            caption="../report/leaderboard.rst",
            category="Leaderboard",
        ),
        forest=report(
            figure_files("e2_e3_forest"),
            caption="../report/forest.rst",
            category="Figures",
        ),
        lap=report(
            figure_files("lap_heatmap"),
            caption="../report/lap.rst",
            category="Figures",
        ),
    log:
        "logs/publish/leaderboard.log",
    benchmark:
        "logs/benchmarks/publish/leaderboard.tsv"
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
    conda:
        "../../envs/anachron.yaml"
    params:
        frozen=PLAN.config.frozen,
        rows=f"{RESULTS}/rows",
    shell:
        "python -m anachron check --frozen {params.frozen:q} --rows {params.rows:q} 2>&1 | tee {log:q}"


rule freeze:
    input:
        rows=rows,
    log:
        "logs/publish/freeze.log",
    conda:
        "../../envs/anachron.yaml"
    params:
        frozen=PLAN.config.frozen,
        rows=lambda wildcards, input: [f"--row={path}" for path in input.rows],
        reason=[f"--reason={PLAN.config.reason}"] if PLAN.config.reason else [],
    shell:
        "python -m anachron freeze {params.rows:q} --frozen {params.frozen:q} {params.reason:q}"
        " 2>&1 | tee {log:q}"
