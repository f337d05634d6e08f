# Two commands: `make demo` shows what Discreet does, `make test` checks that it is right.
# Both set up a .venv of their own first.

VENV   := .venv
BIN    := $(VENV)/bin
PYTHON ?= $(shell command -v python3.11 || command -v python3)
# Two for each of two cores: a worker waits for disks, servers and pages half of its time.
JOBS   ?= 4
# Where thousands of small ledgers are synchronised: in memory, if there are two gigabytes for it and
# programs may run there, tests wait half as long. `make soak` writes to the disk.
MEMORY ?= $(shell sh scripts/memory.sh)
# Compiled files are kept, whatever is set outside: without them every process compiles everything.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test lint types contracts tests coverage docs audit soak bench pins clean help

help:
	@echo "make demo    set up and run the main job on the bundled example"
	@echo "make test    set up and run every check (lint, types, imports, tests, doctests, README)"
	@echo "make coverage run the tests and say what they leave out; fails below the marks"
	@echo "make soak    every test at its full length; a fault at every step, neighbours, edits of reports"
	@echo "make audit   attack every kind of release, at length"
	@echo "make bench   measure beside peers; tables in docs/benchmarks.md"
	@echo "make docs    build the documentation into site/"
	@echo "make pins    pin anew what the demo installs (needs uv)"
	@echo "make clean   remove the environment and everything that was made"

$(VENV)/.ready-demo: pyproject.toml requirements-demo.txt scripts/setup.sh
	@sh scripts/setup.sh "$(PYTHON)" $(VENV) ".[all]" requirements-demo.txt
	@touch $@

$(VENV)/.ready-test: pyproject.toml scripts/setup.sh scripts/system.sh
	@sh scripts/system.sh
	@sh scripts/setup.sh "$(PYTHON)" $(VENV) ".[test]"
	@touch $@ $(VENV)/.ready-demo

demo: $(VENV)/.ready-demo
	@$(BIN)/python examples/demo.py

# Types are checked while tests run; what was found is printed below their results.
test: lint contracts
	@$(BIN)/mypy > $(VENV)/.types 2>&1 & types=$$!; \
	$(MAKE) --no-print-directory tests; tests=$$?; \
	wait $$types; types=$$?; cat $(VENV)/.types; exit $$((tests | types))

lint: $(VENV)/.ready-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.ready-test
	$(BIN)/mypy

contracts: $(VENV)/.ready-test
	$(BIN)/lint-imports

tests: $(VENV)/.ready-test
	@if [ -n "$(MEMORY)" ]; then \
	    scratch=$$(mktemp -d $(MEMORY)/discreet-tests-XXXXXX) && chmod 1777 "$$scratch" \
	    && trap 'rm -rf "$$scratch"' EXIT && trap 'exit 130' INT TERM && export TMPDIR="$$scratch"; \
	fi; $(BIN)/python -m pytest -n $(JOBS) --durations=10

coverage: $(VENV)/.ready-test
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n $(JOBS)
	$(BIN)/coverage combine -q
	$(BIN)/coverage json -q -o .coverage.json
	$(BIN)/python scripts/marks.py .coverage.json

docs: $(VENV)/.ready-test
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build
	@echo "Open site/index.html in a browser."

# Every test, with every example that it has; then kills and cuts, a fault at every step, neighbours.
soak: $(VENV)/.ready-test
	$(BIN)/python -m pytest -n $(JOBS) -m "" --hypothesis-profile soak --durations=10
	$(BIN)/python -m benchmarks.soak
	$(BIN)/python -m benchmarks.cuts
	$(BIN)/python -m benchmarks.campaign
	$(BIN)/python -m benchmarks.neighbours
	$(BIN)/python tests/reports/mutations.py
	$(BIN)/python -m benchmarks.fuzzing
	$(BIN)/python -m benchmarks.mends

audit: $(VENV)/.ready-test
	$(BIN)/python -m benchmarks.audit

bench: $(VENV)/.ready-test
	$(BIN)/python -m benchmarks

# Pins that are within the ranges stay as they are; UPGRADE=--upgrade takes the newest.
pins:
	uv pip compile --quiet $(UPGRADE) --universal --python-version 3.11 --generate-hashes \
	    --extra all --group build --no-annotate --custom-compile-command "make pins" \
	    --no-emit-index-url --no-emit-find-links --output-file requirements-demo.txt pyproject.toml

clean:
	rm -rf $(VENV) out site build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
