"""What speaks for and against a prompt being a complaint: what came before it, its words, and what happened next.

Every feature is a name that is there or not, so that weights can be read, and a judgement told in words. What the
model answers is the strongest of them: it admits, it edits the same lines again, it runs the failed command again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

from reread.sessions import Status

from .calls import EDITS, SHELLS, Call, prefix_of
from .fingerprints import words_of
from .phrases import ACKNOWLEDGED, PRAISE
from .prose import Paste, paste_of, prose_of, quoted_error
from .refusals import is_by_person
from .scene import Stretch
from .signs import ANNOUNCED, CLAIMED, COMMITS, REPLY, THOUGHT, TO_TRY, UNDOES, WORDS, named_in

_HEAD = 320
"""Letters of a reply that say how it takes the prompt; further down it tells what it did."""
_TAIL = 400
_LOOKED_AT = 700
_MOST_EDITS = 40
_SHORTEST_LINE = 8
"""A line that is only a bracket is the same everywhere."""
_SHORT, _MIDDLING, _LONG = 25, 120, 600
_FEWEST_LINES, _SOME_LINES, _MANY_LINES = 3, 4, 12
_ANSWERS_ITSELF = frozenset({"AskUserQuestion", "ExitPlanMode"})


class Around(NamedTuple):
    """A prompt with what stands around it."""

    text: str
    before: Stretch | None
    """The last turn that had an answer."""
    is_next: bool
    """Whether that turn stands right before it: nothing was asked in vain between."""
    after: Stretch | None
    """The turn that answers it; None where nobody did."""
    is_busy: bool = False
    """It was sent while the model was working."""
    is_forked: bool = False
    """It begins a branch: something was answered before it, on the way that was left."""


def features(around: Around, phrases: Callable[[str], float]) -> list[str]:
    """The names of all that is there; `phrases` says how much the table of phrases finds in a text."""
    text = around.text
    if len(text) < _SHORT and ACKNOWLEDGED.fullmatch(text.lower()):  # a fifth of all prompts
        return ["always", "says:goes_along", "length:short", *_of_before(around)]
    prose = prose_of(text)
    words = " ".join(prose[:_LOOKED_AT].lower().replace("’", "'").split())
    if around.before is None and not around.is_forked:  # nothing was answered that could be taken back
        asked = [*named_in(_CUES_OF_THE_FIRST, words)]
        return ["always", "before:nothing", *asked, *_of_paste(text, words)]
    found = ["always", *_of_words(text, prose, words, phrases(text)), *_of_before(around), *_of_after(around)]
    names = set(found)
    found += [name for name, parts in _TOGETHER if all(names & part for part in parts)]
    if not names & _TELLS_NOTHING:
        found += ["both:stopped_and_tells"] if names & _STOPPED else []
        if not names & _WANTS_SOMETHING:
            found += ["says:states", *(["both:states_after_done"] if names & _DONE else [])]
    return found


_ASKED_OF_THE_FIRST = frozenset(
    {"says:i_see", "says:try", "says:plan", "says:review", "says:please_do", "says:image", "says:still", "says:again"}
)
"""What tells whether a first prompt carries something over; to complain or to ask again it comes too early."""
_CUES_OF_THE_FIRST = tuple(cue for cue in WORDS if cue.name in _ASKED_OF_THE_FIRST)
_TOGETHER = (
    (
        "both:fault_after_done",
        ({"paste:fault", "paste:error", "says:not_working"}, {"before:claimed", "before:to_try"}),
    ),
    ("both:output_to_try", ({"paste:line"}, {"before:to_try"})),
    ("both:no_to_question", ({"says:no"}, {"before:asked"})),
    ("both:wrong_and_edited_again", ({"says:wrong", "says:not_working", "says:should"}, {"again:file"})),
    ("both:asks_and_admits", ({"asks:last"}, {"reply:right", "reply:fault", "reply:catch"})),
    ("both:review_of_own_work", ({"says:review"}, {"again:file"})),
)  # fmt: skip
"""What says more together than one by one."""
_STOPPED = frozenset({"before:interrupted", "before:refused"})
_TELLS_NOTHING = frozenset({"asks:last", "says:goes_along", "says:praise", "says:plan", "says:works", "length:none"})
"""After a stop one may also ask, go on or thank; whatever else is said tells what was wrong."""
_WANTS_SOMETHING = frozenset(
    {"says:please_do", "says:can_you", "says:lets", "says:question", "says:what_if", "says:answer", "asks:amid"}
    | {"length:long", "length:huge", "paste:document", "paste:code", "before:asked"}
)
_DONE = frozenset({"before:claimed", "before:edited", "before:to_try"})
"""A bare statement about what was just done is rather a complaint than a wish."""


def _of_words(text: str, prose: str, words: str, phrases: float) -> Iterator[str]:
    yield from named_in(WORDS, words)
    if len(prose) > 12 and sum(map(str.isupper, prose)) > 0.5 * len(prose.replace(" ", "")):
        yield "says:in_capitals"
    for least in (0.3, 0.65, 1.0):
        if phrases >= least:
            yield f"phrases:{least}"
    if phrases <= -0.3:
        yield "phrases:against"
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


def _length(words: str) -> str:
    length = len(words)
    if not length:
        return "length:none"
    return "length:" + (
        "short" if length < _SHORT else "middling" if length < _MIDDLING else "long" if length < _LONG else "huge"
    )


def _of_paste(text: str, words: str) -> Iterator[str]:
    """What was carried over by hand, and whether it tells of a fault."""
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
    calls = before.calls
    yield (
        "before:edited"
        if any(call.name in EDITS for call in calls)
        else ("before:worked" if calls else "before:talked")
    )
    if calls and calls[-1].status is Status.ERROR:
        yield "before:failed"
    said = before.said.text if before.said is not None else ""
    tail = said[-_TAIL:].lower()
    if tail.rstrip(" *_`").endswith(("?", "？")):
        yield "before:asked"
    elif CLAIMED.is_in(tail) or CLAIMED.is_in(said[:200].lower()):
        yield "before:claimed"
    if TO_TRY.is_in(tail):
        yield "before:to_try"


def stopped(stretch: Stretch) -> str | None:
    """How the person stopped a turn: `interrupted`, `refused`, or a plan or question that was `declined`."""
    if not (stretch.troubled or stretch.notices):
        return None
    last = stretch.calls[-1].message_id if stretch.calls else None
    refused = [call for call in stretch.troubled if call.message_id == last and is_by_person(call)]
    if refused:
        return "refused" if any(call.name not in _ANSWERS_ITSELF for call in refused) else "declined"
    return "interrupted" if stretch.was_interrupted else None


def _of_after(around: Around) -> Iterator[str]:
    after = around.after
    if after is None:
        yield "after:nothing"
        return
    reply = _beginning(after.opening.text if after.opening is not None else "")
    yield from named_in(REPLY, reply)
    if after.thought is not None and (thought := _beginning(after.thought.text)):
        yield from named_in(THOUGHT, thought)
    calls = after.calls
    if not calls:
        yield "after:talks"
        return
    if any(call.name in EDITS for call in calls):
        yield "after:edits"
    elif all(call.name not in SHELLS for call in calls):
        yield "after:looks"
    shell = [call.command for call in calls if call.name in SHELLS]
    if len(shell) == len(calls) and all(COMMITS.is_in(command) for command in shell):
        yield "after:commits"
    if any(UNDOES.is_in(command[:400]) for command in shell[:6]):
        yield "after:undoes"
    if around.before is not None:
        yield from _done_again(around.before, calls)


def _beginning(text: str) -> str:
    return " ".join(text[:_HEAD].lower().replace("’", "'").replace("*", "").split())


def _done_again(before: Stretch, calls: Sequence[Call]) -> Iterator[str]:
    """What the reply does over: files and lines the last turns wrote, commands that failed in them."""
    earlier = [*(before.answered_before.calls if before.answered_before is not None else ()), *before.calls]
    written = [call for call in earlier if call.name in EDITS and call.status is Status.OK][-_MOST_EDITS:]
    edits = [call for call in calls if call.name in EDITS][:_MOST_EDITS]
    paths = {call.path for call in written}
    if edits and paths:
        again = [call for call in edits if call.path in paths]
        if again:
            yield "again:file"
        if again and _is_same_lines(written, again):
            yield "again:lines"
    failed = {prefix_of(call.command) for call in before.troubled if call.name in SHELLS and call.command}
    ran = {prefix_of(call.command) for call in calls if call.name in SHELLS}
    if failed & ran - {""}:
        yield "again:failed_command"


def _is_same_lines(written: Sequence[Call], again: Sequence[Call]) -> bool:
    added: set[str] = set()
    for call in written:
        added |= _lines(call.given.new_string or call.given.content or "")
    return any(not added.isdisjoint(_lines(call.given.old_string or "")) for call in again)


def _lines(text: str) -> set[str]:
    return {line for line in map(str.strip, text[:20000].split("\n")) if len(line) >= _SHORTEST_LINE}


class Wish(NamedTuple):
    """What a prompt asks for, to be held against later ones."""

    text: str
    words: frozenset[str]
    is_in_vain: bool
    """Nobody answered it, or the person stopped the answer."""
    is_paste: bool = False
    """Most of it is output: what is alike there is the program, not the wish."""
    complains: bool = False
    """Its words or the reply tell that something was not as it should be."""


def wish_of(text: str, stretch: Stretch, names: Collection[str]) -> Wish:
    """`names` are the features of the prompt."""
    return Wish(
        " ".join(text.split()),
        frozenset(words_of(prose_of(text) or text)),
        not stretch.is_answered or stopped(stretch) is not None,
        "paste:most" in names or "paste:alone" in names,
        not _COMPLAINS.isdisjoint(names),
    )


_COMPLAINS = frozenset(
    {"phrases:0.65", "says:still", "says:not_working", "says:does_not", "says:i_meant", "says:no", "says:but"}
    | {"reply:right", "reply:fault", "reply:catch", "reply:still", "thought:fault"}
)


def wished_again(wish: Wish, earlier: Sequence[Wish]) -> tuple[list[str], int | None]:
    """How much of what was asked before is asked again; and which of the earlier wishes, counted from the last."""
    best: tuple[float, int] | None = None
    for back, other in enumerate(reversed(earlier), 1):
        alike = _alike(wish, other)
        if best is None or alike > best[0] + 0.05:
            best = alike, back
    if best is None or best[0] < _LEAST_ALIKE:
        return [], None
    alike, back = best
    other = earlier[-back]
    found = [f"alike:{least}" for least in _ALIKE_STEPS if alike >= least]
    found.append("alike:next" if back == 1 else "alike:near" if back <= _NEAR else "alike:far")
    if wish.text == other.text:
        found.append("alike:same")
    if wish.text == other.text and len(wish.words) < _ROUTINE and not other.is_in_vain:
        found.append("alike:routine")
    if other.words and other.words < wish.words:
        found.append("alike:holds")
    if other.is_in_vain:
        found.append("alike:in_vain")
    if other.is_in_vain and alike >= _MOSTLY:
        found.append("alike:mostly_in_vain")
    if len(wish.words | other.words) > _MANY_WORDS:
        found.append("alike:many_words")
    if wish.is_paste and wish.text != other.text and not (other.is_in_vain and back == 1):
        found.append("alike:paste")
    elif alike >= _ALIKE_STEPS[1] and wish.complains:
        found.append("alike:complains")
    return found, back


_LEAST_ALIKE, _MOSTLY = 0.15, 0.6
_ALIKE_STEPS = (0.25, 0.4, 0.6, 0.8)
_NEAR, _ROUTINE, _MANY_WORDS = 4, 4, 12


def _alike(one: Wish, other: Wish) -> float:
    if one.text == other.text:
        return 1.0
    both = one.words | other.words
    shared = len(one.words & other.words)
    if not shared or len(both) < _ROUTINE:
        return 0.0
    # Who adds words to a wish repeats it whole.
    whole = shared / len(other.words) if len(other.words) >= _ROUTINE else 0.0
    return max(shared / len(both), 0.75 * whole)
