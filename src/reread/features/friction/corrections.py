"""Judges prompts by what came before and after them: whether they correct, ask again, or pass on output by hand."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from math import exp
from pathlib import Path
from string import ascii_uppercase
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from reread import lazy
from reread.records import Record
from reread.sessions import CallStatus, Said, Thought
from reread.sessions import Speaker as Speaker

from .command_lines import prefix_of
from .cues import ANNOUNCED, CLAIMED, COMMITS, REASONS, REPLY, THOUGHT, TO_TRY, UNDOES, WORDS, CueTable
from .detection import (
    EDITS,
    NOTHING_KNOWN,
    SHELLS,
    Cause,
    ConversationUnderTest,
    DetectedCall,
    Detector,
    FrictionKind,
    Loss,
    Moment,
    TurnInContext,
)
from .phrases import (
    ACKNOWLEDGED,
    ANY_WITHOUT_SPACES,
    BENIGN,
    BENIGN_WITHOUT_SPACES,
    BY_OTHERS,
    ENGLISH,
    OTHERS,
    OWN_SLIP,
    PRAISE,
    QUESTION,
    QUESTION_WITHOUT_SPACES,
    REPROACH,
    WITHOUT_SPACES,
    Sign,
)
from .prompt_text import Paste, paste_of, prose_of, quoted_error, words_of
from .refusals import is_by_person, is_from_hook

_LOOKED_AT = 700
"""A complaint comes early in a prompt; further down are reasons and new wishes."""
_OPENING_LENGTH = 160
_LATE = 0.7
_SPACED = dict.fromkeys(map(ord, '.,;:!?…()[]"-*–—/'), " ")
_UNMARKED = lazy.pattern(r"\b(do|does|did|is|are|was|were|would|could|should|has|have|had|ca|wo)nt\b")
"""Words typed without their apostrophe."""
_SENTENCE_END = lazy.pattern(r"[.!?](?= |$)|[。！？]")
_HAS_CJK = lazy.pattern(r"[\u3040-\u30ff\u3400-\u9fff]")
_STATEMENT = lazy.pattern(r"(?:but |now )?(?:it|this|that|these|those|they|there|clicking) ")
_SHARES = (1.0, 0.6, 0.4, 0.2)
"""How much the strongest sign counts, the next one, and so on: several signs often match the same words."""
_TRAILS_OFF = 0.25
_BUT = lazy.pattern(r"\b(?:but|however|except|aber|mais|pero|mas)\b")
_STATES = 0.15
"""After work was done, a bare statement about it is more likely a complaint than a wish."""
_BY_WORD: dict[str, list[Sign]] = {}
for _each in (*ENGLISH, *OTHERS):
    for _word in _each.words:
        _BY_WORD.setdefault(_word, []).append(_each)


def phrase_score(words: str) -> float:
    """How strongly the words of a prompt complain; negative where they ask or praise."""
    words = _UNMARKED.sub(r"\1n't", words) if "nt" in words else words
    if not words:
        return 0.0
    if not words.isascii() and _HAS_CJK.search(words):
        return _score_without_spaces(words)
    return _score_of_words(words)


def _score_of_words(words: str) -> float:
    called = _BY_WORD.keys() & words.translate(_SPACED).split()
    found = {sign: match for word in called for sign in _BY_WORD[word] if (match := sign.pattern.search(words))}
    if not found:
        return 0.0
    plain = BENIGN.sub("_", words)
    weights = sorted(
        (_weight(sign, match if plain == words else sign.pattern.search(plain)) for sign, match in found.items()),
        reverse=True,
    )
    total = sum(weight * share for weight, share in zip(weights, _SHARES, strict=False))
    total += _STATES if _STATEMENT.match(plain) else 0.0
    total += _TRAILS_OFF if words.endswith(("...", "…")) else 0.0
    if PRAISE.match(words) and not _BUT.search(words):
        total -= 0.6
    if not REPROACH.search(words):
        total -= _asks(words)
    return total - 0.8 if BY_OTHERS.search(words) else total


def _weight(sign: Sign, found: re.Match[str] | None) -> float:
    if found is None:
        return 0.0
    return sign.weight if found.start() < _OPENING_LENGTH else sign.weight * _LATE


def _score_without_spaces(words: str) -> float:
    plain = BENIGN_WITHOUT_SPACES.sub("_", words)
    if ANY_WITHOUT_SPACES.search(plain) is None:
        return 0.0
    return sum(sign.weight for sign in WITHOUT_SPACES if sign.pattern.search(plain)) - _asks(words)


def _asks(words: str) -> float:
    """How much a prompt is a question: 1 if every sentence asks, less if only the first or last one does."""
    if "?" not in words and "？" not in words:
        return 0.6 if QUESTION_WITHOUT_SPACES.search(words) else 0.0
    ends = _SENTENCE_END.findall(words)
    if ends and all(end in "?？" for end in ends):
        return 1.0
    return 0.6 if QUESTION.match(words) and (words.endswith("?") or (ends and ends[0] in "?？")) else 0.0


class Correction(Detector):
    """The person says that what was done, said or assumed is not right."""

    kind = FrictionKind.CORRECTION
    heuristics = (
        "what the reply admits and does over, what came before, and the words of the prompt, weighted as labelled "
        "prompts of other people taught: 0.5 to 0.97"
    )

    def find(self, subject: ConversationUnderTest) -> Iterator[Moment]:
        for each, verdict in verdicts(subject, self.kind):
            if each.after:
                is_slip = bool(OWN_SLIP.search(each.text[:_LOOKED_AT].lower()))
                cause = Cause.PROMPT if is_slip else Cause.AGENT
                loss = _thrown_away(subject, each.context)
                yield judged_moment(subject, self.kind, each, verdict, cause, loss=loss, after=each.after)


def _thrown_away(subject: ConversationUnderTest, context: TurnInContext) -> Loss:
    """The cost of the work that a correction undid: of the requests before it that wrote what was written over then.

    The turn that follows is no loss: most of it is what the person wishes next.
    """
    before = context.answered_before
    if before is None:
        return NOTHING_KNOWN
    again = [call for call in context.calls if call.name in EDITS]
    wasted = {call.message_id for call in _written(before.calls) if again and _is_same_lines([call], again)}
    records = [call.record for call in before.calls if call.message_id in wasted]
    return replace(subject.spent.on(records), seconds=None) if records else NOTHING_KNOWN


def _written(calls: Sequence[DetectedCall]) -> list[DetectedCall]:
    return [call for call in calls if call.name in EDITS and call.worked]


_HEAD = 320
"""Characters at the start of a reply that show how it takes the prompt; after them it describes the work."""
_TAIL = 400
_MOST_EDITS = 40
_SHORTEST_LINE = 8
"""Shorter lines, such as a single bracket, are the same everywhere."""
_SHORT, _MIDDLING, _LONG = 25, 120, 600
_FEWEST_LINES, _SOME_LINES, _MANY_LINES = 3, 4, 12
_ANSWERS_ITSELF = frozenset({"AskUserQuestion", "ExitPlanMode"})


class Around(NamedTuple):
    """A prompt and the turns around it."""

    text: str
    before: TurnInContext | None
    """The last turn that had an answer."""
    is_next: bool
    """Whether that turn comes directly before it, with no unanswered prompt between."""
    after: TurnInContext | None
    """The turn that answers it; None if none does."""
    is_busy: bool = False
    """It was sent while the model was working."""
    is_forked: bool = False
    """It begins an abandoned branch, so something was answered before the fork."""


def features(around: Around) -> list[str]:
    """The names of all features that a prompt has."""
    text = around.text
    if len(text) < _SHORT and ACKNOWLEDGED.fullmatch(text.lower()):  # a fifth of all prompts
        return ["always", "says:goes_along", "length:short", *_of_before(around)]
    prose = prose_of(text)
    words = " ".join(prose[:_LOOKED_AT].lower().replace("’", "'").split())
    if around.before is None and not around.is_forked:  # no answer yet that could be corrected
        asked = [*_FIRST_PROMPT_CUES.named_in(words)]
        return ["always", "before:nothing", *asked, *_of_paste(text, words)]
    found = ["always", *_of_words(text, prose, words), *_of_before(around), *_of_after(around)]
    names = set(found)
    found += [name for name, parts in _TOGETHER if all(names & part for part in parts)]
    if not names & _NEUTRAL:
        found += ["both:stopped_and_tells"] if names & _STOPPED else []
        if not names & _WANTS_SOMETHING:
            found += ["says:states", *(["both:states_after_done"] if names & _DONE else [])]
    return found


_ASKED_OF_THE_FIRST = frozenset(
    {"says:i_see", "says:try", "says:plan", "says:review", "says:please_do", "says:image", "says:still", "says:again"}
)
"""Cues that show whether a first prompt passes on output. It comes too early to complain or ask again."""
_FIRST_PROMPT_CUES = CueTable(*(cue for cue in WORDS if cue.name in _ASKED_OF_THE_FIRST))
_TOGETHER = (
    (
        "both:fault_after_done",
        ({"paste:fault", "paste:error", "says:not_working"}, {"before:claimed", "before:to_try"}),
    ),
    ("both:output_to_try", ({"paste:line"}, {"before:to_try"})),
    ("both:no_to_question", ({"says:no"}, {"before:asked"})),
    ("both:wrong_and_edited_again", ({"says:wrong", "says:not_working", "says:should"}, {"again:file"})),
    ("both:asks_and_admits", ({"asks:last"}, {"reply:right", "reply:fault", "reply:catch"})),
    ("both:short_on_same_lines", ({"length:short"}, {"again:lines"})),
    ("both:catch_on_wish", ({"reply:catch"}, {"says:what_if", "says:can_you", "says:also", "says:lets"})),
    ("both:stop_and_wish", ({"before:interrupted", "before:refused"}, {"says:also", "says:can_you", "says:please_do"})),
    ("both:review_of_own_work", ({"says:review"}, {"again:file"})),
)  # fmt: skip
"""Features that mean more together than each alone."""
_STOPPED = frozenset({"before:interrupted", "before:refused"})
_NEUTRAL = frozenset({"asks:last", "says:goes_along", "says:praise", "says:plan", "says:works", "length:none"})
"""After a stop a person may also ask, continue or thank; anything else says what was wrong."""
_WANTS_SOMETHING = frozenset(
    {"says:please_do", "says:can_you", "says:lets", "says:question", "says:what_if", "says:answer", "asks:amid"}
    | {"length:long", "length:huge", "paste:document", "paste:code", "before:asked"}
)
_DONE = frozenset({"before:claimed", "before:edited", "before:to_try"})
"""A bare statement about what was just done is more likely a complaint than a wish."""


def _of_words(text: str, prose: str, words: str) -> Iterator[str]:
    yield from WORDS.named_in(words)
    if len(prose) > 12 and _is_in_capitals(prose):
        yield "says:in_capitals"
    yield from _of_phrases(phrase_score(words))
    if PRAISE.match(words):
        yield "says:praise"
    if len(words) < 30 and ACKNOWLEDGED.match(words):
        yield "says:goes_along"
    yield _length(words)
    if words.endswith(("?", "？")):
        yield "asks:last"
    elif "?" in words or "？" in words:
        yield "asks:amid"
    if words.endswith(("...", "…", "!!", "??")):
        yield "says:trails"
    yield from _of_paste(text, words)


def _of_phrases(score: float) -> Iterator[str]:
    yield from (f"phrases:{least}" for least in (0.3, 0.65, 1.0) if score >= least)
    if score <= -0.3:
        yield "phrases:against"


_MAY_BE_CAPITAL = ascii_uppercase.encode() + bytes(range(128, 256))


def _is_in_capitals(prose: str) -> bool:
    """Whether more than half of it is capitals; looking at every letter would take ten times as long."""
    half = 0.5 * len(prose.replace(" ", ""))
    raw = prose.encode("utf-8", "surrogatepass")
    at_most = len(raw) - len(raw.translate(None, _MAY_BE_CAPITAL))
    return at_most > half and sum(map(str.isupper, prose)) > half


def _length(words: str) -> str:
    length = len(words)
    if not length:
        return "length:none"
    return "length:" + (
        "short" if length < _SHORT else "middling" if length < _MIDDLING else "long" if length < _LONG else "huge"
    )


def _of_paste(text: str, words: str) -> Iterator[str]:
    """Features of what was pasted, and whether it reports an error."""
    paste = paste_of(text)
    yield from (name for name, is_so in _PASTED if is_so(paste))
    if quoted_error(text):
        yield "paste:error"
    if (paste.lines > 1 or ":" in text) and ANNOUNCED.is_in(words):
        yield "says:announces"


_PASTED: tuple[tuple[str, Callable[[Paste], bool]], ...] = (
    ("paste:line", lambda paste: paste.output > 0),
    ("paste:2", lambda paste: paste.output > 1),
    ("paste:4", lambda paste: paste.output >= _SOME_LINES),
    ("paste:most", lambda paste: 0 < paste.lines <= 2 * paste.output and paste.lines > 1),
    ("paste:alone", lambda paste: 0 < paste.output >= paste.lines - 1),
    ("paste:prompt", lambda paste: paste.has_prompt),
    ("paste:stack", lambda paste: paste.has_stack),
    ("paste:fault", lambda paste: paste.has_fault),
    ("paste:document", lambda paste: _FEWEST_LINES <= paste.document > paste.output),
    ("paste:code", lambda paste: _FEWEST_LINES <= paste.code > paste.output),
    ("lines:many", lambda paste: paste.lines > _MANY_LINES),
)


def _of_before(around: Around) -> Iterator[str]:
    before = around.before
    if around.is_busy:
        yield "before:busy"
    if before is None:
        yield "before:left_way" if around.is_forked else "before:nothing"
        return
    if not around.is_next:
        yield "before:unanswered"
    elif (stop := stopped(before)) is not None:
        yield f"before:{stop}"
    yield _work_of(before.calls)
    if before.calls and before.calls[-1].status is CallStatus.ERROR:
        yield "before:failed"
    yield from _last_words(before.said.text if before.said is not None else "")


def _work_of(calls: Sequence[DetectedCall]) -> str:
    if any(call.name in EDITS for call in calls):
        return "before:edited"
    return "before:worked" if calls else "before:talked"


def _last_words(text: str) -> Iterator[str]:
    """Whether a reply ended with a question, called something done, or asked to try it."""
    tail = text[-_TAIL:].lower()
    if tail.rstrip(" *_`").endswith(("?", "？")):
        yield "before:asked"
    elif CLAIMED.is_in(tail) or CLAIMED.is_in(text[:200].lower()):
        yield "before:claimed"
    if TO_TRY.is_in(tail):
        yield "before:to_try"


def stopped(context: TurnInContext) -> str | None:
    """How the person stopped a turn: `interrupted`, `refused`, or a plan or question that was `declined`."""
    if not (context.troubled or context.notices):
        return None
    last = context.calls[-1].message_id if context.calls else None
    refused = [call for call in context.troubled if call.message_id == last and is_by_person(call)]
    if refused:
        return "refused" if any(call.name not in _ANSWERS_ITSELF for call in refused) else "declined"
    return "interrupted" if context.was_interrupted else None


def _of_after(around: Around) -> Iterator[str]:
    after = around.after
    if after is None:
        yield "after:nothing"
        return
    yield from REPLY.named_in(_beginning(after.opening))
    yield from THOUGHT.named_in(_beginning(after.thought))
    if after.calls:
        yield from _of_calls_after(after.calls)
        if around.before is not None:
            yield from _edited_again(around.before, after.calls)
            yield from _failed_again(around.before, after.calls)
    else:
        yield "after:talks"


def _beginning(said: Said | Thought | None) -> str:
    text = said.text if said is not None else ""
    return " ".join(text[:_HEAD].lower().replace("’", "'").replace("*", "").split())


def _of_calls_after(calls: Sequence[DetectedCall]) -> Iterator[str]:
    shell = [call.command for call in calls if call.name in SHELLS]
    if any(call.name in EDITS for call in calls):
        yield "after:edits"
    elif not shell:
        yield "after:looks"
    if len(shell) == len(calls) and all(map(COMMITS.is_in, shell)):
        yield "after:commits"
    if any(UNDOES.is_in(command[:400]) for command in shell[:6]):
        yield "after:undoes"


def _edited_again(before: TurnInContext, calls: Sequence[DetectedCall]) -> Iterator[str]:
    """Which of the files and lines that the last turns wrote are edited again."""
    edits = [call for call in calls if call.name in EDITS][:_MOST_EDITS]
    earlier = before.answered_before.calls if before.answered_before is not None else []
    written = _written([*earlier, *before.calls])[-_MOST_EDITS:] if edits else []
    paths = {call.path for call in written}
    again = [call for call in edits if call.path in paths]
    if again:
        yield "again:file"
        if _is_same_lines(written, again):
            yield "again:lines"


def _failed_again(before: TurnInContext, calls: Sequence[DetectedCall]) -> Iterator[str]:
    """Whether a command that failed is run again."""
    failed = {prefix_of(call.command) for call in before.troubled if call.name in SHELLS} - {""}
    if failed and any(prefix_of(call.command) in failed for call in calls if call.name in SHELLS):
        yield "again:failed_command"


def _is_same_lines(written: Sequence[DetectedCall], again: Sequence[DetectedCall]) -> bool:
    added: set[str] = set()
    for call in written:
        added |= _lines(call.arguments.new_string or call.arguments.content or "")
    return any(not added.isdisjoint(_lines(call.arguments.old_string or "")) for call in again)


@lru_cache(maxsize=128)  # an edit is compared with those of the turns after it
def _lines(text: str) -> frozenset[str]:
    return frozenset({line for line in map(str.strip, text[:20000].split("\n")) if len(line) >= _SHORTEST_LINE})


class Wish(NamedTuple):
    """What a prompt asks for, to be compared with later prompts."""

    text: str
    words: frozenset[str]
    is_in_vain: bool
    """It got no answer, or the person stopped the answer."""
    is_paste: bool = False
    """Most of it is output: if two such prompts are alike, that is due to the program, not the wish."""
    complains: bool = False
    """Its words or the reply show that something was wrong."""


def wish_of(text: str, context: TurnInContext, names: Collection[str]) -> Wish:
    """`names` are the features of the prompt."""
    return Wish(
        " ".join(text[:_LONGEST_WISH].split()),
        frozenset(words_of(prose_of(text) or text)),
        not context.is_answered or stopped(context) is not None,
        "paste:most" in names or "paste:alone" in names,
        not _COMPLAINS.isdisjoint(names),
    )


_COMPLAINS = frozenset(
    {"phrases:0.65", "says:still", "says:not_working", "says:does_not", "says:i_meant", "says:no", "says:but"}
    | {"reply:right", "reply:fault", "reply:catch", "reply:still", "thought:fault"}
)


def wished_again(wish: Wish, earlier: Sequence[Wish]) -> tuple[list[str], int | None]:
    """How much of an earlier wish is asked for again, as features; and which wish, counted back from the last."""
    alike, back = _most_alike(wish, earlier)
    if alike < _LEAST_ALIKE or _GOES_ON.match(wish.text):
        return [], None
    other = earlier[-back]
    found = [f"alike:{least}" for least in _ALIKE_STEPS if alike >= least]
    found.append("alike:next" if back == 1 else "alike:near" if back <= _NEAR else "alike:far")
    found += [name for name, is_so in _REPEATED if is_so(wish, other, alike)]
    if wish.is_paste and wish.text != other.text and not (other.is_in_vain and back == 1):
        found.append("alike:paste")
    elif alike >= _ALIKE_STEPS[1] and wish.complains:
        found.append("alike:complains")
    return found, back


def _most_alike(wish: Wish, earlier: Sequence[Wish]) -> tuple[float, int]:
    """How alike the wish is that is most so, and which one, counted back; a later one counts unless one is clearly
    more alike."""
    best, back = -1.0, 0
    for place, other in enumerate(reversed(earlier), 1):
        alike = _alike(wish, other)
        if alike > best + 0.05:
            best, back = alike, place
    return best, back


_GOES_ON = lazy.pattern(
    r"(?:(?:yes|ok|okay|please|now|so),? )*(?:continue|carry on|go on|go ahead|keep going|proceed|resume|weiter"
    r"|continúa|sigue|continuez?)\b",
    re.IGNORECASE,
)
"""Whoever says this wants more of what was asked for, and not the same again."""
_LEAST_ALIKE, _MOSTLY = 0.15, 0.6
_LONGEST_WISH = 400000
_ALIKE_STEPS = (0.25, 0.4, 0.6, 0.8)
_NEAR, _ROUTINE, _MANY_WORDS = 4, 4, 12
_REPEATED: tuple[tuple[str, Callable[[Wish, Wish, float], bool]], ...] = (
    ("alike:same", lambda wish, other, _: wish.text == other.text),
    (
        "alike:routine",
        lambda wish, other, _: wish.text == other.text and len(wish.words) < _ROUTINE and not other.is_in_vain,
    ),
    ("alike:holds", lambda wish, other, _: bool(other.words) and other.words < wish.words),
    ("alike:in_vain", lambda _, other, __: other.is_in_vain),
    ("alike:mostly_in_vain", lambda _, other, alike: other.is_in_vain and alike >= _MOSTLY),
    ("alike:many_words", lambda wish, other, _: len(wish.words | other.words) > _MANY_WORDS),
)
"""What a wish has of the one that it repeats."""


def _alike(one: Wish, other: Wish) -> float:
    if one.text == other.text:
        return 1.0
    both = one.words | other.words
    shared = len(one.words & other.words)
    if not shared or len(both) < _ROUTINE:
        return 0.0
    # Repeating a whole wish with words added is still a repeat.
    whole = shared / len(other.words) if len(other.words) >= _ROUTINE else 0.0
    return max(shared / len(both), 0.75 * whole)


_WISHES_LOOKED_AT = 8
_MOST_REASONS = 3
_LEAST_REASON = 0.3
_SURE = 0.97
_SAME_LETTERS = 40


class LearnedWeights(Struct, frozen=True):
    """The learned weights for one kind."""

    threshold: float
    """The lowest score that is enough; it gives a confidence of one half."""
    weights: dict[str, float]


class Models(Struct, frozen=True):
    trained: str
    correction: LearnedWeights
    manual_step: LearnedWeights
    re_ask: LearnedWeights


@cache
def models() -> Models:
    # Importing importlib.resources would take longer than reading the weights.
    raw = Path(__file__).with_name("weights.json").read_bytes()
    return msgspec.json.decode(raw, type=Models)


class PromptVerdict(NamedTuple):
    """The confidence, and the strongest reasons for it in words."""

    confidence: float
    because: str


class Judged(NamedTuple):
    """A prompt with everything that was found out about it."""

    record: Record
    text: str
    context: TurnInContext
    features: tuple[str, ...]
    after: str
    """What it followed: `stop`, `busy`, `answer`; empty if nothing was answered yet."""
    again: str | None = None
    """The uuid of the line with the wish that is repeated."""

    def verdict(self, model: LearnedWeights) -> PromptVerdict | None:
        """None if the score is below the threshold."""
        weights = model.weights
        score = sum(map(weights.get, self.features, [0.0] * len(self.features)))
        if score < model.threshold:
            return None
        confidence = min(_SURE, round(1 / (1 + exp(model.threshold - score)), 2))
        return PromptVerdict(confidence, "; ".join(reasons(self.features, model)))


def reasons(names: Iterable[str], model: LearnedWeights) -> Iterator[str]:
    """The strongest reasons for it in words, the strongest first."""
    strongest = sorted({name for name in names if name in REASONS}, key=lambda name: -model.weights.get(name, 0.0))
    found: list[str] = []
    for name in strongest:
        if model.weights.get(name, 0.0) >= _LEAST_REASON and REASONS[name] not in found and len(found) < _MOST_REASONS:
            found.append(REASONS[name])
            yield REASONS[name]


def judge(subject: ConversationUnderTest) -> list[Judged]:
    """Every prompt that a person typed, in reading order, without those that hooks wrote in the person's name."""
    found: list[Judged] = []
    wishes: list[tuple[Wish, str | None]] = []
    turns = subject.turns
    for place, context in enumerate(turns):
        if context.before is None:
            wishes = []
        prompt = context.prompt
        if prompt is not None and prompt.kind is Speaker.PROMPT and not is_from_hook(prompt.text):
            names = features(_around(turns, place))
            wish = wish_of(prompt.text, context, names)
            more, back = wished_again(wish, [each for each, _ in wishes[-_WISHES_LOOKED_AT:]])
            again = wishes[-back][1] if back is not None else None
            found.append(Judged(prompt.record, prompt.text, context, (*names, *more), _after(names), again))
            wishes.append((wish, prompt.uuid))
        for notice in context.notices:
            if notice.what == "queued" and context.is_answered and not is_from_hook(notice.text):
                around = Around(notice.text, context, True, context, is_busy=True)
                names = features(around)
                found.append(Judged(notice.record, notice.text, context, tuple(names), "busy"))
    return found


def _around(turns: Sequence[TurnInContext], place: int) -> Around:
    context = turns[place]
    before = context.answered_before
    return Around(_text(context), before, before is context.before, _answer(turns, place), is_forked=context.is_forked)


def _answer(turns: Sequence[TurnInContext], place: int) -> TurnInContext | None:
    """The turn that answers a prompt: its own, or if that was stopped at once, the next one with the same prompt."""
    context = turns[place]
    if context.is_answered:
        return context
    beginning = _text(context)[:_SAME_LETTERS]
    following = turns[place + 1 : place + 3]
    return next((each for each in following if each.is_answered and _text(each)[:_SAME_LETTERS] == beginning), None)


def _text(context: TurnInContext) -> str:
    return context.prompt.text if context.prompt is not None else ""


def _after(names: Iterable[str]) -> str:
    given = set(names)
    if "before:nothing" in given:
        return ""
    return "stop" if given & {"before:interrupted", "before:refused", "before:declined"} else "answer"


def model_of(kind: FrictionKind) -> LearnedWeights:
    found: LearnedWeights = getattr(models(), kind.value)
    return found


def judged_moment(
    subject: ConversationUnderTest, kind: FrictionKind, each: Judged, verdict: PromptVerdict, cause: Cause, **more: Any
) -> Moment:
    because = verdict.because or None
    return subject.event(kind, each.record, each.text, cause, verdict.confidence, because=because, **more)


def verdicts(subject: ConversationUnderTest, kind: FrictionKind) -> Iterator[tuple[Judged, PromptVerdict]]:
    """The prompts that are of a kind, with how sure that is."""
    model = model_of(kind)
    for each in subject.once(judge):
        if (verdict := each.verdict(model)) is not None:
            yield each, verdict
