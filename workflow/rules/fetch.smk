# Asks the sources of facts. No rule here is part of a run, but where `sources` names its table and that is missing.
#
# in:  nothing; `fetch_alfred` and `fetch_fed` need FRED_API_KEY
# out: resources/{alfred,fed,french,yahoo}.parquet, with what the source sent under resources/raw/
#
# `snakemake --cores 1 --force fetch_alfred` refreshes a table. The command replaces it only by a good one.
# Retries are the command's (`--retries`): it tells a fault that may pass from a refusal. A rule that is retried would
# send a refused key again, and wait four times for a source that asks to be left alone.


onstart:
    print(f"anachron: {PLAN.vintages}", file=sys.stderr)


rule fetch_alfred:
    output:
        fetched("alfred", "resources/alfred.json"),
    log:
        "logs/fetch/alfred.log",
    benchmark:
        "logs/benchmarks/fetch/alfred.tsv"
    localrule: True
    conda:
        "../../envs/anachron.yaml"
    params:
        table=lambda wildcards: FETCHED["alfred"],
        series=[f"--series={name}" for name in PLAN.asked_of_sources("macro_series")],
    shell:
        "python -m anachron fetch alfred {params.series:q} --retries 3 --output {params.table:q} 2>&1"
        " | tee -i {log:q} >&2"


rule fetch_fed:
    output:
        fetched("fed"),
    log:
        "logs/fetch/fed.log",
    benchmark:
        "logs/benchmarks/fetch/fed.tsv"
    localrule: True
    conda:
        "../../envs/anachron.yaml"
    params:
        table=lambda wildcards: FETCHED["fed"],
    shell:
        "python -m anachron fetch fed --retries 3 --output {params.table:q} 2>&1 | tee -i {log:q} >&2"


rule fetch_french:
    output:
        fetched("french"),
    log:
        "logs/fetch/french.log",
    benchmark:
        "logs/benchmarks/fetch/french.tsv"
    localrule: True
    conda:
        "../../envs/anachron.yaml"
    params:
        table=lambda wildcards: FETCHED["french"],
    shell:
        "python -m anachron fetch french --retries 3 --output {params.table:q} 2>&1 | tee -i {log:q} >&2"


rule fetch_yahoo:
    output:
        fetched("yahoo"),
    log:
        "logs/fetch/yahoo.log",
    benchmark:
        "logs/benchmarks/fetch/yahoo.tsv"
    localrule: True
    conda:
        "../../envs/anachron.yaml"
    params:
        table=lambda wildcards: FETCHED["yahoo"],
        tickers=[f"--ticker={name}" for name in PLAN.asked_of_sources("tickers")],
    shell:
        "python -m anachron fetch yahoo {params.tickers:q} --retries 3 --output {params.table:q} 2>&1"
        " | tee -i {log:q} >&2"
