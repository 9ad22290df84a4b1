# Reads the configuration, validates it, and says which jobs there are.
#
# in:  the merged Snakemake configuration, config/models.yaml, config/protocols/*.yaml
# out: PLAN (anachron.pipeline.Plan), RESULTS, LOGS and the input functions of the other rule files
import sys
from pathlib import Path

sys.path.insert(0, str(Path(workflow.basedir) / "src"))

from anachron.errors import AnachronError
from anachron.pipeline import Plan, environment, one_of

try:
    PLAN = Plan(config)
except AnachronError as error:
    # One readable message; a traceback of the Snakefile would bury it.
    raise SystemExit(f"anachron: {error}")

environment(
    Path(workflow.basedir),
    PLAN.config,
    own_python=not workflow.deployment_settings.deployment_method,
)
RESULTS = PLAN.config.results

for account in PLAN.accounts:
    # One collecting job per account at a time; inside it the collector owns the limits.
    workflow.register_resource(account, 1)


wildcard_constraints:
    suite=one_of(PLAN.suites),
    model=one_of(PLAN.models),
    arm=r"[A-Za-z0-9]+",
    span=r"[0-9-]+",
    block=r"[0-9-]+|all",


def panel_files(suite, spans):
    return [f"{RESULTS}/panel/{suite}/{span}.parquet" for span in spans]


def every_panel(wildcards):
    return panel_files(wildcards.suite, PLAN.spans(wildcards.suite))


def block_panels(wildcards):
    return panel_files(wildcards.suite, PLAN.spans_of(wildcards.suite, wildcards.block))


def transcripts(wildcards):
    return [
        f"{RESULTS}/transcripts/{wildcards.model}/{wildcards.suite}/{arm}/{block}.parquet"
        for arm in PLAN.arms_of(wildcards.model, wildcards.suite)
        for block in PLAN.blocks_of(wildcards.model, wildcards.suite)
    ]


def estimates(wildcards):
    return [
        f"{RESULTS}/estimates/{wildcards.model}/{suite}.json"
        for suite in PLAN.suites_of(wildcards.model)
    ]


def rows(wildcards):
    return [f"{RESULTS}/rows/{model}.json" for model in PLAN.models]


def collect_requests(wildcards):
    if PLAN.models[wildcards.model].provider == "replay":
        return []
    return f"{RESULTS}/requests/{wildcards.suite}/{wildcards.arm}/{wildcards.block}.parquet"


def collect_memory(wildcards):
    provider = PLAN.models[wildcards.model].provider
    return block_panels(wildcards) if provider == "planted" else []


def collect_source(wildcards):
    return PLAN.models[wildcards.model].source or []


def estimate_panel(wildcards):
    return PLAN.models[wildcards.model].panel or every_panel(wildcards)


def figure_files(name):
    return [
        f"{RESULTS}/leaderboard/{protocol.name}_{name}.{kind}"
        for protocol in PLAN.protocols.values()
        for kind in ("svg", "png")
    ]
