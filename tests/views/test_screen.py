"""Events on the screen: everything once, harmless, within the width, the same wherever the stream was cut."""

from __future__ import annotations

import json
import random
import re
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from reread.live import events
from reread.live.events import Event
from reread.live.protocol import Stream
from reread.records import Usage, decode
from reread.views.screen import Screen
from reread.views.text import Style, cells
from reread.views.values import View
from screens import displayed

WIDTH = 60


def a_screen(*, is_terminal: bool = True, colour: bool = False, width: int = WIDTH, thinking: bool = True) -> Screen:
    return Screen(View(width=width, style=Style(colour), thinking=thinking), is_terminal=is_terminal)


def shown(*of: Event, width: int = WIDTH, **options: bool) -> list[str]:
    """The rows of the screen after these events."""
    screen = a_screen(width=width, **options)
    return displayed("".join(map(screen.show, of)) + screen.rest(), width)


def thinking(*pieces: str, index: int = 0, message: str = "m") -> list[Event]:
    where: dict[str, Any] = {"message_id": message, "index": index}
    return [
        *(events.ThinkingDelta(**where, text=piece) for piece in pieces),
        events.Thinking(**where, text="".join(pieces)),
    ]


def text(*pieces: str, index: int = 1, message: str = "m", agent: str | None = None) -> list[Event]:
    where: dict[str, Any] = {"message_id": message, "index": index, "agent": agent}
    return [*(events.TextDelta(**where, text=piece) for piece in pieces), events.Text(**where, text="".join(pieces))]


def call(name: str, given: Any, id: str = "t", agent: str | None = None) -> events.ToolCall:  # noqa: A002
    return events.ToolCall(id=id, name=name, input=given, message_id="m", index=2, agent=agent)


def result(said: str = "", id: str = "t", **more: Any) -> events.ToolResult:  # noqa: A002
    return events.ToolResult(**{"id": id, "text": said, "is_error": False, **more})


def test_thinking_then_words_then_a_call_and_its_result() -> None:
    assert shown(
        *thinking("Let me ", "look."),
        *text("Look", "ing."),
        call("Bash", {"command": "ls -la"}),
        result("a.txt\nb.txt\n"),
    ) == ["  ✻ Let me look.", "", "Claude ▸ Looking.", "  ● Bash  ls -la", "    └─ a.txt", "       b.txt", ""]


def test_a_note_is_whole_on_a_narrow_screen() -> None:
    session = "3f2a9c10-5b7e-4d61-9a34-0c8f1e2d7b65"
    assert displayed(a_screen(width=40).note(f"reread show {session}"), 40)[:2] == ["reread show", session]


def test_thinking_is_dim_and_on_the_screen_with_its_first_letter() -> None:
    screen = a_screen(colour=True)
    assert screen.show(thinking("H", "m")[0]) == "\x1b[2m  ✻ \x1b[0m\x1b[2mH\x1b[0m"


def test_a_block_without_deltas_is_shown_when_it_is_whole() -> None:
    assert shown(thinking("All at once.")[-1], text("So too.")[-1]) == ["  ✻ All at once.", "", "Claude ▸ So too.", ""]


def test_thinking_that_is_not_wanted_is_not_shown() -> None:
    assert shown(*thinking("secret"), *text("words"), thinking=False) == ["Claude ▸ words", ""]


PROSE = (
    "Some words, 有些中文字 and a verylongwordthatneverendsatallforanyreason \x1b[2J\x1b]0;x\x07 end.\n\n- list\n\tcode"
)


@pytest.mark.parametrize("is_terminal", [True, False])
@given(seed=st.integers())
def test_the_screen_is_the_same_wherever_a_block_was_cut(is_terminal: bool, seed: int) -> None:
    chance = random.Random(seed)
    cuts = sorted(chance.sample(range(len(PROSE)), 12))
    pieces = [PROSE[start:end] for start, end in zip([0, *cuts], [*cuts, None], strict=True)]
    whole = shown(*thinking(PROSE), *text(PROSE), width=30, is_terminal=False)
    assert shown(*thinking(*pieces), *text(*pieces), width=30, is_terminal=is_terminal) == whole


def test_no_text_from_outside_can_steer_the_terminal() -> None:
    evil = "a\x1b[2Jb\x1b]0;t\x07c\x9bKd\u202ee"
    permission = events.Permission(request_id="r", tool=evil, input={evil: evil}, description=evil, reason=evil)
    everything: list[Event] = [
        events.SessionStarted(session=evil, model=evil, cwd=evil, version=evil, permission_mode=evil),
        *thinking(evil),
        *text(evil),
        events.ToolDelta(name=evil, text=json.dumps({"command": evil}), message_id="m", index=2),
        call(evil, {"x": evil}, id="1"),
        result(evil, id="1"),
        result(evil, id="1", is_error=True),
        call("Edit", {"file_path": evil}, id="2"),
        result(id="2", result={"structuredPatch": [{"oldStart": 1, "newStart": 1, "lines": [f"-{evil}", f"+{evil}"]}]}),
        call("TodoWrite", {"todos": [{"content": evil, "status": evil}]}, id="3"),
        call("Task", {"description": evil, "subagent_type": evil}, id="4"),
        *text(evil, agent="4"),
        events.Prompt(text=evil),
        events.Prompt(text=evil, agent="4"),
        permission,
        events.PermissionAnswered(request_id="r", decision="deny", message=evil),
        events.Withdrawn(kind=evil, text=evil, reason="interrupted", name=evil),
        events.Withdrawn(kind="tool", text=evil, reason="error", name=evil),
        *(events.Notice(what=what, text=evil, record=decode(b"{}")) for what in ("retry", "compacted", "task", "hook")),
        events.OtherBlock(type=evil, value={"name": evil, "input": {"a": evil}}),
        events.OtherBlock(type=evil, value=None),
        events.ControlAnswer(request_id="c", ok=False, error=evil),
        events.Trouble(what="hook", text=evil),
        events.UnknownFrame(record=decode(f'{{"type": "{evil}"'.encode()), reason=evil),
        events.Text(text=evil, is_synthetic=True),
        events.TurnResult(is_error=True, text=evil, errors=(evil,), subtype=evil, terminal_reason=evil),
    ]
    for is_terminal in (True, False):
        rows = shown(*everything, is_terminal=is_terminal)
        assert sum("ab]0;tcKde" in row for row in rows) > 10


def test_no_line_is_wider_than_the_screen() -> None:
    long = "word " * 100
    for width in (40, 60, 100):
        rows = shown(
            events.SessionStarted(session="s" * 36, model="m" * 30, cwd="/" + "d" * 80),
            *thinking(long),
            *text(long),
            events.ToolDelta(name="Bash", text='{"command": "' + long, message_id="m", index=2),
            call("Bash", {"command": long}),
            result(long + "\n" + long),
            call("Agent", {"description": long}, id="a"),
            *text(long, agent="a"),
            result(long, id="a", is_error=True),
            events.TurnResult(is_error=True, text=long, duration_ms=1e6, turns=3),
            width=width,
        )
        assert width - 10 < max(map(cells, rows)) <= width


def test_the_input_of_a_call_is_seen_as_it_forms_and_once_in_the_end() -> None:
    screen = a_screen()
    pieces = ['{"comm', 'and": "ls', ' -la", "descr', 'iption": "x"}']
    rows = []
    written = ""
    for piece in pieces:
        written += screen.show(events.ToolDelta(id="t", name="Bash", text=piece, message_id="m", index=2))
        rows.append(displayed(written)[-1])
    assert rows == ["  ○ Bash", "  ○ Bash  ls", "  ○ Bash  ls -la", "  ○ Bash  ls -la"]
    written += screen.show(call("Bash", {"command": "ls -la"}))
    assert displayed(written) == ["  ● Bash  ls -la", ""]


def test_off_a_terminal_a_forming_input_is_not_shown() -> None:
    screen = a_screen(is_terminal=False)
    assert screen.show(events.ToolDelta(id="t", name="Bash", text="{", message_id="m", index=2)) == ""


def test_a_long_input_is_not_redrawn_for_every_fragment() -> None:
    screen = a_screen()
    pieces = ['{"file_path": "a.txt", "content": "', *["x" * 10] * 2000]
    drawn = [screen.show(events.ToolDelta(name="Write", text=piece, message_id="m", index=2)) for piece in pieces]
    assert sum(map(bool, drawn)) < 300
    assert "characters" in next(text for text in reversed(drawn) if text)


EDIT = {"structuredPatch": [{"oldStart": 7, "newStart": 7, "lines": [" def f():", "-    return 1", "+    return 2"]}]}


def test_an_edit_shows_its_diff_with_line_numbers() -> None:
    rows = shown(call("Edit", {"file_path": "a.py"}), result("ok", result=EDIT))
    assert rows[1:5] == ["    └─ +1 −1", "       7   def f():", "       8 -     return 1", "       8 +     return 2"]


def test_a_diff_the_person_has_seen_is_not_shown_again() -> None:
    screen = a_screen()
    screen.saw_diff("t")
    written = screen.show(call("Edit", {"file_path": "a.py"})) + screen.show(result("ok", result=EDIT))
    assert displayed(written) == ["  ● Edit  a.py", "    └─ +1 −1", ""]


def test_a_long_diff_says_how_much_more_there_is() -> None:
    added = {"type": "create", "content": "\n".join(f"line {n}" for n in range(1, 65))}
    rows = shown(call("Write", {"file_path": "a.py"}), result("ok", result=added))
    assert rows[-2] == "       … 40 more lines"


def test_a_long_output_of_a_command_shows_how_it_ends() -> None:
    printed = [f"test {number} passed" for number in range(8)]
    *_, first, more, seventh, last, _ = shown(
        call("Bash", {"command": "pytest"}), result("\n".join([*printed, "8 passed"]))
    )
    assert [first, more, seventh, last] == [
        "    └─ test 0 passed",
        "       … 6 more lines",
        "       test 7 passed",
        "       8 passed",
    ]


def test_the_end_of_a_task_is_one_line_since_its_agent_said_the_rest() -> None:
    ended = events.Notice(what="task", text="completed " + "the words of an agent " * 20, record=decode(b"{}"))
    assert [len(line) for line in shown(ended) if line] == [59]


def test_results_of_parallel_calls_name_their_call() -> None:
    rows = shown(
        call("Bash", {"command": "sleep 1"}, id="1"),
        call("Bash", {"command": "echo b"}, id="2"),
        result("b", id="2"),
        result("a", id="1"),
    )
    assert rows[2:4] == ["    └─ Bash echo b: b", "    └─ Bash sleep 1: a"]


def test_a_failure_has_its_text_in_red() -> None:
    screen = a_screen(colour=True)
    screen.show(call("Bash", {"command": "false"}))
    failed = result("<tool_use_error>Exit code 1\nno</tool_use_error>", is_error=True)
    assert screen.show(failed) == "\x1b[31m    ✗ Exit code 1\x1b[0m\n\x1b[31m      no\x1b[0m\n"


@pytest.mark.parametrize(
    ("decision", "line"), [("allow", "    ■ interrupted"), ("deny", "    ⊘ rejected, not applied")]
)
def test_a_call_that_was_allowed_and_is_called_rejected_was_interrupted(
    decision: Literal["allow", "deny"], line: str
) -> None:
    rejected = "The user doesn't want to proceed with this tool use. The tool use was rejected"
    rows = shown(
        call("Bash", {"command": "sleep 9"}, id="1"),
        events.Permission(request_id="r", tool="Bash", input={}, id="1"),
        events.PermissionAnswered(request_id="r", decision=decision, id="1"),
        result(rejected, id="1", is_error=True),
    )
    assert rows[-2:] == [line, ""]


def test_what_an_agent_does_is_indented_below_its_name() -> None:
    assert shown(
        call("Agent", {"description": "Explore", "subagent_type": "general-purpose"}, id="a"),
        *text("Found it.", agent="a"),
        call("Bash", {"command": "ls"}, id="b", agent="a"),
        *text("It reported."),
    ) == [
        "  ● Agent  Explore · general-purpose",
        "    ┌ Agent · Explore · general-purpose",
        "    │ Claude ▸ Found it.",
        "    │   ● Bash  ls",
        "",
        "Claude ▸ It reported.",
        "",
    ]


def test_a_block_that_an_agent_breaks_into_goes_on_below() -> None:
    first, second, whole = text("one ", "two")
    rows = shown(first, *text("aside", agent="a", message="n"), second, whole)
    assert rows == ["Claude ▸ one", "    ┌ agent", "    │ Claude ▸ aside", "         two", ""]


@pytest.mark.parametrize(
    ("reason", "line"),
    [
        ("interrupted", "  ■ interrupted while thinking"),
        ("error", "  ⟲ taken back, the client asks again: Half a"),
        ("cut", "  ⟲ taken back, the stream ended: Half a"),
    ],
)
def test_what_was_taken_back_is_marked(reason: Any, line: str) -> None:
    delta = thinking("Half a")[0]
    taken = events.Withdrawn(message_id="m", index=0, kind="thinking", text="Half a", reason=reason)
    assert shown(delta, taken) == ["  ✻ Half a", line, ""]


@pytest.mark.parametrize(
    ("reason", "words"),
    [("hook_stopped", "✓ stopped by a hook · 0.4s"), ("stop_hook_prevented", "✓ ended by a stop hook · 0.4s")],
)
def test_a_turn_that_a_hook_ended_says_so(reason: str, words: str) -> None:
    assert words in shown(events.TurnResult(is_error=False, terminal_reason=reason, duration_ms=400))


def test_an_interrupt_is_told_once() -> None:
    taken = events.Withdrawn(message_id="m", index=0, kind="thinking", text="Half a", reason="interrupted")
    notice = events.Notice(what="interrupted", text="[Request interrupted by user]", record=decode(b"{}"))
    ended = events.TurnResult(is_error=True, terminal_reason="aborted_streaming", duration_ms=400)
    assert shown(taken, notice, ended) == ["  ■ interrupted while thinking", "", "■ stopped · 0.4s", ""]


def test_withheld_thinking_says_how_much_there_was() -> None:
    counted = decode(b'{"type": "system", "subtype": "thinking_tokens", "estimated_tokens": 1200}')
    notice = events.Notice(what="thinking_tokens", text="about 1,200 tokens", record=counted)
    screen = a_screen()
    written = screen.show(notice)
    assert displayed(written) == ["  ✻ thinking, about 1,200 tokens"]
    written += screen.show(events.Thinking(message_id="m", index=0, text="", signature="abc"))
    assert displayed(written) == ["  ✻ thought, about 1,200 tokens (its text is withheld)", ""]


def test_todos_are_a_short_list() -> None:
    todos = [{"content": "a", "status": "completed"}, {"content": "b", "status": "in_progress"}, {"content": "c"}]
    assert shown(call("TodoWrite", {"todos": todos}), result("ok")) == [
        "  ● TodoWrite  1 of 3 done, now: b",
        "      ✓ a",
        "      ▸ b",
        "      ○ c",
        "",
    ]


def test_the_end_tells_time_tokens_and_the_clients_cost() -> None:
    from decimal import Decimal

    usage = Usage(input_tokens=5, cache_read_input_tokens=12_000, output_tokens=345)
    ended = events.TurnResult(is_error=False, usage=usage, cost_usd=Decimal("0.0123"), duration_ms=4200, turns=2)
    line = "✓ 4.2s · 2 requests · 12.0k in · 345 out · run $0.0123"
    assert shown(ended, width=120) == [line, ""]
    later = replace(ended, turn_cost_usd=Decimal("0.0023"))
    line = "✓ 4.2s · 2 requests · 12.0k in · 345 out · $0.0023 · run $0.0123"
    assert shown(later, width=120) == [line, ""]


def test_the_good_output_of_a_local_command_is_no_failure() -> None:
    said = "Total cost: $0.0033"
    line = {
        "type": "assistant",
        "message": {"id": "m", "model": "<synthetic>", "content": [{"type": "text", "text": said}]},
    }
    ended = {"type": "result", "subtype": "success", "is_error": False, "result": said, "total_cost_usd": 0}
    stream = Stream()
    found = [event for frame in (line, ended) for event in stream.feed(json.dumps(frame).encode() + b"\n")]
    rows = "\n".join(shown(*found))
    assert "✗" not in rows and f"Claude ▸ {said}" in rows and "✓" in rows


def test_an_api_error_is_told_once() -> None:
    said = "API Error: 400 the request was invalid"
    rows = shown(events.Text(text=said, is_synthetic=True), events.TurnResult(is_error=True, text=said))
    assert rows == [f"  ✗ {said}", "", "✗ failed", ""]


def test_without_colour_there_are_no_colours_but_lines_are_still_redrawn() -> None:
    screen = a_screen()
    written = screen.show(events.ToolDelta(name="Bash", text="{", message_id="m", index=2))
    written += screen.show(call("Bash", {"command": "ls"}))
    assert re.findall(r"\x1b\[[^A-Za-z]*[A-Za-z]", written) == ["\x1b[K"]
