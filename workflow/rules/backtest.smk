# Audits a table of forecasts that exists already: `snakemake --cores 1 backtest --config backtest=my.csv`.
#
# in:  the table, CSV or Parquet (docs/how-to/audit-a-backtest.md)
# out: results/backtest/<name>/report.html, report.md, audit.json, and the report's figures beside them


if PLAN.config.backtest is None:

    rule backtest:
        log:
            "logs/backtest/none.log",
        localrule: True
        conda:
            "../../envs/anachron.yaml"
        shell:
            "echo 'anachron: say which table is audited: --config backtest=FILE' | tee {log:q} >&2; exit 1"

else:

    rule backtest:
        input:
            table=PLAN.config.backtest.file,
        output:
            report(
                multiext(
                    f"{RESULTS}/backtest/{PLAN.config.backtest.name}/",
                    "report.html",
                    "report.md",
                    "audit.json",
                ),
                caption="../report/backtest.rst",
                category="Backtests",
            ),
        log:
            f"logs/backtest/{PLAN.config.backtest.name}.log",
        benchmark:
            f"logs/benchmarks/backtest/{PLAN.config.backtest.name}.tsv"
        conda:
            "../../envs/anachron.yaml"
        params:
            arguments=PLAN.config.backtest.arguments(),
            folder=lambda wildcards, output: Path(output[0]).parent,
            depends=PLAN.backtest_params(),
        shell:
            "python -m anachron backtest {input.table:q} {params.arguments:q} --output {params.folder:q}"
            " 2>&1 | tee -i {log:q} >&2"
