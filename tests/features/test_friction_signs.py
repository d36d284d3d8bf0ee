"""Cues are tried only where one of their words or seeds stands: no match may be without one."""

from __future__ import annotations

import re
import re._constants as names  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from reread.features.friction import cues
from reread.features.friction.corrections import models
from reread.features.friction.cues import REASONS

TABLED = [*cues.REPLY, *cues.THOUGHT, *cues.WORDS]


def examples(items: Any, *, is_full: bool) -> list[str]:
    """Texts that these parts match; each way to match a part is in one of them. What may be missing is, or is not."""
    found = [""]
    for kind, given in items:
        ways = _ways(kind, given, is_full)
        count = max(len(found), len(ways))
        found = [found[number % len(found)] + ways[number % len(ways)] for number in range(count)]
    return found


def _ways(kind: Any, given: Any, is_full: bool) -> list[str]:
    if kind is names.LITERAL:
        return [chr(given)]
    if kind is names.SUBPATTERN:
        return examples(given[3], is_full=is_full)
    if kind is names.BRANCH:
        return [text for part in given[1] for text in examples(part, is_full=is_full)]
    if kind in (names.MAX_REPEAT, names.MIN_REPEAT):
        times = max(1, given[0]) if is_full else given[0]
        return [text * times for text in examples(given[2], is_full=is_full)] if times else [""]
    if kind is names.IN:
        return _characters(given)
    return ["q"] if kind in (names.ANY, names.NOT_LITERAL) else [""]


def _characters(given: Iterable[Any]) -> list[str]:
    found = [chr(code) for kind, code in given if kind is names.LITERAL]
    return (
        found
        if found and (names.NEGATE, None) not in given
        else ["7" if (names.CATEGORY, names.CATEGORY_DIGIT) in given else "q"]
    )


def matches(cue: cues.Cue) -> list[str]:
    """Amid other words, and of a beginning alone."""
    parsed = parser.parse(cue.source)
    found = [*examples(parsed, is_full=False), *examples(parsed, is_full=True)]
    texts = [text for each in found for text in (each, f"well, {each}", f"{each} so", f"oh. {each}, so")]
    return [text for text in texts if re.search(cue.source, text)]


@pytest.mark.parametrize("cue", TABLED, ids=lambda cue: cue.name)
def test_every_match_holds_a_word_or_a_seed(cue: cues.Cue) -> None:
    if not (cue.words or cue.seeds):
        assert cue.source.startswith("^"), "without words and seeds only the beginning is looked at"
        return
    assert matches(cue)
    missed = [text for text in matches(cue) if cue.name not in cues.CueTable(cue).named_in(text)]
    assert not missed, "add what is missing to the words or the seeds"


@pytest.mark.parametrize("cue", cues.ALONE, ids=lambda cue: cue.name)
def test_every_match_of_a_cue_that_stands_by_itself_holds_a_seed(cue: cues.Cue) -> None:
    assert matches(cue)
    assert not cue.words, "only a table looks at words"
    assert [text for text in matches(cue) if not cue.is_in(text)] == []


@pytest.mark.parametrize("table", [cues.REPLY, cues.THOUGHT, cues.WORDS])
def test_a_table_finds_what_its_patterns_find(table: cues.CueTable) -> None:
    texts = [text for cue in TABLED for text in matches(cue)]
    for text in texts:
        expected = [cue.name for cue in table if re.search(cue.source, text)]
        assert [*table.named_in(text)] == expected, text


def test_the_weights_are_small_and_every_strong_one_can_be_told_in_words() -> None:
    learned = models()
    assert len(msgspec.json.encode(learned)) < 50_000
    for model in (learned.correction, learned.manual_step, learned.re_ask):
        untold = {name for name, weight in model.weights.items() if weight >= 0.8 and name not in REASONS}
        assert not untold
