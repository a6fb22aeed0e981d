# Every target first sets up in .venv what it needs; the second time that takes no time.
# `make PYTHON=python3.12 ...` chooses the interpreter, `make test ARGS=tests/auth` what is tested.

# A PYTHON of the environment is meant for something else.
ifneq ($(origin PYTHON),command line)
override PYTHON :=
endif
ARGS :=

suffix := $(if $(PYTHON),-$(subst /,_,$(PYTHON)))
base := .venv/.base$(suffix)
dev := .venv/.dev$(suffix)

.PHONY: help setup run test check bench soak mutants clean

help:
	@echo "make setup     install everything into .venv"
	@echo "make run       the demo: four replicas here, events of this machine, until Ctrl-C"
	@echo "make test      all tests that a change must pass"
	@echo "make check     format, lint, types, import directions"
	@echo "make bench     measure"
	@echo "make soak      the long tests"
	@echo "make mutants   plant known bugs; the tests must find each"
	@echo "make clean     remove .venv and caches"

$(base): pyproject.toml constraints.txt tools/venv
	@tools/venv base "$(PYTHON)"
	@touch $@

$(dev): $(base)
	@tools/venv dev "$(PYTHON)"
	@touch $@

setup: $(dev)
	@echo "Everything is in .venv: see make help."

run: $(base)
	@.venv/bin/quorumcast demo $(ARGS)

test: $(dev)
	@.venv/bin/pytest -q -n auto $(ARGS)

check: $(dev)
	@.venv/bin/ruff format --check --quiet .
	@.venv/bin/ruff check --quiet .
	@PYRIGHT_PYTHON_IGNORE_WARNINGS=1 .venv/bin/pyright
	@.venv/bin/lint-imports --no-logo

bench: $(dev)
	@.venv/bin/python -m benchmarks $(ARGS)

soak: $(dev)
	@.venv/bin/python -m tests.soak $(ARGS)
	@$(if $(ARGS),,QUORUMCAST_IDLE=9999 .venv/bin/python -m pytest -q -s tests/cluster/test_many.py)

mutants: $(dev)
	@.venv/bin/python -m tests.mutants $(ARGS)

clean:
	@rm -rf .venv .pytest_cache .ruff_cache .hypothesis .import_linter_cache build dist
	@rm -rf src/quorumcast.egg-info
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
