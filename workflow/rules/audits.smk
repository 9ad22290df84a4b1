# Audits the forecasts that a run collects, every model as target with the others as its controls.
#
# in:  results/answers/<model>/<suite>.parquet of every model of this run, the panel
# out: results/forecasts/<suite>.parquet, a table as `anachron backtest` reads it;
#      results/audits/<suite>/<model>/report.html, report.md, audit.json, and the report's figures beside them


rule forecasts:
    input:
        answers=forecasts_of_run,
        panel=every_panel,
    output:
        f"{RESULTS}/forecasts/{{suite}}.parquet",
    log:
        "logs/forecasts/{suite}.log",
    benchmark:
        "logs/benchmarks/forecasts/{suite}.tsv"
    conda:
        "../../envs/anachron.yaml"
    params:
        registry=PLAN.config.registry,
        answers=lambda wildcards, input: [f"--answers={path}" for path in input.answers],
        panels=lambda wildcards, input: [f"--panel={path}" for path in input.panel],
        depends=lambda wildcards: PLAN.forecasts_params(wildcards.suite),
    shell:
        "python -m anachron forecasts --suite {wildcards.suite:q} --registry {params.registry:q}"
        " {params.answers:q} {params.panels:q} --output {output:q} > {log:q} 2>&1"


rule audit:
    input:
        f"{RESULTS}/forecasts/{{suite}}.parquet",
    output:
        report(
            multiext(
                f"{RESULTS}/audits/{{suite}}/{{model}}/",
                "report.html",
                "report.md",
                "audit.json",
            ),
            caption="../report/backtest.rst",
            category="Audits of forecasts",
        ),
    log:
        "logs/audits/{suite}/{model}.log",
    benchmark:
        "logs/benchmarks/audits/{suite}/{model}.tsv"
    conda:
        "../../envs/anachron.yaml"
    params:
        name=lambda wildcards: PLAN.models[wildcards.model].name,
        folder=lambda wildcards, output: Path(output[0]).parent,
        depends=PLAN.backtest_params(),
    shell:
        "python -m anachron backtest {input:q} --target {params.name:q} --output {params.folder:q}"
        " > {log:q} 2>&1"


if audited_models():

    rule audits:
        input:
            audited_models(),

else:

    rule audits:
        log:
            "logs/audits/none.log",
        localrule: True
        conda:
            "../../envs/anachron.yaml"
        shell:
            "echo 'anachron: no model of this run is asked for forecasts; add leakage to `protocols`' | tee {log:q} >&2; exit 1"
