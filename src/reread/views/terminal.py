"""Blocks as terminal text, turn by turn, with thinking nested below the words it led to."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from reread.blocks.model import (
    AgentBlock,
    CallBlock,
    HeadingBlock,
    NoticeBlock,
    PromptBlock,
    RuleBlock,
    ShownBlock,
    StepBlock,
    ThinkingBlock,
    TurnBlocks,
    WordsBlock,
)
from reread.blocks.of_session import SessionBlocks, heading_of
from reread.sessions import Branch, CallStatus, Session

from . import markdown_flow
from .calls import MARKS, ending, summary, tool_label
from .numbers import count, money, some, tokens
from .session_list import mark_lines
from .text import cells, clip, hanging, harmless, joined, one_line, ruler, shorten, wrap
from .values import View, when

if TYPE_CHECKING:
    from reread.features.edits.patches import DiffLine

YOU = "You ▸ "
CLAUDE = "Claude ▸ "
NESTED = "    └─ "
NOW = "▶ NOW"
HERE = " ◀ here"

NOTICE_LOOKS = {
    "interrupted": ("■", "yellow"),
    "compacted": ("≡", "magenta"),
    "api_error": ("✗", "red"),
    "queued": ("+", "yellow"),
    "command": ("$", "cyan"),
    "rewound": ("↩", "magenta"),
    "hook": ("⚓", "cyan"),
    "task": ("◇", "blue"),
    "withdrawn": ("✂", "dim"),
    "document": ("▤", "cyan"),
    "unreadable": ("?", "dim"),
    "orphan": ("?", "dim"),
    "continued": ("⇢", "magenta"),
    "unsaid": ("✂", "magenta"),
    "unknown": ("?", "dim"),
    "retry": ("↻", "yellow"),
    "title": ("≔", "dim"),
    "permission_denied": ("⊘", "red"),
    "informational": ("·", "dim"),
    "model_refusal_no_fallback": ("✗", "red"),
    "refused": ("✗", "red"),
    "trouble": ("✗", "red"),
}
"""The first fifteen occur in transcripts, the others only in streams."""
WITHDRAWN = {"interrupted": "[interrupted] ", "error": "[taken back] ", "cut": "[cut off] "}
"""Put before words that were shown while they streamed but are in no transcript."""
MOST_DIFF_LINES = 24
_CONTEXT = 2
_DIFF_LOOKS = {"+": "green", "-": "red"}


def session_lines(session: Session, branches: Iterable[Branch], turns: range | None, view: View) -> Iterator[str]:
    """The whole session, or only the given turns of it."""
    made = SessionBlocks(session)
    yield from heading_lines(heading_of(session), view)
    for branch in branches:
        if not branch.active:
            yield ""
            yield view.style.paint(ruler(f"left behind: {branch.id}", view.width), "magenta")
        for turn in branch.turns:
            if turns is None or turn.index in turns:
                is_last = branch.active and turn is branch.turns[-1]
                yield from turn_lines(made.turn(session, turn, is_last=is_last), view, session.project)
    lone = [agent for agent in session.working_agents if agent.call is None and agent.turns]
    if lone and turns is None and view.tools != "none":
        yield ""
        yield view.style.paint(ruler("agents that no call names", view.width), "blue")
        for agent in lone:
            yield from agent_lines(made.agent(agent), view, session.project)


def heading_lines(heading: HeadingBlock, view: View) -> Iterator[str]:
    paint = view.style.paint
    yield paint(shorten(heading.title, view.width), "bold")
    usage = heading.usage
    facts = [
        heading.project,
        when(heading.started, view.timezone),
        count(heading.prompts, "prompt"),
        count(heading.calls, "tool call"),
        some(heading.agents, "subagent"),
        count(heading.branches, "branch") if heading.branches > 1 else None,
        f"{count(heading.unsaid, 'text')} of Claude not stored" if heading.unsaid else None,
        f"{tokens(usage.output_tokens)} out" if usage is not None else None,
        money(usage.cost, is_partial=usage.unpriced_tokens > 0) if usage is not None else None,
    ]
    for text in (joined(facts), *heading.told, f"session {heading.id}"):
        yield from view.wrapped(one_line(text), "dim")
    yield from mark_lines(heading.mark, view)
    for problem in heading.problems:
        yield from view.wrapped(one_line(f"could not be read: {problem}"), "red")


def turn_lines(turn: TurnBlocks, view: View, project: str | None) -> Iterator[str]:
    yield from rule_lines(turn.rule, view)
    if turn.prompt is not None:
        yield from prompt_lines(turn.prompt, view)
    yield from step_lines(turn.steps, view, project)


def rule_lines(rule: RuleBlock, view: View) -> Iterator[str]:
    label = NOW if rule.is_last else str(rule.index)
    label += HERE if rule.index == view.marked else ""
    yield ""
    yield view.style.paint(ruler(label, view.width), "dim")


def prompt_lines(prompt: PromptBlock, view: View) -> Iterator[str]:
    pictures = f" [{count(prompt.images, 'image')}]" if prompt.images else ""
    yield from _spoken(YOU, wrap((prompt.text or "(no text)") + pictures, view.width - cells(YOU)), "yellow", view)


def step_lines(steps: Sequence[StepBlock], view: View, project: str | None) -> Iterator[str]:
    """Steps by API response, in their order; only words are put above the thinking that led to them."""
    unstored = sum(isinstance(step, ThinkingBlock) and not step.text for step in steps)
    for response in _responses(steps):
        if view.thinking and _only_thinks(response):
            yield from ("", view.style.paint(CLAUDE.rstrip(), "green", "bold"))
        for _, said in groupby(response, key=_is_said):
            for step in sorted(said, key=lambda step: type(step) is ThinkingBlock):
                yield from STEPS[type(step)](step, view, project)
    if unstored and view.thinking:
        yield from _nested(f"{count(unstored, 'thought')} not stored by the client", view)


def _responses(steps: Iterable[StepBlock]) -> Iterator[list[StepBlock]]:
    """Steps that came in one API response."""
    group: list[StepBlock] = []
    for step in steps:
        if group and step.place.message_id != group[-1].place.message_id:
            yield group
            group = []
        group.append(step)
    if group:
        yield group


def _only_thinks(response: list[StepBlock]) -> bool:
    """Thinking without any words needs the speaker's name above it, or it would seem to be the person's."""
    runs = ([type(step) for step in run if _has_text(step)] for is_said, run in groupby(response, _is_said) if is_said)
    first = next(filter(None, runs), [])
    return ThinkingBlock in first and WordsBlock not in first


def _is_said(step: StepBlock) -> bool:
    return isinstance(step, WordsBlock | ThinkingBlock)


def _has_text(step: StepBlock) -> bool:
    return isinstance(step, WordsBlock | ThinkingBlock) and bool(step.text.strip())


def _words(words: WordsBlock, view: View, project: str | None) -> Iterator[str]:  # noqa: ARG001  one shape for the table
    if words.text.strip():
        yield ""
        said = markdown_flow.markdown_lines(_marked(words), view.width - cells(CLAUDE), view.style)
        yield from _spoken(CLAUDE, said, "green", view)


def _thinking(thought: ThinkingBlock, view: View, project: str | None) -> Iterator[str]:  # noqa: ARG001
    if view.thinking and thought.text.strip():
        yield from _nested(_marked(thought), view)


def _marked(step: WordsBlock | ThinkingBlock) -> str:
    return WITHDRAWN.get(step.withdrawn or "", "") + step.text.strip()


def _spoken(speaker: str, lines: Iterable[str], look: str, view: View) -> Iterator[str]:
    """The speaker's name in colour, then the words; further lines are indented to the first word."""
    indent = " " * cells(speaker)
    for number, line in enumerate(lines):
        yield view.style.paint(speaker, look, "bold") + line if number == 0 else (indent + line).rstrip()


def _nested(text: str, view: View) -> Iterator[str]:
    indent = " " * cells(NESTED)
    for number, line in enumerate(wrap(text, view.width - cells(NESTED))):
        yield view.style.paint(((NESTED if number == 0 else indent) + line).rstrip(), "dim")


def _call(call: CallBlock, view: View, project: str | None) -> Iterator[str]:
    if view.tools == "none":
        return
    end_look = {CallStatus.OK: "cyan", CallStatus.MISSING: "dim"}.get(call.status, "red")
    yield call_line(call.name, summary(call, project), view, MARKS[call.status], end=ending(call), end_look=end_look)
    if view.tools == "full":
        yield from _whole_call(call, view)
    if call.agent is not None:
        yield from agent_lines(call.agent, view, project)


def call_line(name: str, point: str, view: View, mark: tuple[str, str], *, end: str = "", end_look: str = "dim") -> str:
    """Mark, name, point, and how the call ended. Without enough room, the point is cut first."""
    paint = view.style.paint
    room = max(0, view.width - 4)
    label = shorten(tool_label(name), max(8, room // 2))
    last = shorten(end, max(0, (room - cells(label) - 2) * 2 // 3))
    what = shorten(point, max(0, room - cells(label) - cells(last) - 4))
    parts = [paint(f"  {mark[0]} ", mark[1]) + paint(label, "bold"), what, paint(last, end_look)]
    return joined(parts, "  ")


def _whole_call(call: CallBlock, view: View) -> Iterator[str]:
    given = json.dumps(call.input, ensure_ascii=False, indent=2)
    for line in wrap(given, view.width - 6):
        yield view.style.paint(f"      {line}".rstrip(), "cyan")
    output = call.output.whole if call.output is not None else ""
    for line in wrap(output, view.width - 6) if output else ():
        yield view.style.paint(f"      {line}".rstrip(), "dim")


def agent_lines(agent: AgentBlock, view: View, project: str | None) -> Iterator[str]:
    """An agent's own conversation, indented under the call that started it, at any depth."""
    paint = view.style.paint
    cost = money(agent.cost, is_partial=agent.unpriced_tokens > 0)
    facts = [agent.type or "agent", count(agent.calls, "tool call"), cost]
    yield paint(f"    ┌ {shorten(joined(facts), view.width - 6)}", "blue")
    inner = view._replace(width=max(20, view.width - 6))
    for turn in agent.turns:
        for line in step_lines(turn.steps, inner, project):
            if harmless(line).strip():
                yield f"    {paint('│', 'blue')} {line}"
    yield paint("    └", "blue")


def _notice(notice: NoticeBlock, view: View, project: str | None = None) -> Iterator[str]:  # noqa: ARG001
    if notice.text or notice.what != "command":
        yield from notice_lines(notice, view)


def notice_lines(notice: NoticeBlock, view: View) -> Iterator[str]:
    mark, look = ("→", "dim") if notice.is_printed else NOTICE_LOOKS.get(notice.what, ("·", "dim"))
    lead = f"  {mark} "
    for number, line in enumerate(wrap(notice.labelled, view.width - cells(lead))):
        yield view.style.paint((lead if number == 0 else " " * cells(lead)) + line, look)


STEPS: dict[type[ShownBlock], Callable[[Any, View, str | None], Iterator[str]]] = {
    WordsBlock: _words,
    ThinkingBlock: _thinking,
    CallBlock: _call,
    NoticeBlock: _notice,
}


def diff_lines(lines: Sequence[DiffLine], view: View) -> Iterator[str]:
    """Changed lines with a little context, coloured and numbered; after `MOST_DIFF_LINES` how many more."""
    shown = [line for line, is_near in zip(lines, _near_changes(lines), strict=True) if is_near]
    has_more = len(shown) > MOST_DIFF_LINES + 1
    numbers = max((len(str(line.number)) for line in shown if line.number is not None), default=0)
    for line in shown[: MOST_DIFF_LINES if has_more else None]:
        number = f"{line.number if line.number is not None else '':>{numbers}} " if numbers else ""
        text = clip(f"{number}{line.sign} {harmless(line.text).replace(chr(10), ' ')}", view.width)
        yield view.style.paint(text, _DIFF_LOOKS.get(line.sign, "dim"))
    if has_more:
        yield view.style.paint(f"… {len(shown) - MOST_DIFF_LINES:,} more lines", "dim")


def whole_diff_lines(lines: Sequence[DiffLine], view: View) -> Iterator[str]:
    """Every line, wrapped: what a person is asked to permit is not cut."""
    numbers = max((len(str(line.number)) for line in lines if line.number is not None), default=0)
    for line in lines:
        number = f"{line.number if line.number is not None else '':>{numbers}} " if numbers else ""
        lead = f"{number}{line.sign} "
        for text in hanging(line.text, view.width, lead, " " * len(lead)):
            yield view.style.paint(text, _DIFF_LOOKS.get(line.sign, "dim"))


def _near_changes(lines: Sequence[DiffLine]) -> list[bool]:
    near = [False] * len(lines)
    for position, line in enumerate(lines):
        if line.sign != " ":
            for other in range(max(0, position - _CONTEXT), min(len(lines), position + _CONTEXT + 1)):
                near[other] = True
    return near
