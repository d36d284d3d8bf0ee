"""What fills the context of a session, what of it is used, and what compactions cost.

The client counts its context when it is asked (`reread run` asks after each turn, a person by `/context`); elsewhere
the parts are estimated from what the transcript shows of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct

from reread.records import Attachment, Record, parse_or_none
from reread.records.attachments import (
    AgentListingDelta,
    DeferredToolsDelta,
    Instructions,
    McpInstructionsDelta,
    NestedMemory,
    SkillListing,
)
from reread.records.json_parts import object_of, objects_in
from reread.records.state import ApiRequestShape
from reread.records.system import CompactBoundary, CompactMetadata, LocalCommand
from reread.sessions import CallStatus, Conversation, Notice, Said, Session, Speaker, ToolCall, split_tool_name
from reread.sessions.agents import AGENT_TOOLS
from reread.sessions.speaker import command_line

from .tool_use import paths_of

CHARACTERS_PER_TOKEN = 4
SYSTEM, TOOL, MCP, MEMORY, AGENT, SKILL, MESSAGES = "system", "tool", "mcp", "memory", "agent", "skill", "messages"
OFFERED = (SKILL, AGENT, MCP, MEMORY)
"""What a person can take away, unlike the client's own prompt and tools."""
_BEFORE = "the client's prompt, tools and memory"
_UNNAMED = "what the transcript does not show"
_MOST_PER_CHARACTER = 0.5
"""Tokens. The contexts of 143 recorded sessions grew by one for each 2.4 characters shown (eight in ten: 1.6 to 2.8).
What a transcript does not show (images, reminders, most thinking) is not to be counted for what it shows."""
_EDITS = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})
_SHELLS = frozenset({"Bash", "PowerShell"})
_BUILT_IN_AGENTS = frozenset(
    {"claude", "claude-code-guide", "Explore", "general-purpose", "output-style-setup", "Plan", "statusline-setup"}
)
"""Those that no one can take away; clients before 2.1.325 do not say which these are."""
_HUMP = re.compile(r"_(\w)")


class ContextPart(Struct, frozen=True):
    """A part of the context: `system`, `tool`, `mcp`, `memory`, `agent`, `skill` or `messages`, and its name."""

    kind: str
    name: str
    tokens: int


class ContextComposition(Struct, frozen=True, kw_only=True):
    """What filled the context at a moment."""

    time: datetime | None
    model: str | None
    total: int
    limit: int | None
    """The size of the window, where the client said it."""
    is_estimate: bool
    """Whether the parts are estimated from the transcript; else the client counted them."""
    parts: tuple[ContextPart, ...]
    """The largest first."""


def compositions_of(session: Session) -> list[ContextComposition]:
    """What the client said of its context, in the order of time; without a word of it, an estimate of the last one."""
    asked = [told for capture in session.captures for told in capture.told.contexts]
    typed = [(each.time, parse_or_none(each.context_usage)) for each in session.beside_of(LocalCommand)]
    told = [_counted(usage, time) for time, usage in (*asked, *typed) if isinstance(usage, dict)]
    found = sorted((each for each in told if each.parts), key=lambda each: each.time.timestamp() if each.time else 0.0)
    return found or [*_estimated(session)]


def _counted(usage: Mapping[str, Any], time: datetime | None) -> ContextComposition:
    skills, tools = _field(usage, "skills"), objects_in(_field(usage, "mcp_tools"))
    listed = _field(skills, "skill_frontmatter") if isinstance(skills, dict) else skills
    details = [
        *_parts(MEMORY, _field(usage, "memory_files"), "path"),
        *_parts(MCP, [each for each in tools if each.get("isLoaded") is not False], "name"),
        *_parts(AGENT, _field(usage, "agents"), "agent_type"),
        *_parts(SKILL, listed, "name"),
    ]
    known = {part.kind for part in details}
    for each in objects_in(_field(usage, "categories")):
        kind = _CATEGORIES.get(str(each.get("name")).lower(), SYSTEM)
        is_used = each.get("kind", "used") == "used" and each.get("isDeferred") is not True
        if is_used and kind not in known and str(each.get("name")).lower() not in _NOT_USED:
            details += _parts(kind, [each], "name")
    return ContextComposition(
        time=time,
        model=_field(usage, "model"),
        total=_number(_field(usage, "total_tokens")),
        limit=_number(_field(usage, "raw_max_tokens") or _field(usage, "max_tokens")) or None,
        is_estimate=False,
        parts=_sorted(details),
    )


_CATEGORIES = {
    "memory files": MEMORY,
    "mcp tools": MCP,
    "custom agents": AGENT,
    "skills": SKILL,
    "system tools": TOOL,
    "messages": MESSAGES,
}
_NOT_USED = frozenset({"free space", "autocompact buffer", "compact buffer"})


def _parts(kind: str, items: object, name: str) -> Iterator[ContextPart]:
    for each in objects_in(items):
        if (named := _field(each, name)) and (tokens := _number(each.get("tokens"))):
            yield ContextPart(kind, str(named), tokens)


def _sorted(parts: Sequence[ContextPart]) -> tuple[ContextPart, ...]:
    return tuple(sorted(parts, key=lambda part: (-part.tokens, part.kind, part.name)))


def _field(value: Mapping[str, Any], name: str) -> Any:
    """A field in either of the client's spellings."""
    return value.get(name, value.get(_HUMP.sub(lambda found: found[1].upper(), name)))


def _number(value: object) -> int:
    return int(value) if isinstance(value, int | float) else 0


def _estimated(session: Session) -> Iterator[ContextComposition]:
    """The last request: its size as the API counted it. What the first one had beside the prompt is the client's; the
    rest is shared out by characters."""
    asked = [each for each in session.requests if not each.is_sidechain and each.prompt]
    if not asked:
        return
    last, total = asked[-1], asked[-1].prompt
    opening = next((len(turn.prompt.text) for turn in session.turns if turn.prompt is not None), 0)
    before = max(asked[0].prompt - opening // CHARACTERS_PER_TOKEN, 0)
    said = _conversation_sizes(session)
    per_character = min(max(total - before, 0) / max(said.total(), 1), _MOST_PER_CHARACTER)
    sizes = {key: size // CHARACTERS_PER_TOKEN for key, size in listings(session).items()}
    sizes[SYSTEM, _BEFORE] = max(min(before, total) - sum(sizes.values()), 0)
    sizes |= {key: int(size * per_character) for key, size in said.items()}
    sizes[SYSTEM, _UNNAMED] = max(total - sum(sizes.values()), 0)
    parts = [ContextPart(*key, size) for key, size in sizes.items() if size]
    yield ContextComposition(
        time=last.at, model=last.model, total=total, limit=None, is_estimate=True, parts=_sorted(parts)
    )


def _conversation_sizes(session: Session) -> Counter[tuple[str, str]]:
    """The characters of what was said and done since the last compaction."""
    found: Counter[tuple[str, str]] = Counter()
    for turn in session.turns:
        if turn.prompt is not None:
            found[MESSAGES, "prompts"] += len(turn.prompt.text)
        for step in turn.steps:
            if isinstance(step, Notice) and step.what == "compacted":
                found = Counter({(MESSAGES, "summary of what was compacted"): len(step.detail)})
            elif isinstance(step, Said):
                found[MESSAGES, "replies"] += len(step.text)
            elif isinstance(step, ToolCall):
                size = len(bytes(step.block.raw_input)) + (len(step.output.text) if step.output is not None else 0)
                found[MESSAGES, step.name] += size
    return found


def listings(conversation: Conversation) -> dict[tuple[str, str], int]:
    """The characters of what the client offered the model or told it beforehand, by kind and name."""
    found: dict[tuple[str, str], int] = {}
    bodies = [each.attachment for each in conversation.beside_of(Attachment)]
    for body in (*bodies, *conversation.beside_of(ApiRequestShape)[:1]):
        reader = _LISTINGS.get(type(body))
        sizes: Counter[tuple[str, str]] = Counter()
        for kind, name, text in reader(body) if reader is not None else ():
            sizes[kind, name] += len(text)
        for key, size in sizes.items():  # a listing may be repeated
            found[key] = max(found.get(key, 0), size)
    return found


Listed = Iterator[tuple[str, str, str]]


def _skills(body: SkillListing) -> Listed:
    for entry in f"\n{body.as_text}".split("\n- ")[1:]:
        name = entry.partition(": ")[0].strip()
        if body.names is None or name in body.names:
            yield SKILL, name, entry


def _tools(body: DeferredToolsDelta) -> Listed:
    for name, line in zip(body.added_names or (), body.added_lines or body.added_names or (), strict=False):
        yield *_tool(name), line


def _tool(name: str) -> tuple[str, str]:
    server = split_tool_name(name)[0]
    return (TOOL, name) if server is None else (MCP, server)


def _shape(record: ApiRequestShape) -> Listed:
    shape = object_of(parse_or_none(record.shape))
    for each in objects_in(shape.get("tools")):
        yield *_tool(str(each.get("name"))), f"{each.get('description')}{each.get('input_schema')}"
    for each in objects_in(shape.get("system")):
        yield SYSTEM, "system prompt", str(each.get("text"))


def _memory(body: NestedMemory) -> Listed:
    value = parse_or_none(body.content)
    yield MEMORY, body.path or "", str(value.get("content") if isinstance(value, dict) else value)


_LISTINGS: Mapping[type, Callable[[Any], Listed]] = {
    SkillListing: _skills,
    AgentListingDelta: lambda body: (
        (AGENT, name, line)
        for name, line in zip(body.added_types or (), body.added_lines or (), strict=False)
        if name not in (parse_or_none(body.built_in_types) or _BUILT_IN_AGENTS)
    ),
    McpInstructionsDelta: lambda body: (
        (MCP, name, text) for name, text in zip(body.added_names or (), body.added_blocks or (), strict=False)
    ),
    DeferredToolsDelta: _tools,
    Instructions: lambda body: (
        (MEMORY, each["path"], str(each.get("content"))) for each in body.each_file if "path" in each
    ),
    NestedMemory: _memory,
    ApiRequestShape: _shape,
}


def used_in(session: Session) -> Counter[tuple[str, str]]:
    """How often skills, agents and MCP servers were used. A skill is also used by its name as a command."""
    found: Counter[tuple[str, str]] = Counter()
    for call in session.every_call:
        kind = SKILL if call.name == "Skill" else AGENT if call.name in AGENT_TOOLS else None
        if kind is not None and (given := call.fields):
            found[kind, str(given.get("skill") or given.get("command") or given.get("subagent_type"))] += 1
        elif call.server is not None:
            found[MCP, call.server] += 1
    for place, kind in session.kinds.items():
        if kind is Speaker.COMMAND:
            found[SKILL, command_line(session.line[place].text).partition(" ")[0].removeprefix("/")] += 1
    return found


class CompactionCost(Struct, frozen=True, kw_only=True):
    """What a compaction dropped, and what it took until work went on: until the first call that changes a file, or
    the end of the turn."""

    uuid: str | None
    time: datetime | None
    trigger: str | None
    tokens_before: int | None
    tokens_after: int | None
    files: int
    """Files in hand: read or changed since the compaction before."""
    commands: int
    """Different commands that were run since then."""
    decisions: int
    """Questions that the person answered since then."""
    again: tuple[str, ...]
    """Files and commands from before that were looked up or run again."""
    actions: int
    """Calls until work went on."""
    nanodollars: int | None
    """Cost of the requests until then; None if a price is unknown."""


def compactions_of(session: Session) -> list[CompactionCost]:
    """What each compaction of the conversation cost, in its order."""
    steps = [(turn.index, step) for turn in session.turns for step in turn.steps]
    places = [
        i for i, (_, step) in enumerate(steps) if isinstance(step, Notice) and type(step.record) is CompactBoundary
    ]
    found = []
    for before, place, after in zip([0, *places], places, [*places[1:], len(steps)], strict=False):
        calls = [(turn, step) for turn, step in steps[place + 1 : after] if isinstance(step, ToolCall)]
        known = [step for _, step in steps[before:place] if isinstance(step, ToolCall)]
        found.append(_compaction(session, steps[place][1].record, known, calls))
    return found


def _compaction(
    session: Session, record: Record, known: Sequence[ToolCall], after: Sequence[tuple[int, ToolCall]]
) -> CompactionCost:
    until = _until_work(after)
    names = {name for call in known if (name := _name_of(call)) is not None}
    had = Counter(kind for kind, _ in names)
    again = [name for call in until if call.name not in _EDITS and (name := _name_of(call)) in names and name]
    about = (record.compact_metadata if isinstance(record, CompactBoundary) else None) or CompactMetadata()
    return CompactionCost(
        uuid=record.uuid,
        time=record.time,
        trigger=about.trigger,
        tokens_before=about.pre_tokens,
        tokens_after=about.post_tokens,
        files=had["file"],
        commands=had["command"],
        decisions=sum(call.name == "AskUserQuestion" and call.status is CallStatus.OK for call in known),
        again=tuple(dict.fromkeys(text for _, text in again)),
        actions=len(until),
        nanodollars=_cost_of(until, session),
    )


def _cost_of(calls: Sequence[ToolCall], session: Session) -> int | None:
    """The cost of the requests that made these calls; None if a price is unknown."""
    ids = {call.message_id for call in calls}
    requests = (each for each in session.requests if each.winner.api_message.id in ids)
    spent = [session.prices.cost(each, each.model, each.time) for each in requests]
    return None if None in spent else sum(each or 0 for each in spent)


def _until_work(after: Sequence[tuple[int, ToolCall]]) -> list[ToolCall]:
    """The calls of the first turn, up to the first that changed a file."""
    own = [call for turn, call in after if turn == after[0][0]]
    end = next((i for i, call in enumerate(own) if call.name in _EDITS and call.status is CallStatus.OK), len(own))
    return own[:end]


def _name_of(call: ToolCall) -> tuple[str, str] | None:
    """What a call looks up or runs, by which it is known again."""
    if call.name in _SHELLS:
        command = call.fields.get("command")
        return ("command", re.sub(r"\s+", " ", str(command)).strip()) if command else None
    return next((("file", path) for path in paths_of(call)), None)
