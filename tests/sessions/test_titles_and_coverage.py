"""Queued text, titles, and the proof that nothing was lost."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from reread.records import decode
from reread.sessions import CallStatus, Notice, SessionBuilder, Turn
from reread.testing import (
    Entry,
    a_command,
    a_line,
    a_prompt,
    a_queued_prompt,
    a_reply,
    a_session,
    a_subagent,
    a_summary,
    a_task_notification,
    a_title,
    a_tool_call,
    an_attachment,
    an_ending,
    build,
)


def notices(turns: Sequence[Turn]) -> list[tuple[str, str]]:
    return [(step.what, step.text) for turn in turns for step in turn.steps if isinstance(step, Notice)]


class TestQueue:
    def test_text_in_the_line_of_a_result_is_a_prompt_that_opens_no_turn(self) -> None:
        result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "done"}
        call = a_tool_call("Bash", {"command": "ls"}, id="toolu_1")
        asked = a_line("user", message={"role": "user", "content": [result, {"type": "text", "text": "why so slow?"}]})
        session = build(a_prompt("go"), a_reply(call), asked, a_reply("because"))
        assert [(prompt.text, prompt.is_queued) for prompt in session.prompts] == [
            ("go", False),
            ("why so slow?", True),
        ]
        assert notices(session.turns) == [("queued", "why so slow?")]
        assert [call.status for call in session.tool_calls] == [CallStatus.OK]

    @pytest.mark.parametrize(
        "text", ["Tool loaded.", "Base directory for this skill: /s", "<system-reminder>x</system-reminder>"]
    )
    def test_text_of_the_client_in_the_line_of_a_result_is_no_prompt(self, text: str) -> None:
        result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "done"}
        line = a_line("user", message={"role": "user", "content": [result, {"type": "text", "text": text}]})
        assert [prompt.text for prompt in build(a_prompt("go"), line).prompts] == ["go"]

    def test_text_that_only_the_queue_knows_is_a_prompt_that_opens_no_turn(self) -> None:
        session = build(
            a_prompt("go"), a_line("queue-operation", operation="enqueue", content="hurry"), a_reply("done")
        )
        assert [(prompt.text, prompt.is_queued) for prompt in session.prompts] == [("go", False), ("hurry", True)]
        assert notices(session.turns) == [("queued", "hurry")]

    @pytest.mark.parametrize(
        "trace",
        [
            a_prompt("hurry  up"),
            a_queued_prompt("hurry up"),
            a_line("queue-operation", operation="popAll", content="hurry up"),
        ],
        ids=["a user line", "an attachment", "taken back"],
    )
    def test_text_that_reached_the_talk_is_not_told_twice(self, trace: Entry) -> None:
        session = build(
            a_prompt("go"),
            a_line("queue-operation", operation="enqueue", content="hurry up"),
            a_line("queue-operation", operation="dequeue"),
            trace,
        )
        assert sum(" ".join(prompt.text.split()) == "hurry up" for prompt in session.prompts) <= 1
        assert len(notices(session.turns)) <= 1

    @pytest.mark.parametrize("text", ["<task-notification>", '{"type":"task"}', "  "])
    def test_what_no_person_typed_is_no_prompt(self, text: str) -> None:
        session = build(a_prompt("go"), a_line("queue-operation", operation="enqueue", content=text))
        assert [prompt.text for prompt in session.prompts] == ["go"]

    def test_a_short_text_is_not_taken_for_a_part_of_another_prompt(self) -> None:
        session = build(a_prompt("go on"), a_line("queue-operation", operation="enqueue", content="go"), a_reply("ok"))
        assert [prompt.text for prompt in session.prompts] == ["go on", "go"]


class TestTitles:
    ALL: tuple[tuple[Entry, str], ...] = (
        (a_title("mine"), "mine"),
        (a_title("the model's", by="model"), "the model's"),
        (a_summary("a summary", of="first"), "a summary"),
        (a_prompt("first"), "first"),
        (an_ending(prompt="last"), "last"),
        (a_command("/init"), "/init"),
    )

    @pytest.mark.parametrize("best", range(len(ALL)))
    def test_the_first_of_these_that_is_there(self, best: int) -> None:
        entries = [entry for entry, _ in reversed(self.ALL[best:])]
        assert build(*entries).title == self.ALL[best][1]

    def test_without_any_it_is_empty(self) -> None:
        assert a_session(a_line("mode"), id="abc").build().title == "(empty)"

    @pytest.mark.parametrize(
        ("entries", "title"),
        [
            ((a_prompt("hi"), a_prompt("why does the retry never stop?")), "why does the retry never stop?"),
            ((a_prompt("hi"), a_prompt("修复登录错误")), "修复登录错误"),
            ((*map(a_prompt, "abc"), a_prompt("a fourth prompt, too late")), "a"),
            ((a_prompt("hi"), a_command("/review", "the parser"), a_reply("ok")), "/review the parser"),
            (
                (a_prompt("hi"), a_reply("Sure. I read the parser first. Then I wait.")),
                "Sure. I read the parser first.",
            ),
            ((a_prompt("hi"), a_reply("Hello!")), "hi"),
        ],
    )
    def test_words_that_say_something_come_before_a_few_letters(self, entries: tuple[Entry, ...], title: str) -> None:
        assert build(*entries).title == title

    def test_the_last_title_wins_and_the_records_beat_the_side_file(self) -> None:
        builder = SessionBuilder("s")
        builder.add_title("from the file")
        assert builder.session().title == "from the file"
        for record in a_session(a_title("old"), a_title("new")).records():
            builder.add(record)
        assert builder.session().title == "new"

    @pytest.mark.parametrize("summary", [a_summary("x", of="elsewhere"), a_summary("Invalid API key", of="first")])
    def test_a_summary_of_another_session_or_of_an_error_does_not_count(self, summary: Entry) -> None:
        assert build(a_prompt("first"), summary).title == "first"

    def test_it_is_one_line_of_bounded_length(self) -> None:
        title = build(a_prompt("a\n b " + "x" * 500)).title
        assert title.startswith("a b xxx")
        assert (len(title), title[-1]) == (200, "…")

    def test_an_agent_prompt_or_a_meta_line_is_no_title(self) -> None:
        assert (
            build(a_prompt("meta", isMeta=True), a_task_notification("t", task="a", call="b"), a_prompt("me")).title
            == "me"
        )

    @pytest.mark.parametrize(
        ("message", "title"),
        [
            (
                '<teammate-message teammate_id="lead" summary="Port the parser">\nlong\ntext\n</teammate-message>',
                "Port the parser",
            ),
            ('<teammate-message teammate_id="lead">\nMake it fast.\nmore\n</teammate-message>', "Make it fast."),
            (
                '<teammate-message teammate_id="lead">\n{"type":"task_assignment","subject":"Write the docs",'
                '"description":"all of them"}\n</teammate-message>',
                "Write the docs",
            ),
        ],
    )
    def test_a_teammate_is_called_by_its_task(self, message: str, title: str) -> None:
        assert build(a_prompt(message), a_reply("on it")).title == title

    def test_a_command_that_comes_first_and_was_answered(self) -> None:
        session = build(a_command("/orchestrator", "create an app"), a_reply("done"), a_prompt("yes"), a_reply("ok"))
        assert session.title == "/orchestrator create an app"

    def test_a_local_command_is_no_title_beside_a_prompt(self) -> None:
        assert build(a_command("/model", "opus"), a_prompt("go"), a_reply("ok")).title == "go"

    @pytest.mark.parametrize("meta", [{"description": "Explore the house"}, None])
    def test_a_session_of_agents_alone_is_called_by_what_one_was_asked(self, meta: dict[str, str] | None) -> None:
        agent = a_subagent(a_prompt("Look into every room\nand the cellar"), a_reply("dark"), meta=meta)
        assert build(agent).title == (meta["description"] if meta is not None else "Look into every room")

    def test_lines_of_an_agent_alone_are_called_by_its_task(self) -> None:
        assert (
            build(a_prompt("Look around\nnow", isSidechain=True), a_reply("ok", isSidechain=True)).title
            == "Look around"
        )

    def test_a_stream_without_a_prompt_is_called_by_its_first_sentences(self) -> None:
        assert build(a_reply("**All good. I looked.**\nmore")).title == "All good. I looked."

    def test_a_summary_of_elsewhere_is_better_than_an_id(self) -> None:
        assert build(a_summary("x", of="elsewhere")).title == "x"

    def test_a_goal_is_better_than_an_id(self) -> None:
        assert build(an_attachment("goal_status", condition="all tests pass", met=False)).title == "all tests pass"


class TestCoverage:
    def test_every_line_is_placed_or_listed(self) -> None:
        session = build(
            a_line("mode"),
            a_prompt("a", uuid="a"),
            a_line("nobody-knows", uuid="n"),
            a_reply("b", to="gone"),
            a_prompt("a", uuid="a", timestamp="2026-01-05T09:00:02.000Z"),
            an_ending("a"),
        )
        coverage = session.coverage
        assert coverage.is_complete
        assert (coverage.records, coverage.placed, len(coverage.unplaced)) == (6, 5, 1)

    def test_an_empty_session_is_complete(self) -> None:
        session = build()
        assert session.coverage.is_complete
        assert (session.turns, session.prompts, session.cost, session.span) == ((), (), None, (None, None))

    def test_lines_that_cannot_be_read_are_placed_too(self) -> None:
        builder = SessionBuilder("s")
        for raw in (b'{"type":"user","uuid":"u","message":{"content":"hi"}}', b"{broken", b"", b"[1]"):
            builder.add(decode(raw))
        session = builder.session()
        assert session.coverage.is_complete
        assert session.coverage.placed == 4


def test_a_session_tells_its_place_versions_and_span() -> None:
    session = a_session(
        a_line("mode"), a_prompt("a"), a_reply("b", version="2.1.198", cwd="/elsewhere"), cwd="/home/ann/x"
    ).build()
    assert session.project == "/home/ann/x"
    assert session.versions == ("2.1.197", "2.1.198")
    assert session.started is not None
    assert session.ended is not None
    assert (session.ended - session.started).total_seconds() == 1


def test_the_span_is_right_whatever_the_order_and_the_zones_of_its_times() -> None:
    session = build(
        a_prompt("a", timestamp="2026-01-05T12:00:00+05:00"),
        a_reply("b", timestamp="2026-01-05T09:00:00Z"),
        a_prompt("c", timestamp="2026-01-05T08:00:00.000Z"),
    )
    assert [str(time)[11:16] for time in session.span] == ["07:00", "09:00"]


def test_a_time_that_is_none_does_not_hide_the_last_one() -> None:
    session = build(
        a_prompt("a", timestamp="2026-01-05T09:00:00.000Z"),
        a_reply("b", timestamp="2026-01-05T11:00:00.000Z"),
        a_reply("c", timestamp="2026-13-45T99:99:99.000Z"),
    )
    assert [str(time)[11:16] for time in session.span] == ["09:00", "11:00"]


def test_a_file_may_begin_with_a_line_of_another_session() -> None:
    builder = SessionBuilder()
    for record in a_session(a_prompt("a", sessionId="before"), a_prompt("b"), id="own").records():
        builder.add(record)
    assert builder.session().id == "own"
