"""The person says that what was done, said or assumed is not right."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from reread.sessions import Kind as Speaker
from reread.sessions import Prompt

from .detector import Detector
from .events import Cause, Event, Kind
from .languages import ANY_WITHOUT_SPACES, BENIGN_WITHOUT_SPACES, OTHERS, QUESTION_WITHOUT_SPACES, WITHOUT_SPACES
from .phrases import ACKNOWLEDGED, BENIGN, BY_OTHERS, ENGLISH, OWN_SLIP, PRAISE, QUESTION, REPROACH, Sign
from .prose import prose_of
from .refusals import is_by_person
from .scene import Scene, Stretch

ENOUGH = 0.65
_LOOKED_AT = 700
"""Who corrects says so early; further down stand reasons and new wishes."""
_OPENING_LENGTH = 160
_LATE = 0.7
_SPACED = dict.fromkeys(map(ord, '.,;:!?…()[]"-*–—/'), " ")
_UNMARKED = re.compile(r"\b(do|does|did|is|are|was|were|would|could|should|has|have|had|ca|wo)nt\b")
"""Who types fast leaves the apostrophe out."""
_SENTENCE_END = re.compile(r"[.!?](?= |$)|[。！？]")
_HAS_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_STATEMENT = re.compile(r"(?:but |now )?(?:it|this|that|these|those|they|there|clicking) ")
_SHARES = (1.0, 0.6, 0.4, 0.2)
"""How much the strongest signs count, the next and so on: they often read the same words."""
_LONGEST_NO = 6
_TRAILS_OFF = 0.25
_BUT = re.compile(r"\b(?:but|however|except|aber|mais|pero|mas)\b")
_STATES = 0.15
"""After work was done, a bare statement about it is rather a complaint than a wish."""
_ANSWERS_ITSELF = frozenset({"AskUserQuestion", "ExitPlanMode"})
_BY_WORD: dict[str, list[Sign]] = {}
for _each in (*ENGLISH, *OTHERS):
    for _word in _each.words:
        _BY_WORD.setdefault(_word, []).append(_each)


class Before(NamedTuple):
    """What came before a prompt."""

    was_stopped: bool = False
    """The person interrupted or turned down a call."""
    asked: bool = False
    """The model's last words were a question: a no is an answer."""
    is_busy: bool = False
    """It was sent while the model was working."""


def score(text: str, before: Before) -> float:
    """How much speaks for a correction; `ENOUGH` is enough."""
    words = " ".join(prose_of(text)[:_LOOKED_AT].lower().replace("’", "'").split())
    words = _UNMARKED.sub(r"\1n't", words) if "nt" in words else words
    if not words:
        return 0.0
    if not words.isascii() and _HAS_CJK.search(words):
        found = _score_without_spaces(words)
    else:
        found = _score_of_words(words, before)
    if before.was_stopped and not _asks(words) and not _goes_along(words):
        found += 0.8
    return found


def _goes_along(words: str) -> bool:
    """Whether a prompt after a stop only lets the work go on, or thanks for it."""
    return PRAISE.match(words) is not None or (len(words) < 30 and ACKNOWLEDGED.match(words) is not None)


def _score_of_words(words: str, before: Before) -> float:
    called = _BY_WORD.keys() & words.translate(_SPACED).split()
    signs = {sign for word in called for sign in _BY_WORD[word] if sign.pattern.search(words)}
    if not signs:
        return 0.0
    plain = BENIGN.sub("_", words)
    weights = sorted((_weight(sign, plain, before) for sign in signs), reverse=True)
    total = sum(weight * share for weight, share in zip(weights, _SHARES, strict=False))
    total += _STATES if _STATEMENT.match(plain) else 0.0
    total += _TRAILS_OFF if words.endswith(("...", "…")) else 0.0
    if PRAISE.match(words) and not _BUT.search(words):
        total -= 0.6
    if not REPROACH.search(words):
        total -= _asks(words)
    return total - 0.8 if BY_OTHERS.search(words) else total


def _weight(sign: Sign, plain: str, before: Before) -> float:
    found = sign.pattern.search(plain)
    if found is None:
        return 0.0
    if before.asked and sign.weight >= 1 and found.start() == 0 and found.end() < _LONGEST_NO:
        return 0.3
    return sign.weight if found.start() < _OPENING_LENGTH else sign.weight * _LATE


def _score_without_spaces(words: str) -> float:
    plain = BENIGN_WITHOUT_SPACES.sub("_", words)
    if ANY_WITHOUT_SPACES.search(plain) is None:
        return 0.0
    return sum(sign.weight for sign in WITHOUT_SPACES if sign.pattern.search(plain)) - _asks(words)


def _asks(words: str) -> float:
    """How much a prompt is a question: 1 where every sentence asks, some of it where the first or the last does."""
    if "?" not in words and "？" not in words:
        return 0.6 if QUESTION_WITHOUT_SPACES.search(words) else 0.0
    ends = _SENTENCE_END.findall(words)
    if ends and all(end in "?？" for end in ends):
        return 1.0
    return 0.6 if QUESTION.match(words) and (words.endswith("?") or (ends and ends[0] in "?？")) else 0.0


class Correction(Detector):
    """The person says that what was done, said or assumed is not right."""

    kind = Kind.CORRECTION
    heuristics = (
        "phrases of a prompt after an answer, in seven languages, code and quotes left out; weighted by place, "
        "by a preceding interrupt or rejection, against praise and plain questions: 0.5 to 0.95"
    )

    def find(self, scene: Scene) -> Iterator[Event]:
        for stretch in scene.stretches:
            prompt = stretch.prompt
            if prompt is not None and prompt.kind is Speaker.PROMPT:
                before = _before(stretch)
                if before is not None:
                    yield from self._judged(scene, prompt, before)
            for notice in stretch.notices:
                if notice.what == "queued" and stretch.is_answered:
                    sent = Prompt(record=notice.record, text=notice.text, kind=Speaker.PROMPT, is_queued=True)
                    yield from self._judged(scene, sent, Before(is_busy=True))

    def _judged(self, scene: Scene, prompt: Prompt, before: Before) -> Iterator[Event]:
        found = score(prompt.text, before)
        if found >= ENOUGH:
            is_slip = bool(OWN_SLIP.search(prompt.text[:_LOOKED_AT].lower()))
            yield scene.event(
                self.kind,
                prompt.record,
                prompt.text,
                Cause.PROMPT if is_slip else Cause.AGENT,
                min(0.95, 0.5 + (found - ENOUGH) * 0.4),
                after="stop" if before.was_stopped else "busy" if before.is_busy else "answer",
            )


def _before(stretch: Stretch) -> Before | None:
    """None where nothing was answered yet: there is nothing to correct."""
    last = stretch.answered_before
    if last is None:
        return Before() if stretch.is_forked else None
    asked = last.said is not None and last.said.text[-20:].rstrip().endswith(("?", "？"))
    return Before(was_stopped=last is stretch.before and _was_stopped(last), asked=asked)


def _was_stopped(stretch: Stretch) -> bool:
    """Whether the last thing in a turn was that the person stopped it."""
    if not stretch.calls or not (stretch.troubled or stretch.notices):
        return False
    last = stretch.calls[-1].message_id
    refused = [call for call in stretch.troubled if call.message_id == last and is_by_person(call)]
    if refused:
        return any(call.name not in _ANSWERS_ITSELF for call in refused)
    return stretch.was_interrupted
