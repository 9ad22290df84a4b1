# Anachron: from requests to a leaderboard. `snakemake --cores 8 leaderboard`; see README.md.
from snakemake.utils import min_version

min_version("9.8")


configfile: "config/config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/build.smk"
include: "workflow/rules/ask.smk"
include: "workflow/rules/collect.smk"
include: "workflow/rules/parse.smk"
include: "workflow/rules/estimate.smk"
include: "workflow/rules/publish.smk"


rule all:
    default_target: True
    input:
        rules.leaderboard.output,
