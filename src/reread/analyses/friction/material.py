"""What of a session is kept so that patterns over many sessions can be found without reading any of them again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from reread.sessions import Kind as Speaker
from reread.sessions import Status
from reread.sessions.kinds import shell_input

from .calls import EDITS, SHELLS, Call, prefix_of, steps_in
from .events import quote
from .fingerprints import Sketch, sketch_of_words, words_of
from .refusals import is_by_person, is_said_by_hook, reason_given
from .repeats import FEWEST_WORDS
from .scene import Scene
from .toil import decisions, rule_of, was_asked

MOST_CHAINS = 120
MOST_LINES = 60
_MOST_STEPS = 12
_LONGEST_LINE = 160
_PIPED = re.compile(r"\s+(?:2>&1|2>|\||>>?|<)(?:\s|$)")
"""What is done with an output is no part of the work."""
_MESSAGE = re.compile(r"(\s-a?m|\s--message|\s--title|\s--body)[ =](?:\"[^\"]*\"|'[^']*'|\S+)")
_OF_THE_CLIENT = ("Unknown skill:", "Unknown slash command", "This session is being continued", "Operation stopped by")
"""What the client writes in the person's name, beside what hooks say."""
_EVERYDAY = frozenset(
    {"commit", "push", "continue", "hello", "hi", "test", "help", "status", "review", "go", "start", "resume"}
)
"""Single words that need no command of their own."""
_CHAIN_LENGTHS = (3, 4)
_LONGEST_RULE = 200
_FEWEST_RULE_WORDS = 3
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？])|\n+")
_RULE = re.compile(
    r"\b(?:always|never|don't|do not|must(?:n't)?|make sure|from now on|remember to|every time|each time"
    r"|we (?:use|only use|never|don't|always)|(?:please )?use \w[\w.-]*,? (?:and )?not|avoid|no more"
    r"|prefer|stick to|instead of|no need to|only use|immer|niemals|nie wieder|nicht mehr|bitte keine?|toujours"
    r"|jamais|ne (?:\w+ ){1,2}pas"
    r"|siempre|nunca|no uses|sempre|não use)\b|必ず|しないで|使わないで|总是|不要|必须|以后"
)
_RULE_WORDS = (
    "always", "never", "don't", "don’t", "do not", "must", "make sure", "from now", "remember", "time", "we use",
    "we don", "we only", "prefer", "not ", "avoid", "no more",
    "stick", "instead", "no need", "only use", "immer", "nie", "nicht mehr", "bitte kein", "toujours", "jamais",
    " pas", "siempre", "nunca",
    "no uses", "sempre", "não use", "必ず", "ないで", "总是", "不要", "必须", "以后",
)  # fmt: skip
_ONLY_NOW = re.compile(
    r"\b(?:yet|for now|this time|right now|today|in this (?:case|commit)|don't (?:know|think|see|understand"
    r"|worry|have|need|get|remember|care|mind)"
    r"|i (?:don't|must|always|never|prefer)|you (?:don't|didn't|never)|it (?:doesn't|must|never|always)"
    r"|they (?:don't|never))\b"
)
_LOOK_AROUND = """
    ls cat cd echo head tail grep rg find wc sed awk pwd which mkdir rm cp mv touch sleep true test stat file
    tree sort uniq cut tr xargs printf export source set date env whoami diff less more du df ps kill chmod jq tee
    python python3 node"""
_TRIVIAL = frozenset(_LOOK_AROUND.split()) | {
    f"{program} {look}"
    for program in ("git", "jj")
    for look in ("status", "st", "diff", "log", "show", "branch", "fetch")
}


class Asked(Struct, frozen=True, kw_only=True, gc=False):
    """A prompt, told by its sketch; the example is its beginning as it was typed."""

    uuid: str
    time: datetime | None
    sketch: Sketch
    example: str
    steps: tuple[str, ...] = ()
    """For a prompt that opens a session: what was read and run for it, `Read notes/todo.md`, `Run git status`."""


class Rule(Struct, frozen=True, kw_only=True, gc=False):
    """Something the person told the agent to do, or never to do."""

    uuid: str
    time: datetime | None
    sketch: Sketch
    text: str


class Counted(Struct, frozen=True, kw_only=True, gc=False):
    """Something that was done so many times; `uuid` is where it was done first."""

    what: str
    count: int
    uuid: str
    refused: int = 0


class Material(Struct, frozen=True, kw_only=True):
    """The compact rows of a session. Every tuple can be a table of its own, keyed by the session."""

    session: str
    project: str | None = None
    prompts: tuple[Asked, ...] = ()
    rules: tuple[Rule, ...] = ()
    chains: tuple[Counted, ...] = ()
    """`ruff check > pytest > git commit`: commands that followed each other, whatever was read or edited between."""
    after_edits: tuple[Counted, ...] = ()
    """Commands that came right after an edit."""
    permissions: tuple[Counted, ...] = ()
    """Permission rules the person was asked about, as settings.json would write them."""
    shell_lines: tuple[Counted, ...] = ()
    """Commands the person ran with `!`."""
    lines: tuple[Counted, ...] = ()
    """Whole command lines of the steps that chains are made of."""
    ran: tuple[Counted, ...] = ()
    """Programs that ran well, so that nobody says they cannot; `refused` has how often they failed."""


def material_of(scene: Scene) -> Material:
    """The material of a conversation, taken in one pass over its calls and its prompts."""
    steps = list(_steps(scene))
    return Material(
        session=scene.session,
        project=scene.conversation.project,
        prompts=tuple(_prompts(scene)),
        rules=tuple(_rules(scene)),
        chains=_counted(_chains(steps), MOST_CHAINS),
        after_edits=_counted(_after_edits(scene.main_calls)),
        permissions=_permissions(scene),
        shell_lines=_counted(_shell_lines(scene)),
        lines=tuple(replace(each, what=quote(each.what)) for each in _counted(_lines(scene), MOST_LINES)),
        ran=_ran(scene),
    )


def _prompts(scene: Scene) -> Iterator[Asked]:
    """Those that say enough to be told from others; one that opens a session may be a single word of the person's."""
    for number, (stretch, prompt, prose, words, sketch) in enumerate(scene.asked):
        if prompt.uuid is None or not is_of_person(prompt.text) or rules_in(prose):
            continue
        is_opening = number == 0 and words > 0 and prose.strip(" .!?").lower() not in _EVERYDAY
        if words >= FEWEST_WORDS or is_opening:
            steps = tuple(_done(stretch.calls, scene.conversation.project)) if number == 0 else ()
            yield Asked(
                uuid=prompt.uuid, time=prompt.time, sketch=sketch, example=prompt.text[:_LONGEST_RULE], steps=steps
            )


def is_of_person(text: str) -> bool:
    """Whether a prompt is a person's own: hooks and the client write some in their name."""
    return not is_said_by_hook(text) and not text.startswith(_OF_THE_CLIENT)


def _done(calls: list[Call], project: str | None) -> Iterator[str]:
    """What was read and run, as it would stand in a list of steps of the project."""

    def here(text: str) -> str:
        return text.replace(f"{project}/", "").replace(project, ".") if project else text

    told: dict[str, None] = {}
    for call in calls:
        if call.status is not Status.OK or len(told) == _MOST_STEPS:
            continue
        if call.name == "Read" and call.path:
            told[f"Read {here(call.path)}"] = None
        elif call.name in SHELLS and (line := _one_line(call.command)):
            told[f"Run {here(line)}"] = None
    yield from told


def _one_line(command: str) -> str:
    """A command that can be written down as it is; empty for scripts."""
    line = command.strip()
    return "" if "\n" in line or "<<" in line or len(line) > _LONGEST_LINE else quote(line)


def _rules(scene: Scene) -> Iterator[Rule]:
    for _, prompt, prose, _, _ in scene.asked:
        if prompt.uuid is not None and is_of_person(prompt.text):
            for text in rules_in(prose):
                yield _rule(prompt.uuid, prompt.time, text)
    for call in scene.troubled:
        if is_by_person(call) and call.proof.uuid is not None:
            for text in rules_in(reason_given(call)):
                yield _rule(call.proof.uuid, call.proof.time, text)


def _rule(uuid: str, time: datetime | None, text: str) -> Rule:
    return Rule(uuid=uuid, time=time, sketch=sketch_of_words(words_of(text)), text=quote(text))


@lru_cache(maxsize=256)
def rules_in(prose: str) -> tuple[str, ...]:
    """Sentences that sound as if they were meant for every time, not for this once."""
    lowered = prose.lower()
    if not any(word in lowered for word in _RULE_WORDS):
        return ()
    sentences = (sentence.strip() for sentence in _SENTENCE.split(prose[:2000]))
    return tuple(text for text in sentences if len(text) <= _LONGEST_RULE and _is_rule(text.lower().replace("’", "'")))


def _is_rule(sentence: str) -> bool:
    if sentence.endswith(("?", "？")) or _RULE.search(sentence) is None or _ONLY_NOW.search(sentence) is not None:
        return False
    return len(set(words_of(sentence))) >= _FEWEST_RULE_WORDS


def _steps(scene: Scene) -> Iterator[tuple[str, str]]:
    """Commands and tools of servers in order, without those that only look around; nothing twice in a row."""
    last = ""
    for call in scene.main_calls:
        uuid = call.record.uuid
        if uuid is None or not (call.name in SHELLS or call.name.startswith("mcp__")):
            continue
        for step in steps_in(call.command) if call.name in SHELLS else [call.name]:
            if step and step != last and step not in _TRIVIAL:
                last = step
                yield step, uuid


def _lines(scene: Scene) -> Iterator[tuple[str, str]]:
    for call in scene.main_calls:
        if call.name not in SHELLS or call.status is not Status.OK or call.record.uuid is None:
            continue
        command = call.command
        if len(command) > _LONGEST_LINE or "\n" in command or "<<" in command or ";" in command:
            continue
        for part in command.split("&&") if "&&" in command else (command,):
            step = prefix_of(part.strip())
            if step and step not in _TRIVIAL:
                line = _PIPED.split(part, 1)[0].strip()
                yield _MESSAGE.sub(r"\1 <message>", line) if "-" in line else line, call.record.uuid


def _ran(scene: Scene) -> tuple[Counted, ...]:
    """By program and subcommand how often it ran well, and how often it failed."""
    well: dict[str, int] = {}
    failed: dict[str, int] = {}
    first: dict[str, str] = {}
    for call in scene.main_calls:
        if call.name in SHELLS and call.record.uuid is not None and (step := prefix_of(call.command)):
            counts = well if call.status is Status.OK else failed
            counts[step] = counts.get(step, 0) + 1
            first.setdefault(step, call.record.uuid)
    return tuple(
        Counted(what=step, count=well.get(step, 0), uuid=uuid, refused=failed.get(step, 0))
        for step, uuid in first.items()
    )[:MOST_LINES]


def _chains(steps: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    for length in _CHAIN_LENGTHS:
        for start in range(len(steps) - length + 1):
            names = [name for name, _ in steps[start : start + length]]
            if len(set(names)) == length:
                yield " > ".join(names), steps[start][1]


def _after_edits(calls: list[Call]) -> Iterator[tuple[str, str]]:
    was_edit = False
    for call in calls:
        if was_edit and call.name in SHELLS and call.record.uuid is not None:
            step = prefix_of(call.command)
            if step and step not in _TRIVIAL:
                yield step, call.record.uuid
        was_edit = call.name in EDITS and call.status is Status.OK


def _permissions(scene: Scene) -> tuple[Counted, ...]:
    decided = decisions([call for call in scene.decided if was_asked(call)])
    asked = [(rule_of(call), call) for call in decided if call.proof.uuid is not None]
    refused: dict[str, int] = {}
    for rule, call in asked:
        refused[rule] = refused.get(rule, 0) + (call.status is Status.REJECTED)
    counted = _counted((rule, call.proof.uuid or "") for rule, call in asked)
    return tuple(
        Counted(what=each.what, count=each.count, uuid=each.uuid, refused=refused[each.what]) for each in counted
    )


def _shell_lines(scene: Scene) -> Iterator[tuple[str, str]]:
    for record in scene.lines_of(Speaker.SHELL):
        command = (shell_input(record.text) or "").strip()
        if command and record.uuid is not None and prefix_of(command) not in _TRIVIAL:
            yield quote(command), record.uuid


def _counted(found: Iterator[tuple[str, str]] | list[tuple[str, str]], most: int | None = None) -> tuple[Counted, ...]:
    """What was found with how often, most often first; of equals the first found."""
    counts: dict[str, int] = {}
    first: dict[str, str] = {}
    for what, uuid in found:
        counts[what] = counts.get(what, 0) + 1
        first.setdefault(what, uuid)
    ranked = sorted(counts, key=lambda what: -counts[what])[:most]
    return tuple(Counted(what=what, count=counts[what], uuid=first[what]) for what in ranked)
