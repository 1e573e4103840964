# `make run` and `make test` need Python 3.11 or newer, and nothing else.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Each has a store of its own; a file's tests stay together.
IN_PARALLEL := --numprocesses auto --maxprocesses 4 --dist loadfile
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: run test test-fake test-real test-faults test-sentinel test-cluster test-twemproxy test-all test-browser test-package screenshots fuzz growth bench messages check-messages lint clean

run: $(VENV)/.installed
	@exec $(BIN)/python manage.py serve

test: test-fake test-real

test-fake: $(VENV)/.installed-test
	$(BIN)/python -m pytest --ds=tests.settings.fake -m "not faults" $(IN_PARALLEL)

test-real: $(VENV)/.installed-test
	$(BIN)/python -m pytest --ds=tests.settings.real -m "not faults" $(IN_PARALLEL)

# Real processes killed, starved and crowded, and hostile requests.
test-faults: $(VENV)/.installed-test
	$(BIN)/python -m pytest --ds=tests.settings.real -m faults

# The suite on more than one server. They need Debian's redis-server, redis-sentinel and nutcracker.
test-sentinel test-cluster test-twemproxy: $(VENV)/.installed-test
	$(BIN)/python -m pytest --ds=tests.settings.$(@:test-%=%) $(IN_PARALLEL)

test-all: test test-faults test-sentinel test-cluster test-twemproxy

# The stories in a real browser, and axe on every page. They need Debian's chromium.
test-browser: $(VENV)/.installed-browser
	$(BIN)/python -m pytest --ds=tests.settings.real tests/browser

# Builds the wheel, installs it in an empty environment, and serves the site from an empty folder. It needs PyPI.
test-package: $(VENV)/.installed-package
	$(BIN)/python -m pytest --ds=tests.settings.fake tests/package

# Takes the README's pictures anew.
screenshots: $(VENV)/.installed-browser
	SCREENSHOTS=1 $(BIN)/python -m pytest --ds=tests.settings.real tests/browser/looks/test_screenshots.py

# Hostile requests to every address, round after round, until one finds something; Ctrl-C ends it.
fuzz: $(VENV)/.installed-test
	@trap 'exit 0' INT; while FUZZ=1 $(BIN)/python -m pytest --ds=tests.settings.fake -x tests/retwis_site/http/test_fuzz.py; do :; done; exit 1

# Measures the site as it grows, for docs/scaling.md: ten minutes, 2 GB of memory and Debian's redis-server.
growth: $(VENV)/.installed-test
	@$(BIN)/python -m benchmarks.growth && $(BIN)/python -m benchmarks.growth.paper

# Measures how fast the site is, and writes docs/benchmarks.md: a quarter of an hour, 1 GB of memory and Debian's wrk,
# apache2-utils, redis-tools and redis-server.
bench: $(VENV)/.installed-bench
	@$(BIN)/python -m benchmarks.bench

# Collects what is to be translated into locale/, and compiles what is; docs/translating.md. It needs Debian's gettext.
CATALOGS := $(wildcard locale/*/LC_MESSAGES/django.po)
messages: $(VENV)/.installed
	$(BIN)/python manage.py makemessages --all
	@for file in $(CATALOGS:.po=); do msgfmt --check-format --check-domain --output-file=$$file.mo $$file.po || exit 1; done

# Nothing is left to collect, to translate or to compile.
check-messages: messages
	git diff --exit-code --stat -- locale
	@for file in $(CATALOGS); do \
		msgattrib --untranslated $$file | diff - /dev/null && msgattrib --only-fuzzy $$file | diff - /dev/null || exit 1; \
	done

lint: $(VENV)/.installed-lint
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy
	$(BIN)/lint-imports

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Retwis needs Python 3.11 or newer: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	$(PIP) install --editable .
	@touch $@

$(VENV)/.installed-test: pyproject.toml $(VENV)/.installed
	$(PIP) install --editable '.[test]'
	@touch $@

$(VENV)/.installed-bench: pyproject.toml $(VENV)/.installed-test
	$(PIP) install --editable '.[bench]'
	@touch $@

$(VENV)/.installed-browser: pyproject.toml $(VENV)/.installed-test
	$(PIP) install --editable '.[browser]'
	@touch $@

$(VENV)/.installed-package: pyproject.toml $(VENV)/.installed-test
	$(PIP) install --editable '.[package]'
	@touch $@

$(VENV)/.installed-lint: pyproject.toml $(VENV)/.installed-test
	$(PIP) install --editable '.[lint]'
	@touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .import_linter_cache .pytest_cache .ruff_cache .hypothesis
