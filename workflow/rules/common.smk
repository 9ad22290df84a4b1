# Reads the configuration, validates it, and says which jobs there are.
#
# in:  the merged Snakemake configuration, config/models.yaml, config/protocols/*.yaml
# out: PLAN (anachron.pipeline.Plan), RESULTS, LOGS and the input functions of the other rule files
import shlex
import sys
from pathlib import Path

sys.path.insert(0, str(Path(workflow.basedir) / "src"))

from anachron.errors import AnachronError
from anachron.pipeline import Plan, environment, one_of
from anachron.sources.choice import FETCHED

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

for account in dict.fromkeys([*PLAN.accounts, *PLAN.judge_accounts]):
    # One collecting job per account at a time; inside it the collector owns the limits.
    workflow.register_resource(account, 1)


wildcard_constraints:
    suite=one_of(PLAN.suites),
    model=one_of(PLAN.models),
    arm=r"[A-Za-z0-9][A-Za-z0-9-]*",
    span=r"[0-9-]+",
    block=r"[0-9-]+|all",


def fetched(source, *beside):
    # A table that is there is nobody's output: no edit of these rules, no other list of series and no killed refresh
    # may make a run ask the network for what it has.
    if Path(FETCHED[source]).is_file():
        return touch(f"logs/fetch/{source}.refreshed")
    return [FETCHED[source], *beside]


def panel_files(suite, spans):
    return [f"{RESULTS}/panel/{suite}/{span}.parquet" for span in spans]


def panel_tables(wildcards):
    return [ancient(path) for path in PLAN.tables(wildcards.suite)]


def every_panel(wildcards):
    return panel_files(wildcards.suite, PLAN.spans(wildcards.suite))


def block_panels(wildcards):
    return panel_files(wildcards.suite, PLAN.spans_of(wildcards.suite, wildcards.block))


def transcripts(wildcards):
    # Answers that a second model grades are read with the grades beside them.
    return [
        f"{RESULTS}/{PLAN.sealed_in(wildcards.model, wildcards.suite, arm)}/{wildcards.model}/{wildcards.suite}/{arm}/{block}.parquet"
        for arm in PLAN.arms_of(wildcards.model, wildcards.suite)
        for block in PLAN.blocks_of(wildcards.model, wildcards.suite)
    ]


def estimates(wildcards):
    return [
        f"{RESULTS}/estimates/{wildcards.model}/{suite}.json"
        for suite in PLAN.suites_of(wildcards.model)
    ]


def browse_requests(wildcards):
    if PLAN.models[wildcards.model].provider == "replay":
        return []
    return [
        f"{RESULTS}/requests/{wildcards.suite}/{arm}/{block}.parquet"
        for arm in PLAN.arms_of(wildcards.model, wildcards.suite)
        for block in PLAN.blocks_of(wildcards.model, wildcards.suite)
    ]


def browsable(wildcards):
    return [
        f"{RESULTS}/leaderboard/transcripts/{model}/{suite}"
        for model in PLAN.models
        for suite in PLAN.suites_of(model)
    ]


def rows(wildcards):
    return [f"{RESULTS}/rows/{model}.json" for model in PLAN.models]


def forecasts_of_run(wildcards):
    return [
        f"{RESULTS}/answers/{model}/{wildcards.suite}.parquet"
        for model in PLAN.forecasters(wildcards.suite)
    ]


def audited_models():
    return [
        f"{RESULTS}/audits/{suite}/{model}/audit.json"
        for suite in PLAN.forecasting
        for model in PLAN.forecasters(suite)
    ]


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


def figure_files(protocol, name):
    return [
        f"{RESULTS}/leaderboard/{protocol}_{name}.{kind}" for kind in ("svg", "png")
    ]


def asked_models():
    return [model for model in PLAN.models if PLAN.models[model].provider != "replay"]


def smoke_requests():
    return [
        f"{RESULTS}/requests/{suite}/{arm}/all.parquet"
        for suite, arm in dict.fromkeys(
            (suite, arm)
            for model in asked_models()
            for suite in PLAN.suites_of(model)
            for arm in PLAN.arms_of(model, suite)
        )
    ]


def smoke_panels():
    return [
        path
        for suite in dict.fromkeys(
            suite
            for model in asked_models()
            if PLAN.models[model].provider == "planted"
            for suite in PLAN.suites_of(model)
        )
        for path in panel_files(suite, PLAN.spans(suite))
    ]


def smoke_commands():
    commands = [
        ["python", "-m", "anachron", "smoke", "--suite", suite]
        + ["--protocol", PLAN.config.protocols[suite]]
        + ["--registry", PLAN.config.registry, "--model", PLAN.models[model].name]
        + ["--store", PLAN.config.store]
        + [
            f"--requests={RESULTS}/requests/{suite}/{arm}/all.parquet"
            for arm in PLAN.arms_of(model, suite)
        ]
        + [f"--panel={path}" for path in smoke_panels() if f"/panel/{suite}/" in path]
        for model in asked_models()
        for suite in PLAN.suites_of(model)
    ]
    return " && ".join(shlex.join(command) for command in commands) or "true"


def cost_requests():
    return list(
        dict.fromkeys(
            f"{RESULTS}/requests/{suite}/{arm}/{block}.parquet"
            for model in asked_models()
            for suite in PLAN.suites_of(model)
            for arm in PLAN.arms_of(model, suite)
            for block in PLAN.blocks_of(model, suite)
        )
    )


def judge_slots(account):
    def slots(wildcards):
        found = PLAN.judge_of(wildcards.model, wildcards.suite, wildcards.arm)
        return int(found is not None and PLAN.account_of(found) == account)

    return slots
