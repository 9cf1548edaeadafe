# Two commands on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: install demo test test-long lint audit chromium clean

install: .venv/installed

# The native kernel is compiled by the installation.
.venv/installed: pyproject.toml constraints.txt hatch_build.py $(wildcard $(addprefix src/fansrec/engine/native/,*.cpp *.h *.py))
	@$(PYTHON) -m venv .venv || { echo "python3 cannot make a virtual environment: install it with apt-get install python3-venv" >&2; exit 1; }
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

demo: install
	rm -rf runs/demo
	$(BIN)/fans demo --out runs/demo

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The page is tested in a real browser; where it cannot be had, those tests are skipped, except in CI.
chromium:
	@which chromium chromium-browser google-chrome 2>/dev/null | grep -q . || \
	{ echo "installing Chromium for the tests of the page"; \
	  apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium >/dev/null; } || \
	echo "Chromium cannot be installed here: the tests of the page will be skipped" >&2

test: lint chromium
	$(BIN)/pytest -n 2 --dist loadfile --cov --cov-report=term

audit: install
	$(BIN)/python tools/audit.py $(STRICT)

test-long: install
	$(BIN)/pytest -m long --durations=0

clean:
	rm -rf src/fansrec/engine/native/*.so .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage
