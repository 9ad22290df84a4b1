# Says what asking will cost, before anything is spent. Builds the request tables, which costs nothing; asks no model.
#
# in:  results/requests/<suite>/<arm>/<block>.parquet of every model of this run; the stores; the price file
# out: text on the terminal and in the log: calls, tokens and dollars per model and suite


rule cost:
    input:
        requests=cost_requests(),
    log:
        "logs/cost.log",
    localrule: True
    conda:
        "../../envs/anachron.yaml"
    params:
        settings=PLAN.settings_json(),
    shell:
        "python -m anachron cost --settings {params.settings:q} 2>&1 | tee -i {log:q}"
