# Trainyard. `make help` lists what there is; `make up` and `make test` need nothing but Python 3.11+.
STACK  ?= local
TARGET ?= auto
SHELL  := /bin/bash
YARD   := .venv/bin/yard

.DEFAULT_GOAL := help
.PHONY: help up preview down status check test unit e2e bench fix schema docs clean

help: ## Show this list.
	@echo "make TARGET [STACK=local|dev|prod] [TARGET=auto|embedded|aws]"
	@echo
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  \1|\2/p' $(MAKEFILE_LIST) | while IFS='|' read -r name text; do printf '%-10s %s\n' "$$name" "$$text"; done
	@echo
	@echo "  make up                  the whole program on this machine, no cloud account"
	@echo "  make preview STACK=prod  what would change for 8,192 GPUs"

up: .venv/ready ## Deploy STACK under the policy pack (the first time builds the toolchain).
	@$(YARD) up $(STACK) --target $(TARGET)

preview: .venv/ready ## Show what `make up` would change; changes nothing.
	@$(YARD) preview $(STACK) --target $(TARGET)

down: .venv/ready ## Destroy STACK; on the embedded target also stop its processes.
	@$(YARD) down $(STACK) --target $(TARGET)

status: .venv/ready ## Show the parts of the embedded target, real or stand-in, and their health.
	@$(YARD) local status

check: .venv/ready ## Lint, format, types, and the repository's tests of itself.
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/basedpyright
	.venv/bin/pytest -q tests/test_repository.py

unit: .venv/ready ## The fast tests: no process is started.
	.venv/bin/pytest -q -n auto -m "not e2e and not slow"

test: unit ## Every test, also the real `pulumi up` on the embedded target.
	.venv/bin/yard local toolchain
	.venv/bin/pytest -q -m "slow and not e2e"
	.venv/bin/pytest -q -m e2e

e2e: .venv/ready ## Only the tests that run the real engine.
	.venv/bin/pytest -q -m e2e

bench: .venv/ready ## Measure deploys, the log judge, the isolation, and the gate over 1,024 nodes (an hour).
	.venv/bin/python bench/engine.py
	.venv/bin/python bench/judge.py
	.venv/bin/python bench/isolation.py
	.venv/bin/python bench/gate.py

fix: .venv/ready ## Format, and mend what the linter can mend.
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .

schema: .venv/ready ## Write the JSON Schema of the stack files again.
	$(YARD) config schema > schema/site.schema.json

docs: .venv/ready ## Write the reference page of instance types again.
	$(YARD) catalog docs > docs/instance-types.md

.venv/ready: uv.lock pyproject.toml
	@scripts/bootstrap.sh
	@touch $@

clean: ## Remove the virtual environment and caches of this checkout.
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis
