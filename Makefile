# Two commands on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: install demo test test-long lint clean

install: .venv/installed

# The native kernel is compiled by the installation.
.venv/installed: pyproject.toml constraints.txt hatch_build.py $(wildcard $(addprefix src/fansrec/engine/native/,*.cpp *.h *.py))
	@$(PYTHON) -m venv .venv || { echo "python3 cannot make a virtual environment: install it with apt-get install python3-venv" >&2; exit 1; }
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

demo: install
	$(BIN)/fans demo

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	$(BIN)/pytest --cov --cov-report=term

test-long: install
	$(BIN)/pytest -m long --durations=0

clean:
	rm -rf src/fansrec/engine/native/*.so .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage
