# Each target does all of its own set-up: python3 (3.11 or newer, with venv), git and make are enough.
# PYTHON picks another interpreter, VENV another folder.

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
GROUPS_TEST = --group test --group providers --group peers

.PHONY: test lint format demo bench clean

test: lint $(VENV)/.node
	$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: $(VENV)/.test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: $(VENV)/.test
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

demo: $(VENV)/.run
	$(BIN)/portable-checkpoint demo

bench: $(VENV)/.test
	$(BIN)/python -m benchmarks.compare $(BENCH_ARGS)

clean:
	rm -rf $(VENV) dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

# Stamps: a set-up that is newer than the package's description is not done again.
$(VENV)/.run: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; say PYTHON=python3.x"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable '.[all]'
	touch $@

$(VENV)/.test: $(VENV)/.run
	$(BIN)/python -m pip install --quiet --editable '.[all]' $(GROUPS_TEST)
	touch $@

# What the readers in JavaScript need. Without npm their tests skip, and fail where CI is set.
$(VENV)/.node: $(wildcard tests/readers/package*.json) | $(VENV)/.test
	if command -v npm >/dev/null && test -f tests/readers/package-lock.json; then \
	  npm ci --prefix tests/readers --no-audit --no-fund --loglevel=error; fi
	touch $@
