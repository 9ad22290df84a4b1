# Asks a handful of requests of the real run and prints them for reading, before any volume.
#
# in:  results/requests/<suite>/<arm>/all.parquet; for planted models the panel (their memory)
# out: text on the terminal and in the log; the answers stay in the store, and the run does not pay them again


rule smoke:
    input:
        requests=smoke_requests(),
        panels=smoke_panels(),
    log:
        "logs/smoke.log",
    localrule: True
    conda:
        "../../envs/anachron.yaml"
    params:
        commands=smoke_commands(),
    shell:
        "( {params.commands} ) 2>&1 | tee -i {log:q}"
