"""Turns a saved session into blocks, turn by turn: a view that shows a few turns computes no others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from msgspec.structs import replace

from reread.billing import Prices, Rated
from reread.records import ApiError, Record
from reread.sessions import (
    Conversation,
    Notice,
    Prompt,
    Said,
    Session,
    Step,
    Subagent,
    Thought,
    ToolCall,
    Turn,
    add_up,
    requests_of,
    spoken_groups,
)
from reread.sessions.client_facts import client_facts
from reread.sessions.turns import reason_to_retry

from .model import (
    NOWHERE,
    AgentBlock,
    BlockPlace,
    BlockState,
    CallBlock,
    HeadingBlock,
    NoticeBlock,
    OutputBlock,
    PromptBlock,
    ResultBlock,
    RuleBlock,
    ShownBlock,
    StepBlock,
    ThinkingBlock,
    TurnBlocks,
    TurnUsage,
    WordsBlock,
)

DEEPEST = 20
"""How deep agents within agents are shown."""


def spoken_blocks(session: Session) -> Iterator[ShownBlock]:
    """Prompts and steps in the order a stream would bring them, then the same for each agent.

    Blocks of a message are numbered across its lines, as in a stream.
    """
    made = SessionBlocks(session, has_agents=False)
    numbers: Counter[str | None] = Counter()
    speakers: list[Conversation] = [session, *session.subagents]
    for speaker in speakers:
        for turn in speaker.turns:
            for block in made.turn(speaker, turn):
                is_unsaid = isinstance(block, NoticeBlock) and block.is_unsaid
                if is_unsaid or isinstance(block, WordsBlock | ThinkingBlock | CallBlock):
                    name = block.place.message_id
                    yield replace(block, place=replace(block.place, number=numbers[name]))
                    numbers[name] += 1
                elif isinstance(block, PromptBlock | NoticeBlock):
                    yield block


def heading_of(session: Session) -> HeadingBlock:
    return HeadingBlock(
        key=f"session {session.id}",
        place=NOWHERE,
        id=session.id,
        title=session.title,
        project=session.project,
        started=session.started,
        prompts=len(session.prompts),
        calls=len(session.every_call),
        agents=len(session.working_agents),
        branches=len(session.branches),
        unsaid=len(session.every_unsaid),
        told=(*client_facts(session).sentences(), *_not_counted(session)),
        usage=session.total_usage,
        problems=tuple(session.problems),
        mark=session.mark,
    )


def _not_counted(session: Session) -> Iterator[str]:
    """What progress lines tell of agents is only a part, and often a copy: it is in no total."""
    number = sum(agent.is_from_progress for agent in session.subagents)
    if number:
        yield f"{number} agent{'s' * (number > 1)} known from progress lines only: not in the totals"


class SessionBlocks:
    """Makes the blocks of one session.

    An agent is shown below one call only, because a transcript may describe agents that start each other in a circle.
    """

    def __init__(self, session: Session, *, has_agents: bool = True) -> None:
        self.session = session
        self._has_agents = has_agents
        self.shown_agents: set[str] = set()
        """Agents that are already shown below a call, or on their own."""

    def turn(self, speaker: Conversation, turn: Turn, *, is_last: bool = False, depth: int = 0) -> TurnBlocks:
        first = turn.records[0].line if turn.records else None
        name = (turn.prompt.uuid if turn.prompt is not None else None) or first
        return TurnBlocks(
            rule=RuleBlock(
                key=f"turn {turn.index} {name}", place=NOWHERE, index=turn.index, branch=turn.branch, is_last=is_last
            ),
            prompt=prompt_block(turn.prompt, _name(speaker)) if turn.prompt is not None else None,
            steps=tuple(self.steps(turn.steps, depth, _name(speaker))),
            result=ResultBlock(
                key=f"result {turn.index} {name}",
                place=NOWHERE,
                duration_ms=turn.duration_ms,
                reckon=lambda: usage_of_lines(turn.records, speaker.prices),
            ),
        )

    def steps(self, steps: Iterable[Step], depth: int = 0, agent: str | None = None) -> Iterator[StepBlock]:
        record, number = None, 0
        for reason, run in groupby(steps, stalled):
            if reason:
                yield _retries(reason, [_notice_block(step, 0, agent) for step in run if isinstance(step, Notice)])
                continue
            for step in run:
                number = number + 1 if step.record is record else 0
                record = step.record
                if isinstance(step, ToolCall):
                    yield self.call(step, depth, agent)
                else:
                    yield _step_block(step, number, agent)

    def call(self, call: ToolCall, depth: int = 0, speaker: str | None = None) -> CallBlock:
        agent = self.session.agents_by_call.get(call.id or "")
        is_shown = agent is not None and agent.id not in self.shown_agents and depth < DEEPEST
        if agent is not None:
            self.shown_agents.add(agent.id)
        return CallBlock(
            key=f"call {call.id} {call.uuid}",
            place=BlockPlace(call.record, speaker),
            id=call.id,
            name=call.name,
            input=call.input,
            status=call.status,
            output=self._output(call),
            permission=call.permission,
            agent=self.agent(agent, depth + 1) if agent is not None and is_shown and self._has_agents else None,
        )

    def _output(self, call: ToolCall) -> OutputBlock | None:
        output = call.output
        if output is None:
            return None
        return OutputBlock(
            key=f"output {call.id}",
            place=BlockPlace(output.record),
            call=output.block.tool_use_id,
            name=call.name,
            text=output.text,
            is_error=output.is_error,
            read_result=lambda: output.whole_twin,
            read_whole=lambda: self.session.full_output(call),
        )

    def agent(self, agent: Subagent, depth: int = 1) -> AgentBlock:
        self.shown_agents.add(agent.id)
        tool_input = agent.call.fields if agent.call is not None else {}
        return AgentBlock(
            key=f"agent {agent.id}",
            place=BlockPlace(agent=_name(agent)),
            id=agent.id,
            type=agent.type,
            kind=agent.kind.value,
            description=str(tool_input.get("description") or ""),
            calls=len(agent.tool_calls),
            output_tokens=agent.usage.output_tokens,
            cost=None if agent.is_from_progress else agent.cost,
            unpriced_tokens=0 if agent.is_from_progress else agent.usage.unpriced_tokens,
            read_turns=lambda: tuple(self.turn(agent, turn, depth=depth) for turn in agent.turns),
        )

    def lone(self) -> Iterator[AgentBlock]:
        """Agents with turns that are not shown below any call so far."""
        for agent in self.session.subagents:
            if agent.id not in self.shown_agents and agent.turns:
                yield self.agent(agent)


def _name(speaker: Conversation) -> str | None:
    """The id of the call that started an agent, as in a stream; None for the session itself."""
    if not isinstance(speaker, Subagent):
        return None
    return (speaker.call.id if speaker.call is not None else None) or speaker.id


def prompt_block(prompt: Prompt, agent: str | None = None) -> PromptBlock:
    return PromptBlock(
        key=f"prompt {prompt.uuid} {prompt.record.line}",
        place=BlockPlace(prompt.record, agent),
        text=prompt.text,
        kind=prompt.kind,
        images=prompt.images,
    )


def _step_block(step: Said | Thought | Notice, number: int, agent: str | None) -> StepBlock:
    """`number` distinguishes the blocks of one line."""
    key, place = f"{step.uuid or step.record.line} {number}", BlockPlace(step.record, agent)
    if isinstance(step, Said):
        return WordsBlock(key=f"words {key}", place=place, text=step.text, **_fate(step))
    if isinstance(step, Thought):
        return ThinkingBlock(
            key=f"thinking {key}",
            place=place,
            text=step.text,
            is_redacted=step.is_redacted,
            signature=getattr(step.block, "signature", None),
            duration_ms=step.duration_ms,
            **_fate(step),
        )
    return _notice_block(step, number, agent)


def _notice_block(step: Notice, number: int, agent: str | None) -> NoticeBlock:
    return NoticeBlock(
        key=f"notice {step.what} {step.uuid or step.record.line} {number}",
        place=BlockPlace(step.record, agent),
        what=step.what,
        text=step.text,
        detail=step.detail,
        **_fate(step),
    )


def _fate(step: Said | Thought | Notice) -> dict[str, Any]:
    return {"state": BlockState.WHOLE if step.withdrawn is None else BlockState.WITHDRAWN, "withdrawn": step.withdrawn}


def stalled(step: Step) -> str:
    """Why the client asks the API again; empty for other steps."""
    return reason_to_retry(step.record) if isinstance(step.record, ApiError) else ""


def _retries(reason: str, run: Sequence[NoticeBlock]) -> NoticeBlock:
    """One notice for a run of retries: hundreds may follow each other while a gateway is down."""
    if len(run) == 1:
        return run[0]
    began, ended = run[0].place.time, run[-1].place.time
    seconds = (ended - began).total_seconds() if began is not None and ended is not None else 0
    lasted = f" in {seconds / 60:.0f} min" if seconds >= 90 else f" in {seconds:.0f} s"
    detail = "\n".join(each.text for each in run)
    return replace(run[0], text=f"{reason} · {len(run):,} retries{lasted}", detail=detail, repeats=tuple(run))


def usage_of_lines(records: Iterable[Record], prices: Prices) -> TurnUsage:
    requests = requests_of(spoken_groups(records))
    context = Rated.of(requests[-1].usage, 0).prompt if requests else 0
    return TurnUsage(add_up(requests, prices), context)
