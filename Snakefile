# Anachron: from requests to a leaderboard. `snakemake --cores 8 leaderboard`; see README.md.
from copy import deepcopy

from snakemake.utils import min_version

min_version("9.8")

# Suites that `--configfile` or `--config` name are all that run: they do not join those of the default.
named_protocols = deepcopy(config.get("protocols"))


configfile: "config/config.yaml"


if named_protocols:
    config["protocols"] = named_protocols


include: "workflow/rules/common.smk"
include: "workflow/rules/fetch.smk"
include: "workflow/rules/build.smk"
include: "workflow/rules/ask.smk"
include: "workflow/rules/cost.smk"
include: "workflow/rules/smoke.smk"
include: "workflow/rules/collect.smk"
include: "workflow/rules/parse.smk"
include: "workflow/rules/estimate.smk"
include: "workflow/rules/publish.smk"
include: "workflow/rules/backtest.smk"
include: "workflow/rules/audits.smk"


rule all:
    default_target: True
    input:
        rules.leaderboard.output,
