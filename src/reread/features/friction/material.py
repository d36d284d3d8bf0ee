"""What is kept of a session for finding patterns over many sessions: its material, as compact rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from reread import lazy
from reread.features.word_tables import table
from reread.sessions import CallStatus
from reread.sessions import Speaker as Speaker
from reread.sessions.speaker import shell_input

from .command_lines import LOOKS, commands_in, lines_in, prefix_of
from .detection import EDITS, SHELLS, ConversationUnderTest, DetectedCall, quote
from .prompt_text import Sketch, sketch_of_words, words_of
from .refusals import is_by_person, is_from_hook, reason_given
from .repeats import FEWEST_WORDS, decisions, rule_of, was_asked
from .stated import ShownInstructions, shown_in

MOST_CHAINS = 120
MOST_LINES = 60
MOST_READ = 30
_HEAD = 600
"""Letters of a file in which its title stands."""
_MOST_STEPS = 12
_LONGEST_LINE = 160
_OF_THE_CLIENT = ("Unknown skill:", "Unknown slash command", "This session is being continued", "Operation stopped by")
"""Beginnings of prompts that the client writes in the person's name, besides those of hooks."""
_EVERYDAY = frozenset(
    {"commit", "push", "continue", "hello", "hi", "test", "help", "status", "review", "go", "start", "resume"}
)
"""Single words that are not worth a command of their own."""
_CHAIN_LENGTHS = (3, 4)
_LONGEST_RULE = 200
_FEWEST_RULE_WORDS = 3
_SENTENCE = lazy.pattern(r"(?<=[.!?;])\s+|(?<=[。！？])|\n+")
_RULE = lazy.pattern(
    r"\b(?:always|never|don't|do not|must(?:n't)?|make sure|from now on|remember to|every time|each time"
    r"|we (?:use|only use|never|don't|always)|(?:please )?use \w[\w.-]*,? (?:and )?not|avoid|no more"
    r"|prefer|stick to|instead of|no need to|only use|immer|niemals|nie wieder|nicht mehr|bitte keine?|toujours"
    r"|jamais|ne (?:\w+ ){1,2}pas"
    r"|siempre|nunca|no uses|sempre|não use)\b|必ず|しないで|使わないで|总是|不要|必须|以后"
)
_RULE_WORDS = table("friction/words", "pieces")["rule"].pieces
_ONLY_NOW = lazy.pattern(
    r"\b(?:yet|for now|this time|right now|today|in this (?:case|commit)|don't (?:know|think|see|understand"
    r"|worry|have|need|get|remember|care|mind)"
    r"|i (?:don't|must|always|never|prefer)|you (?:don't|didn't|never)|it (?:doesn't|must|never|always)"
    r"|they (?:don't|never))\b"
)


class ReadFile(Struct, frozen=True, kw_only=True, gc=False):
    """A file that was read."""

    path: str
    """Below the project."""
    tokens: int
    title: str
    """Its first heading or the first line of what it says of itself; empty if it has none."""
    uuid: str


class AskedPrompt(Struct, frozen=True, kw_only=True, gc=False):
    """A prompt as its sketch, with its beginning as typed as an example."""

    uuid: str
    time: datetime | None
    sketch: Sketch
    example: str
    steps: tuple[str, ...] = ()
    """For a prompt that opens a session: what was then read and run, `Read notes/todo.md`, `Run git status`."""


class Rule(Struct, frozen=True, kw_only=True, gc=False):
    """Something the person told the agent to do, or never to do."""

    uuid: str
    time: datetime | None
    sketch: Sketch
    text: str
    restated: str = ""
    """The same in the words of the reply that takes it in; empty if none does."""


class CountedPhrase(Struct, frozen=True, kw_only=True, gc=False):
    """Something that was done `count` times; `uuid` is the line where it was first done."""

    what: str
    count: int
    uuid: str
    refused: int = 0


class Material(Struct, frozen=True, kw_only=True):
    """The compact rows of a session. Each tuple can be a table of its own, keyed by the session."""

    session: str
    project: str | None = None
    prompts: tuple[AskedPrompt, ...] = ()
    rules: tuple[Rule, ...] = ()
    chains: tuple[CountedPhrase, ...] = ()
    """`ruff check > pytest > git commit`: commands that followed each other, ignoring reads and edits between them."""
    after_edits: tuple[CountedPhrase, ...] = ()
    """Commands that came right after an edit."""
    permissions: tuple[CountedPhrase, ...] = ()
    """Permission rules the person was asked about, as settings.json would write them."""
    shell_lines: tuple[CountedPhrase, ...] = ()
    """Commands the person ran with `!`."""
    lines: tuple[CountedPhrase, ...] = ()
    """Whole command lines of the steps in chains."""
    ran: tuple[CountedPhrase, ...] = ()
    """Programs that ran well, so that no suggestion calls them missing; `refused` counts how often they failed."""
    read: tuple[ReadFile, ...] = ()
    """The largest files that were read whole."""
    shown: tuple[ShownInstructions, ...] = ()
    """What it showed of the files that instruct the agent."""


def material_of(subject: ConversationUnderTest) -> Material:
    """The material of a conversation, gathered in one pass over its calls and its prompts."""
    steps = _steps(subject)
    return Material(
        session=subject.session,
        project=subject.conversation.project,
        prompts=tuple(_prompts(subject)),
        rules=tuple(_rules(subject)),
        chains=_counted(_chains(steps), MOST_CHAINS),
        after_edits=_counted(_after_edits(subject.main_calls)),
        permissions=_permissions(subject),
        shell_lines=_counted(_shell_lines(subject)),
        lines=tuple(
            replace(each, what=quote(each.what))
            for each in _counted([(step.line, step.uuid) for step in steps if step.line], MOST_LINES)
        ),
        ran=_ran(subject),
        read=tuple(islice(_read(subject), MOST_READ)),
        shown=shown_in(subject, {step.name for step in steps}),
    )


def _prompts(subject: ConversationUnderTest) -> Iterator[AskedPrompt]:
    """Prompts that say enough to be compared with others; one that opens a session may be a single word."""
    for number, (context, prompt, prose, words, sketch) in enumerate(subject.typed):
        if prompt.uuid is None or not is_of_person(prompt.text) or rules_in(prose):
            continue
        is_opening = number == 0 and words > 0 and prose.strip(" .!?").lower() not in _EVERYDAY
        if words >= FEWEST_WORDS or is_opening:
            steps = tuple(_done(context.calls, subject.conversation.project)) if number == 0 else ()
            yield AskedPrompt(
                uuid=prompt.uuid, time=prompt.time, sketch=sketch, example=prompt.text[:_LONGEST_RULE], steps=steps
            )


def is_of_person(text: str) -> bool:
    """Whether a person wrote a prompt: hooks and the client write some in the person's name."""
    return not is_from_hook(text) and not text.startswith(_OF_THE_CLIENT)


def _done(calls: list[DetectedCall], project: str | None) -> Iterator[str]:
    """What was read and run, as a list of steps with paths relative to the project."""

    def here(text: str) -> str:
        within = text.replace(f"{project}/", "").replace(project, ".") if project else text
        return f"{within}." if within.endswith(" ") else within

    done: dict[str, None] = {}
    for call in calls:
        if not call.worked or len(done) == _MOST_STEPS:
            continue
        if call.name == "Read" and call.path:
            done[f"Read {here(call.path)}"] = None
        elif call.name in SHELLS and (line := _one_line(call.command)):
            done[f"Run {here(line)}"] = None
    yield from done


def _one_line(command: str) -> str:
    """A command that can be written down as it is; empty for scripts and long commands."""
    line = command.strip()
    return "" if "\n" in line or "<<" in line or len(line) > _LONGEST_LINE else quote(line)


def _rules(subject: ConversationUnderTest) -> Iterator[Rule]:
    for context, prompt, prose, _, _ in subject.typed:
        if prompt.uuid is not None and is_of_person(prompt.text):
            for text in rules_in(prose):
                reply = context.opening.text if context.opening is not None else ""
                yield replace(_rule(prompt.uuid, prompt.time, text), restated=restated(text, reply))
    for call in subject.troubled:
        if is_by_person(call) and call.proof.uuid is not None:
            for text in rules_in(reason_given(call)):
                yield _rule(call.proof.uuid, call.proof.time, text)


_TAKEN_IN = lazy.pattern(
    r"(?:got it|understood|noted|will do|okay|ok|sure|agreed|makes sense|you're right)\s?[,.:;!–—-]+\s*"
    r"([^\n]{12,140}?)(?:[.!\n]|$)",
    re.IGNORECASE,
)
_WORK_BEGINS = ("let me", "i'll start", "i'm going to", "i see", "now ", "fixing", "looking")


def restated(rule: str, reply: str) -> str:
    """A rule as a reply takes it in: `Got it: no changes before you say go.`"""
    found = _TAKEN_IN.match(reply[:300].replace("*", "").replace("’", "'"))
    words = found[1].strip() if found is not None else ""
    is_same = len(set(words_of(words)) & set(words_of(rule))) >= _SHARED_WORDS
    return quote(words) if is_same and not words.lower().startswith(_WORK_BEGINS) else ""


_SHARED_WORDS = 2


def _rule(uuid: str, time: datetime | None, text: str) -> Rule:
    return Rule(uuid=uuid, time=time, sketch=sketch_of_words(words_of(text)), text=quote(text))


@lru_cache(maxsize=256)
def rules_in(prose: str) -> tuple[str, ...]:
    """Sentences that seem meant as a rule for every time, not only for now."""
    lowered = prose.lower()
    if not any(map(lowered.__contains__, _RULE_WORDS)):
        return ()
    sentences = (sentence.strip() for sentence in _SENTENCE.split(prose[:2000]))
    return tuple(text for text in sentences if len(text) <= _LONGEST_RULE and _is_rule(text.lower().replace("’", "'")))


def _is_rule(sentence: str) -> bool:
    if sentence.endswith(("?", "？")) or _RULE.search(sentence) is None or _ONLY_NOW.search(sentence) is not None:
        return False
    return len(set(words_of(sentence))) >= _FEWEST_RULE_WORDS


class _Step(NamedTuple):
    """A command that was run and worked, or a server's tool."""

    name: str
    line: str
    """The line as it was run; empty for a tool."""
    uuid: str


def _steps(subject: ConversationUnderTest) -> list[_Step]:
    """What was run and worked, in order, without what only looks around, and without repeats in a row."""
    found: list[_Step] = []
    for call in subject.main_calls:
        uuid = call.record.uuid
        is_tool = call.name.startswith("mcp__")
        if uuid is None or not (call.command or is_tool) or not call.worked:
            continue
        named = [(call.name, "")] if is_tool else [(prefix_of(line), line) for line in lines_in(call.command)]
        for name, line in named:
            if name and name not in LOOKS and not (found and found[-1].name == name):
                found.append(_Step(name, line, uuid))
    return found


def _ran(subject: ConversationUnderTest) -> tuple[CountedPhrase, ...]:
    """For each program and subcommand, how often it ran well and how often it failed."""
    well: dict[str, int] = {}
    failed: dict[str, int] = {}
    first: dict[str, str] = {}
    for call in subject.commands:
        if call.record.uuid is not None and (step := prefix_of(call.command)):
            counts = well if call.worked else failed
            counts[step] = counts.get(step, 0) + 1
            first.setdefault(step, call.record.uuid)
    return tuple(
        CountedPhrase(what=step, count=well.get(step, 0), uuid=uuid, refused=failed.get(step, 0))
        for step, uuid in first.items()
    )[:MOST_LINES]


def _chains(steps: list[_Step]) -> Iterator[tuple[str, str]]:
    for length in _CHAIN_LENGTHS:
        for start in range(len(steps) - length + 1):
            names = [step.name for step in steps[start : start + length]]
            if len(set(names)) == length:
                yield " > ".join(names), steps[start].uuid


def _after_edits(calls: list[DetectedCall]) -> Iterator[tuple[str, str]]:
    was_edit = False
    for call in calls:
        if was_edit and call.name in SHELLS and call.record.uuid is not None:
            steps = {prefix_of(part) for part in commands_in(call.command)} - LOOKS - {""}
            if len(steps) == 1:  # of several, a hook that runs one spares no call
                yield steps.pop(), call.record.uuid
        was_edit = call.name in EDITS and call.status is CallStatus.OK


def _permissions(subject: ConversationUnderTest) -> tuple[CountedPhrase, ...]:
    decided = decisions([call for call in subject.decided if was_asked(call)])
    asked = [(rule_of(call), call) for call in decided if call.proof.uuid is not None]
    refused: dict[str, int] = {}
    for rule, call in asked:
        refused[rule] = refused.get(rule, 0) + (call.status is CallStatus.REJECTED)
    counted = _counted((rule, call.proof.uuid or "") for rule, call in asked)
    return tuple(
        CountedPhrase(what=each.what, count=each.count, uuid=each.uuid, refused=refused[each.what]) for each in counted
    )


_NUMBERED = lazy.pattern(r"^\s*\d+(?:→|\t)", re.MULTILINE)
_TITLE = lazy.pattern(
    r"^(?:#+ +|\"\"\"|//! *|/\*\*? *|<!-- *)(?P<title>[^\n]{8,120}?)(?:\"\"\"| *\*/| *-->)?\.?$", re.MULTILINE
)
_CHARACTERS_PER_TOKEN = 4


def _read(subject: ConversationUnderTest) -> Iterator[ReadFile]:
    """The largest files of the project that were read from the beginning, each once."""
    below = f"{subject.conversation.project or ''}/".replace("\\", "/")
    first: dict[str, DetectedCall] = {}
    for call in subject.main_calls:
        if call.name == "Read" and call.path not in first and not call.arguments.offset and call.worked:
            first[call.path] = call
    for call in sorted(first.values(), key=lambda call: -len(call.text)):
        path = call.path.replace("\\", "/")
        if path.startswith(below) and len(below) > 1 and call.record.uuid is not None:
            title = _TITLE.search(_NUMBERED.sub("", call.text[:_HEAD]))
            yield ReadFile(
                path=path.removeprefix(below),
                tokens=len(call.text) // _CHARACTERS_PER_TOKEN,
                title=quote(title["title"]) if title is not None else "",
                uuid=call.record.uuid,
            )


def _shell_lines(subject: ConversationUnderTest) -> Iterator[tuple[str, str]]:
    for record in subject.lines_of(Speaker.SHELL):
        command = (shell_input(record.text) or "").strip()
        if command and record.uuid is not None and prefix_of(command) not in LOOKS:
            yield quote(command), record.uuid


def _counted(
    found: Iterator[tuple[str, str]] | list[tuple[str, str]], most: int | None = None
) -> tuple[CountedPhrase, ...]:
    """What was found with its count, the most frequent first; on a tie, the one found first."""
    counts: dict[str, int] = {}
    first: dict[str, str] = {}
    for what, uuid in found:
        counts[what] = counts.get(what, 0) + 1
        first.setdefault(what, uuid)
    ranked = sorted(counts, key=lambda what: -counts[what])[:most]
    return tuple(CountedPhrase(what=what, count=counts[what], uuid=first[what]) for what in ranked)
