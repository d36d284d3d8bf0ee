"""The person says that what was done, said or assumed is not right."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from .detector import Detector
from .events import Cause, Event, Kind
from .languages import ANY_WITHOUT_SPACES, BENIGN_WITHOUT_SPACES, OTHERS, QUESTION_WITHOUT_SPACES, WITHOUT_SPACES
from .phrases import BENIGN, BY_OTHERS, ENGLISH, OWN_SLIP, PRAISE, QUESTION, REPROACH, Sign
from .prose import prose_of
from .scene import Scene

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
_TRAILS_OFF = 0.25
_BUT = re.compile(r"\b(?:but|however|except|aber|mais|pero|mas)\b")
_STATES = 0.15
"""After work was done, a bare statement about it is rather a complaint than a wish."""
_BY_WORD: dict[str, list[Sign]] = {}
for _each in (*ENGLISH, *OTHERS):
    for _word in _each.words:
        _BY_WORD.setdefault(_word, []).append(_each)


def phrase_score(text: str) -> float:
    """How much the phrases of a prompt complain; negative where they ask or praise."""
    words = " ".join(prose_of(text)[:_LOOKED_AT].lower().replace("’", "'").split())
    words = _UNMARKED.sub(r"\1n't", words) if "nt" in words else words
    if not words:
        return 0.0
    if not words.isascii() and _HAS_CJK.search(words):
        return _score_without_spaces(words)
    return _score_of_words(words)


def _score_of_words(words: str) -> float:
    called = _BY_WORD.keys() & words.translate(_SPACED).split()
    signs = {sign for word in called for sign in _BY_WORD[word] if sign.pattern.search(words)}
    if not signs:
        return 0.0
    plain = BENIGN.sub("_", words)
    weights = sorted((_weight(sign, plain) for sign in signs), reverse=True)
    total = sum(weight * share for weight, share in zip(weights, _SHARES, strict=False))
    total += _STATES if _STATEMENT.match(plain) else 0.0
    total += _TRAILS_OFF if words.endswith(("...", "…")) else 0.0
    if PRAISE.match(words) and not _BUT.search(words):
        total -= 0.6
    if not REPROACH.search(words):
        total -= _asks(words)
    return total - 0.8 if BY_OTHERS.search(words) else total


def _weight(sign: Sign, plain: str) -> float:
    found = sign.pattern.search(plain)
    if found is None:
        return 0.0
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
        "what the reply admits and does over, what came before, and the words of the prompt, weighted as labelled "
        "prompts of other people taught: 0.5 to 0.97"
    )

    def find(self, scene: Scene) -> Iterator[Event]:
        from .judge import model_of

        model = model_of(self.kind)
        for each in scene.judged:
            verdict = each.verdict(model) if each.after else None
            if verdict is not None:
                is_slip = bool(OWN_SLIP.search(each.text[:_LOOKED_AT].lower()))
                yield scene.event(
                    self.kind,
                    each.record,
                    each.text,
                    Cause.PROMPT if is_slip else Cause.AGENT,
                    verdict.confidence,
                    loss=replace(scene.spent.on(each.stretch.turn.records), seconds=None),
                    after=each.after,
                    because="; ".join(verdict.because) or None,
                )
