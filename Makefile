# Two commands for a newcomer, each of which makes .venv first: `make demo` and `make test`.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
JOBS ?= 2

.PHONY: help demo test test-all check bench clean

help:
	@echo "make demo      train an agent from nothing and watch it play (about a minute)"
	@echo "make test      the fast tests (under ten minutes)"
	@echo "make test-all  all tests"
	@echo "make check     lint and types"
	@echo "make bench     steps per second of the games"
	@echo "make clean     remove .venv, caches and the demo's run"

# Installed again whenever the dependencies change. A half-made .venv has no stamp and is mended.
$(VENV)/installed: pyproject.toml
	@echo "making $(VENV) and installing what is needed, once (a minute or two) ..."
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.11")'
	@$(PYTHON) -m venv $(VENV)
	@$(RUN) -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	@touch $@

demo: $(VENV)/installed
	@$(RUN) -m examples.demo

test: $(VENV)/installed
	$(RUN) -m pytest -n $(JOBS) -m "not slow"

test-all: $(VENV)/installed
	$(RUN) -m pytest -n $(JOBS)

check: $(VENV)/installed
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/pyright

bench: $(VENV)/installed
	$(RUN) -m benchmarks.throughput --env "chinese_checkers(size=2, num_players=6)"
	$(RUN) -m benchmarks.throughput --env "chinese_checkers(size=4, num_players=6)"

clean:
	rm -rf $(VENV) .jax_cache .pytest_cache .ruff_cache .hypothesis runs/demo
