# Two commands: `make leaderboard` sets up and runs the main job; `make test` sets up and runs every test.
PYTHON ?= python3
CORES ?= 8
# Test files run side by side; most of their time is spent waiting for servers and for Snakemake.
TEST_WORKERS ?= 2
UV_VERSION := 0.13.9
# As pip does, trust the certificates of the system: a company's network may bring its own authority.
export UV_SYSTEM_CERTS ?= 1
BIN := .venv/bin
# Compiled once at installation, so that the pipeline's many short jobs start quickly.
INSTALL := $(BIN)/uv pip install --quiet --python $(BIN)/python --compile-bytecode

.PHONY: leaderboard test check lint lock clean help

help:  ## say what there is
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

leaderboard: .venv/run  ## set up and run the main job: results/leaderboard/index.html
	PATH="$(CURDIR)/$(BIN):$$PATH" snakemake --cores $(CORES) leaderboard

test: .venv/dev  ## set up and run all tests
	PATH="$(CURDIR)/$(BIN):$$PATH" pytest -n $(TEST_WORKERS) --dist loadfile --no-loadscope-reorder

lint: .venv/dev  ## format, lint and type checks
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/snakefmt --check Snakefile workflow/rules
	PATH="$(CURDIR)/$(BIN):$$PATH" snakemake --lint

check: .venv/run  ## hold tables and rows against the frozen rows
	PATH="$(CURDIR)/$(BIN):$$PATH" snakemake --cores 1 check

.venv/uv:
	$(PYTHON) -c 'import sys; sys.exit(0 if (3, 11) <= sys.version_info < (3, 14) else "Anachron needs Python 3.11, 3.12 or 3.13; set PYTHON=/path/to/python")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	touch $@

.venv/run: .venv/uv requirements.lock pyproject.toml
	$(INSTALL) --require-hashes -r requirements.lock
	$(INSTALL) --no-deps --no-build-isolation -e .
	touch $@

.venv/dev: .venv/run requirements-dev.lock requirements-local.lock
	$(INSTALL) --require-hashes -r requirements-dev.lock
	$(INSTALL) --no-deps --require-hashes -r requirements-local.lock
	touch $@

lock: .venv/uv  ## resolve the dependencies anew and write both lock files
	for part in "requirements.lock:" "requirements-dev.lock:--extra dev --extra browser --extra local --extra slurm"; do \
	  $(BIN)/uv pip compile --quiet --universal --fork-strategy fewest --python-version 3.11 \
	    --generate-hashes --no-annotate --no-header --upgrade --extra build $${part#*:} \
	    --output-file $${part%%:*} pyproject.toml || exit 1; \
	done

clean:  ## remove what can be regenerated for free; paid answers in store/ stay
	rm -rf results logs .snakemake
