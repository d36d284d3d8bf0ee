"""Words that Claude wrote and the client did not store: found, shown by every writer, counted."""

from __future__ import annotations

import base64
from collections import Counter
from pathlib import Path

import pytest

from reread.blocks.model import NoticeBlock, ThinkingBlock
from reread.blocks.of_events import StreamBlocks, events_of
from reread.blocks.of_session import spoken_blocks
from reread.features.friction import FrictionKind, find_events
from reread.live import events
from reread.loading import SourceTree
from reread.sessions import Notice, Session
from reread.sessions.lost_words import UNSAID, signed_kind
from reread.testing import ContentBlock, a_prompt, a_reply, a_thought, a_tool_call, a_tool_result, build
from reread.views.session_json import session_document
from reread.views.terminal import session_lines
from reread.views.text import Style
from reread.views.values import View

RECORDED = Path(__file__).resolve().parents[2].parent / "shared" / "corpus" / "recorded"


def a_signature(kind: str, filler: str = "x") -> str:
    """As the API makes them: fields 2, 1 and 8 within each other, beside others that say nothing here."""
    inner = (
        field(1, filler.encode())
        + b"\x10\x96\x01"
        + b"\x1d\1\2\3\4"
        + b"\x21\1\2\3\4\5\6\7\x08"
        + field(8, kind.encode())
    )
    return base64.b64encode(b"\x08\x01" + field(2, field(1, inner)) + field(3, b"end")).decode()


def field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2, len(content)]) + content


NARRATION, THINKING = a_signature("narration"), a_signature("thinking")


def kinds(session: Session) -> list[str]:
    steps = [step for turn in session.turns for step in turn.steps]
    return [step.what if isinstance(step, Notice) else type(step).__name__ for step in steps]


def a_session_with_a_hole() -> Session:
    return build(
        a_prompt("go"),
        a_reply(a_thought(signature=THINKING), a_thought(signature=NARRATION), a_tool_call("Bash")),
        a_tool_result("ok"),
        a_reply("Done."),
    )


@pytest.mark.parametrize("kind", ["thinking", "narration"])
def test_a_signature_says_what_its_block_was(kind: str) -> None:
    assert signed_kind(a_signature(kind)) == kind


@pytest.mark.parametrize("signature", [None, "", "c2ln", "%%%", "é", "////", "CP//////////////", a_signature("else")])
def test_a_signature_of_another_form_says_nothing(signature: str | None) -> None:
    assert signed_kind(signature) is None


def test_every_beginning_of_a_signature_is_read_without_an_error() -> None:
    whole = base64.b64decode(NARRATION)
    found = {signed_kind(base64.b64encode(whole[:end]).decode()) for end in range(len(whole) + 1)}
    assert found == {None, "narration"}


def test_an_empty_block_that_is_signed_as_narration_held_words() -> None:
    session = a_session_with_a_hole()
    assert kinds(session) == ["Thought", "unsaid", "ToolCall", "Said"]
    assert [lost.text for lost in session.unsaid] == [UNSAID]
    assert len(session.every_unsaid) == 1


def test_two_thoughts_of_one_message_in_a_row_had_words_between_them() -> None:
    message = [a_thought(signature="b25l"), a_thought(signature="dHdv"), a_thought(signature="dGhyZWU=")]
    assert kinds(build(a_prompt("go"), a_reply(*message))) == ["Thought", "unsaid", "Thought"]


@pytest.mark.parametrize(
    "message",
    [
        [a_thought(signature="b25l"), a_thought(signature="b25l")],  # a line written twice
        [a_thought(signature="b25l"), a_tool_call("Bash"), a_thought(signature="dHdv")],
        [a_thought(signature=THINKING), a_thought(signature=a_signature("thinking", "y"))],
        [a_thought("kept", signature=NARRATION)],
        [a_thought("one", signature="b25l"), a_thought("two", signature="dHdv")],
    ],
)
def test_a_thought_that_says_so_or_stands_alone_is_a_thought(message: list[ContentBlock]) -> None:
    assert build(a_prompt("go"), a_reply(*message)).unsaid == ()


def test_thoughts_of_two_messages_have_nothing_between_them() -> None:
    one, two = a_reply(a_thought(signature="b25l")), a_reply(a_thought(signature="dHdv"))
    assert build(a_prompt("go"), one, two).unsaid == ()


def test_the_hole_is_written_where_it_is_and_counted_above() -> None:
    session = a_session_with_a_hole()
    lines = list(session_lines(session, session.branches[:1], None, View(width=100, style=Style(False))))
    assert any("1 text of Claude not stored" in line for line in lines)
    assert [line for line in lines if UNSAID in line] == [f"  ✂ {UNSAID}"]
    document = session_document(session, session.branches, None)
    (step,) = [step for turn in document["turns"] for step in turn["steps"] if step["kind"] == "unsaid"]
    assert (step["text"], document["session"]["unsaid"]) == (UNSAID, 1)


def test_a_stream_shows_the_same_block_and_a_saved_session_gives_its_events_back() -> None:
    blocks = StreamBlocks()
    shown = [
        block
        for number, signature in enumerate((THINKING, NARRATION))
        for block in blocks.feed(events.Thinking(message_id="m", index=number, text="", signature=signature))
    ]
    assert [type(block) for block in shown] == [ThinkingBlock, NoticeBlock]
    saved = [event for block in spoken_blocks(a_session_with_a_hole()) for event in events_of(block, "s")]
    whole = [event for event in saved if isinstance(event, events.Thinking)]
    assert [(event.index, event.text, event.signature) for event in whole] == [(0, "", THINKING), (1, "", NARRATION)]


def test_each_is_a_moment_of_friction_that_is_exact() -> None:
    (moment,) = [each for each in find_events(a_session_with_a_hole()) if each.kind is FrictionKind.UNSAID]
    assert (moment.confidence, moment.cause, moment.evidence) == (1.0, "environment", UNSAID)


@pytest.mark.shared
@pytest.mark.skipif(not RECORDED.is_dir(), reason="no recorded transcripts beside the project")
def test_recorded_sessions_have_the_holes_that_their_signatures_name() -> None:
    found: Counter[str] = Counter()
    for session in SourceTree([RECORDED]):
        found["sessions"] += bool(session.every_unsaid)
        found["unsaid"] += len(session.every_unsaid)
    assert found == {"sessions": 4, "unsaid": 29}
