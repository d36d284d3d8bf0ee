"""A regular expression that would never end costs the texts it is stuck on, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.running import Run
from reread.archive import Archive, regex
from reread.archive.regex import BoundedPattern
from reread.errors import BadInput
from reread.testing import a_prompt, a_reply, a_session

ENDLESS = "(a+)+$"
STUCK = "a" * 60 + "!"


def answers(pattern: str, *texts: str) -> list[tuple[bool, bool]]:
    bounded = BoundedPattern(pattern, patience=0.3)
    return [(tried.is_found, tried.took_too_long) for tried in bounded.try_each(texts)]


def test_a_text_that_takes_too_long_is_skipped_and_the_others_are_tried() -> None:
    assert answers(ENDLESS, "xx aaa", STUCK, "bbb", "aa") == [
        (True, False),
        (False, True),
        (False, False),
        (True, False),
    ]


@pytest.mark.parametrize("pattern", [r"\d+", "x|y?", "^b.$", "é+", "(?i)ABC+"])
def test_the_answers_are_those_of_python(pattern: str) -> None:
    import re

    texts = ["", "12 and 345", "a\nbc\nd", "xyz", "é é", "abcc \ud800", "nothing"] * 100
    tried = list(BoundedPattern(pattern).try_each(texts))
    compiled = re.compile(pattern, re.MULTILINE)
    assert [each.is_found for each in tried] == [compiled.search(text) is not None for text in texts]
    assert [each.spans for each in tried] == [
        tuple(match.span() for match in compiled.finditer(text) if match.group()) for text in texts
    ]


def test_a_pattern_that_is_stuck_everywhere_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regex, "MOST_SKIPPED", 3)
    bounded = BoundedPattern(ENDLESS, patience=0.1)
    assert len(list(bounded.try_each([STUCK] * 10))) == 3
    assert bounded.has_given_up


def test_what_is_no_pattern_is_refused() -> None:
    with pytest.raises(BadInput, match="not a regular expression"):
        BoundedPattern("(a+")


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    a_session(a_prompt(f"look at {STUCK}"), a_reply("baa"), id="stuck").write(tmp_path / "projects")
    with Archive(tmp_path / "kept", [tmp_path / "projects"]) as archive:
        archive.sync()
    return tmp_path / "kept"


def test_a_search_tells_what_it_skipped(kept: Path, run: Run) -> None:
    ran = run("search", "--regex", ENDLESS, "--home", kept, "--no-sync")
    assert ran.code == 0, ran.err
    assert "b[aa]" in ran.out
    assert "1 text took too long and was skipped" in ran.out
    told = json.loads(run("search", "--regex", ENDLESS, "--home", kept, "--no-sync", "--json").out)
    assert (told["skipped"], told["cut_short"], len(told["hits"])) == (1, False, 1)
