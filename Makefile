# Two commands for a newcomer, each of which makes .venv first: `make demo` and `make test`.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
JOBS ?= 2

.PHONY: help demo test test-all test-browser mutation check dist-check dist-check-extras docs agents bench compiled clean

help:
	@echo "make demo      train an agent from nothing and watch it play (about a minute)"
	@echo "make test      the fast tests, compiled without optimisation (under ten minutes)"
	@echo "make test-all  all tests, compiled as for users (an hour); a part: make test-all TESTS=tests/train"
	@echo "make test-browser  the tests of the page, which need Chromium: apt-get install chromium"
	@echo "make mutation  the share of small changes to the games, searches and learners that a fast test catches (hours; resumes)"
	@echo "make check     lint, types, and the tests of docs and tools"
	@echo "make dist-check         build the package, and try it in a fresh environment (a few minutes)"
	@echo "make dist-check-extras  try each extra alone, and test the adapters to gymnax and JaxMARL (about ten minutes)"
	@echo "make docs      the site of the docs, in site/ (a minute; the first time a few)"
	@echo "make agents    train the baseline agents again (more than an hour; runs in runs/baselines)"
	@echo "make bench     speed: the games, their peers, whether a game has become slow (half an hour)"
	@echo "make compiled  the games compiled for an H200 and for a TPU: whether one needs more kernels or bytes (a quarter of an hour to an hour)"
	@echo "make clean     remove .venv and .venv-aot, caches, the site and the demo's run"

# Each stamp says what is installed, and is made again when pyproject.toml changes; a half-made .venv has none.
$(VENV)/for-demo: pyproject.toml
	@echo "making $(VENV) and installing JAX and what training needs, once (a minute or two) ..."
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.11 ...")'
	@$(PYTHON) -m venv $(VENV) || { echo "python needs its venv module: on Debian, apt install python3-venv"; exit 1; }
	@$(RUN) -m pip install --quiet --disable-pip-version-check --editable ".[train,search,render]"
	@touch $@

$(VENV)/for-tests: $(VENV)/for-demo
	@echo "installing what the tests need, once (a few minutes) ..."
	@$(RUN) -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	@touch $@

$(VENV)/for-docs: $(VENV)/for-demo
	@echo "installing what builds the site, once (a minute or two) ..."
	@$(RUN) -m pip install --quiet --disable-pip-version-check --editable ".[docs]"
	@touch $@

demo: $(VENV)/for-demo
	@$(RUN) -m examples.demo

# Test modules are compiled to bytecode once, in environments too that switch this off.
test: $(VENV)/for-tests
	PYTHONDONTWRITEBYTECODE= $(RUN) -m pytest -n $(JOBS) --dist loadgroup -m "not slow" --quick --cpu --ignore=tests/repo

TESTS ?= tests
test-all: $(VENV)/for-tests
	$(RUN) -m pytest -n $(JOBS) --dist loadgroup $(TESTS)

test-browser: $(VENV)/for-tests
	$(RUN) -m pytest -n $(JOBS) -m browser --quick

# The results are in runs/mutation/, so a second time it resumes. One module: python -m tests.mutation --help
CHANGES ?= 40
MUTATED := jaxgames.games jaxgames.env jaxgames.wrappers jaxgames.arena jaxgames.agents jaxgames.mcts jaxgames.solvers train.ops train.ppo train.klent train.alphazero train.imitation
MUTATION = $(RUN) -m tests.mutation --changes $(CHANGES)
mutation: $(VENV)/for-tests
	for module in $(MUTATED); do $(MUTATION) --module $$module --results runs/mutation/$$module.jsonl || exit 1; done
	JAXGAMES_FORMS=library $(MUTATION) --module jaxgames.games --results runs/mutation/jaxgames.games.library.jsonl

check: $(VENV)/for-tests
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/pyright
	$(RUN) -m pytest -q -n $(JOBS) -m "not slow" --quick tests/repo

# Both make environments of their own in a temporary folder. The packages that passed are in dist/.
dist-check: $(VENV)/for-demo
	$(RUN) -m tests.distribution

dist-check-extras: $(VENV)/for-demo
	$(RUN) -m tests.distribution extras

docs: $(VENV)/for-docs
	@echo "building the site (about ten seconds) ..."
	@$(RUN) -m zensical build --clean --strict
	@echo "the site is in site/; to read it: $(RUN) -m http.server -d site, then http://localhost:8000 in a browser"

# A second time it resumes: finished commands are not repeated. One agent: python -m train.baselines minichess
agents: $(VENV)/for-tests
	$(RUN) -m train.baselines

# Half an hour. Each command names its JSON in $(BENCH). Fails if a game has become slow or a peer did not run. Not here:
# benchmarks.device, for a machine with a GPU.
BENCH := runs/bench
bench: $(VENV)/for-tests
	$(RUN) -m benchmarks.envs --output $(BENCH) --one-core --picture $(BENCH)/envs.svg > /dev/null
	$(RUN) -m benchmarks.training --output $(BENCH) --picture $(BENCH)/ppo_breakdown.svg > /dev/null
	$(RUN) -m benchmarks.training --learner alphazero --output $(BENCH)/training_alphazero.json > /dev/null
	$(RUN) -m benchmarks.training_peers --output $(BENCH) > /dev/null
	$(RUN) -m benchmarks.search --output $(BENCH) --picture $(BENCH)/search_by_simulations.svg > /dev/null
	@$(RUN) -m benchmarks.peers --output $(BENCH); failed=$$?; \
	    $(RUN) -m benchmarks.regression --output $(BENCH) > /dev/null; slow=$$?; \
	    echo "figures:" $(BENCH)/*.json; exit $$((failed + slow))

# No device is needed: nothing of what is compiled runs. The packages of the compilers are large, so $(VENV) lacks them.
AOT := .venv-aot
$(AOT)/for-compiled: pyproject.toml
	@echo "making $(AOT) with the compilers for GPUs and TPUs, once (a minute or two) ..."
	@$(PYTHON) -m venv $(AOT)
	@$(AOT)/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[train,search,aot]"
	@touch $@

compiled: $(AOT)/for-compiled
	$(AOT)/bin/python -m benchmarks.compiled --check > /dev/null

clean:
	rm -rf $(VENV) $(AOT) .jax_cache .pytest_cache .ruff_cache .hypothesis .cache site runs/demo
