"""The era fixtures are whole, listed and clean; what they say is checked where reread reads them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
FIXTURES = sorted(path.parent for path in HERE.glob("*/expected.json"))
ERAS = {f"E{number}" for number in range(1, 13)}
# A home other than the invented one, a key, or the place where captures are made.
UNCLEAN = re.compile(rb"/home/(?!ann\b)|/Users/(?!ann\b)|/root\b|/work/|sk-ant-")


def expected(fixture: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((fixture / "expected.json").read_text(encoding="utf-8"))
    return content


def name(fixture: Path) -> str:
    return fixture.name


def test_every_era_has_a_fixture() -> None:
    assert {expected(fixture)["era"] for fixture in FIXTURES} == ERAS


def test_every_fixture_is_listed_in_the_readme() -> None:
    listed = re.findall(r"^\| `([^`]+)` \| E", (HERE / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert listed == [fixture.name for fixture in FIXTURES]


@pytest.mark.parametrize("fixture", FIXTURES, ids=name)
def test_every_session_of_a_fixture_is_described(fixture: Path) -> None:
    source = fixture / "source"
    trunks = {path for path in source.glob("projects/*/*.jsonl") if not path.name.startswith("agent-")}
    captures = {path for path in source.glob("*.json*") if path.name != "history.jsonl"}
    assert {source / session["file"] for session in expected(fixture)["sessions"]} == trunks | captures


@pytest.mark.parametrize("fixture", FIXTURES, ids=name)
def test_a_fixture_names_no_machine_and_no_key(fixture: Path) -> None:
    found = {
        path.name: match.group()
        for path in fixture.rglob("*")
        if path.is_file() and (match := UNCLEAN.search(path.read_bytes()))
    }
    assert not found, "pass the capture through tests/client/strip.py"
