# The loop of a developer. `make` lists the targets; CONTRIBUTING.md tells when to use which.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

SEED ?= 7
PAGES ?= 2000
PORT ?= 8000
JOBS ?= $(shell expr 2 '*' $$(nproc))

COMPILED := $(wildcard src/orbweb/*.pyx src/orbweb/*/*.pyx src/orbweb/*/*.pxd) hatch_build.py

SECONDS ?= 60
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer

.DEFAULT_GOAL := help
.PHONY: help dev demo check test crash fuzz bench site docs clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-7s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.package: pyproject.toml $(COMPILED) | $(BIN)/python
	$(PIP) -e .
	@touch $@

$(VENV)/.dev: pyproject.toml $(COMPILED) | $(BIN)/python
	$(PIP) -e '.[dev]'
	@touch $(VENV)/.package $@

$(VENV)/.bench: pyproject.toml $(VENV)/.package
	$(PIP) -e '.[bench]'
	@touch $@

dev: $(VENV)/.dev ## make .venv with orbweb and the tools; quick when nothing changed

demo: $(VENV)/.package ## crawl the bundled site, served on loopback
	@code=0; $(BIN)/orbweb demo || code=$$?; \
	if [ $$code -ne 0 ] && [ $$code -ne 3 ]; then exit $$code; fi; \
	echo "The site has one broken link on purpose. List the pages: $(BIN)/orbweb pages demo"

check: $(VENV)/.dev ## format, lint, types and import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	PATH=$(CURDIR)/$(BIN):$$PATH cython-lint src
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

test: check ## check, and every test that is not marked long: side by side (JOBS), then those marked alone
	@code=0; \
	$(BIN)/pytest -m 'not long and not alone' --numprocesses $(JOBS) || code=$$?; \
	echo "Now the tests that are marked alone, one after the other."; \
	$(BIN)/pytest -m 'alone and not long' || code=$$?; \
	exit $$code

crash: $(VENV)/.dev ## the long proofs: many kills, many crawls
	$(BIN)/pytest -m long --timeout 7200 tests/crash tests/site tests/faults tests/growth tests/security

build/fuzz/.built: $(COMPILED) $(wildcard src/orbweb/*.py src/orbweb/*/*.py) | $(VENV)/.dev
	rm -rf build/fuzz/package
	CFLAGS="$(SANITIZE)" LDFLAGS="$(SANITIZE)" $(PIP) --no-deps --target build/fuzz/package .
	@touch $@

fuzz: build/fuzz/.built ## hostile pages through a build with sanitizers; SECONDS, SEED, and INPUT for one file
	@cd tests && exec ../$(BIN)/python -m fuzz --seconds $(SECONDS) \
		$(if $(filter command,$(origin SEED)),--seed $(SEED)) $(if $(INPUT),--input $(abspath $(INPUT)))

bench: $(VENV)/.bench ## speed and memory beside other crawlers, on this machine
	@echo "Needs: apt-get install nginx python3.11-doc postgresql-doc-15 cmake-doc"
	$(BIN)/python bench/run.py
	$(BIN)/python bench/help_time.py
	$(BIN)/python bench/million.py

site: $(VENV)/.package ## serve the random-graph site until Ctrl-C; SEED, PAGES and PORT can be set
	@echo "http://127.0.0.1:$(PORT)/ (graph $(SEED), $(PAGES) URLs)"
	@cd tests && exec ../$(BIN)/python -m servers.site --seed $(SEED) --pages $(PAGES) --port $(PORT)

docs: $(VENV)/.package ## write docs/reference anew from the code
	$(BIN)/python docs/reference/generate.py

clean: ## remove caches and builds, not .venv and not orbweb-data
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests bench docs -name __pycache__ -type d -prune -exec rm -rf {} +
