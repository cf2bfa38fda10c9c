# Set-up, the main job and the tests. `make help` lists what there is.
# PYTHON=python3.12 chooses the interpreter; ARGS="--config depth=max" goes to snakemake, or to pytest.
PYTHON ?= python3
ARGS ?=
# Relative, so that a checkout may lie in a folder with spaces in its name.
BIN := .venv/bin
RUN := PATH="$(CURDIR)/$(BIN):$$PATH"

.DEFAULT_GOAL := help
.PHONY: help setup tables test lint format locks check-locks clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | column -t -s '|' 2>/dev/null \
	  || sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1: \2/p' Makefile

setup: ## build .venv from the hashed lock; does nothing where it is up to date
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "setup: '$(PYTHON)' does not run, or is older than Python 3.11; choose one: make $(MAKECMDGOALS) PYTHON=/path/to/python3.11" >&2; \
	  exit 1; }
	@$(PYTHON) -B scripts/bootstrap.py

tables: setup ## measure the demo campaign and make its tables and figures
	@$(RUN) snakemake paper_tables $(ARGS)

test: lint ## every check and every test
	@$(RUN) pytest $(ARGS)

lint: setup ## style, lock drift and Snakemake's own lint
	@$(RUN) ruff check .
	@$(RUN) ruff format --check .
	@$(RUN) snakefmt --check Snakefile workflow/rules
	@$(RUN) python scripts/lock_envs.py --check
	@$(RUN) python scripts/check_lint.py

format: setup ## write what ruff and snakefmt would
	@$(RUN) ruff check --fix .
	@$(RUN) ruff format .
	@$(RUN) snakefmt Snakefile workflow/rules

locks: setup ## lock the environments again after an edit of envs/*.in (needs the registry)
	@$(RUN) python scripts/lock_envs.py

check-locks: setup ## check that the locks are those of envs/*.in
	@$(RUN) python scripts/lock_envs.py --check

clean: ## remove the caches of tools; results and environments stay
	@rm -rf .pytest_cache .ruff_cache .hypothesis
	@find scripts tests workflow -type d -name __pycache__ -prune -exec rm -rf {} +
