# One command per task; continuous integration runs them, too.
.DEFAULT_GOAL := help
.PHONY: help book check-latex check-links check-site measure lighthouse pdf site test test-deep test-numpy test-peers test-project test-promises rehearse test-faults mutants bench lint format release reproduce publish-check serve examples lock clean
SHELL := /bin/bash
VENV := .venv
READY := $(VENV)/.ready
PY := $(VENV)/bin/python
BROWSER := .venv-browser
PEERS := .venv-peers
MAKE_ENVIRONMENT := press/environments/environment.sh
# The oldest that the library declares.
NUMPY = $(shell sed -nE 's/^dependencies = \["numpy>=([0-9.]+)"\]$$/\1.0/p' pyproject.toml)

help: ## List the targets
	@echo "make TARGET, where TARGET is one of:"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

book: $(READY) ## Build the book into _build/html: every cell executed, every warning an error
	@$(PY) -m press build

check-latex: book ## Typeset every entry of "Cite" with BibTeX and biblatex (needs LaTeX and biber)
	@$(PY) -m press latex

check-links: book ## Ask for the addresses in the text of the book: whether they are still there
	@$(VENV)/bin/jupyter-book build . --builder linkcheck --path-output _build/links --quiet

check-site: book $(BROWSER)/.ready ## Try the built site in a browser; measure its budgets on each kind of page: weight, access, layout, paper
	@$(BROWSER)/bin/python -m pytest -n auto --dist worksteal tests/site --confcutdir=tests/site
	@$(BROWSER)/bin/python -m press measure --sample

measure: book $(BROWSER)/.ready ## Measure the budgets on every page of the built site
	@$(BROWSER)/bin/python -m press measure

lighthouse: book $(BROWSER)/.ready ## Let Lighthouse score the heaviest pages on a phone (needs Node)
	@$(BROWSER)/bin/python -m press lighthouse

pdf: book $(BROWSER)/.ready ## Print two PDFs into _build/editions, with a Chromium: the book, and the examples with the reference
	@$(BROWSER)/bin/python -m press pdf

site: pdf ## Copy the built site to _build/site, with the PDFs and links to them: what is published
	@$(BROWSER)/bin/python -m press site

test: $(READY) ## Run the quick test suite
	@$(PY) -m pytest -n auto --dist worksteal

test-deep: $(READY) ## Run the property tests with a far larger budget
	@HYPOTHESIS_PROFILE=deep $(PY) -m pytest tests --ignore=tests/pages --ignore=tests/project

test-numpy: ## Test what is computed with another NumPy: the oldest that is declared, or NUMPY=2.*
	@bash $(MAKE_ENVIRONMENT) .venv-numpy requirements.txt 'numpy==$(NUMPY)'
	@.venv-numpy/bin/python -m pytest tests selfattn_ref --ignore=tests/pages --ignore=tests/project

test-project: book ## Build small books with defects and with changes, run notebooks alone, refer to the site, try the wheel
	@$(PY) -m pytest -n auto --dist loadfile --no-loadscope-reorder $(addprefix tests/project/,kernels.py rebuilds.py wheel.py strict_build.py notebooks.py lesson_blocks.py publish.py references.py index.py reproduce.py address.py)

test-promises: $(READY) ## Break each promise of promises.yml in a copy, and require that its test notices
	@$(PY) -m pytest -n auto --dist worksteal tests/project/promises.py

rehearse: $(READY) ## Take the steps of CONTRIBUTING.md in copies of the repository
	@$(PY) -m pytest -n auto --dist worksteal tests/project/rehearsal.py

test-faults: $(READY) ## Break a miniature of the book in every way that is known: each is refused in one line, or survived
	@$(PY) -m pytest tests/faults --confcutdir=tests/faults

test-peers: $(PEERS)/.ready ## Compare with PyTorch, JAX and others, in an environment of their own (needs LibreOffice Calc)
	@PEERS=required $(PEERS)/bin/python -m pytest tests/peers

mutants: $(READY) ## Put every listed slip into the library or a test of a statement, and require that the tests notice
	@$(PY) -m tests.mutation

bench: $(PEERS)/.ready ## Measure speed and memory beside PyTorch and JAX: a table and a figure in _build/bench
	@PEERS=required $(PEERS)/bin/python -m benchmarks

lint: $(READY) ## Check style (ruff) and types (mypy)
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy

format: $(READY) ## Lay out the code as `make lint` wants it
	@$(PY) -m ruff check --fix --quiet . || true
	@$(PY) -m ruff format .

release: site ## Put what a release attaches into _build/release: archives, wheel, editions, checksums
	@$(PY) -m press release

publish-check: $(READY) ## Say what is still missing before the book can be published
	@$(PY) -m press check

reproduce: $(READY) $(BROWSER)/.ready ## Build the book twice, under conditions that must not matter, and compare every byte
	@$(PY) -m press reproduce

serve: book ## Serve the book at a local address; build again after every save, and reload the page
	@$(PY) -m press serve

examples: $(READY) ## Derive every worked example and generated case again and compare with its data
	@$(PY) -m derivations
	@$(PY) -m derivations --generated

lock: ## Write requirements.txt anew from requirements.in: newest versions, pinned and hashed
	@bash press/environments/lock.sh

clean: ## Remove the built book, the caches and the environment
	rm -rf _build $(VENV) .venv-browser .venv-lock .venv-numpy .venv-peers .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamp is written last, so a half-made environment is never trusted.
$(READY): requirements.txt $(MAKE_ENVIRONMENT)
	@bash $(MAKE_ENVIRONMENT) $(VENV) requirements.txt

$(PEERS)/.ready: requirements.txt requirements-peers.txt $(MAKE_ENVIRONMENT)
	@bash $(MAKE_ENVIRONMENT) $(PEERS) requirements.txt -r requirements-peers.txt

# With a Chromium, if there is none and this may install one.
$(BROWSER)/.ready: requirements-browser.txt $(MAKE_ENVIRONMENT)
	@command -v $(CHROMIUM) chromium chromium-browser google-chrome google-chrome-stable >/dev/null || \
		[ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || { apt-get update -qq && apt-get install -y -qq chromium >/dev/null; }
	@bash $(MAKE_ENVIRONMENT) $(BROWSER) requirements-browser.txt
