"""Which cases of a sampled test run: some always, the same for the same commit, all where they are asked for."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sampling import sample

NAMES = [f"test[{number}]" for number in range(50)]

SWEEP = """
import pytest

@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", range(20))
def test_sweep(case): pass

@pytest.fixture(params=[pytest.param(each, marks=pytest.mark.sampled(1, over="client")) for each in "ab"])
def client(request): return request.param

@pytest.mark.parametrize("case", range(5))
def test_each(case, client): pass
"""


def test_a_sample_follows_from_the_commit_alone() -> None:
    assert sample(NAMES, 5, "a") == sample(NAMES[::-1], 5, "a")
    assert sample(NAMES, 5, "a") != sample(NAMES, 5, "b")
    assert set().union(*(sample(NAMES, 5, str(commit)) for commit in range(100))) == set(NAMES)


@pytest.mark.parametrize(("size", "kept"), [(0, 1), (1, 1), (5, 5), (50, 50), (80, 50)])
def test_something_always_runs(size: int, kept: int) -> None:
    assert len(sample(NAMES, size, "commit")) == kept


@pytest.mark.parametrize(
    ("options", "passed", "says"),
    [
        ("-n 0 --sample-of one", 8, "3 of 20"),
        ("-n 2 --sample-of one", 8, "3 of 20"),
        ("-n 0 --all-faults", 30, None),
        ("-n 0 test_it.py::test_sweep[7]", 1, None),
    ],
)
def test_the_summary_names_what_was_chosen(options: str, passed: int, says: str | None, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(SWEEP)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "sampling", *options.split()],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent), "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert f"{passed} passed" in done.stdout, done.stdout + done.stderr
    chosen = re.search(r"test_it\.py::test_sweep: (3 of 20): (\d+), (\d+), (\d+)\n", done.stdout)
    assert (chosen and chosen[1]) == says
    if chosen:
        names = sample([f"test_sweep[{case}]" for case in range(20)], 3, "one")
        assert {f"test_sweep[{chosen[each]}]" for each in (2, 3, 4)} == names
