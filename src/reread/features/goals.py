"""What a session was for, in one sentence that somebody said: a title, the model's own restatement, or a prompt.

A first prompt is often a greeting, a file name or a page of pasted output. The sentence is taken whose words come back
most: in other prompts, in commits, in names of changed files and in the last reply.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from reread.records import AiTitle, CustomTitle
from reread.sessions import Said, Session, Speaker, Thought

from .friction.scene import LONGEST_PROSE, prose_of, words_of

_LONGEST = 240
_FEWEST = 3
"""Words that make a sentence worth choosing."""
_RESTATED = re.compile(
    r"\b[Tt]he user (?:now )?(?:wants|would like|is asking|asks|asked|needs|has asked|wanted)(?: for)?(?: me)? to "
    r"([^\n]{12,300}?)(?:[.:;](?:\s|$)|\n|$)"
)
_UNFINISHED = re.compile(r"\b(?:that|which|to|the|a|an|with|and|or|of|for|in|on|by|as)$")
_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+")
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_OWN = 0.6
"""Of a sentence, how much must be the person's own words and not quoted."""
_NO_SENTENCE = re.compile(r"[\w.-]+@[\w.-]+[: ]|[@~./]*/\S|\S+:\d+|/|<|\w+: ")
"""How a shell's prompt, a path, a command and a line of a transcript begin."""
_POLITE = (
    "please |can you |could you |let'?s |now |we (?:need|want|should) (?:to )?"
    "|i (?:want|need|'?d like) (?:you )?(?:to )?"
)
_VERBS = """
    add allow analyse analyze build change check clean convert create debug delete design document drop explain find fix
    implement improve investigate make migrate move optimise optimize port refactor remove rename replace review rewrite
    simplify split support test update upgrade use write"""
_DIRECTS = re.compile(rf"^(?:{_POLITE})?(?:{'|'.join(_VERBS.split())})\b", re.IGNORECASE)
_BONUS = {"title": 1.3, "thinking": 1.25, "prompt": 1.0}
_DIRECTED = 1.3
_FIRST = 1.8
"""What stands in the first prompt of some length, or is said of it."""


class Goal(Struct, frozen=True):
    """What somebody wanted, and who says so."""

    text: str = ""
    source: str = ""
    """`title`, `thinking` (the model said it again in its own words) or `prompt`; empty where nothing tells."""
    uuid: str | None = None


def goal_of(session: Session, told: Sequence[str] = ()) -> Goal:
    """The sentence that says best what a session was for; `told` are commits, files and the outcome."""
    candidates = list(_candidates(session))
    if not candidates:
        title = session.title if session.title != session.id else ""
        return Goal(_finished(title), "title") if title else Goal()
    weights = _weights([*(prompt.text for prompt in session.prompts), *told])
    best = max(candidates, key=lambda each: _score(each[0], weights, is_first=each[1]))[0]
    return Goal(_finished(best.text), best.source, best.uuid)


def _candidates(session: Session) -> Iterator[tuple[Goal, bool]]:
    """Sentences, each with whether it is about the beginning."""
    yield from ((goal, True) for goal in _titles(session))
    is_first = True
    for turn in session.turns:
        prompt = turn.prompt
        if prompt is None or prompt.kind is not Speaker.PROMPT:
            continue
        sentences = [each for each in _sentences(prompt.text) if len(words_of(each)) >= _FEWEST]
        restated = [goal for step in turn.steps[:4] if isinstance(step, Thought | Said) for goal in _restated(step)]
        yield from ((goal, is_first) for goal in restated[:1])
        yield from ((Goal(sentence, "prompt", prompt.uuid), is_first) for sentence in sentences[:12])
        is_first = is_first and not (sentences or restated)
    if is_first:
        yield from (
            (Goal(prompt.text, "prompt", prompt.uuid), True) for prompt in session.prompts if prompt.text.strip()
        )


def _titles(session: Session) -> Iterator[Goal]:
    for kind, field in ((CustomTitle, "custom_title"), (AiTitle, "ai_title")):
        records = session.beside.get(kind, ())
        title = next((text for record in reversed(records) if (text := getattr(record, field, None))), None)
        if title is not None:
            yield Goal(title, "title")


def _restated(step: Thought | Said) -> Iterator[Goal]:
    found = _RESTATED.search(step.text[:1500])
    if found and not _UNFINISHED.search(found[1].rstrip()):
        yield Goal(found[1].strip(), "thinking", step.uuid)


def _sentences(text: str) -> Iterator[str]:
    """Those of the person's own words; quoted names and words in code may stand in them."""
    for sentence in _SENTENCES.split(_FENCED.sub("\n", text[:LONGEST_PROSE])):
        clean = " ".join(sentence.split()).strip(" -*#>•")
        is_typed = len(prose_of(clean)) >= _OWN * len(clean)
        if clean and is_typed and " | " not in clean and not _NO_SENTENCE.match(clean):
            yield clean


def _weights(texts: Iterable[str]) -> Counter[str]:
    """By word, in how many texts it stands."""
    return Counter(word for text in texts for word in set(_telling(text)))


def _telling(text: str) -> Iterator[str]:
    return (word for word in words_of(text) if len(word) > 2)


def _score(goal: Goal, weights: Counter[str], *, is_first: bool) -> float:
    words = set(_telling(goal.text))
    own = goal.source == "prompt"  # its own prompt says each of its words, too
    known = sum(1 + max(0, min(weights[word] - own, 3)) for word in words)
    score = known / (len(words) + 3) * _BONUS[goal.source]
    if goal.source == "thinking" or _DIRECTS.match(goal.text):
        score *= _DIRECTED
    return (score * _FIRST if is_first else score) if len(words) >= 2 else score / 4


def _finished(text: str) -> str:
    """One line, beginning with a capital letter, cut at a word."""
    line = " ".join(text.split()).rstrip(" .:;,")
    if len(line) > _LONGEST:
        line = line[:_LONGEST].rsplit(" ", 1)[0] + " …"
    return line[:1].upper() + line[1:]
