"""Precision and recall of every detector over labelled sessions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import notation
import reread
from notation import SPANS, Label, Labelled
from reread.features.friction.detectors import find_events

HERE = Path(__file__).parent
LABELS = HERE / "labels"
TUNE, HELD_OUT, SIGNALS = LABELS / "tune.txt", LABELS / "held_out.txt", LABELS / "signals.txt"
"""Texts to tune by, texts that were written before any detector and never tuned by, and signals of the client alone."""
TEACH = LABELS / "teach.txt"
"""Sessions written to learn from: many trades, tongues and tempers; not measured, since the weights know them."""
CORPUS_LABELS = LABELS / "corpus.json"
NOT_JUDGED = frozenset({"loop", "rework", "read_waste", "permission_toil", "correction", "manual_step", "re_ask"})
"""Kinds that are not measured on the recordings by these labels: nobody labelled the first four there, and the weights
of the others were learned from them (`train.py` measures those by owner)."""
CORPUS = HERE.parents[1] / "shared" / "corpus" / "recorded"
"""Recorded sessions beside the project; their labels name lines and quote nothing."""


class Score(NamedTuple):
    """What was found of what there is."""

    right: int = 0
    false: int = 0
    missed: int = 0

    @property
    def precision(self) -> float:
        return self.right / (self.right + self.false) if self.right + self.false else 1.0

    @property
    def recall(self) -> float:
        return self.right / (self.right + self.missed) if self.right + self.missed else 1.0

    def plus(self, other: Score) -> Score:
        return Score(*(one + two for one, two in zip(self, other, strict=True)))


def kappa(pairs: Iterable[tuple[bool, bool]]) -> float:
    """Cohen's kappa of what two readers said of the same things; 1 if both always said the same."""
    counts = Counter(pairs)
    total = counts.total()
    agreed = (counts[True, True] + counts[False, False]) / total
    first, second = ((counts[True, True] + counts[one]) / total for one in ((True, False), (False, True)))
    chance = first * second + (1 - first) * (1 - second)
    return 1.0 if chance == 1 else (agreed - chance) / (1 - chance)


class Miss(NamedTuple):
    """A moment the detectors and the labels do not agree on."""

    session: str
    label: Label
    is_false: bool


class Measured(NamedTuple):
    sessions: int
    moments: int
    scores: dict[str, Score]
    misses: list[Miss]


def measure(labelled: Iterable[Labelled]) -> Measured:
    """All events against all labels; an error found but put into another class is right as an error, not as a class."""
    scores: dict[str, Score] = {}
    misses: list[Miss] = []
    sessions = moments = 0
    for each in labelled:
        sessions, moments = sessions + 1, moments + each.moments
        found = {label for label in _found(each) if not (each.is_recorded and label.kind in NOT_JUDGED)}
        for given, wanted, suffix in (
            ({label._replace(about="") for label in found}, {label._replace(about="") for label in each.labels}, ""),
            (_errors(found), _errors(each.labels), " class"),
        ):
            for label in given | wanted:
                score = Score(label in given and label in wanted, label not in wanted, label not in given)
                scores[label.kind + suffix] = scores.get(label.kind + suffix, Score()).plus(score)
                if not score.right:
                    misses.append(Miss(each.name, label, bool(score.false)))
    return Measured(sessions, moments, scores, misses)


def _errors(labels: Iterable[Label]) -> set[Label]:
    return {label for label in labels if label.kind == "tool_error"}


def _found(each: Labelled) -> Iterator[Label]:
    for event in find_events(each.session):
        place = each.name if event.kind in SPANS else event.uuid or ""
        yield Label(event.kind.value, place, event.about if event.kind == "tool_error" else "")


def recorded() -> Iterator[Labelled]:
    """The recorded sessions with hand labels."""
    for path, kinds in json.loads(CORPUS_LABELS.read_text("utf-8")).items():
        session = reread.load(CORPUS / path)
        labels = {
            Label(kind, path if kind in SPANS else uuid, about)
            for kind, places in kinds.items()
            for uuid, about in (places.items() if isinstance(places, dict) else ((place, "") for place in places))
        }
        judged = sum(turn.prompt is not None for turn in session.turns) + len(session.tool_calls)
        yield Labelled(path, session, frozenset(labels), judged, is_recorded=True)


def parts() -> dict[str, Iterator[Labelled]]:
    found = {"tune": notation.read(TUNE), "held out": notation.read(HELD_OUT), "signals": notation.read(SIGNALS)}
    return found | ({"recorded": recorded()} if CORPUS.is_dir() else {})


def interval(right: int, of: int) -> tuple[float, float]:
    """Wilson's interval of 95 % for a share; from 0 to 1 where there is nothing."""
    if not of:
        return 0.0, 1.0
    z, share = 1.96, right / of
    middle = (share + z * z / (2 * of)) / (1 + z * z / of)
    half = z / (1 + z * z / of) * ((share * (1 - share) + z * z / (4 * of)) / of) ** 0.5
    return max(0.0, middle - half), min(1.0, middle + half)
