"""Whether a prompt corrects, asks again or carries something over by hand: learned weights over features, and why.

The weights are a file beside this one, written by `evals/train.py` from labelled prompts; `docs/retro.md` says how
well they do on prompts of people they were not learned from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from math import exp
from typing import NamedTuple

import msgspec
from msgspec import Struct

from reread.records import Record
from reread.sessions import Kind as Speaker

from .corrections import phrase_score
from .events import Kind
from .features import Around, Wish, features, wish_of, wished_again
from .refusals import is_said_by_hook
from .scene import Scene, Stretch

_WISHES_LOOKED_AT = 8
_MOST_REASONS = 3
_LEAST_REASON = 0.3
_SURE = 0.97
_SAME_LETTERS = 40


class Model(Struct, frozen=True):
    """What was learned for one kind."""

    threshold: float
    """A score of so much is enough; it becomes a confidence of one half."""
    weights: dict[str, float]


class Models(Struct, frozen=True):
    trained: str
    correction: Model
    manual_step: Model
    re_ask: Model


@cache
def models() -> Models:
    raw = files("reread.analyses.friction").joinpath("weights.json").read_bytes()
    return msgspec.json.decode(raw, type=Models)


class Verdict(NamedTuple):
    """How sure it is, and what speaks for it most."""

    confidence: float
    because: tuple[str, ...]


class Judged(NamedTuple):
    """A prompt of the person with all that was found out about it."""

    record: Record
    text: str
    stretch: Stretch
    features: tuple[str, ...]
    after: str
    """What it followed: `stop`, `busy`, `answer`; empty where nothing was answered yet."""
    again: str | None = None
    """The line of the wish that is repeated."""

    def verdict(self, model: Model) -> Verdict | None:
        """None where it is not enough."""
        weights = model.weights
        score = sum(map(weights.get, self.features, [0.0] * len(self.features)))
        if score < model.threshold:
            return None
        return Verdict(
            min(_SURE, round(1 / (1 + exp(model.threshold - score)), 2)), tuple(reasons(self.features, model))
        )


def reasons(names: Iterable[str], model: Model) -> Iterator[str]:
    """What speaks for it in a person's words, the strongest first."""
    strongest = sorted({name for name in names if name in REASONS}, key=lambda name: -model.weights.get(name, 0.0))
    told: list[str] = []
    for name in strongest:
        if model.weights.get(name, 0.0) >= _LEAST_REASON and REASONS[name] not in told and len(told) < _MOST_REASONS:
            told.append(REASONS[name])
            yield REASONS[name]


def judge(scene: Scene) -> list[Judged]:
    """Every prompt that a person typed, in reading order; what a hook said in their name is left out."""
    found: list[Judged] = []
    wishes: list[tuple[Wish, str | None]] = []
    stretches = scene.stretches
    for place, stretch in enumerate(stretches):
        if stretch.before is None:
            wishes = []
        prompt = stretch.prompt
        if prompt is not None and prompt.kind is Speaker.PROMPT and not is_said_by_hook(prompt.text):
            names = features(_around(stretches, place), phrase_score)
            wish = wish_of(prompt.text, stretch, names)
            more, back = wished_again(wish, [each for each, _ in wishes[-_WISHES_LOOKED_AT:]])
            again = wishes[-back][1] if back is not None else None
            found.append(Judged(prompt.record, prompt.text, stretch, (*names, *more), _after(names), again))
            wishes.append((wish, prompt.uuid))
        for notice in stretch.notices:
            if notice.what == "queued" and stretch.is_answered and not is_said_by_hook(notice.text):
                around = Around(notice.text, stretch, True, stretch, is_busy=True)
                names = features(around, phrase_score)
                found.append(Judged(notice.record, notice.text, stretch, tuple(names), "busy"))
    return found


def _around(stretches: Sequence[Stretch], place: int) -> Around:
    stretch = stretches[place]
    before = stretch.answered_before
    return Around(
        _text(stretch), before, before is stretch.before, _answer(stretches, place), is_forked=stretch.is_forked
    )


def _answer(stretches: Sequence[Stretch], place: int) -> Stretch | None:
    """The turn that answers a prompt: its own, or where that was stopped at once, the one of the same prompt again."""
    stretch = stretches[place]
    if stretch.is_answered:
        return stretch
    beginning = _text(stretch)[:_SAME_LETTERS]
    following = stretches[place + 1 : place + 3]
    return next((each for each in following if each.is_answered and _text(each)[:_SAME_LETTERS] == beginning), None)


def _text(stretch: Stretch) -> str:
    return stretch.prompt.text if stretch.prompt is not None else ""


def _after(names: Iterable[str]) -> str:
    given = set(names)
    if "before:nothing" in given:
        return ""
    return "stop" if given & {"before:interrupted", "before:refused", "before:declined"} else "answer"


def model_of(kind: Kind) -> Model:
    given = models()
    return {Kind.CORRECTION: given.correction, Kind.MANUAL_STEP: given.manual_step, Kind.RE_ASK: given.re_ask}[kind]


REASONS = {
    "reply:right": "the reply says you are right",
    "reply:catch": "the reply calls it a good catch",
    "reply:fault": "the reply admits a mistake",
    "reply:sees": "the reply sees the problem",
    "reply:still": "the reply says it still fails",
    "reply:point": "the reply takes the point",
    "reply:fixes": "the reply sets out to fix it",
    "reply:looks_into": "the reply looks into it",
    "reply:understood": "the reply gives way",
    "thought:right": "the model thought you were right",
    "thought:told": "the model took it as something pointed out",
    "thought:fault": "the model thought of its own mistake",
    "again:file": "the same file was edited again",
    "again:lines": "the same lines were edited again",
    "again:failed_command": "the command that failed was run again",
    "after:undoes": "something was undone",
    "before:interrupted": "you had interrupted",
    "before:refused": "you had turned down a call",
    "before:declined": "you had declined a plan or a question",
    "before:claimed": "it had been called done",
    "before:to_try": "you had been asked to try it",
    "before:edited": "files had just been changed",
    "before:unanswered": "the prompt before it went without an answer",
    "both:stopped_and_tells": "you had stopped it and said what to do",
    "both:states_after_done": "a bare statement about what had just been done",
    "both:fault_after_done": "a fault was shown after it was called done",
    "both:output_to_try": "output came back from what you were asked to try",
    "both:wrong_and_edited_again": "something was said to be wrong, and the file was edited again",
    "both:review_of_own_work": "a review of what had just been written",
    "phrases:0.3": "its words complain",
    "phrases:0.65": "its words complain",
    "phrases:1.0": "its words complain",
    "says:no": "it begins with a no",
    "says:wait": "it begins with wait or stop",
    "says:hm": "it begins with a hm",
    "says:but": "it begins with a but",
    "says:still": "it says “still”",
    "says:again": "it says “again”",
    "says:why": "it asks why",
    "says:does_not": "it says that something does not do what it should",
    "says:not_working": "it says that something does not work",
    "says:i_see": "it tells what is seen",
    "says:you_did": "it tells what you did",
    "says:should": "it says how it should be",
    "says:undo": "it asks to undo or remove something",
    "says:i_meant": "it says what was meant",
    "says:wrong": "it names something wrong",
    "says:sure": "it doubts what was said",
    "says:almost": "it says almost",
    "says:review": "it is a reviewer's finding",
    "says:in_capitals": "it is in capitals",
    "says:announces": "it announces an output or an error",
    "says:try": "you had run it by hand",
    "paste:line": "a line of output is in it",
    "paste:2": "lines of output are in it",
    "paste:4": "lines of output are in it",
    "paste:most": "most of it is output",
    "paste:alone": "it is little but output",
    "paste:prompt": "a terminal was copied",
    "paste:stack": "a stack trace was copied",
    "paste:fault": "the output tells of a fault",
    "paste:error": "an error is quoted",
    "alike:0.25": "it resembles an earlier prompt",
    "alike:0.4": "it resembles an earlier prompt",
    "alike:0.6": "it says most of an earlier prompt again",
    "alike:0.8": "it says most of an earlier prompt again",
    "alike:same": "it is an earlier prompt word for word",
    "alike:holds": "it is an earlier prompt with words added",
    "alike:complains": "it resembles an earlier prompt and complains",
    "alike:in_vain": "the earlier one went without an answer or was stopped",
    "alike:mostly_in_vain": "the earlier one went without an answer or was stopped",
}
