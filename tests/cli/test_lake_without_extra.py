"""`reread lake` on a machine that has not what it needs says so, and how to get it."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = (
    "import sys\nsys.modules[{name!r}] = None\nfrom reread.cli.main import main\nraise SystemExit(main({arguments}))"
)


@pytest.mark.parametrize("name", ["deltalake", "duckdb", "pyarrow"])
@pytest.mark.parametrize("arguments", [["build", "."], ["query", "usage", "day"], ["verify"]], ids=lambda each: each[0])
def test_a_missing_package_is_told_in_a_sentence(name: str, arguments: list[str]) -> None:
    script = SCRIPT.format(name=name, arguments=["lake", *arguments, "--lake", "nowhere"])
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1 and "pip install 'reread[lake]'" in done.stderr


def test_whoever_asks_for_spark_is_told_the_extra_that_has_it() -> None:
    script = SCRIPT.format(name="pyarrow", arguments=["lake", "build", ".", "--lake", "nowhere", "--engine", "spark"])
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert "pip install 'reread[spark]'" in done.stderr


def test_help_needs_nothing() -> None:
    script = SCRIPT.format(name="pyarrow", arguments=["lake", "--help"])
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and "actions:" in done.stdout
