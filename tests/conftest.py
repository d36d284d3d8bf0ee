"""Settings shared by all tests."""

from __future__ import annotations

import itertools
import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["sampling"]

_SLOW_MACHINES = [HealthCheck.too_slow, HealthCheck.data_too_large]

# Derandomised: a commit must not fail for what another commit broke. Look for new failures with
# `HYPOTHESIS_PROFILE=thorough pytest`.
settings.register_profile(
    "quick", max_examples=200, deadline=None, derandomize=True, database=None, suppress_health_check=_SLOW_MACHINES
)
settings.register_profile("thorough", max_examples=3000, deadline=None, suppress_health_check=_SLOW_MACHINES)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # started in the background: what is tested would ignore Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)


_NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("homes")


@pytest.fixture(autouse=True)
def no_archive_of_the_person(monkeypatch: pytest.MonkeyPatch, homes: Path) -> None:
    """Whatever a test runs, here or in a process of its own, the archive of whoever runs it stays untouched.

    Numbered here: pytest's own `mktemp` lists all folders there are for each new one, 77 s over 5,700 tests.
    """
    home = homes / str(next(_NUMBERS))
    home.mkdir()
    monkeypatch.delenv("REREAD_PRICES", raising=False)
    monkeypatch.setenv("REREAD_HOME", str(home / "home"))
