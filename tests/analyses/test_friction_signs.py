"""Cues are tried only where one of their seeds stands: no match may be without one."""

from __future__ import annotations

import re
import re._constants as names  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
from typing import Any

import msgspec
import pytest

from reread.analyses.friction import signs
from reread.analyses.friction.judge import REASONS, models

CUES = [*signs.REPLY, *signs.THOUGHT, *signs.WORDS, signs.CLAIMED, signs.TO_TRY, signs.UNDOES, signs.COMMITS]


def required(items: Any) -> set[str] | None:
    """Texts of which one is in whatever the parts match; None where that cannot be told."""
    best: set[str] | None = None
    run = ""
    for kind, given in [*items, (None, None)]:
        if kind is names.LITERAL:
            run += chr(given)
            continue
        found: set[str] | None = {run} if run else None
        run = ""
        best = _better(best, found)
        if kind is names.SUBPATTERN:
            best = _better(best, required(given[3]))
        elif kind is names.BRANCH:
            parts = [required(part) for part in given[1]]
            best = _better(best, {each for part in parts if part for each in part} if all(parts) else None)
        elif kind in (names.MAX_REPEAT, names.MIN_REPEAT) and given[0] >= 1:
            best = _better(best, required(given[2]))
    return best


def _better(one: set[str] | None, other: set[str] | None) -> set[str] | None:
    if one is None or other is None:
        return one if other is None else other
    return one if (min(map(len, one)), -len(one)) >= (min(map(len, other)), -len(other)) else other


@pytest.mark.parametrize("cue", CUES, ids=lambda cue: cue.name)
def test_every_match_holds_a_seed(cue: signs.Cue) -> None:
    if not cue.seeds:
        assert all(part.startswith("^") for part in [cue.source]), "without seeds only the beginning is looked at"
        return
    wanted = required(parser.parse(cue.source))
    assert wanted is not None
    assert all(any(seed in text for seed in cue.seeds) for text in wanted), "add what is missing to the seeds"
    assert re.compile(cue.source)


def test_the_weights_are_small_and_every_strong_one_can_be_told_in_words() -> None:
    learned = models()
    assert len(msgspec.json.encode(learned)) < 50_000
    for model in (learned.correction, learned.manual_step, learned.re_ask):
        untold = {name for name, weight in model.weights.items() if weight >= 0.8 and name not in REASONS}
        assert not untold
