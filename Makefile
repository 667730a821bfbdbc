# The front door. Each target installs what it misses on a fresh Debian 12, builds what it needs, and does its one thing.
# Behind it: CMakePresets.json (builds under build/<preset>) and scripts/.

SHELL := /bin/bash
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

JOBS ?= $(shell nproc)
export JOBS
PYTHON_SOURCES := $(shell find include src python cmake -type f \( -name '*.[ch]' -o -name '*.def' -o -name '*.py' -o \
    -name '*.txt' -o -name '*.cmake' -o -name '*.in' \) 2>/dev/null) CMakeLists.txt pyproject.toml

# every target with a help text
.PHONY: $(shell sed -n 's/^\([a-z-]*\):.*\#\# .*/\1/p' $(firstword $(MAKEFILE_LIST))) command python

help: ## list the targets
	@echo "make <target>:"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-17s%s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: command ## build the command, drop the built-in quadruped (it lands and stands), differentiate one of its steps
	@build/tangere sim quadruped --key home --lift 0.3
	@build/tangere grad quadruped --key home
	@echo
	@echo "to see it in the browser: make build && .venv/bin/python -m pip install '.[view]' && build/tangere view quadruped --key home"

build: command python ## the command at build/tangere, and a Python in .venv that imports tangere

test: ## all tests: C (release, portable, sanitizers), Python, command line
	@scripts/setup.sh core python test learn site
	@$(MAKE) build
	@scripts/test.sh

browser-tests: python ## the pages, pictures and films of the viewer in a headless browser (minutes)
	@scripts/setup.sh core python test
	@TANGERE_BROWSER_TESTS=1 .venv/bin/python -m pytest tests/python/test_view.py

bench: ## time the library beside other engines: half an hour, with progress; QUICK=1: one minute, nothing is written
	@scripts/setup.sh core python bench
	@$(MAKE) python
	@QUICK=$(QUICK) scripts/bench.sh

bench-step-wide: ## the step beside MuJoCo's on robots and generated scenes nobody tuned to; WIDE: arguments of bench/wide.py
	@scripts/setup.sh core python bench
	@cmake --preset bench --log-level=NOTICE
	@cmake --build --preset bench -j $(JOBS) --target bench_wide
	@.venv/bin/python bench/wide.py $(or $(WIDE),--out bench/results)

bench-cables: ## steps and derivatives of SUPERball beside mj_step (a minute after the build); CABLES: arguments
	@scripts/setup.sh core python bench
	@cmake --preset bench --log-level=NOTICE
	@cmake --build --preset bench -j $(JOBS) --target bench_cables
	@build/bench/bench/bench_cables $(CABLES)

bench-batch: ## batches beside one thread, mujoco.rollout, finite differences and MJX; the cost of Python and torch (minutes); BATCH: arguments
	@scripts/setup.sh core python bench learn mjx
	@$(MAKE) python
	@.venv/bin/python bench/batch.py $(or $(BATCH),--write)

bench-view: python ## the viewer with a headless browser: size and opening time of a page, pictures per second live
	@scripts/setup.sh core python test
	@.venv/bin/python bench/view.py $(or $(VIEW),--write)

bench-qcqp: ## the QCQP layer beside cvxpylayers and, with PEER=<folder of diffqcqp's Solver.cpp>, beside diffqcqp
	@scripts/setup.sh core python bench learn qcqp
	@cmake --preset release --log-level=NOTICE
	@cmake --build --preset release -j $(JOBS) --target tangere_static
	@$(MAKE) python
	@.venv/bin/python bench/qcqp.py $(if $(PEER),--peer $(PEER)) --write

tsan: ## tests of threads and batches under the thread sanitizer (minutes; not part of make test)
	@scripts/setup.sh core python test
	@cmake --preset tsan --log-level=NOTICE
	@cmake --build --preset tsan -j $(JOBS) --target test_base_threads test_batch_batch test_batch_rollouts
	@ctest --preset tsan -R 'base.threads|^batch'

solvers: ## every solver on recorded problems: share solved, iterations, time, floors by set, residual by iteration (build/problems/curves.png); PROBLEMS: files, otherwise 25,000 are recorded
	@scripts/setup.sh core python bench
	@cmake --preset bench --log-level=NOTICE
	@cmake --build --preset bench -j $(JOBS) --target bench_record bench_solvers bench_family
	@mkdir -p build/problems
	@$(if $(PROBLEMS),true,build/bench/bench/bench_record build/problems)
	@build/bench/bench/bench_solvers $(or $(PROBLEMS),build/problems/*.tgp)
	@build/bench/bench/bench_family $(or $(PROBLEMS),build/problems/*.tgp)
	@.venv/bin/python bench/solver_curves.py build/bench/bench/bench_solvers build/problems/curves.png \
	    $(or $(PROBLEMS),build/problems/*.tgp)

solvers-pinocchio: ## admm and pgs beside Pinocchio's on one robot (MODEL: Go1 in MJCF), cold, to 1e-9
	@scripts/setup.sh core python bench
	@cmake --preset bench --log-level=NOTICE
	@cmake --build --preset bench -j $(JOBS) --target bench_solvers
	@.venv/bin/python bench/solvers_pinocchio.py $(or $(MODEL),../shared/robots/unitree_go1/go1.xml) build/bench/bench/bench_solvers

random-problems: ## 10^6 random contact problems, solved and judged: share certified, labelled, wrong (PROBLEMS: how many; SEED)
	@scripts/setup.sh core python test
	@cmake --preset release --log-level=NOTICE -DTANGERE_TESTS=ON
	@cmake --build --preset release -j $(JOBS) --target test_contact_random
	@TANGERE_LIST=1 TANGERE_SEED=$(or $(SEED),0) TANGERE_PROBLEMS=$(or $(PROBLEMS),1000000) build/release/tests/test_contact_random

unsolved: ## steps without a certificate of a hand, heaps of 100 mixed shapes and 300 boxes, heavy bodies on light ones (minutes); HEAPS=first:count
	@scripts/setup.sh core python test
	@cmake --preset release --log-level=NOTICE -DTANGERE_TESTS=ON
	@cmake --build --preset release -j $(JOBS) --target test_step_unsolved
	@TANGERE_HEAPS=$(or $(HEAPS),1:3) build/release/tests/test_step_unsolved

quality: python ## creep, drift, jitter, overlaps, bounces beside MuJoCo: writes docs/quality.md (minutes)
	@scripts/setup.sh core python test
	@.venv/bin/python bench/quality.py --write

seams: ## what rolls and slides over tiles against the same over one box, 2,000 cases; SEAMS=first:count
	@cmake --preset release --log-level=NOTICE
	@cmake --build --preset release -j $(JOBS) --target test_step_seams
	@TANGERE_SEAMS=$(or $(SEAMS),0:2000) build/release/tests/test_step_seams

bullets: ## fast bodies of eight shapes at four targets: overlaps after their impacts, 1,280 shots per seed; BULLETS=first:count
	@cmake --preset release --log-level=NOTICE
	@cmake --build --preset release -j $(JOBS) --target test_step_bullets
	@TANGERE_BULLETS=$(or $(BULLETS),1000:20) build/release/tests/test_step_bullets

gradients: command python ## derivatives against differences on every model, 1,000 states each, and their labels: bench/results/gradients_models.md (half an hour)
	@.venv/bin/python bench/gradients.py --write

gradient-options: command ## derivatives against differences on every model and hard robot, 100 states each, also with impacts within steps: bench/results/gradients_options.md (minutes)
	@.venv/bin/python bench/gradients.py --options --samples 100 --keep build/gradient-options --write

rollouts: ## derivatives of rollouts of 2 to 200 steps on every model, every robot of the shared folder and 100 random scenes (minutes)
	@scripts/setup.sh core python test
	@cmake --preset release --log-level=NOTICE -DTANGERE_TESTS=ON
	@cmake --build --preset release -j $(JOBS) --target test_step_rollout_models
	@build/release/tests/test_step_rollout_models models/*.xml $(or $(ROBOTS),$(wildcard ../shared/robots/hard/*.xml \
	    ../shared/robots/gymnasium/*.xml ../shared/robots/mujoco_humanoid/*.xml ../shared/robots/*/scene.xml)) 100

pictures: command python ## the pictures of README.md and docs/, with a headless browser: docs/pictures/
	@scripts/setup.sh core python test
	@.venv/bin/python scripts/pictures.py
	@.venv/bin/python scripts/gradient_pictures.py

robots: python ## drop every robot of the shared folder, and move it by random controls: 10 s each (minutes)
	@scripts/setup.sh core python test
	@PYTHONPATH=tests/python .venv/bin/python tests/python/robots.py

papers: python ## the experiments of the papers, with tables and figures: build/papers/index.html (minutes); PAPERS=--small
	@scripts/setup.sh core python test
	@.venv/bin/python examples/papers/run_all.py $(PAPERS)

learn: ## dynamics and contact learned together, everything at full size: build/learn/report.html (some 20 hours; resumable)
	@scripts/setup.sh core python test learn
	@$(MAKE) python
	@.venv/bin/python -m tangere.learn all build/learn --jobs $(JOBS)

learn-small: ## the same with a tenth of the data and three tasks: build/learn-small/report.html (two minutes); fails below its bars
	@scripts/setup.sh core python test learn
	@$(MAKE) python
	@.venv/bin/python -m tangere.learn all build/learn-small --small --jobs $(JOBS)

tensegrity: python ## SUPERball's study: data of MuJoCo, training, contact parameters, planners, transfer (hours; resumable); TENSEGRITY: arguments
	@scripts/setup.sh core python test
	@.venv/bin/python bench/tensegrity.py $(or $(TENSEGRITY),--data build/tensegrity)

lint: ## formatting, static analysis, layers, leftovers
	@scripts/setup.sh core python test lint
	@cmake --preset release --log-level=NOTICE
	@scripts/lint.sh

format: ## format C and Python files in place
	@scripts/setup.sh core python lint
	@scripts/lint.sh --fix

wheel: ## wheels for other machines, with expat and qhull inside, for any x86-64 and for AVX2; tested in empty environments
	@scripts/setup.sh core python
	@scripts/wheel.sh

site: python ## the documentation as a web site: build/site/index.html
	@scripts/setup.sh core python site
	@.venv/bin/python scripts/site.py

types: python ## mypy --strict and pyright on the package and the examples
	@scripts/setup.sh core python types
	@scripts/types.sh

valgrind: ## C tests under valgrind (slow)
	@scripts/setup.sh core python test valgrind
	@cmake --preset valgrind --log-level=NOTICE
	@cmake --build --preset valgrind -j $(JOBS)
	@ctest --preset valgrind -j $(JOBS)

arm: ## cross-compiled for 64-bit ARM, C tests under qemu-user (an hour); TESTS: which, a pattern of ctest
	@scripts/setup.sh core python aarch64
	@CMOCKA=1 scripts/static_deps.sh $(CURDIR)/build/aarch64-deps -DCMAKE_SYSTEM_NAME=Linux \
		-DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc \
		-DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++
	@cmake --preset aarch64 --log-level=NOTICE
	@cmake --build --preset aarch64 -j $(JOBS)
	@TANGERE_TEST_EFFORT=$${TANGERE_TEST_EFFORT:-0.1} ctest --preset aarch64 -j $(JOBS) -R '$(or $(TESTS),.)'

fuzz: ## look for crashes of the readers: SECONDS for each target (60), TARGETS (all)
	@scripts/setup.sh core fuzz
	@cmake --preset fuzz --log-level=NOTICE
	@cmake --build --preset fuzz -j $(JOBS)
	@scripts/fuzz.sh $(or $(SECONDS),60) $(TARGETS)

clean: ## remove build/ (not .venv)
	@rm -rf build

# The command needs no test tools: tests are switched on in build/release by `make test`.
command:
	@scripts/setup.sh core
	@test -f build/release/build.ninja || cmake --preset release --log-level=NOTICE -DTANGERE_TESTS=OFF
	@cmake --build --preset release -j $(JOBS) --target tangere_cli libtangere.so tangere_static # "tangere" would be the command
	@ln -sfn release/tangere build/tangere

# Installed anew when a source is newer than the last time, when it cannot be imported, or when jaxlib came later.
python:
	@scripts/setup.sh core python
	@.venv/bin/python -c 'import importlib.util as u, tangere._core as c; assert hasattr(c, "jax_run") or not u.find_spec("jaxlib")' \
	    2>/dev/null || rm -f build/python.stamp
	@$(MAKE) -s build/python.stamp

build/python.stamp: $(PYTHON_SOURCES)
	@echo "python: pip install . into .venv"
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --force-reinstall .
	@mkdir -p build && touch $@
