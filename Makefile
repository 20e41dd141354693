# Two commands matter: `make demo` shows the product, `make test` proves it.
# Each sets up everything it needs in .venv; uv is used when it is there or can be installed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNTIME_STAMP := $(VENV)/.runtime-installed
DEV_STAMP := $(VENV)/.dev-installed
BROWSER_STAMP := $(VENV)/.browser-installed
WORKERS ?= auto
DOCS := $(VENV)/docs
DOCS_STAMP := $(DOCS)/.installed
UV := $(shell command -v uv 2>/dev/null)

.PHONY: demo demo-lanes demo-board test browser pictures test-clients truth truth-lanes truth-tools fast-test lint types imports budgets names docs docs-site check bench bench-steering soak pins dist clean help

help: ## Show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

demo: $(RUNTIME_STAMP) ## Watch an agent lie and signoff refuse it, on the embedded database
	$(BIN)/python examples/demo/run_demo.py

demo-lanes: $(RUNTIME_STAMP) ## Watch three agents work at once; one cheats, two collide, and it is signed off
	$(BIN)/python examples/demo/run_lanes.py

demo-board: $(DEV_STAMP) ## Three plans at work, on a page that you open; Ctrl-C ends it
	$(BIN)/python examples/demo/run_board.py

test: $(DEV_STAMP) ## Everything: SQLite and a real PostgreSQL, in parallel, with coverage of the core
	rm -f .coverage .coverage.*
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --cov --cov-report=
	$(BIN)/python -m coverage report --fail-under=95

test-clients: $(DEV_STAMP) ## Real clients from npm, headless, against a scripted model
	SIGNOFF_TEST_CLIENTS=1 $(BIN)/python -m pytest tests/clients -q

browser: $(BROWSER_STAMP) ## Install Chromium (as root) and axe-core, so that `make test` tries the board in it

pictures: $(DEV_STAMP) $(BROWSER_STAMP) ## Take the pictures of the board in docs/pictures again
	SIGNOFF_PICTURES=docs/pictures $(BIN)/python -m pytest tests/board/test_in_chromium.py -q

truth: $(DEV_STAMP) ## Both corpora in every sandbox that works here: liars refused, honest work signed off
	$(BIN)/python truth/run.py --isolation all

truth-lanes: $(DEV_STAMP) ## The same in lanes: `run --jobs 4`, with an independent step beside each case
	$(BIN)/python truth/run.py --isolation all --lanes

truth-tools: $(DEV_STAMP) ## Runners from npm and PyPI for `make truth`, once, in the user's cache folder
	$(BIN)/python truth/tools.py

fast-test: $(DEV_STAMP) ## The same without coverage
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q

lint: $(DEV_STAMP) ## Style and banned calls
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(DEV_STAMP) ## mypy, strict
	$(BIN)/mypy

imports: $(DEV_STAMP) ## Rooms import only downwards
	$(BIN)/lint-imports

budgets: $(DEV_STAMP) ## The house is no larger than budgets.toml says
	$(BIN)/python scripts/budgets.py

names: $(DEV_STAMP) ## No class name twice, none with a retired word; docstrings begin with a verb or a noun
	$(BIN)/python scripts/names.py

docs: $(DEV_STAMP) ## Generated reference pages are up to date
	$(BIN)/python scripts/reference.py --check

docs-site: $(DOCS_STAMP) ## The pages as a site with search, in site/; a broken link fails
	$(DOCS)/bin/zensical build --strict --clean
	$(DOCS)/bin/python scripts/loads.py site
	@echo "to read and search it: python3 -m http.server --directory site"

check: lint types imports budgets names docs ## Everything that is not a test

bench: $(DEV_STAMP) ## Speed as ratios to a floor measured in the same run
	$(BIN)/python bench/bench.py

bench-steering: $(DEV_STAMP) ## Habits of weak models, with the tool-batch runtime and without it
	$(BIN)/python bench/steering/bench_steering.py

soak: $(DEV_STAMP) ## Thousands of kills and hostile contracts; takes hours
	$(BIN)/python -m pytest tests/crash tests/process/test_hostile_contracts.py tests/cli/test_lanes_at_random.py -q -n $(WORKERS) --soak

pins: $(DEV_STAMP) ## Write the constraint files again
	$(BIN)/python scripts/pins.py

dist: $(DEV_STAMP) ## Wheel and source distribution, in dist/
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist -t sdist -t wheel

clean: ## Remove what make made
	rm -rf $(VENV) dist site .cache .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis .coverage*

$(VENV)/pyvenv.cfg:
	$(PYTHON) -c 'import sys; sys.exit("signoff needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	-@test -n "$(UV)" || $(BIN)/python -m pip install --quiet --disable-pip-version-check uv

# uv from the PATH, else the one just installed into .venv; pip where uv is missing or fails
# (it reads other settings for indexes and certificates than pip does).
INTO = $(BIN)
INSTALL = uv="$(UV)"; [ -n "$$uv" ] || uv=$(BIN)/uv; \
	"$$uv" pip install --quiet --python $(INTO)/python "$$@" 2>/dev/null \
	|| $(INTO)/python -m pip install --quiet --disable-pip-version-check "$$@"

$(RUNTIME_STAMP): $(VENV)/pyvenv.cfg pyproject.toml requirements/runtime.txt
	@echo "installing signoff into $(VENV)"
	@set -- -c requirements/runtime.txt -e .; $(INSTALL)
	@touch $@

$(DEV_STAMP): $(RUNTIME_STAMP) requirements/dev.txt
	@echo "installing development tools into $(VENV)"
	@set -- -r requirements/dev.txt; $(INSTALL)
	@touch $@

# What cannot be had here is left out, and the tests that need it say so.
$(BROWSER_STAMP): $(DEV_STAMP)
	-@command -v chromium >/dev/null || { test "$$(id -u)" = 0 && apt-get update -qq \
		&& apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null; }
	-@npm install --silent --no-save --prefix $(VENV)/node axe-core@4
	@touch $@

# An environment of its own: what builds the site must not change what `make test` runs with.
$(DOCS_STAMP): INTO = $(DOCS)/bin
$(DOCS_STAMP): $(VENV)/pyvenv.cfg requirements/docs.txt
	@echo "installing the builder of the site into $(DOCS)"
	@$(PYTHON) -m venv $(DOCS)
	@set -- -r requirements/docs.txt; $(INSTALL)
	@touch $@
