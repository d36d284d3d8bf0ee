"""A session as a person reads it in a terminal: by turns, thinking nested under what was said."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from reread.sessions import (
    Branch,
    Notice,
    Prompt,
    Said,
    Session,
    Status,
    Step,
    Subagent,
    Thought,
    ToolCall,
    Turn,
)

from .calls import MARKS, ending, summary, tool_label
from .marks import mark_lines
from .numbers import count, money, tokens
from .text import cells, harmless, one_line, ruler, shorten, wrap
from .view import View, when

YOU = "You ▸ "
CLAUDE = "Claude ▸ "
NESTED = "    └─ "
NOW = "▶ NOW"
HERE = " ◀ here"

_NOTICE_LOOKS = {
    "interrupted": ("■", "yellow"),
    "compacted": ("≡", "magenta"),
    "api_error": ("✗", "red"),
    "queued": ("+", "yellow"),
    "command": ("$", "cyan"),
    "rewound": ("↩", "magenta"),
    "hook": ("⚓", "cyan"),
    "task": ("◇", "blue"),
    "withdrawn": ("✂", "dim"),
    "unknown": ("?", "dim"),
}

LABELLED = frozenset({"queued", "hook", "task", "withdrawn", "unknown"})
"""Notices whose text does not say by itself what they are."""


def session_lines(session: Session, branches: Iterable[Branch], turns: range | None, view: View) -> Iterator[str]:
    """The whole session, or the turns of it that were asked for."""
    yield from heading(session, view)
    for branch in branches:
        if not branch.active:
            yield ""
            yield view.style.paint(ruler(f"left behind: {branch.id}", view.width), "magenta")
        for turn in branch.turns:
            if turns is None or turn.index in turns:
                is_last = branch.active and turn is branch.turns[-1]
                yield from turn_lines(session, turn, view, is_last=is_last)
    lone = [agent for agent in session.working_agents if agent.call is None and agent.turns]
    if lone and turns is None and view.tools != "none":
        yield ""
        yield view.style.paint(ruler("agents that no call names", view.width), "blue")
        for agent in lone:
            yield from agent_lines(session, agent, view)


def heading(session: Session, view: View) -> Iterator[str]:
    paint = view.style.paint
    yield paint(shorten(session.title, view.width), "bold")
    usage = session.total_usage
    facts = [
        session.project,
        when(session.started, view.timezone),
        count(len(session.prompts), "prompt"),
        count(len(session.every_call), "tool call"),
        count(len(session.working_agents), "subagent") if session.working_agents else None,
        count(len(session.branches), "branch") if len(session.branches) > 1 else None,
        f"{tokens(usage.output_tokens)} out",
        money(usage.cost, is_partial=usage.unpriced_tokens > 0),
    ]
    for told in (" · ".join(fact for fact in facts if fact), f"session {session.id}"):
        yield from (paint(line, "dim") for line in wrap(one_line(told), view.width))
    yield from mark_lines(session.mark, view)
    for problem in session.problems:
        yield from (paint(line, "red") for line in wrap(one_line(f"could not be read: {problem}"), view.width))


def turn_lines(session: Session, turn: Turn, view: View, *, is_last: bool = False) -> Iterator[str]:
    label = NOW if is_last else str(turn.index)
    label += HERE if turn.index == view.marked else ""
    yield ""
    yield view.style.paint(ruler(label, view.width), "dim")
    if turn.prompt is not None:
        yield from prompt_lines(turn.prompt, view)
    yield from step_lines(session, turn.steps, view)


def prompt_lines(prompt: Prompt, view: View) -> Iterator[str]:
    pictures = f" [{count(prompt.images, 'image')}]" if prompt.images else ""
    yield from _spoken(YOU, (prompt.text or "(no text)") + pictures, "yellow", view)


def step_lines(session: Session, steps: Iterable[Step], view: View) -> Iterator[str]:
    """Steps by API response: first what was said, the thinking under it, then what was done."""
    steps = list(steps)
    unstored = sum(isinstance(step, Thought) and not step.text for step in steps)
    for response in _responses(steps):
        if view.thinking and _only_thinks(response):
            yield from ("", view.style.paint(CLAUDE.rstrip(), "green", "bold"))
        for step in sorted(response, key=_rank):
            yield from _step(session, step, view)
    if unstored and view.thinking:
        yield from _nested(f"{count(unstored, 'thought')} not stored by the client", view)


def _responses(steps: Iterable[Step]) -> Iterator[list[Step]]:
    """Steps that came in one API response."""
    group: list[Step] = []
    for step in steps:
        if group and step.message_id != group[-1].message_id:
            yield group
            group = []
        group.append(step)
    if group:
        yield group


def _only_thinks(response: list[Step]) -> bool:
    """Thinking without a word said needs the speaker's name above it: it would seem to be the person's."""
    texts = [type(step) for step in response if isinstance(step, Said | Thought) and step.text.strip()]
    return Thought in texts and Said not in texts


def _rank(step: Step) -> int:
    """Words come before the thoughts that led to them."""
    return {Said: 0, Thought: 1}.get(type(step), 2)


def _step(session: Session, step: Step, view: View) -> Iterator[str]:
    if isinstance(step, Said):
        if step.text.strip():
            yield ""
            yield from _spoken(CLAUDE, _marked(step), "green", view)
    elif isinstance(step, Thought):
        if view.thinking and step.text.strip():
            yield from _nested(_marked(step), view)
    elif isinstance(step, ToolCall):
        yield from _call(session, step, view)
    elif step.what != "command" or step.text:
        yield from _notice(step, view)


WITHDRAWN = {"interrupted": "[interrupted] ", "error": "[taken back] ", "cut": "[cut off] "}
"""Before words that were shown while they streamed and are in no transcript."""


def _marked(step: Said | Thought) -> str:
    return WITHDRAWN.get(step.withdrawn or "", "") + step.text.strip()


def _spoken(speaker: str, text: str, look: str, view: View) -> Iterator[str]:
    """The speaker's name in colour, the words beside it, further lines below the first word."""
    indent = " " * cells(speaker)
    for number, line in enumerate(wrap(text, view.width - cells(speaker))):
        yield view.style.paint(speaker, look, "bold") + line if number == 0 else (indent + line).rstrip()


def _nested(text: str, view: View) -> Iterator[str]:
    indent = " " * cells(NESTED)
    for number, line in enumerate(wrap(text, view.width - cells(NESTED))):
        yield view.style.paint(((NESTED if number == 0 else indent) + line).rstrip(), "dim")


def _call(session: Session, call: ToolCall, view: View) -> Iterator[str]:
    if view.tools == "none":
        return
    yield _call_line(session, call, view)
    if view.tools == "full":
        yield from _whole_call(session, call, view)
    agent = session.agents_by_call.get(call.id or "")
    if agent is not None:
        yield from agent_lines(session, agent, view)


def _call_line(session: Session, call: ToolCall, view: View) -> str:
    """Mark, name, the point of it, and how it ended; the point gives way first."""
    paint = view.style.paint
    mark, look = MARKS[call.status]
    room = max(0, view.width - 4)
    name = shorten(tool_label(call.name), max(8, room // 2))
    end = shorten(ending(call), max(0, (room - cells(name) - 2) * 2 // 3))
    what = shorten(summary(call, session.project), max(0, room - cells(name) - cells(end) - 4))
    end_look = {Status.OK: "cyan", Status.MISSING: "dim"}.get(call.status, "red")
    parts = [paint(f"  {mark} ", look) + paint(name, "bold"), what, paint(end, end_look)]
    return "  ".join(part for part in parts if part)


def _whole_call(session: Session, call: ToolCall, view: View) -> Iterator[str]:
    given = json.dumps(call.input, ensure_ascii=False, indent=2)
    for line in wrap(given, view.width - 6):
        yield view.style.paint(f"      {line}".rstrip(), "cyan")
    output = session.full_output(call)
    for line in wrap(output, view.width - 6) if output else ():
        yield view.style.paint(f"      {line}".rstrip(), "dim")


def agent_lines(session: Session, agent: Subagent, view: View) -> Iterator[str]:
    """An agent's own conversation, indented under the call that started it, at any depth."""
    paint = view.style.paint
    facts = [agent.type or "agent", count(len(agent.tool_calls), "tool call"), money(agent.cost, is_partial=False)]
    yield paint(f"    ┌ {shorten(' · '.join(fact for fact in facts if fact), view.width - 6)}", "blue")
    inner = view._replace(width=max(20, view.width - 6))
    for turn in agent.turns:
        for line in step_lines(session, turn.steps, inner):
            if harmless(line).strip():
                yield f"    {paint('│', 'blue')} {line}"
    yield paint("    └", "blue")


def _notice(notice: Notice, view: View) -> Iterator[str]:
    mark, look = _NOTICE_LOOKS.get(notice.what, ("·", "dim"))
    if notice.what == "command" and not notice.text.startswith(("/", "!")):
        mark, look = "→", "dim"
    label = f"{notice.what}: " if notice.what in LABELLED else ""
    lead = f"  {mark} "
    for number, line in enumerate(wrap(f"{label}{notice.text}", view.width - cells(lead))):
        yield view.style.paint((lead if number == 0 else " " * cells(lead)) + line, look)
