"""What a project's instruction files, settings, commands and skills already say: as they are on disk, and as sessions
showed them when they were read, written or attached."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from msgspec import Struct

from reread import lazy
from reread.records import Attachment
from reread.records.attachments import EditedTextFile, FileAttachment, Instructions, NestedMemory, SkillListing
from reread.records.lenient import parse_or_none

from .detection import EDITS, ConversationUnderTest, DetectedCall, file_name, quote
from .prompt_text import words_of

NAMES = frozenset({"CLAUDE.md", "CLAUDE.local.md", "AGENTS.md"})
_SETTINGS = ("/.claude/settings.json", "/.claude/settings.local.json")
_NAMED = (b"CLAUDE", b"AGENTS", b".claude")
_MOST_SHOWN, _LONGEST_TEXT, _SHORTEST = 200, 40_000, 3
"""Lines of instructions that are kept of a session, characters of a file that are looked at, and those of a bracket."""
_ALLOWED = lazy.pattern(r"\"(\w+(?:\([^\"]*\))?)\"")
_NUMBER = lazy.pattern(r"^\s*\d+(?:→|\t)")


class Stated(NamedTuple):
    """What the files of a project already tell the agent."""

    memory: tuple[tuple[str, str, datetime | None], ...] = ()
    """Name and text of each file, and since when it has said so, as far as is known."""
    allowed: frozenset[str] = frozenset()
    """Permission rules in its settings, both allowed and denied."""
    hooks: str = ""
    """The commands of its hooks."""
    commands: frozenset[str] = frozenset()
    """Names of its commands and skills."""

    @property
    def text(self) -> str:
        """That of all the files."""
        return "\n".join(text for _, text, _ in self.memory)


class ShownInstructions(Struct, frozen=True, kw_only=True, gc=False):
    """What a session showed of the files that instruct the agent."""

    path: str
    """The file; empty for the list of skills and commands."""
    time: datetime | None
    lines: tuple[str, ...]


def shown_in(subject: ConversationUnderTest, ran: Collection[str] = ()) -> tuple[ShownInstructions, ...]:
    """Each line of each file once, where it was first seen; of other documents that were read, which such a file may
    have named, the lines about commands that the session ran."""
    seen: set[tuple[str, str]] = set()
    found: list[ShownInstructions] = []
    for path, time, text in (*_handled(subject), *_attached(subject), *_documents(subject, ran)):
        plain = (_NUMBER.sub("", line).strip() for line in text[:_LONGEST_TEXT].split("\n"))
        new = (line for line in dict.fromkeys(plain) if len(line) > _SHORTEST and (path, line) not in seen)
        fresh = tuple(islice(new, _MOST_SHOWN - len(seen)))
        seen.update((path, line) for line in fresh)
        if fresh:
            found.append(ShownInstructions(path=path, time=time, lines=tuple(map(quote, fresh))))
    return tuple(found)


def _handled(subject: ConversationUnderTest) -> Iterator[tuple[str, datetime | None, str]]:
    """What was read of these files and written to them."""
    for call in subject.main_calls:
        if not (call.name == "Read" or call.name in EDITS):
            continue
        raw = bytes(call.call.block.raw_input)  # looked through first, since most calls are about other files
        if any(map(raw.__contains__, _NAMED)) and _is_told(call.path) and call.worked:
            texts = [call.text] if call.name == "Read" else _written(call)
            yield from ((call.path, call.ended, text) for text in texts)


def _written(call: DetectedCall) -> list[str]:
    given = call.arguments
    written = [given.content, given.new_string, *(each.get("new_string") for each in given.edits or ())]
    return [text for text in written if isinstance(text, str)]


def _documents(subject: ConversationUnderTest, ran: Collection[str]) -> Iterator[tuple[str, datetime | None, str]]:
    for call in subject.main_calls if ran else ():
        if call.name == "Read" and call.path.endswith(".md") and not _is_told(call.path):
            told = (line for line in call.text.split("\n") if any(map(line.__contains__, ran)))
            yield call.path, call.ended, "\n".join(told)


def _attached(subject: ConversationUnderTest) -> Iterator[tuple[str, datetime | None, str]]:
    for record in subject.conversation.beside_of(Attachment):
        yield from ((path, record.time, text) for path, text in _told_by(record.attachment))


def _told_by(body: object) -> Iterator[tuple[str, str]]:
    """The files that an attachment shows, with their texts."""
    if isinstance(body, SkillListing):
        yield "", "\n".join(body.names or ())
    elif isinstance(body, Instructions):
        named = ((each.get("path"), each.get("content")) for each in body.each_file)
        yield from ((path, text) for path, text in named if path and isinstance(text, str))
    elif isinstance(body, EditedTextFile | NestedMemory | FileAttachment):
        path = (body.path if isinstance(body, NestedMemory) else body.filename) or ""
        text = body.snippet if isinstance(body, EditedTextFile) else _content_in(parse_or_none(body.content))
        if _is_told(path):
            yield path, text or ""


def _content_in(value: object) -> str:
    """The text of an attached file, which lies one or two objects deep."""
    if isinstance(value, dict):
        return _content_in(value.get("content") or value.get("file"))
    return value if isinstance(value, str) else ""


def _is_told(path: str) -> bool:
    return file_name(path) in NAMES or path.replace("\\", "/").endswith(_SETTINGS)


def with_shown(stated: Stated, shown: Iterable[ShownInstructions]) -> Stated:
    """What files state with what sessions showed of them, the earliest first. Of a file on disk only lines count
    that still are in it: they only tell since when."""
    on_disk = {file_name(name): {quote(line.strip()) for line in text.split("\n")} for name, text, _ in stated.memory}
    memory: list[tuple[str, str, datetime | None]] = []
    known: set[tuple[str, str]] = set()
    allowed, hooks, commands = set(stated.allowed), [stated.hooks], set(stated.commands)
    for each in sorted(shown, key=lambda each: (each.time is None, each.time)):
        name = file_name(each.path)
        if not each.path:
            commands.update(each.lines)
        elif name.endswith(".md"):
            lines = [line for line in each.lines if (name, line) not in known]
            known.update((name, line) for line in lines)
            here = [line for line in lines if name not in on_disk or line in on_disk[name]]
            memory.append((name, "\n".join(here), each.time))
        else:
            allowed.update(rule for line in each.lines for rule in _ALLOWED.findall(line))
            hooks.extend(each.lines)
    return Stated((*memory, *stated.memory), frozenset(allowed), "\n".join(hooks), frozenset(commands))


_STATED = 0.75
"""The share of a rule's words that one line must contain for the rule to count as stated there."""


def statement_of(stated: Stated, rule: str) -> tuple[str, datetime | None] | None:
    """The first file that states a rule in one line, and since when."""
    words = set(words_of(rule))
    for name, text, since in stated.memory:
        for line in text.split("\n"):
            if len(words) > 1 and len(words & set(words_of(line))) >= _STATED * len(words):
                return name, since
    return None


_AGAINST = lazy.pattern(
    r"(?:instead of|rather than|never (?:use|run|call)?|don't (?:use|run|call)|do not (?:use|run|call)|avoid"
    r"|,? not) +(?:using |running )?[`'\"]?([\w./-]+(?: [\w./:-]+)?)",
    re.IGNORECASE,
)


def is_against(rules: Iterable[str], command: str) -> bool:
    """Whether a rule says not to run a command: `use uv instead of pip` is against `pip install x`."""
    words = command.split()
    named = {" ".join(words[:1]), " ".join(words[:2])} - {""}
    return any(
        found in named or found.partition(" ")[0] in named
        for rule in rules
        for found in (each.rstrip(".,`'\"").lower() for each in _AGAINST.findall(rule))
    )
