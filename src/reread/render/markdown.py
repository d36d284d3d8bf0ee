"""A session as Markdown: readable where GitHub shows it, foldable where Obsidian does.

What the model said is Markdown already and stays so; everything else is text, and none may end a fence or begin a tag.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from html import escape
from typing import NamedTuple

from reread.analyses.edits.changes import twin_of
from reread.analyses.summaries import SessionSummary
from reread.sessions import Branch, Conversation, Notice, Said, Session, Status, Step, Subagent, Thought, ToolCall, Turn

from .calls import MARKS, ending, summary, tool_label, without_error_tags
from .edits import changed, is_edit, patched, proposed
from .numbers import count, duration, money, tokens
from .summaries import front_matter_lines, inline, link_lines
from .terminal import LABELLED, WITHDRAWN
from .text import harmless, one_line, shorten, tabbed
from .values import utc
from .view import View

LONGEST_OUTPUT = 20_000
"""Characters of one output; how many more there are is told."""
LONGEST_DIFF = 400
_POINT = 120
_TICKS = re.compile(r"`+")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_CODE_SPAN = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_LEADS_ASTRAY = re.compile(r"\]\(\s*<?\s*(?:javascript|vbscript|data|file):[^)]*\)?", re.IGNORECASE)


class Wanted(NamedTuple):
    """What of a session is shown, and for whom."""

    thinking: bool = True
    tools: bool = True
    subagents: bool = True
    is_obsidian: bool = False


def markdown_lines(session: Session, wanted: Wanted) -> Iterator[str]:
    """The whole session."""
    yield f"# {inline(session.title)}"
    yield ""
    usage = session.total_usage
    facts = [
        session.project,
        _moment(session.started),
        count(len(session.prompts), "prompt"),
        count(len(session.every_call), "tool call"),
        f"{tokens(usage.output_tokens)} tokens out",
        money(usage.cost, is_partial=usage.unpriced_tokens > 0),
        f"session {session.id}",
    ]
    yield " · ".join(inline(fact) for fact in facts if fact)
    yield from _body(session, wanted)


def obsidian_lines(session: Session, about: SessionSummary, wanted: Wanted, view: View) -> Iterator[str]:
    """The same as a note: its properties first, links to the project, the day and the files."""
    yield from front_matter_lines(about, view)
    yield ""
    yield f"# {inline(session.title)}"
    yield from link_lines(about, view)
    yield from _body(session, wanted._replace(is_obsidian=True))


def _body(session: Session, wanted: Wanted) -> Iterator[str]:
    writer = _Writer(session, wanted)
    for branch in session.branches:
        yield from writer.branch(branch)
    for agent in session.subagents if wanted.subagents else ():
        if agent.id not in writer.told and agent.turns:
            yield from writer.agent(agent)


class _Writer:
    """Writes the parts of one session."""

    def __init__(self, session: Session, wanted: Wanted) -> None:
        self.session = session
        self.wanted = wanted
        self.told: set[str] = set()
        """Agents that were written already: a transcript may tell of a circle."""

    def branch(self, branch: Branch) -> Iterator[str]:
        if not branch.active:
            yield from ("", "---", "", f"## ↩ Left behind: {inline(branch.id.rpartition('@')[2])}")
        for turn in branch.turns:
            if turn.prompt is not None or turn.steps:
                yield from self.turn(self.session, turn, level=2 if branch.active else 3)

    def turn(self, speaker: Conversation, turn: Turn, level: int) -> Iterator[str]:
        if turn.prompt is not None:
            pictures = f" · {count(turn.prompt.images, 'image')}" if turn.prompt.images else ""
            yield from ("", f"{'#' * level} {turn.index}. You · {_moment(turn.prompt.time)}{pictures}", "")
            yield from quoted(turn.prompt.text or "(no text)")
        for step in turn.steps:
            yield from self.step(step)
        used = speaker.usage_of(turn)
        if used.requests:
            cost = money(used.cost, is_partial=used.unpriced_tokens > 0)
            facts = [cost, f"{tokens(used.output_tokens)} out", f"{tokens(used.prompt_tokens)} in"]
            yield from ("", f"<sub>{' · '.join(fact for fact in facts if fact)}</sub>")

    def step(self, step: Step) -> Iterator[str]:
        if isinstance(step, Said):
            if step.text.strip():
                mark = WITHDRAWN.get(step.withdrawn or "", "").strip()
                yield from ("", *([f"*{inline(mark)}*", ""] if mark else []), *spoken(step.text))
        elif isinstance(step, Thought):
            if self.wanted.thinking and step.text.strip():
                mark = WITHDRAWN.get(step.withdrawn or "", "")
                yield from self.fold(f"{mark}thinking: {shorten(step.text[:400], 80)}", quoted(step.text.strip()))
        elif isinstance(step, ToolCall):
            yield from self.call(step) if self.wanted.tools else ()
        else:
            yield from self.notice(step)

    def notice(self, notice: Notice) -> Iterator[str]:
        label = f"{notice.what}: " if notice.what in LABELLED else ""
        yield from ("", f"*{inline(label + notice.text)}*")
        if notice.detail:
            yield from self.fold("more", fenced(_cut(notice.detail)))

    def call(self, call: ToolCall) -> Iterator[str]:
        lines = proposed(call.name, call.input) if is_edit(call.name) else []
        lines = (patched(twin_of(call)) if is_edit(call.name) else []) or lines
        parts = [
            f"{MARKS[call.status][0]} {tool_label(call.name)}",
            shorten(summary(call, self.session.project), _POINT),
            changed(lines),
            shorten(ending(call), _POINT),
            duration(call.seconds) if call.seconds is not None and call.seconds >= 1 else "",
        ]
        inside: list[str] = []
        if lines:
            shown = [f"{line.sign}{line.text}" for line in lines[:LONGEST_DIFF]]
            more = [f"… {len(lines) - LONGEST_DIFF:,} more lines"] if len(lines) > LONGEST_DIFF else []
            inside += [*fenced("\n".join([*shown, *more]), "diff")]
        elif call.input:
            inside += _given(call)
        output = self.session.full_output(call)
        if output and not (lines and call.status is Status.OK):
            inside += ["", *fenced(_cut(without_error_tags(output)))]
        yield from self.fold(" · ".join(part for part in parts if part), inside)
        agent = self.session.agents_by_call.get(call.id or "")
        if agent is not None and agent.id not in self.told and self.wanted.subagents:
            yield from self.agent(agent)

    def agent(self, agent: Subagent) -> Iterator[str]:
        self.told.add(agent.id)
        facts = [agent.type or agent.kind.value, count(len(agent.tool_calls), "tool call")]
        inside = [line for turn in agent.turns for line in self.turn(agent, turn, level=4)]
        yield from self.fold(f"◇ subagent {' · '.join(facts)}", inside)

    def fold(self, title: str, inside: Iterable[str]) -> Iterator[str]:
        """A line that can be opened: a tag that GitHub knows, or a callout of Obsidian."""
        label = one_line(title)
        if self.wanted.is_obsidian:
            yield from ("", f"> [!abstract]- {inline(label)}", *(f"> {line}".rstrip() for line in inside))
        else:
            yield from ("", f"<details><summary>{escape(label)}</summary>", "", *inside, "", "</details>")


def _given(call: ToolCall) -> list[str]:
    if call.name == "Bash" and isinstance(call.input, dict) and isinstance(call.input.get("command"), str):
        return fenced(_cut(call.input["command"]), "bash")
    return fenced(_cut(json.dumps(call.input, ensure_ascii=False, indent=2, default=str)), "json")


def fenced(text: str, language: str = "text") -> list[str]:
    """Text in a fence that is longer than any run of backticks in it."""
    clean = harmless(text)
    longest = max((len(run) for run in _TICKS.findall(clean)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}{language}", *clean.split("\n"), fence]


def quoted(text: str) -> list[str]:
    """Text as a quotation; its tags are shown."""
    return [f"> {_plain(line)}".rstrip() for line in tabbed(text).split("\n")]


def spoken(text: str) -> list[str]:
    """Markdown as the model wrote it; fences are closed, tags shown, pictures not fetched, links lead to pages."""
    made: list[str] = []
    fence = ""
    for line in tabbed(text).strip("\n").split("\n"):
        mark = _FENCE.match(line)
        if fence:
            made.append(line)
            is_end = mark is not None and mark[1].startswith(fence) and not line.strip().strip(fence[0])
            fence = "" if is_end else fence
        else:
            fence = mark[1] if mark is not None else ""
            made.append(line if mark is not None else _plain(line))
    return [*made, fence] if fence else made


def _plain(line: str) -> str:
    """A line outside a fence; what stands in code stays as it is."""
    parts: list[str] = []
    position = 0
    for code in _CODE_SPAN.finditer(line):
        parts += [_inert(line[position : code.start()]), code[0]]
        position = code.end()
    return "".join([*parts, _inert(line[position:])])


def _inert(text: str) -> str:
    return _LEADS_ASTRAY.sub("]", _TAG.sub("&lt;", text)).replace("![", "[")


def _cut(text: str) -> str:
    if len(text) <= LONGEST_OUTPUT:
        return text
    return f"{text[:LONGEST_OUTPUT]}\n… {len(text) - LONGEST_OUTPUT:,} more characters"


def _moment(time: datetime | None) -> str:
    return f"{(utc(time) or '')[:16].replace('T', ' ')} UTC" if time is not None else ""
