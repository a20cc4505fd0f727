# Start with two targets: `make demo` and `make test`.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
CACHE := $(if $(XDG_CACHE_HOME),$(XDG_CACHE_HOME),$(HOME)/.cache)/mainstem
UV := $(CACHE)/bin/uv
BIN := .venv/bin
JARS := app/jars/src/mainstem_jars/jars
# Compile the bytecode once: where Python may not write it, every start would compile all modules again.
INSTALL := $(UV) pip install --quiet --compile-bytecode --python
PYTEST := $(BIN)/python -m pytest

.PHONY: help setup lock jars wheels demo check lint format test test-unit test-spark test-services test-apiserver \
	test-chart test-cluster test-full test-faults test-timing test-repeat generate manifests servers images cluster-up cluster-down cluster-load \
	bench-overhead bench-operator bench-startup bench-recovery bench-streaming clean clean-cache

help: ## list all targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# What was cut off in the middle of an installation is made anew: a package may be there in part.
define venv
@[ -x $(BIN)/python -a ! -e .venv/unfinished ] || { rm -rf .venv && $(UV) venv --quiet --python $(PYTHON) .venv; }
@touch .venv/unfinished
endef

setup: .venv/ready-dev ## create .venv with everything for development

.venv/ready-dev: requirements.lock pyproject.toml app/pyproject.toml operator/pyproject.toml $(JARS)/.ready
	@sh bootstrap.sh uv java
	$(venv)
	$(UV) pip sync --quiet --compile-bytecode --python $(BIN)/python requirements.lock
	$(INSTALL) $(BIN)/python --no-deps --editable app/jars --editable app --editable operator
	@$(BIN)/python -m compileall -q app/src operator/src
	@touch $@ .venv/ready-demo && rm .venv/unfinished

.venv/ready-demo: requirements-demo.lock app/pyproject.toml $(JARS)/.ready
	@sh bootstrap.sh uv java
	$(venv)
	$(INSTALL) $(BIN)/python --requirement requirements-demo.lock
	$(INSTALL) $(BIN)/python --no-deps --editable app/jars --editable app
	@touch $@ && rm .venv/unfinished

# Once for each content of pom.xml and sources: resolved, compiled, kept in the cache, and linked into the wheel's folder.
JARS_FROM := app/jars/pom.xml $(sort $(shell find app/jars/src/main/java -name '*.java'))
jars: $(JARS)/.ready ## build the JVM dependencies and the project's own Java classes, from app/jars
$(JARS)/.ready: $(JARS_FROM)
	@sh bootstrap.sh uv java maven
	@key=$$(sha256sum $(JARS_FROM) | sha256sum | cut -c1-16); kept=$(CACHE)/jars/$$key; \
	if [ ! -d $$kept ]; then \
	    echo "resolving the JVM dependencies (38 MB, and 26 MB to compile against), compiling the project's own classes"; \
	    rm -rf $$kept.part build/jars && mkdir -p $$kept.part; \
	    mvn -q -B -f app/jars/pom.xml compiler:compile jar:jar dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory=$$kept.part; \
	    cp build/jars/*.jar $$kept.part; \
	    mv $$kept.part $$kept; \
	fi; \
	rm -rf $(JARS) && mkdir -p $(JARS) && { cp --link $$kept/*.jar $(JARS)/ 2>/dev/null || cp $$kept/*.jar $(JARS)/; } && touch $@

wheels: jars ## build the wheels of the project, in dist/
	@rm -rf dist && for member in app/jars app operator; do $(UV) build --quiet --wheel --out-dir dist $$member; done
	@ls dist

lock: ## write requirements*.lock, from the pyproject.toml files
	@sh bootstrap.sh uv
	$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-package mainstem --no-emit-package mainstem-jars \
	    app/pyproject.toml operator/pyproject.toml --extra spark --extra cluster --group pyproject.toml:dev -o requirements.lock
	$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-package mainstem-jars \
	    app/pyproject.toml --extra spark --group pyproject.toml:demo --constraint requirements.lock -o requirements-demo.lock
	$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-package mainstem-jars \
	    app/pyproject.toml --extra spark --extra cluster --constraint requirements.lock -o requirements-app.lock
	$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-package mainstem \
	    operator/pyproject.toml --constraint requirements.lock -o requirements-operator.lock

generate: setup ## write CRD, JSON Schema, reference page, tables of reasons, and the chart's permissions
	@$(BIN)/python -m mainstem.schema
	@$(BIN)/python -m mainstem_operator.manifests.rbac

manifests: generate servers ## write k8s/operator, from the chart's defaults
	@PYTHONPATH=tests $(BIN)/python -m chart.rendering

demo: .venv/ready-demo ## run the flights of 2013 through a pipeline, and check the result
	@$(BIN)/python demo/run.py

check: lint test-unit ## check format, style, types and dependency rules, and run the unit tests

lint: setup ## check format, style, types and dependency rules
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/ruff check --quiet
	@$(BIN)/mypy --cache-dir $(CACHE)/mypy
	@mkdir -p build && $(BIN)/lint-imports --no-cache >build/lint-imports.log 2>&1 || { cat build/lint-imports.log; exit 1; }

format: setup ## format the code, and fix the style where ruff can
	@$(BIN)/ruff format && $(BIN)/ruff check --fix

servers: setup ## build the servers that tests use (once; the cache keeps them)
	@sh bootstrap.sh java maven go debs
	@PYTHONPATH=tests $(BIN)/python -m harness.build

images: servers wheels ## build the images of app and operator, and of the servers in the test cluster
	@sh bootstrap.sh cluster
	@PYTHONPATH=tests $(BIN)/python -m harness.images

TIERS := unit spark+services chart+apiserver+cluster
RUN_TIERS := $(BIN)/python tests/tiers.py
GATE := -m "not full and not timing"
test: lint ## run the gate: the short tests of every tier
	@$(RUN_TIERS) -q $(GATE) -- $(TIERS)
test-full: lint ## run all tests, including the long ones
	@$(RUN_TIERS) --all -q -m "not timing" -- $(TIERS)
test-faults: setup ## inject every fault, and measure the time of recovery
	@$(RUN_TIERS) --all -m "faults and not timing" -- services apiserver cluster
test-timing: images ## measure what is promised about time; nothing depends on it, for a busy machine breaks such a promise
	@$(PYTEST) -q -s -m timing tests/apiserver tests/cluster
test-repeat: setup ## run TESTS=... N=20 times beside a load on each core, each time with another seed
	@$(BIN)/python tests/repeat.py $(or $(N),20) $(TESTS)

test-unit: setup ## run the tests that need no JVM and no server
	@$(RUN_TIERS) -q $(GATE) -- unit
test-spark: setup ## run the tests on local Spark
	@$(RUN_TIERS) -q $(GATE) -- spark
test-services: setup ## run the tests on real Kafka, S3 and PostgreSQL
	@$(RUN_TIERS) -q $(GATE) -- services
test-apiserver: setup ## run the tests on a real etcd and kube-apiserver
	@$(RUN_TIERS) -q $(GATE) -- apiserver
test-chart: setup ## run the tests of the chart, with helm and a real API server
	@$(RUN_TIERS) -q $(GATE) -- chart
test-cluster: setup ## run the images on a real cluster: operator, drivers, executors
	@$(RUN_TIERS) -q $(GATE) -- cluster

cluster-up: setup ## start a cluster of one node on this machine: kind if Docker answers, else bare (Linux, root)
	@sh bootstrap.sh go cluster
	@PYTHONPATH=tests $(BIN)/python -m harness.cluster up
cluster-down: setup ## delete the cluster, with everything that it left on the machine
	@PYTHONPATH=tests $(BIN)/python -m harness.cluster down
cluster-load: images ## load the images of `make images` into the cluster
	@PYTHONPATH=tests $(BIN)/python -m harness.cluster load

bench-overhead: setup servers ## measure the cost of Mainstem compared with hand-written PySpark
	@PYTHONPATH=tests $(BIN)/python bench/overhead.py
bench-operator: setup servers ## measure the speed of the operator with a thousand pipelines
	@PYTHONPATH=tests $(BIN)/python bench/operators.py
bench-streaming: setup servers ## measure throughput, latency, the cost of a batch, and fairness, beside plain Spark
	@PYTHONPATH=tests $(BIN)/python bench/streaming.py
bench-startup: setup images ## measure the time from kubectl apply to the first committed batch, on the test cluster
	@PYTHONPATH=tests $(BIN)/python bench/startup.py
bench-recovery: setup images ## measure the time from the kill of a driver to its next committed batch, on the test cluster
	@PYTHONPATH=tests $(BIN)/python bench/recovery.py

clean: ## delete everything that make created in this checkout
	rm -rf build dist .venv $(JARS)
clean-cache: ## delete the cache of built servers and jars, outside the checkout
	rm -rf $(CACHE)
