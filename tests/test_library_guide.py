"""The examples of docs/library.md say what the library does."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

GUIDE = Path(__file__).parent.parent / "docs" / "library.md"


def test_every_example_gives_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    found = doctest.testfile(str(GUIDE), module_relative=False, encoding="utf-8")
    assert found.failed == 0, capsys.readouterr().out
    assert found.attempted > 40
