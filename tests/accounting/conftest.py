"""A source folder and the program over it."""

from __future__ import annotations

from pathlib import Path

import pytest

from accounting.books import Books
from cli.conftest import run
from cli.running import Run

__all__ = ["run"]


@pytest.fixture
def books(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Books:
    return Books(tmp_path, run, monkeypatch)
