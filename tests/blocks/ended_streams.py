"""A stream that has ended, as turns of blocks: the same that the session folded from it has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from reread.billing import Prices, packaged_prices
from reread.blocks.model import (
    NOWHERE,
    AgentBlock,
    BlockPlace,
    BlockState,
    CallBlock,
    NoticeBlock,
    PromptBlock,
    ResultBlock,
    RuleBlock,
    ShownBlock,
    StepBlock,
    TurnBlocks,
)
from reread.blocks.of_events import StreamBlocks
from reread.blocks.of_session import usage_of_lines
from reread.live.events import Event
from reread.records import Record
from reread.sessions import Final, completed


class _Turn:
    """A turn being written."""

    def __init__(self, index: int, prompt: PromptBlock | None) -> None:
        self.index = index
        self.prompt = prompt
        self.steps: dict[str, StepBlock] = {}
        self.records: dict[int, Record] = {}


def folded(stream: Iterable[tuple[datetime | None, Event]], prices: Prices | None = None) -> tuple[TurnBlocks, ...]:
    """The turns of a stream, as the session folded from it has them; what only a stream knows is left out."""
    blocks = StreamBlocks()
    threads: dict[str | None, list[_Turn]] = {None: []}
    for time, event in stream:
        for block in blocks.feed(event, time):
            _add(threads.setdefault(block.place.agent, []), block)
    written = _Written(threads, blocks.finals, prices or packaged_prices())
    return written.turns(None)


def _add(turns: list[_Turn], block: ShownBlock) -> None:
    if isinstance(block, PromptBlock):
        turns.append(_Turn(len([turn for turn in turns if turn.prompt is not None]) + 1, block))
    step = _notice_of(block) if isinstance(block, CallBlock) and block.state is BlockState.WITHDRAWN else block
    if isinstance(step, StepBlock) and not (isinstance(step, NoticeBlock) and (step.is_passing or step.is_of_stream)):
        if not turns:
            turns.append(_Turn(0, None))
        turn = next((turn for turn in reversed(turns) if step.key in turn.steps), turns[-1])
        known = turn.steps.get(step.key)
        if known is not None and known.state is BlockState.FORMING and step.state is BlockState.WHOLE:
            del turn.steps[step.key]  # it stands where it was complete
            turn = turns[-1]
        turn.steps[step.key] = step
    if turns and block.place.record is not None:
        turns[-1].records[id(block.place.record)] = block.place.record


def _notice_of(call: CallBlock) -> NoticeBlock:
    """Of a call that was taken back there is only a beginning of its input, so it is none."""
    text = f"{call.name or 'a block'}, {call.withdrawn}"
    fate: Any = {"state": call.state, "withdrawn": call.withdrawn}
    return NoticeBlock(key=call.key, place=call.place, what="withdrawn", text=text, detail=call.written, **fate)


class _Written:
    def __init__(self, threads: Mapping[str | None, list[_Turn]], finals: Mapping[str, Final], prices: Prices) -> None:
        self._threads = threads
        self._finals = finals
        self._prices = prices
        self._told: set[str | None] = {None}

    def turns(self, agent: str | None) -> tuple[TurnBlocks, ...]:
        return tuple(self._turn(turn) for turn in self._threads[agent])

    def _turn(self, turn: _Turn) -> TurnBlocks:
        records = completed(list(turn.records.values()), self._finals)
        return TurnBlocks(
            rule=RuleBlock(key=f"turn {turn.index}", place=NOWHERE, index=turn.index, branch="main"),
            prompt=turn.prompt,
            steps=tuple(self._with_agent(step) for step in turn.steps.values()),
            result=ResultBlock(
                key=f"result {turn.index}", place=NOWHERE, reckon=lambda: usage_of_lines(records, self._prices)
            ),
        )

    def _with_agent(self, step: StepBlock) -> StepBlock:
        if not isinstance(step, CallBlock) or step.id not in self._threads or step.id in self._told:
            return step
        self._told.add(step.id)
        turns = self.turns(step.id)
        given = step.input if isinstance(step.input, dict) else {}
        lines = [record for turn in self._threads[step.id] for record in turn.records.values()]
        used = usage_of_lines(completed(lines, self._finals), self._prices).tokens
        kind = given.get("subagent_type")
        agent = AgentBlock(
            key=f"agent {step.id}",
            place=BlockPlace(agent=step.id),
            id=step.id or "",
            type=kind if isinstance(kind, str) else None,
            description=str(given.get("description") or ""),
            calls=sum(isinstance(each, CallBlock) for turn in turns for each in turn.steps),
            output_tokens=used.output_tokens,
            cost=used.cost,
            unpriced_tokens=used.unpriced_tokens,
            read_turns=lambda: turns,
        )
        return replace(step, agent=agent)
