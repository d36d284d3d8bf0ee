"""Which texts of a line can be searched, in which field and in which order."""

from __future__ import annotations

import pytest

from reread.features.search_text import Field, texts_of
from reread.records import decode
from reread.sessions import CallStatus
from reread.testing import (
    ContentBlock,
    Entry,
    a_command,
    a_compaction,
    a_line,
    a_prompt,
    a_queued_prompt,
    a_reply,
    a_session,
    a_summary,
    a_system_line,
    a_task_notification,
    a_thought,
    a_title,
    a_tool_call,
    a_tool_result,
    an_attachment,
    an_ending,
    an_image,
    an_interrupt,
)

Texts = list[tuple[str, str]]


def texts(*entries: Entry | ContentBlock) -> Texts:
    """Of all lines, one after the other."""
    records = a_session(*entries).records()
    return [(field.value, text) for record in records for field, text in texts_of(record)]


CASES: list[tuple[Entry | ContentBlock, Texts]] = [
    (a_prompt("find it"), [("prompt", "find it")]),
    (a_prompt("look", an_image()), [("prompt", "look")]),
    (a_prompt("<system-reminder>be nice</system-reminder>find it"), [("prompt", "find it")]),
    (a_command("/review", "the code"), [("prompt", "/review the code")]),
    (a_prompt("<bash-input>ls -l</bash-input>"), [("prompt", "! ls -l")]),
    (a_prompt("<bash-stdout>a.txt</bash-stdout>"), [("result", "<bash-stdout>a.txt</bash-stdout>")]),
    (a_prompt("b", isSidechain=True), [("prompt", "b")]),
    (a_prompt("injected", isMeta=True), []),
    (
        a_prompt("<session-start-hook>hi</session-start-hook>"),
        [("result", "<session-start-hook>hi</session-start-hook>")],
    ),
    (an_interrupt(), []),
    (a_queued_prompt("and hurry"), [("prompt", "and hurry")]),
    (an_attachment("queued_command", prompt="a task ended", commandMode="task-notification"), []),
    (an_attachment("todo_reminder", content=[]), []),
    (a_line("queue-operation", operation="enqueue", content="later"), [("prompt", "later")]),
    (a_line("queue-operation", operation="dequeue"), []),
    (a_reply("an answer"), [("text", "an answer")]),
    (a_reply(""), []),
    (a_reply(thinking="a thought that is long enough"), [("thinking", "a thought that is long enough")]),
    (a_reply(a_thought("")), []),
    (a_reply({"type": "redacted_thinking", "data": "AAAA"}), []),
    (a_tool_call("Bash", {"command": "ls", "timeout": 7}), [("tool", "ls")]),
    (a_tool_call("Edit", {"edits": [{"old": "a", "new": "b"}, None, True]}), [("tool", "a\nb")]),
    (a_tool_call("TaskList", {}), []),
    (a_title("about wombats"), [("title", "about wombats")]),
    (a_title("by a model", by="model"), [("title", "by a model")]),
    (a_title(""), []),
    (a_summary("in short", of=None), [("title", "in short")]),
    (a_system_line("away_summary", content="while you were away"), [("text", "while you were away")]),
    (a_system_line("gravity_shift", content="we float"), [("text", "we float")]),
    (a_system_line(None, content="running a hook"), []),
    (an_attachment("dream_log", content="a sheep"), [("text", "a sheep")]),
    (an_attachment("dream_log", pages=["a sheep"]), []),
    (a_system_line("turn_duration", durationMs=3), []),
    (an_ending(prompt="last words"), []),
    (a_line("permission-mode", permissionMode="plan"), []),
    (a_line("file-history-snapshot", snapshot={}), []),
    (a_line("progress", data={"type": "bash_progress", "output": "half"}), []),
]


@pytest.mark.parametrize(("entry", "expected"), CASES)
def test_a_line_has_these_texts(entry: Entry | ContentBlock, expected: Texts) -> None:
    assert texts(entry) == expected


def test_a_compaction_is_found_by_its_summary_alone() -> None:
    assert texts(a_compaction("what happened so far")) == [("text", "what happened so far")]


def test_a_notification_is_a_result() -> None:
    [(field, text)] = texts(a_task_notification("build is green", task="t1", call="toolu_1"))
    assert field == "result"
    assert "build is green" in text


def test_results_of_a_line_come_one_by_one_and_without_images() -> None:
    call = a_reply(a_tool_call("Read", {"file_path": "/a"}))
    assert texts(call, a_tool_result("content of a"))[1:] == [("result", "content of a")]
    assert texts(call, a_tool_result([an_image("QUJD")]))[1:] == []
    mixed = a_tool_result([ContentBlock({"type": "text", "text": "a caption"}), an_image("QUJD")])
    [(field, text)] = texts(call, mixed)[1:]
    assert (field, "QUJD" in text) == ("result", False)
    assert "a caption" in text


def test_words_in_the_line_of_a_result_are_found_as_a_prompt_after_it() -> None:
    result = {"type": "tool_result", "tool_use_id": "t", "content": "done"}
    line = a_line("user", message={"role": "user", "content": [result, {"type": "text", "text": "why so slow?"}]})
    assert texts(line) == [("result", "done"), ("prompt", "why so slow?")]


def test_the_position_of_a_text_does_not_depend_on_empty_ones() -> None:
    """The index keeps positions: whatever has no text must not take one."""
    line = (
        b'{"type":"assistant","sessionId":"s","message":{"role":"assistant","content":['
        b'{"type":"thinking","thinking":"","signature":"x"},{"type":"text","text":"one"},'
        b'{"type":"text","text":""},{"type":"tool_use","id":"t","name":"Bash","input":{"command":"two"}},'
        b'{"type":"server_tool_use","id":"u","name":"web_search","input":{"query":"three"}}]}}'
    )
    assert [text for _, text in texts_of(decode(line))] == ["one", "two", "three"]


def test_a_reply_whose_content_is_a_string_is_text() -> None:
    line = b'{"type":"assistant","sessionId":"s","message":{"role":"assistant","content":"plain words"}}'
    assert texts_of(decode(line)) == [(Field.TEXT, "plain words")]


def test_what_is_unknown_does_not_fail() -> None:
    for line in (b"", b"garbage", b"[]", b'{"type":"martian"}', b'{"type":"user"}', b'{"type":"assistant"}', b"\xff"):
        assert all(text for _, text in texts_of(decode(line)))


def test_fields_are_those_of_the_full_text_index() -> None:
    from reread.index.meta import FIELDS

    assert tuple(Field) == FIELDS


def test_statuses_are_those_the_archive_stores() -> None:
    assert {status.value for status in CallStatus} == {"ok", "error", "rejected", "interrupted", "missing"}
