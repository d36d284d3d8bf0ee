"""The tables of words and patterns that stand in text files beside the code."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from reread.features import word_tables

ROOM = Path(word_tables.__file__).parent
TABLES = sorted(ROOM.rglob("*.txt"))


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_every_entry_has_something_below_its_name_and_no_line_ends_with_a_space_that_an_editor_would_remove(
    path: Path,
) -> None:
    name = path.relative_to(ROOM).with_suffix("").as_posix()
    lines = path.read_text("utf-8").split("\n")
    for section in (line.strip("[]") for line in lines if line.startswith("[")):
        for entry in word_tables.entries(name, section):
            assert entry.lines, f"{name}: {entry.name} of {section} is empty"
    assert [line for line in lines if line != line.rstrip()] == []


def test_every_table_is_installed_with_the_package() -> None:
    settings = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
    shipped = settings["tool"]["setuptools"]["package-data"]["reread"]
    assert {f"features/{path.parent.name}/*.txt" for path in TABLES} <= set(shipped)
