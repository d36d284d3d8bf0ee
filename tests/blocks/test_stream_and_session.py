"""A saved session is a stream that has ended: both become the same blocks, and every writer writes the same of them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, timedelta
from pathlib import Path

import msgspec
import pytest

from blocks.ended_streams import folded
from reread import load
from reread.blocks.model import (
    BlockState,
    CallBlock,
    NoticeBlock,
    PromptBlock,
    ShownBlock,
    ThinkingBlock,
    TurnBlocks,
    WordsBlock,
)
from reread.blocks.of_events import StreamBlocks, events_of
from reread.blocks.of_session import DEEPEST, SessionBlocks, heading_of, spoken_blocks
from reread.live import events
from reread.live.capture import replay
from reread.sessions import Session
from reread.testing import a_prompt, a_reply, a_subagent, a_thought, a_tool_call, a_tool_result, build
from reread.views.html import parts
from reread.views.html.page import fragment
from reread.views.html.session import SessionParts
from reread.views.markdown import MarkdownOptions, MarkdownWriter
from reread.views.mcp_text import Recall, RecallWriter
from reread.views.session_json import turn_document
from reread.views.terminal import turn_lines
from reread.views.text import Style
from reread.views.values import View, encoded

CAPTURES = sorted((Path(__file__).parents[1] / "wire" / "captures").glob("*/*.wire"))


def name(wire: Path) -> str:
    return f"{wire.parent.name}-{wire.stem}"


def turns_of(session: Session) -> list[TurnBlocks]:
    made = SessionBlocks(session)
    return [made.turn(session, turn) for turn in session.turns if turn.prompt is not None or turn.steps]


def blocks_of(session: Session) -> list[ShownBlock]:
    return [heading_of(session), *(block for turn in turns_of(session) for block in turn)]


def in_terminal(turn: TurnBlocks, session: Session) -> str:
    views = [View(width=80, style=Style(True)), View(width=50, style=Style(False), tools="full")]
    return "\n".join(line for view in views for line in turn_lines(turn, view, session.project))


def as_markdown(turn: TurnBlocks, session: Session) -> str:
    return "\n".join(MarkdownWriter(MarkdownOptions(), session.project).turn(turn, level=2))


def as_json(turn: TurnBlocks, session: Session) -> str:  # noqa: ARG001  one shape for all writers
    return encoded(turn_document(turn)).decode()


def as_html(turn: TurnBlocks, session: Session) -> str:
    return str(fragment("turn.html", turn=SessionParts(session, parts.Sections()).written(turn)))


def for_a_model(turn: TurnBlocks, session: Session) -> str:
    writer = RecallWriter(Recall(UTC, str), session.project)
    said = PromptBlock | WordsBlock | ThinkingBlock | CallBlock | NoticeBlock
    spoken = [block for block in turn if isinstance(block, said)]
    return "\n".join(writer.text(block, 2_000, is_found=True) for block in spoken)


WRITERS: list[Callable[[TurnBlocks, Session], str]] = [in_terminal, as_markdown, as_json, as_html, for_a_model]


@pytest.mark.parametrize("wire", CAPTURES, ids=name)
def test_a_stream_and_the_session_folded_from_it_are_written_alike(wire: Path) -> None:
    session = load(wire)
    stream, saved = list(folded(replay(wire))), turns_of(session)
    if wire.stem == "interrupt-thinking":  # no event has the tokens of an answer that was interrupted
        stream, saved = ([msgspec.structs.replace(turn, result=None) for turn in turns] for turns in (stream, saved))
    for write in WRITERS:
        streamed = [write(turn, session) for turn in stream]
        assert streamed == [write(turn, session) for turn in saved], write.__name__


def test_the_captures_have_something_to_write() -> None:
    kinds = {type(block) for wire in CAPTURES for turn in folded(replay(wire)) for block in turn}
    assert {PromptBlock, WordsBlock, ThinkingBlock, CallBlock, NoticeBlock} <= kinds
    withdrawn = [block for wire in CAPTURES for turn in folded(replay(wire)) for block in turn if block.withdrawn]
    assert {block.withdrawn for block in withdrawn} == {"interrupted", "error"}


@pytest.mark.parametrize("wire", CAPTURES, ids=name)
def test_a_block_keeps_its_key_from_its_first_fragment_to_its_end(wire: Path) -> None:
    """A block that forms only grows, and each ends once: whole or withdrawn."""
    blocks, forming = StreamBlocks(), dict[str, ShownBlock]()
    ended: set[str] = set()
    for time, event in replay(wire):
        for block in blocks.feed(event, time):
            if not isinstance(block, WordsBlock | ThinkingBlock | CallBlock):
                continue
            if block.state is BlockState.FORMING:
                before = forming.get(block.key)
                assert before is None or _text(block).startswith(_text(before))
                assert block.key not in ended
                forming[block.key] = block
            elif block.key in forming:
                assert isinstance(block, CallBlock) or _text(block).startswith(_text(forming.pop(block.key)).rstrip())
                forming.pop(block.key, None)
                ended.add(block.key)
    assert forming == {}


def _text(block: ShownBlock) -> str:
    return block.written if isinstance(block, CallBlock) else getattr(block, "text", "")


def test_a_result_and_a_permission_update_the_block_of_their_call() -> None:
    blocks = StreamBlocks()
    call = events.ToolCall(id="t", name="Bash", input={"command": "ls"}, message_id="m", index=0)
    asked = events.Permission(request_id="r", tool="Bash", input={"command": "ls"}, id="t")
    (shown,) = blocks.feed(call)
    _, waiting = blocks.feed(asked)
    _, allowed = blocks.feed(events.PermissionAnswered(request_id="r", decision="allow", id="t"))
    (done,) = blocks.feed(events.ToolResult(id="t", text="a.txt", is_error=False))
    assert {block.key for block in (shown, waiting, allowed, done)} == {shown.key}
    assert isinstance(waiting, CallBlock)
    assert waiting.permission is not None
    assert waiting.permission.decision is None
    assert isinstance(done, CallBlock)
    assert done.permission is not None
    assert (done.permission.decision, done.status.value) == ("allow", "ok")
    assert done.output is not None
    assert done.output.text == "a.txt"


def a_talk() -> Session:
    return build(
        a_prompt("look"),
        a_reply(a_thought("They want a listing."), "Looking.", a_tool_call("Bash", {"command": "ls"}, id="t")),
        a_tool_result("a.txt", of="t"),
        a_reply("There is one file."),
    )


def test_a_session_becomes_blocks_in_reading_order() -> None:
    kinds = [type(block).__name__.removesuffix("Block").lower() for block in blocks_of(a_talk())]
    assert kinds == ["heading", "rule", "prompt", "thinking", "words", "call", "words", "result"]


def test_every_block_of_a_session_has_a_key_of_its_own_that_stays() -> None:
    keys = [block.key for block in blocks_of(a_talk())]
    assert len(set(keys)) == len(keys)
    assert keys == [block.key for block in blocks_of(a_talk())]


def test_agents_within_agents_are_shown_to_a_depth_and_no_further() -> None:
    session = build(
        a_prompt("look"),
        a_reply(a_tool_call("Task", {"prompt": "look"}, id="t")),
        a_subagent(a_prompt("look"), a_reply("Done."), of="t"),
    )
    [call] = session.tool_calls
    assert SessionBlocks(session).call(call, DEEPEST - 1).agent is not None
    assert SessionBlocks(session).call(call, DEEPEST).agent is None


def test_a_growing_session_tells_programs_the_events_of_a_stream() -> None:
    session = a_talk()
    told = [event for block in spoken_blocks(session) for event in events_of(block, session.id)]
    assert [event.__struct_config__.tag for event in told] == [
        "prompt",
        "thinking",
        "text",
        "tool",
        "tool_result",
        "text",
    ]
    assert [event.index for event in told if isinstance(event, events.Whole)] == [0, 1, 2, 0]


def test_the_time_of_a_stream_is_told_as_exactly_as_a_transcript_tells_it() -> None:
    found = [(time, event) for time, event in replay(CAPTURES[0]) if time is not None]
    later = [(time + timedelta(microseconds=400), event) for time, event in found]
    times = [block.place.time for turn in folded(later) for block in turn if block.place.time is not None]
    assert times
    assert all(time.microsecond % 1000 == 0 for time in times)
