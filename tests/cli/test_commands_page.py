"""docs/commands.md is what the commands say of themselves."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from commands_page import page

PAGE = Path(__file__).parents[2] / "docs" / "commands.md"


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="other Pythons lay out help in other ways")
def test_the_page_of_commands_is_what_they_say_of_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert page() == PAGE.read_text("utf-8"), "print it again: python bench/commands_page.py > docs/commands.md"
