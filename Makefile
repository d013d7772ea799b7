# Two commands for a newcomer, each of which makes .venv first: `make demo` and `make test`.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
JOBS ?= 2
BENCH := runs/bench
json_of = throughput_$$(echo "$(1)" | tr -cs 'a-z0-9\n' _ | sed 's/_$$//').json

.PHONY: help demo test test-all check docs bench clean

help:
	@echo "make demo      train an agent from nothing and watch it play (about a minute)"
	@echo "make test      the fast tests, compiled without optimisation (under ten minutes)"
	@echo "make test-all  all tests, compiled as for users"
	@echo "make check     lint and types"
	@echo "make docs      the site of the docs, in site/"
	@echo "make bench     how fast: the games, peers beside them, what has become slow (half an hour)"
	@echo "make clean     remove .venv, caches, the site and the demo's run"

# Each stamp says what is installed, and is made again when pyproject.toml changes; a half-made .venv has none.
$(VENV)/for-demo: pyproject.toml
	@echo "making $(VENV) and installing JAX and what training needs, once (a minute or two) ..."
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.11 ...")'
	@$(PYTHON) -m venv $(VENV) || { echo "python needs its venv module: on Debian, apt install python3-venv"; exit 1; }
	@$(RUN) -m pip install --quiet --disable-pip-version-check --editable ".[train,render]"
	@touch $@

$(VENV)/for-tests: $(VENV)/for-demo
	@echo "installing what the tests need, once ..."
	@$(RUN) -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	@touch $@

$(VENV)/for-docs: $(VENV)/for-demo
	@echo "installing what builds the site, once ..."
	@$(RUN) -m pip install --quiet --disable-pip-version-check --editable ".[docs]"
	@touch $@

demo: $(VENV)/for-demo
	@$(RUN) -m examples.demo

test: $(VENV)/for-tests
	$(RUN) -m pytest -n $(JOBS) --dist loadgroup -m "not slow" --quick

test-all: $(VENV)/for-tests
	$(RUN) -m pytest -n $(JOBS) --dist loadgroup

check: $(VENV)/for-tests
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/pyright

docs: $(VENV)/for-docs
	$(RUN) -m zensical build --clean --strict

# Half an hour: JSON in $(BENCH), named in the last line. Fails if a game has become slow or a peer did not run. What is
# for machines with accelerators (benchmarks.roofline) and for long nights (benchmarks.training --setting large) is not here.
bench: $(VENV)/for-tests
	@mkdir -p $(BENCH)
	for game in "chinese_checkers(size=2, num_players=6)" "chinese_checkers(size=4, num_players=6)"; do \
	    $(RUN) -m benchmarks.throughput --env "$$game" --output $(BENCH)/$(call json_of,$$game) || exit 1; done
	for game in "chinese_checkers_diamond(size=4, pieces=3)" "chinese_checkers_diamond" "minichess" "minichess(rules=king_capture)" "dots_and_boxes" "checkers"; do \
	    $(RUN) -m benchmarks.throughput --env "$$game" --batch-sizes 1024 --columns "random play" step --output $(BENCH)/$(call json_of,$$game) || exit 1; done
	$(RUN) -m benchmarks.sweep --one-core --output $(BENCH)/sweep.json --pictures $(BENCH) > /dev/null
	$(RUN) -m benchmarks.training --output $(BENCH)/training.json --picture $(BENCH)/ppo_breakdown.svg > /dev/null
	$(RUN) -m benchmarks.scaling --virtual-devices --output $(BENCH)/scaling.json > /dev/null
	$(RUN) -m benchmarks.sharing > $(BENCH)/sharing.json
	$(RUN) -m benchmarks.convolutions > $(BENCH)/convolutions.json
	@$(RUN) -m benchmarks.peers --output $(BENCH)/peers.json; failed=$$?; \
	    $(RUN) -m benchmarks.baseline --output $(BENCH)/baseline.json > /dev/null; slow=$$?; \
	    echo "figures:" $(BENCH)/*.json; exit $$((failed + slow))

clean:
	rm -rf $(VENV) .jax_cache .pytest_cache .ruff_cache .hypothesis .cache site runs/demo
