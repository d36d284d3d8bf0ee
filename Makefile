# The two commands of the README are `make run` and `make test`; all they need is Python 3.11+, git and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
endif

# Set in many containers. Without compiled files every worker rewrites all tests (26 s of processor time, not 13), and each
# `reread` that a test starts compiles the program (0.4 s, not 0.15).
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run serve test quick check faults e2e spark bench eval house docs site format dist clean

run: $(VENV)/installed
	@$(BIN)/reread

serve: $(VENV)/installed
	@$(BIN)/reread serve

test: $(VENV)/developing
	$(BIN)/pytest -n auto --dist worksteal

# The inner loop: what is fast and makes no large archive, about a minute on two cores.
quick: $(VENV)/developing
	$(BIN)/pytest -n auto --dist worksteal tests/records tests/sessions tests/sources tests/billing tests/blocks tests/views tests/rows tests/accounting tests/index tests/test_rules.py

# Format, lint, types and the arrows between the rooms.
check: $(VENV)/developing
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# How large and how well named the code is.
house: $(VENV)/developing
	@$(BIN)/python bench/house.py

# Every case of the tests that run a sample a commit (`pytest.mark.sampled`), both clients, all Pythons; then cuts the power while
# commands write, at 450 points, and looks for what is lost, which needs strace. About an hour.
faults: $(VENV)/developing
	$(BIN)/pytest -n auto --dist worksteal --all-faults
	$(BIN)/pytest -n 4 --dist worksteal --all-faults -m e2e tests/e2e
	.ci/other-pythons --all
	cd tests && ../$(BIN)/python -m faults.cut_points

# Runs the real client against a scripted API on the loopback interface; downloads it into .cache on first use.
# More at once than there are processors: these tests wait for clients and browsers most of the time. Tests of one file stay
# with one worker as long as there is work, so that they share a browser and a server.
e2e: $(VENV)/developing
	$(BIN)/pytest -n 5 --dist worksteal -m e2e tests/e2e

# The lake on a real Spark with two executors, one of them killed, and on a real S3 server; needs Java.
spark: $(VENV)/developing
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[spark]' 'moto[server]' boto3
	$(BIN)/pytest -n 0 -m 'spark or not spark' tests/lake/test_lake_on_spark.py tests/lake/test_lake_in_object_storage.py

bench: $(VENV)/developing
	$(BIN)/python bench/reader.py
	$(BIN)/python bench/archive.py
	$(BIN)/python bench/wire.py
	$(BIN)/python bench/latency.py
	$(BIN)/python bench/pages.py
	$(BIN)/python bench/scrolling.py
	$(BIN)/python bench/retro.py
	$(BIN)/python bench/redact.py
	$(BIN)/python bench/team_store.py
	$(BIN)/python bench/real.py

# How well friction, secrets, sessions and writers of commits are found: on labelled sessions, made-up secrets and repositories, titles.
eval: $(VENV)/developing
	$(BIN)/python evals/friction.py
	$(BIN)/python evals/train.py
	$(BIN)/python evals/suggestions.py
	$(BIN)/python evals/redaction.py
	$(BIN)/python evals/search.py
	$(BIN)/python evals/commits.py

# The site, into site/. What is printed from tables is printed first: commands, the book of the format, its schemas.
docs: $(VENV)/developing
	@$(BIN)/python bench/format_schemas.py
	@$(BIN)/python bench/format_book.py
	@$(BIN)/python bench/commands_page.py > docs/commands.md
	@$(MAKE) --no-print-directory site

# Built from a copy, since zensical empties the folder .cache beside its settings, where clients and other Pythons are kept.
site: $(VENV)/developing
	@rm -rf site build/docs && mkdir -p build/docs && cp -R docs zensical.toml build/docs
	cd build/docs && $(abspath $(BIN))/zensical build --strict --clean
	@mv build/docs/site site

format: $(VENV)/developing
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Wheel and sdist in dist/, checked, the sdist by its own tests. With REPOSITORY=https://... its page in an index leads there.
dist: $(VENV)/developing
	$(BIN)/python .ci/dist.py $(REPOSITORY)

clean:
	rm -rf $(VENV) dist .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

$(VENV)/installed: pyproject.toml
	@echo "setting up $(VENV) ..."
	@$(PYTHON) -c 'import sys; sys.exit("reread needs Python 3.11 or newer, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/developing: $(VENV)/installed
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check 'pip>=25.1'  # before it, pip knows no groups
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev
	@touch $@
