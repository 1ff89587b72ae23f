# The loop of a developer. `make` lists the targets; CONTRIBUTING.md tells when to use which.

SHELL := bash
.SHELLFLAGS := -o pipefail -c

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TOOLS := $(VENV)/tools
SITE := $(VENV)/site
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

SEED ?= 7
PAGES ?= 2000
PORT ?= 8000
JOBS ?= $(shell expr 2 '*' $$(getconf _NPROCESSORS_ONLN))

LOCK := $(TOOLS)/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-annotate \
	--custom-compile-command 'make lock'
BUILD_REQUIRES := $(PYTHON) -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")'
CLIENT_REQUIRES := $(PYTHON) -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["llamaindex"], sep="\n")'

COMPILED := $(wildcard $(foreach depth,* */* */*/*,src/orbweb/$(depth).pyx src/orbweb/$(depth).pxd)) hatch_build.py

# The interpreters that `make wheels` builds for: those at hand.
PYTHONS ?= $(shell for each in 3.11 3.12 3.13 3.14; do if python$$each -c '' 2>/dev/null; then echo python$$each; fi; done)
UV_BUILD := $(TOOLS)/bin/uv build --require-hashes --build-constraints locks/dev.txt

SECONDS ?= 60
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer

.DEFAULT_GOAL := help
.PHONY: help dev demo check clients quick test busy crash fuzz long bench bench-server serve site docs picture screens site-docs wheel wheels sdist lock sbom audit clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(BIN)/python:
	@echo "Creating $(VENV)"
	@$(PYTHON) -m venv $(VENV)

# What an installation depends on. The rest of pyproject.toml are settings of tools: nothing is compiled again for them.
$(VENV)/.project: pyproject.toml | $(BIN)/python
	@$(BIN)/python -c 'import json, tomllib; found = tomllib.load(open("pyproject.toml", "rb")); \
		print(json.dumps([found["build-system"], found["project"], found["tool"]["hatch"]], indent=1))' > $@.new
	@cmp -s $@.new $@ || cp $@.new $@
	@rm $@.new

# pip says all of it, for the log; the terminal gets a line per package and per file that is compiled.
$(VENV)/.package: $(VENV)/.project $(COMPILED) | $(BIN)/python
	@echo "Installing orbweb into $(VENV): half a minute to a minute, most of it to compile (log: $(VENV)/install.log)"
	@$(BIN)/python -m pip install --verbose --disable-pip-version-check -e . 2>&1 | tee $(VENV)/install.log | awk ' \
		/Installing build dependencies.*started/ { print "  installing what compiles"; fflush() } \
		/^ *orbweb: / { sub(/^ *orbweb: /, "  "); print; fflush() } \
		/^ *(Collecting|Processing) / { sub(/.*\//, "", $$2); print "  fetching " $$2; fflush() } \
		/^Installing collected packages/ { print "  installing " NF - 3 " packages"; fflush() }' \
		|| { cat $(VENV)/install.log; exit 1; }; \
	echo "  installed in $$SECONDS s"
	@touch $@

# From the lock, with hashes, also what compiles; the project itself cannot have one.
$(VENV)/.dev: $(VENV)/.project locks/dev.txt $(COMPILED) | $(BIN)/python
	$(PIP) --require-hashes --requirement locks/dev.txt
	$(PIP) --no-deps --no-build-isolation -e .
	@touch $(VENV)/.package $@

$(TOOLS)/.ready: locks/tools.txt
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement locks/tools.txt
	@touch $@

# MkDocs and its theme, and the scripts that the theme would fetch from a CDN.
$(SITE)/.ready: locks/site.txt locks/npm.py
	$(PYTHON) -m venv $(SITE)
	$(SITE)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement locks/site.txt
	$(SITE)/bin/python locks/npm.py site $(SITE)/scripts
	@touch $@

# What the tests of the interface need besides a Chromium.
$(VENV)/browser/.ready: locks/npm.py
	$(PYTHON) locks/npm.py browser $(VENV)/browser
	@touch $@

$(VENV)/.bench: $(VENV)/.project $(VENV)/.package
	$(PIP) -e '.[bench]'
	@touch $@

dev: $(VENV)/.dev ## make .venv with orbweb and the tools; quick when nothing changed

demo: $(VENV)/.package ## install, crawl the bundled site, served on loopback, and say what to do next
	@code=0; $(BIN)/orbweb demo || code=$$?; \
	if [ $$code -ne 0 ] && [ $$code -ne 3 ]; then exit $$code; fi; \
	printf '\nIt works. The site has one broken link on purpose. Next:\n'; \
	printf '  %-46s # %s\n' \
		"ls $${ORBWEB_WORKSPACE:-orbweb-data}/demo-markdown" "the Markdown files" \
		"$(BIN)/orbweb pages demo" "the pages" \
		"$(BIN)/orbweb failed demo" "the broken link" \
		"$(BIN)/orbweb crawl https://example.com/" "a site of your choice" \
		"$(BIN)/orbweb --help" "everything else"

# Beside the packages of .venv, not among them: they are more than everything else together.
$(VENV)/clients/.ready: locks/clients.txt | $(VENV)/.dev
	rm -rf $(VENV)/clients
	$(PIP) --require-hashes --target $(VENV)/clients --requirement locks/clients.txt
	@touch $@

clients: $(VENV)/clients/.ready ## the tests of orbweb.integrations, with llama-index-core too
	$(BIN)/pytest tests/integrations

check: $(VENV)/.dev ## format, lint, types and import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	PATH=$(CURDIR)/$(BIN):$$PATH cython-lint src
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

quick: $(VENV)/.dev ## unit and contract tests alone, in under a minute
	$(BIN)/pytest -m 'not long and not alone' --numprocesses $(JOBS) tests/unit tests/contract tests/extraction tests/parsing

test: check $(VENV)/browser/.ready ## check, and every test that is not marked long: side by side (JOBS), then those marked alone
	@code=0; \
	$(BIN)/pytest -m 'not long and not alone' --numprocesses $(JOBS) || code=$$?; \
	echo "Now the tests that are marked alone, one after the other."; \
	$(BIN)/pytest -m 'alone and not long' || code=$$?; \
	exit $$code

busy: $(VENV)/.dev ## make test while two processes burn processor time beside it
	$(BIN)/python tests/burners.py $(MAKE) test

crash: $(VENV)/.dev ## the long proofs: many kills, many crawls
	START_FROM_NOTHING=1 $(BIN)/pytest -m long --timeout 7200 tests/crash tests/site tests/faults tests/growth tests/security

long: crash fuzz ## the long form of CI: the long proofs, and a minute of fuzzing

build/fuzz/.built: $(COMPILED) $(wildcard src/orbweb/*.py src/orbweb/*/*.py) | $(VENV)/.dev
	rm -rf build/fuzz/package
	CFLAGS="$(SANITIZE)" LDFLAGS="$(SANITIZE)" $(PIP) --no-deps --target build/fuzz/package .
	@touch $@

fuzz: build/fuzz/.built ## hostile pages through a build with sanitizers; SECONDS, SEED, and INPUT for one file
	@cd tests && exec ../$(BIN)/python -m fuzz --seconds $(SECONDS) \
		$(if $(filter command,$(origin SEED)),--seed $(SEED)) $(if $(INPUT),--input $(abspath $(INPUT)))

bench-server: $(VENV)/.bench ## every list of a served project of 1,000,000 pages, and the cost of a live page
	$(BIN)/python bench/server.py --cache build/bench
	$(BIN)/python bench/live.py

bench: $(VENV)/.bench ## speed and memory beside other crawlers, on this machine
	@echo "Needs: apt-get install nginx wget2 python3.11-doc postgresql-doc-15 cmake-doc"
	$(BIN)/python bench/run.py
	$(BIN)/python bench/help_time.py
	$(BIN)/python bench/million.py

serve: $(VENV)/.dev ## serve the bundled site, crawled, with the web interface
	@exec $(BIN)/orbweb serve --demo

site: $(VENV)/.package ## serve the random-graph site until Ctrl-C; SEED, PAGES and PORT can be set
	@echo "http://127.0.0.1:$(PORT)/ (graph $(SEED), $(PAGES) URLs)"
	@cd tests && exec ../$(BIN)/python -m servers.site --seed $(SEED) --pages $(PAGES) --port $(PORT)

docs: $(VENV)/.dev ## write docs/reference anew from the code
	$(BIN)/python docs/reference/generate.py

picture: $(VENV)/.dev ## take the pictures of the README anew: a crawl in a terminal, and in the interface
	$(BIN)/python docs/pictures/record.py docs/pictures/crawl.svg
	cd tests && exec ../$(BIN)/python -m browser.screens --picture ../docs/pictures/interface.png

screens: $(VENV)/.dev ## build/screens: pictures of every page of the interface; ONLY="live failed" for some
	cd tests && exec ../$(BIN)/python -m browser.screens --out ../build/screens $(ONLY)

site-docs: $(SITE)/.ready ## build/site: the documentation as a site, every link and anchor in it checked
	NO_MKDOCS_2_WARNING=1 $(SITE)/bin/mkdocs build --quiet --clean
	$(SITE)/bin/python docs/site/check.py build/site
	@echo "build/site/index.html; no server is needed"

wheel: ## make wheels, for this Python alone
	$(MAKE) wheels PYTHONS=$(PYTHON)

sdist: $(TOOLS)/.ready ## build dist/*.tar.gz
	rm -f dist/orbweb-*.tar.gz
	$(UV_BUILD) --sdist --out-dir dist

wheels: sdist ## build dist/*.whl from the sdist, one per interpreter at hand (PYTHONS), for all recent Linux
	rm -rf build/wheels dist/orbweb-*.whl
	for each in $(PYTHONS); do $(UV_BUILD) --wheel --python $$each --out-dir build/wheels dist/orbweb-*.tar.gz || exit 1; done
	PATH=$(CURDIR)/$(TOOLS)/bin:$$PATH auditwheel repair --wheel-dir dist build/wheels/*.whl
	$(PYTHON) tests/release/runpaths.py dist/*.whl

lock: $(TOOLS)/.ready ## write locks/ anew: the latest versions that pyproject.toml allows, with hashes
	$(BUILD_REQUIRES) | $(LOCK) --extra dev --extra serve --extra tokens --extra lmdb --extra langchain --output-file locks/dev.txt pyproject.toml -
	$(LOCK) --constraint locks/dev.txt --output-file locks/run.txt pyproject.toml
	$(CLIENT_REQUIRES) | $(LOCK) --constraint locks/dev.txt --output-file locks/clients.txt -
	$(LOCK) --output-file locks/tools.txt locks/tools.in
	$(LOCK) --output-file locks/site.txt locks/site.in

sbom: $(TOOLS)/.ready ## write dist/orbweb.cdx.json: what an installed orbweb consists of (CycloneDX)
	@mkdir -p dist
	$(TOOLS)/bin/cyclonedx-py requirements --pyproject pyproject.toml --mc-type application --output-reproducible \
		--output-file dist/orbweb.cdx.json locks/run.txt

audit: $(TOOLS)/.ready ## look the locked versions up among known vulnerabilities; needs the network
	$(TOOLS)/bin/python locks/audit.py locks/dev.txt locks/clients.txt locks/tools.txt locks/site.txt

clean: ## remove caches and builds, not .venv and not orbweb-data
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests bench docs -name __pycache__ -type d -prune -exec rm -rf {} +
