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
for name, size in (("quick", 50), ("whole", 200)):
    settings.register_profile(
        name, max_examples=size, deadline=None, derandomize=True, database=None, suppress_health_check=_SLOW_MACHINES
    )
settings.register_profile("thorough", max_examples=3000, deadline=None, suppress_health_check=_SLOW_MACHINES)


def pytest_configure(config: pytest.Config) -> None:
    profile = "whole" if config.getoption("--all-faults") else "quick"
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", profile))


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # started in the background: what is tested would ignore Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # started with nohup: the same
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


_NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def archive_folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("archives")


@pytest.fixture(autouse=True)
def no_archive_of_the_person(monkeypatch: pytest.MonkeyPatch, archive_folders: Path) -> None:
    """Whatever a test runs, here or in a process of its own, the archive of whoever runs it stays untouched.

    Numbered here: pytest's own `mktemp` lists all folders there are for each new one, 77 s over 5,700 tests.
    """
    home = archive_folders / str(next(_NUMBERS))
    home.mkdir()
    monkeypatch.delenv("REREAD_PRICES", raising=False)
    monkeypatch.setenv("REREAD_HOME", str(home / "home"))
