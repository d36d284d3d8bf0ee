"""Cues are tried only where one of their seeds stands: no match may be without one."""

from __future__ import annotations

import re._constants as names  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
from typing import Any

import msgspec
import pytest

from reread.features.friction import cues
from reread.features.friction.corrections import REASONS, models

CUES = [*cues.REPLY, *cues.THOUGHT, *cues.WORDS, cues.CLAIMED, cues.TO_TRY, cues.UNDOES, cues.COMMITS]


def is_covered(items: Any, seeds: tuple[str, ...]) -> bool:
    """Whether no match of these parts is without one of the seeds."""
    run = ""
    for kind, given in [*items, (None, None)]:
        if kind is names.LITERAL:
            run += chr(given)
            continue
        if any(seed in run for seed in seeds):
            return True
        run = ""
        if kind is names.SUBPATTERN and is_covered(given[3], seeds):
            return True
        if kind is names.BRANCH and all(is_covered(part, seeds) for part in given[1]):
            return True
        if kind in (names.MAX_REPEAT, names.MIN_REPEAT) and given[0] >= 1 and is_covered(given[2], seeds):
            return True
    return False


@pytest.mark.parametrize("cue", CUES, ids=lambda cue: cue.name)
def test_every_match_holds_a_seed(cue: cues.Cue) -> None:
    if not cue.seeds:
        assert all(part.startswith("^") for part in [cue.source]), "without seeds only the beginning is looked at"
        return
    assert is_covered(parser.parse(cue.source), cue.seeds), "add what is missing to the seeds"


def test_the_weights_are_small_and_every_strong_one_can_be_told_in_words() -> None:
    learned = models()
    assert len(msgspec.json.encode(learned)) < 50_000
    for model in (learned.correction, learned.manual_step, learned.re_ask):
        untold = {name for name, weight in model.weights.items() if weight >= 0.8 and name not in REASONS}
        assert not untold
