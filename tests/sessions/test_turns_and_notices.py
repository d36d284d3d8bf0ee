"""Turns, the steps in them, and the notices beside the talk."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from reread.sessions import Notice, Said, Session, Speaker, Thought, ToolCall, Turn
from reread.testing import (
    Entry,
    a_command,
    a_compaction,
    a_line,
    a_prompt,
    a_queued_prompt,
    a_reply,
    a_system_line,
    a_task_notification,
    a_thought,
    a_tool_call,
    a_tool_result,
    an_attachment,
    an_interrupt,
    build,
)


def prompts(session: Session) -> list[str | None]:
    return [turn.prompt.text if turn.prompt else None for turn in session.turns]


def notices(turns: Sequence[Turn]) -> list[tuple[str, str]]:
    return [(step.what, step.text) for turn in turns for step in turn.steps if isinstance(step, Notice)]


class TestTurns:
    def test_a_prompt_opens_a_turn_and_holds_all_until_the_next(self) -> None:
        session = build(
            a_prompt("one"),
            a_reply("let me see", a_tool_call("Read"), thinking="where is it?"),
            a_tool_result("x"),
            a_reply("there"),
            a_prompt("two"),
        )
        assert prompts(session) == ["one", "two"]
        assert [type(step) for step in session.turns[0].steps] == [Thought, Said, ToolCall, Said]
        assert [len(turn.records) for turn in session.turns] == [6, 1]

    def test_what_stands_before_the_first_prompt_and_says_nothing_joins_it(self) -> None:
        session = build(a_line("permission-mode", permissionMode="default"), a_prompt("one"))
        assert prompts(session) == ["one"]
        assert len(session.turns[0].records) == 2

    def test_what_is_said_before_the_first_prompt_is_a_turn_without_one(self) -> None:
        session = build(a_reply("hello"), a_prompt("one"))
        assert prompts(session) == [None, "one"]
        assert [turn.index for turn in session.turns] == [0, 1]

    def test_tool_results_and_meta_lines_open_none(self) -> None:
        session = build(
            a_prompt("one"), a_tool_call(), a_tool_result("x"), a_prompt("skill body", isMeta=True), an_interrupt()
        )
        assert prompts(session) == ["one"]

    def test_a_command_nobody_answered_is_a_notice_in_the_turn_before(self) -> None:
        session = build(
            a_prompt("one"),
            a_reply("ok"),
            a_command("/rename", "new name"),
            a_prompt("<local-command-stdout>\x1b[1mrenamed\x1b[0m</local-command-stdout>"),
            a_prompt("two"),
        )
        assert prompts(session) == ["one", "two"]
        assert notices(session.turns) == [("command", "/rename new name"), ("command", "renamed")]

    def test_a_command_the_model_answered_opens_a_turn(self) -> None:
        session = build(a_command("/review", "fast"), a_prompt("skill body", isMeta=True), a_reply("reviewing"))
        assert prompts(session) == ["/review fast"]
        assert session.turns[0].prompt is not None
        assert session.turns[0].prompt.kind is Speaker.COMMAND

    def test_a_command_first_and_unanswered_stands_in_a_turn_without_prompt(self) -> None:
        session = build(a_command("/clear"))
        assert prompts(session) == [None]
        assert notices(session.turns) == [("command", "/clear")]

    def test_shell_mode_is_a_notice_with_its_output(self) -> None:
        session = build(
            a_prompt("one"),
            a_prompt("<bash-input>ls -l</bash-input>"),
            a_prompt("<bash-stdout>a.txt</bash-stdout><bash-stderr></bash-stderr>"),
            a_prompt("two"),
        )
        assert prompts(session) == ["one", "two"]
        assert notices(session.turns) == [("command", "! ls -l"), ("command", "a.txt")]

    def test_shell_mode_that_was_answered_opens_a_turn(self) -> None:
        session = build(a_prompt("<bash-input>ls</bash-input>"), a_reply("one file"))
        assert prompts(session) == ["! ls"]

    def test_an_error_message_is_no_answer(self) -> None:
        error = a_reply("API Error: 401", model="<synthetic>", isApiErrorMessage=True)
        assert prompts(build(a_prompt("one"), a_reply("ok"), a_command("/x"), error)) == ["one"]

    def test_a_turn_knows_how_long_it_took(self) -> None:
        session = build(
            a_prompt("one"), a_reply("ok"), a_system_line("turn_duration", durationMs=58_300), a_prompt("two")
        )
        assert [turn.duration_ms for turn in session.turns] == [58_300, None]

    def test_words_put_into_the_models_mouth_are_not_shown(self) -> None:
        session = build(a_prompt("one"), a_reply("No response requested.", model="<synthetic>"))
        assert session.turns[0].steps == ()

    def test_a_partial_answer_under_the_synthetic_model_is_shown(self) -> None:
        session = build(a_prompt("one"), a_reply("half an ans", model="<synthetic>"))
        assert [type(step) for step in session.turns[0].steps] == [Said]

    def test_plain_text_content_of_the_model_is_said(self) -> None:
        line = a_line("assistant", message={"id": "msg_1", "content": "just text"})
        (step,) = build(a_prompt("one"), line).turns[0].steps
        assert isinstance(step, Said)
        assert step.text == "just text"

    def test_thinking_that_was_not_stored_is_a_thought_without_text(self) -> None:
        session = build(a_prompt("?"), a_reply(a_thought(""), {"type": "redacted_thinking", "data": "x"}))
        signed, redacted = session.thoughts
        assert (signed.text, signed.is_signed, signed.is_redacted) == ("", True, False)
        assert (redacted.text, redacted.is_signed, redacted.is_redacted) == ("", False, True)
        assert session.thinking() == []


NOTICES: dict[str, tuple[Entry, tuple[str, str]]] = {
    "interrupt": (an_interrupt(), ("interrupted", "[Request interrupted by user]")),
    "api error": (
        a_system_line("api_error", retryAttempt=2, maxRetries=10, retryInMs=1.5),
        ("api_error", "API error, retry 2 of 10"),
    ),
    "failed request": (
        a_reply("API Error: 529", model="<synthetic>", isApiErrorMessage=True),
        ("api_error", "API Error: 529"),
    ),
    "queued": (a_queued_prompt("also this"), ("queued", "also this")),
    "task": (a_task_notification("Agent finished", task="a", call="t"), ("task", "Agent finished")),
    "task in an attachment": (
        an_attachment(
            "queued_command",
            prompt="<task-notification><summary>built</summary></task-notification>",
            commandMode="task-notification",
        ),
        ("task", "built"),
    ),
    "teammate": (a_prompt("<teammate-message>\nhi there"), ("task", "hi there")),
    "recap": (a_system_line("away_summary", content="you did things"), ("task", "you did things")),
    "hook text": (a_prompt("<session-start-hook>x"), ("hook", "<session-start-hook>x")),
    "stop hook": (
        a_system_line("stop_hook_summary", preventedContinuation=True, stopReason="tests fail"),
        ("hook", "tests fail"),
    ),
    "stop hook that failed": (
        a_system_line("stop_hook_summary", hookErrors=["Failed with non-blocking status code: no"]),
        ("hook", "a stop hook failed"),
    ),
    "stop hook that goes on": (
        a_prompt("Stop hook feedback:\nrun the tests\n", isMeta=True),
        ("hook", "Stop hook feedback: run the tests"),
    ),
    "blocked prompt": (
        a_system_line(
            "informational",
            content="UserPromptSubmit operation blocked by hook:\nnot today\n\nOriginal prompt: go",
            preventContinuation=True,
        ),
        ("hook", "UserPromptSubmit operation blocked by hook: not today"),
    ),
    "blocking hook": (an_attachment("hook_blocking_error", hookName="guard"), ("hook", "blocked by guard")),
    "blocking hook with a reason": (
        an_attachment("hook_blocking_error", hookName="guard", blockingError={"blockingError": "lint first\n"}),
        ("hook", "blocked by guard: lint first"),
    ),
    "hook that ends the turn": (
        an_attachment("hook_stopped_continuation", hookName="PreToolUse:Bash", message="enough"),
        ("hook", "stopped by PreToolUse:Bash: enough"),
    ),
    "local command": (
        a_system_line("local_command", content="<command-name>/cost</command-name>\n<command-args></command-args>"),
        ("command", "/cost"),
    ),
    "local output": (
        a_system_line("local_command", content="<local-command-stdout>$1</local-command-stdout>"),
        ("command", "$1"),
    ),
    "unknown line": (a_line("brand-new", uuid="n"), ("unknown", "line 2: unknown type 'brand-new'")),
    "unknown subtype": (a_system_line("gravity_shift", content="we float"), ("unknown", "we float")),
    "unknown subtype without text": (a_system_line("gravity_shift"), ("unknown", "system line of type gravity_shift")),
    "unknown block": (a_reply({"type": "song", "text": "la la"}), ("unknown", "la la")),
}


@pytest.mark.parametrize(("entry", "notice"), NOTICES.values(), ids=NOTICES)
def test_what_happens_beside_the_talk_is_a_notice(entry: Entry, notice: tuple[str, str]) -> None:
    session = build(a_prompt("go"), entry)
    assert notices(session.turns) == [notice]
    assert prompts(session) == ["go"]


def test_a_compaction_is_told_with_its_size_and_summary() -> None:
    session = build(a_prompt("a"), a_compaction("what was said", trigger="auto", pre_tokens=155_000, postTokens=9_000))
    (notice,) = session.turns[0].steps
    assert isinstance(notice, Notice)
    assert (notice.what, notice.detail) == ("compacted", "what was said")
    assert notice.text == "compacted (auto) from 155,000 to 9,000 tokens"


SILENT = [
    a_line("mode", mode="normal"),
    a_system_line("turn_duration", durationMs=1),
    a_system_line("stop_hook_summary", hookCount=1, hookErrors=[], preventedContinuation=False),
    a_system_line("stop_hook_summary", hookErrors=["told by a line before"], failedHookErrorIndexes=[]),
    an_attachment("hook_blocking_error", hookEvent="Stop", blockingError={"blockingError": "told by a line before"}),
    a_line("progress", data={"type": "hook_progress"}),
    an_attachment("task_reminder", content=[]),
    an_attachment("prompt_snapshot", systemPrompt=["secret"]),
    a_line("file-history-snapshot", snapshot={}),
    a_line("api-request-blob", message={"role": "user", "content": "x"}),
    a_prompt("skill", isMeta=True),
]


@pytest.mark.parametrize("entry", SILENT, ids=[str(entry.lines[0]["type"]) for entry in SILENT])
def test_bookkeeping_is_placed_but_not_shown(entry: Entry) -> None:
    session = build(a_prompt("go"), entry, a_reply("ok"))
    assert [type(step) for step in session.turns[0].steps] == [Said]
    assert len(session.turns[0].records) == 3


def test_ten_characters_are_no_words_worth_reading_and_eleven_are() -> None:
    session = build(
        a_prompt("a prompt is no word of the model"),
        a_reply(a_thought("a thought is none either"), "x" * 10),
        a_reply("y" * 11, a_tool_call()),
        a_reply("\n"),
    )
    assert [said.text for said in session.words()] == ["y" * 11]
    assert [said.text for said in session.words(min_length=10)] == ["x" * 10, "y" * 11]
