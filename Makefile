# Everything a developer runs. Each target works alone on a fresh checkout with only Python >= 3.11 and make.
PYTHON ?= python3
BIN := .venv/bin
# Two workers, a file at a time: most end-to-end tests wait for processes to start.
PYTEST_ARGUMENTS ?= -n 2 --dist loadfile
SOURCES := proto/python/handrail_rpc handrail_storage loop_service adapter_service gateway bench tests

.DEFAULT_GOAL := help
.PHONY: help demo run test chaos soundness bench lint typecheck generate check-generated check format

help:  ## List the targets.
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 18

demo: .venv/editable  ## Watch a whole conversation against real processes, killed and restarted in the middle.
	@$(BIN)/handrail demo

run: .venv/editable  ## Run the Loop, the Adapter and the gateway until Ctrl-C.
	@$(BIN)/handrail up

test: .venv/editable  ## Run every test.
	@$(BIN)/pytest $(PYTEST_ARGUMENTS)

chaos: .venv/editable  ## Kill Loop and Adapter at random under 1,000 interactions, then check every promise.
	@$(BIN)/python -m tests.crash.chaos $(CHAOS_ARGUMENTS)

soundness: .venv/editable  ## Take every rule of soundness away in turn and see that its tests notice.
	@$(BIN)/python -m tests.soundness.removals $(SOUNDNESS_ARGUMENTS)

bench: .venv/editable  ## Measure rounds and turns through all three processes, beside a bare echo and a bare commit.
	@$(BIN)/python -m bench $(BENCH_ARGUMENTS)

lint: .venv/editable  ## Style, import directions, and the contract: lint and compatibility with the baseline.
	@$(BIN)/ruff check $(SOURCES)
	@$(BIN)/ruff format --check $(SOURCES)
	@$(BIN)/lint-imports
	@cd proto && ../$(BIN)/buf lint
	@cd proto && ../$(BIN)/buf format --exit-code --diff
	@cd proto && ../$(BIN)/buf breaking --against baseline.binpb

typecheck: .venv/editable  ## Strict mypy.
	@$(BIN)/mypy

generate: .venv/editable  ## Regenerate proto/python/handrail from the proto files.
	@proto/generate $(BIN)

check-generated: .venv/editable  ## Fail where the committed generated code differs from the proto files.
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && proto/generate $(BIN) "$$folder" \
	  && diff -r -x __pycache__ "$$folder/handrail" proto/python/handrail \
	  || { echo "generated code is out of date: run make generate and commit the result"; exit 1; }

check: lint typecheck check-generated test  ## Everything CI checks.

format: .venv/editable  ## Format the sources.
	@$(BIN)/ruff check --fix $(SOURCES)
	@$(BIN)/ruff format $(SOURCES)
	@cd proto && ../$(BIN)/buf format -w

# The environment is made anew only when the lock changed; the project itself is linked into it in a second.
.venv/installed: requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Handrail needs Python 3.11 or newer: make PYTHON=python3.12 ..."; exit 1; }
	@echo "Making .venv from requirements.lock (about half a minute)..."
	@$(PYTHON) -m venv --clear .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@touch $@

.venv/editable: .venv/installed pyproject.toml
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@
