"""Tests that repeat one check over many files: a sample for each commit, all of them with `--all-faults`.

`@pytest.mark.sampled(8)` on a parametrised test keeps 8 of its cases. Which ones follows from the id of the commit, so
a run can be repeated (`--sample-of COMMIT`), and other commits try other cases. A case that is named on the command
line always runs. `sampled(1, over="client")` takes one value of that parameter (or of several: `over="a b"`) for each
combination of the others. `examples(150)` is a third of that for properties, unless all are asked for.
"""

from __future__ import annotations

import hashlib
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
NO_COMMIT = "none"

_SEED = pytest.StashKey[str]()
_CHOSEN = pytest.StashKey[dict[str, list[str]]]()


_is_whole = False


def examples(number: int) -> int:
    """How many examples Hypothesis tries of a property that may try this many."""
    return number if _is_whole else max(number // 3, 1)


def head() -> str:
    """The commit that is checked out; a copy without a repository has one sample for good."""
    command = ["git", "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return NO_COMMIT
    return done.stdout.strip() or NO_COMMIT


def sample(names: list[str], size: int, seed: str) -> set[str]:
    """As many of the names as asked for, and never none of some, chosen by nothing but the seed and the name."""
    return set(sorted(names, key=lambda name: hashlib.sha256(f"{seed} {name}".encode()).digest())[: max(size, 1)])


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("reread")
    group.addoption("--all-faults", action="store_true", help="run every case of tests that run a sample of them")
    group.addoption("--sample-of", metavar="COMMIT", help="run the sample of this commit (default: HEAD)")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "sampled(size): run this many of the test's cases; all with --all-faults")
    global _is_whole
    _is_whole = bool(config.getoption("--all-faults"))
    given: dict[str, Any] = getattr(config, "workerinput", {})
    config.stash[_SEED] = given.get("sample_of") or config.getoption("--sample-of") or head()
    config.stash[_CHOSEN] = {}


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """pytest-xdist: every worker has the same sample."""
    node.workerinput["sample_of"] = node.config.stash[_SEED]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """pytest-xdist: what a worker chose, back to where the summary is printed."""
    node.config.stash[_CHOSEN].update(getattr(node, "workeroutput", {}).get("sampled", {}))


@pytest.hookimpl(trylast=True)  # after -m and -k
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--all-faults"):
        return
    cases: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sampled") and not _is_named(item, config):
            cases[_group(item)].append(item)
    left_out: set[pytest.Item] = set()
    of_tests: dict[str, list[pytest.Item]] = defaultdict(list)
    for group in cases.values():
        chosen = sample([item.name for item in group], _marker(group[0]).args[0], config.stash[_SEED])
        left_out.update(item for item in group if item.name not in chosen)
        of_tests[_test(group[0])] += group
    for test, group in of_tests.items():
        kept = [_case(item.name) for item in group if item not in left_out]
        if len(kept) < len(group):
            config.stash[_CHOSEN][test] = [str(len(group)), *sorted(kept)]
    if left_out:
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=list(left_out))


def _is_named(item: pytest.Item, config: pytest.Config) -> bool:
    """Whether the command line names this case itself."""
    return any(argument.endswith(f"::{item.name}") for argument in config.args)


def _marker(item: pytest.Item) -> pytest.Mark:
    marker = item.get_closest_marker("sampled")
    assert marker is not None
    return marker


def _group(item: pytest.Item) -> str:
    """Those of which a sample is taken together."""
    over = _marker(item).kwargs.get("over", "").split()
    parameters: dict[str, object] = getattr(item, "callspec").params if over else {}  # noqa: B009  functions alone have it
    return f"{_test(item)} {[f'{name}={value!r}' for name, value in sorted(parameters.items()) if name not in over]}"


def _test(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def _case(name: str) -> str:
    return name.partition("[")[2].removesuffix("]")


def pytest_sessionfinish(session: pytest.Session) -> None:
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["sampled"] = session.config.stash[_CHOSEN]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    chosen = config.stash[_CHOSEN]
    if not chosen:
        return
    terminalreporter.section(f"sample of {config.stash[_SEED][:12]} (all: --all-faults)")
    for test, (total, *names) in sorted(chosen.items()):
        terminalreporter.write_line(f"{test}: {len(names)} of {total}: {', '.join(names)}")
