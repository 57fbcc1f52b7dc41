# The README's two commands are `make run` and `make test`. Everything they install lives in .venv; nothing needs root.
#
#   make run ARGS="--seed 1"      more options for `camg run`
#   make run PYTHON=python3.12    another interpreter than the first one found
#   make run TORCH_INDEX=         PyTorch from the default index (on Linux: the CUDA build, several GB)
#   make run PIP_ARGS="…"         options of your own for `pip install`, instead of the PyTorch index

.DEFAULT_GOAL := help
.PHONY: help run test test-slow lint docs clean

VENV ?= .venv
BIN := $(VENV)/bin
PYTHON ?= $(shell for python in python3.13 python3.12 python3.11 python3; do \
	if $$python -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	then echo $$python; break; fi; done)

# PyTorch's own index serves CPU builds (200 MB instead of several GB). Used only where it answers, since pip
# would otherwise retry it for minutes on a machine that reaches nothing but a package mirror.
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
PROBE := import sys, urllib.request as u; u.urlopen(sys.argv[1] + "/torch/", timeout=5); print("--extra-index-url", sys.argv[1])
PIP_ARGS ?= $(if $(TORCH_INDEX),$(shell $(BIN)/python -c '$(PROBE)' $(TORCH_INDEX) 2>/dev/null))
INSTALL = $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt $(PIP_ARGS)

PYTEST = OMP_NUM_THREADS=1 $(BIN)/pytest -n 2

help: ## what can be made
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' Makefile | expand -t 12

run: $(VENV)/.installed ## install, then train the embedded policy on Shop with shell memory
	$(BIN)/camg run --env shop --memory shell --estimator response-gae $(ARGS)

test: $(VENV)/.installed-dev ## install, then run the tests (the long ones: make test-slow)
	$(PYTEST) -m "not slow and not gpu" $(ARGS)

test-slow: $(VENV)/.installed-dev ## the tests that take more than half a minute each
	$(PYTEST) -m "slow and not gpu" $(ARGS)

lint: $(VENV)/.installed-dev ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/.installed-dev ## rewrite docs/reference from the code
	$(BIN)/python docs/generate.py

clean: ## remove the environment and what was built (never runs/)
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .tox

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "CAMG needs Python 3.11 or newer with its venv module; python3.13, python3.12, \
	python3.11 and python3 were tried. Install one (Debian, Ubuntu: apt install python3-venv) or name it: \
	make run PYTHON=/path/to/python3.12" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e '.[dev]'
	@touch $@ $(VENV)/.installed
