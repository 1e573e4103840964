# `make run` and `make test` need Python 3.11 or newer, and nothing else.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Each test process has its own store. All tests of a file run in the same process.
IN_PARALLEL := --numprocesses auto --maxprocesses 4 --dist loadfile
# Else every process of the tests compiles all of them again, where this is set.
unexport PYTHONDONTWRITEBYTECODE
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: run test test-fake test-processes test-faults test-faults-sample test-sentinel test-cluster test-twemproxy
.PHONY: test-topologies test-python test-servers test-browser test-package test-deploy test-mutants nightly
.PHONY: screenshots fuzz soak growth bench
.PHONY: messages check-messages lint lock audit sbom clean

run: $(VENV)/.installed
	@exec $(BIN)/python manage.py serve

# Each test once, in four minutes at most on two quiet cores. SEED=7 tries another order of commands.
test: $(VENV)/.installed-test
	$(BIN)/python -m pytest --ds=tests.settings.real -m "not faults and not processes" $(IN_PARALLEL)

# The tests that start the site, its commands or servers as processes of their own.
test-processes: $(VENV)/.installed-test
	$(BIN)/python -m pytest --ds=tests.settings.real -m "processes and not faults" $(IN_PARALLEL)

# Plants faults of order into copies of the site, one at a time; each must be found by the tests that it names. On two
# quiet cores it takes three minutes. `python -m tests.mutants WORDS` plants those with these words in their names.
test-mutants: $(VENV)/.installed-test
	@$(BIN)/python -m tests.mutants

# What .ci/run leaves out. Needs two hours.
nightly:
	@.ci/nightly

# The suite on fakeredis instead, or TESTS of it.
test-fake: $(VENV)/.installed-test
	$(BIN)/python -m pytest --ds=tests.settings.fake -m "not faults" $(IN_PARALLEL) $(TESTS)

# Tests that kill, starve and overload real processes, and send hostile requests. Those that count no time run in parallel.
# ASSERT_SECONDS=1 asserts the seconds that they measure.
UNHURRIED := tests/protocols/killed tests/retwis_site/http/test_fuzz.py
test-faults: $(VENV)/.installed-test
	$(BIN)/python -m pytest --ds=tests.settings.real -m faults $(IN_PARALLEL) $(UNHURRIED)
	$(BIN)/python -m pytest --ds=tests.settings.real -m faults $(UNHURRIED:%=--ignore=%)

# Of each of their files one, and a tenth of the others, drawn by SEED. The soak is no sample.
test-faults-sample: $(VENV)/.installed-test
	SAMPLE=1 $(BIN)/python -m pytest --ds=tests.settings.real -m faults $(IN_PARALLEL) --ignore=tests/endurance

# The suite on several servers, or TESTS of it. These targets need Debian's redis-server, redis-sentinel and nutcracker.
test-sentinel test-cluster test-twemproxy: $(VENV)/.installed-test
	$(BIN)/python -m pytest --ds=tests.settings.$(@:test-%=%) $(IN_PARALLEL) $(TESTS)

# What differs from one kind of store, and one server, to another. That a cluster keeps no order of commands is tested
# in `make test`: there each round trip is taken apart.
TALKING := tests/retwis_site/store tests/retwis_site/jobs tests/retwis_site/maintenance/test_moving.py \
	tests/retwis_site/maintenance/test_lost_servers.py \
	tests/protocols/test_own_writes.py tests/timeline/posts/test_posting.py tests/timeline/timelines/test_home_timeline.py \
	tests/accounts/signing_in/test_signing_in.py tests/accounts/users/test_removal.py
test-topologies: $(VENV)/.installed-test
	$(MAKE) test-cluster test-twemproxy test-sentinel TESTS="$(TALKING)"

# The suite with the newest Python and the Django for it, or TESTS of it. With SAMPLE=1 one test of each file, and a
# tenth of the others.
NEWEST := python3.13
PLACES := $(HOME)/.pyenv/versions/3.13*/bin $(subst :, ,$(PATH))
FOUND := $(firstword $(wildcard $(PLACES:%=%/$(NEWEST))))
test-python:
ifneq ($(FOUND),)
	$(MAKE) PYTHON=$(FOUND) VENV=.venv-3.13 test-fake TESTS="$(TESTS)"
else
	@echo "There is no $(NEWEST) here: the suite runs on fakeredis with the Python that is there."
	$(MAKE) test-fake TESTS="$(TESTS)"
endif

# What talks to the store on each Redis and Valkey besides, or on SERVERS of them: .ci/servers.py says what they are. Some
# of them have no TLS.
ON_SERVERS := tests/retwis_site/store tests/retwis_site/jobs tests/retwis_site/maintenance
test-servers: $(VENV)/.installed-test
	@$(BIN)/python .ci/servers.py .servers $(SERVERS)
	@for server in $(or $(SERVERS:%=.servers/%/),.servers/*/); do \
		echo "On $$server"; \
		PATH=$$PWD/$$server:$$PATH PYTHONPATH=$$PWD/$$server $(BIN)/python -m pytest --ds=tests.settings.real \
			-m "not faults and not storeless" -k "not tls" $(IN_PARALLEL) $(ON_SERVERS) || exit 1; \
	done

# User stories in a real browser, and axe on every page, or some of them: STORIES="-m gate". Needs Debian's chromium.
test-browser: $(VENV)/.installed-test
	$(BIN)/python -m pytest --ds=tests.settings.real $(IN_PARALLEL) tests/browser $(STORIES)

# Builds the wheel, installs it in an empty environment, and serves the site from an empty folder. Needs PyPI.
test-package: $(VENV)/.installed-test
	$(BIN)/python -m pytest --ds=tests.settings.fake tests/package

# Runs the files of deploy/. Needs Debian's nginx-light, redis-server and systemd.
test-deploy: $(VENV)/.installed-test
	$(BIN)/python -m pytest --ds=tests.settings.fake tests/deploy

# Takes the screenshots of the README again.
screenshots: $(VENV)/.installed-test
	SCREENSHOTS=1 $(BIN)/python -m pytest --ds=tests.settings.real tests/browser/looks/test_screenshots.py

# FUZZ hostile requests of each kind to every address, in so many ROUNDS, or until one fails; Ctrl-C ends it.
ROUNDS ?= 1000000
FUZZ ?= 1000
fuzz: $(VENV)/.installed-test
	@trap 'exit 0' INT; for round in $$(seq $(ROUNDS)); do \
		FUZZ=$(FUZZ) $(BIN)/python -m pytest --ds=tests.settings.fake -x --numprocesses auto --dist load \
			tests/retwis_site/http/test_fuzz.py || exit 1; done

# People use the site for ten minutes while its processes are killed and the clock steps: SECONDS=600 CLIENTS=50 SEED=7.
# Needs a C compiler. Other settings of the site can be tried with it: `make soak POST_IDS=snowflake TIMELINE_SHARDS=3`.
soak: SECONDS ?= 600
soak: CLIENTS ?= 50
soak: SEED ?= $(shell date +%s)
soak: $(VENV)/.installed-test
	SOAK_SECONDS=$(SECONDS) SOAK_CLIENTS=$(CLIENTS) SOAK_SEED=$(SEED) \
		$(BIN)/python -m pytest --ds=tests.settings.real -m faults --capture=no tests/endurance

# Measures how fast the site is, how its times grow and how much memory it takes, and writes docs/benchmarks.md. Needs
# half an hour, 1 GB of memory and Debian's wrk, redis-tools and redis-server. A question that fails stops no other.
# ONLY=delivery measures one part, in a few minutes: docs/benchmarks.md names them.
bench: $(VENV)/.installed-test
	@status=0; for question in speed growth memory; do \
		$(BIN)/python -m benchmarks.$$question $(ONLY) || status=1; \
	done; exit $$status

# Measures only how the times grow.
growth: $(VENV)/.installed-test
	@$(BIN)/python -m benchmarks.growth

# Collects the texts to translate into locale/ and compiles the translations: docs/translating.md. Needs Debian's gettext.
CATALOGS := $(wildcard locale/*/LC_MESSAGES/django.po)
messages: $(VENV)/.installed
	$(BIN)/python manage.py makemessages --all
	@for file in $(CATALOGS:.po=); do msgfmt --check-format --check-domain --output-file=$$file.mo $$file.po || exit 1; done

# Fails when a text is not collected, translated or compiled.
check-messages: messages
	git diff --exit-code --stat -- locale
	@for file in $(CATALOGS); do \
		msgattrib --untranslated $$file | diff - /dev/null && msgattrib --only-fuzzy $$file | diff - /dev/null || exit 1; \
	done

lint: $(VENV)/.installed-test
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy
	$(BIN)/lint-imports

# Known vulnerabilities of the locked packages, from PyPI. Without a network it says that nothing was looked up.
audit: $(VENV)/.installed-test
	@$(BIN)/python .ci/audit.py

# What the site consists of, by its lock file, in CycloneDX's form.
sbom: $(VENV)/.installed-test
	@mkdir -p dist
	@sed "s/^dynamic = .*/version = \"$$($(BIN)/python -c 'from retwis_site import version; print(version.of_source())')\"/" \
		pyproject.toml > dist/pyproject.toml
	@$(BIN)/cyclonedx-py requirements --pyproject dist/pyproject.toml --mc-type application --output-reproducible \
		--output-file dist/retwis.cdx.json requirements.lock 2>&1 | grep -v "UserWarning\|  warn(" || true
	@test -s dist/retwis.cdx.json && echo "dist/retwis.cdx.json"

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Retwis needs Python 3.11 or newer: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)

# Exactly the locked packages, by their hashes; then the site itself.
INSTALL := $(PIP) install --require-hashes --requirement
ITSELF := $(PIP) install --no-deps --no-build-isolation --editable .

$(VENV)/.installed: pyproject.toml requirements.lock | $(VENV)/bin/python
	$(INSTALL) requirements.lock
	$(ITSELF)
	@touch $@

# uv installs in ten seconds what takes pip a minute and a half. pip installs uv.
$(VENV)/.installed-test: requirements-dev.lock $(VENV)/.installed
	@sed -n '/^uv==/,/^[^u ]/{/^[^u ]/!p}' requirements-dev.lock > $(VENV)/uv.txt
	$(INSTALL) $(VENV)/uv.txt
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes --requirement requirements-dev.lock
	@touch $@

# Writes both lock files: for every Python and system that pyproject.toml allows. Versions stay as they are, unless it asks
# for others; `make lock LOCK=--upgrade` takes the newest.
UV := $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-annotate --no-emit-index-url \
	--custom-compile-command 'make lock' $(LOCK)
lock: $(VENV)/.installed-test
	$(UV) --all-extras --output-file requirements-dev.lock pyproject.toml
	$(UV) --extra build --extra gunicorn --constraint requirements-dev.lock --output-file requirements.lock pyproject.toml

clean:
	rm -rf $(VENV) .venv-3.13 .servers build dist *.egg-info .mypy_cache .import_linter_cache .pytest_cache .ruff_cache .hypothesis
