"""Detectors must not get worse: floors of precision and recall on labelled sessions. `make eval` prints all of them."""

from __future__ import annotations

from functools import cache

import pytest

import notation
from measuring import CORPUS, HELD_OUT, SIGNALS, TUNE, Measured, measure, recorded

EXACT = ("interrupt", "rejection", "hook_block", "tool_error", "rewind", "compaction", "stall")
PARTS = {"tune": TUNE, "held out": HELD_OUT, "signals": SIGNALS}


@cache
def measured(part: str) -> Measured:
    return measure(notation.read(PARTS[part]))


def test_the_labelled_set_is_large_enough() -> None:
    assert sum(measured(part).sessions for part in PARTS) >= 60
    assert sum(measured(part).moments for part in PARTS) >= 300


@pytest.mark.parametrize("part", PARTS)
def test_what_the_client_writes_down_is_found_nearly_always(part: str) -> None:
    scores = measured(part).scores
    for kind in EXACT:
        if kind in scores:
            assert scores[kind].precision >= 0.98, kind
            assert scores[kind].recall >= 0.98, kind


def test_corrections_are_found_in_texts_that_nobody_tuned_by() -> None:
    score = measured("held out").scores["correction"]
    assert score.right + score.missed >= 50
    assert score.precision >= 0.85
    assert score.recall >= 0.75


@pytest.mark.shared
@pytest.mark.skipif(not CORPUS.is_dir(), reason="no recorded transcripts beside the project")
def test_recorded_sessions_are_judged_as_a_person_judged_them() -> None:
    scores = measure(recorded()).scores
    for kind in EXACT:
        assert scores[kind].precision >= 0.98, kind
        assert scores[kind].recall >= 0.98, kind
