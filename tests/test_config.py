"""Where transcripts are looked for, unless somebody says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reread.config import roots


def test_the_usual_config_directories_count_where_they_exist(tmp_path: Path) -> None:
    assert roots({}, tmp_path) == []
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".config" / "claude").mkdir(parents=True)
    assert roots({}, tmp_path) == [tmp_path / ".claude", tmp_path / ".config" / "claude"]
    assert roots({"XDG_CONFIG_HOME": str(tmp_path / "xdg")}, tmp_path) == [tmp_path / ".claude"]


@pytest.mark.parametrize("separator", [",", ", ", os.pathsep])
def test_the_environment_may_name_several(tmp_path: Path, separator: str) -> None:
    (tmp_path / ".claude").mkdir()
    named = separator.join(["one", "~/two", "one", ""])
    assert roots({"CLAUDE_CONFIG_DIR": named}, tmp_path) == [Path("one"), tmp_path / "two"]
    assert roots({"CLAUDE_CONFIG_DIR": " "}, tmp_path) == [tmp_path / ".claude"]


def test_an_existing_folder_with_a_comma_is_one(tmp_path: Path) -> None:
    (tmp_path / "a,b").mkdir()
    assert roots({"CLAUDE_CONFIG_DIR": str(tmp_path / "a,b")}, tmp_path) == [tmp_path / "a,b"]


def test_drive_letters_are_not_taken_for_separators(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "pathsep", ";")
    assert roots({"CLAUDE_CONFIG_DIR": r"C:\one;D:\two"}, tmp_path) == [Path(r"C:\one"), Path(r"D:\two")]
