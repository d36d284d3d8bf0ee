"""The lines that descriptions of the format print are read as those descriptions say; see docs/requirements.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import reread
from reread.records import (
    Assistant,
    Image,
    Init,
    Record,
    StreamEvent,
    Summary,
    System,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    User,
)
from reread.sessions import CallStatus, Session
from reread.sources import project_folder_name
from reread.testing import a_prompt, a_reply, a_subagent, a_tool_call, a_tool_result, a_usage, build

SAMPLE: dict[str, Any] = {
    "uuid": "a1b2c3d4-e5f6-7890-abcd-ef1234567890",
    "parentUuid": "z9y8x7w6-v5u4-3210-zyxw-vu9876543210",
    "sessionId": "8f64b245-7268-4ecd-9b90-34037f3c5b75",
    "cwd": "/Volumes/dev/center",
    "gitBranch": "main",
    "version": "1.0.83",
    "type": "assistant",
    "message": {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "I'll help you fix that issue."},
            {"type": "tool_use", "id": "toolu_01ABC123", "name": "Read", "input": {"file_path": "/path/to/file.py"}},
        ],
        "model": "claude-3-5-sonnet-20241022",
        "usage": {
            "input_tokens": 1234,
            "output_tokens": 567,
            "cache_creation_input_tokens": 41837,
            "cache_read_input_tokens": 25259,
            "cache_creation": {"ephemeral_5m_input_tokens": 41837, "ephemeral_1h_input_tokens": 0},
        },
    },
    "timestamp": "2025-08-22T12:34:56.789Z",
    "isSidechain": False,
    "userType": "external",
    "requestId": "req_ABC123XYZ",
}


def line(**fields: Any) -> Record:
    return reread.decode(json.dumps(fields).encode())


def loaded(tmp_path: Path, *lines: dict[str, Any]) -> Session:
    path = tmp_path / "session.jsonl"
    path.write_text("".join(json.dumps(fields) + "\n" for fields in lines))
    return reread.load(path)


def test_the_sample_message_is_read_with_every_field() -> None:
    record = line(**SAMPLE)
    assert isinstance(record, Assistant)
    assert record.flaws == ()
    assert (record.uuid, record.parent_uuid) == (SAMPLE["uuid"], SAMPLE["parentUuid"])
    assert (record.session_id, record.cwd) == (SAMPLE["sessionId"], SAMPLE["cwd"])
    assert (record.git_branch, record.version, record.user_type) == ("main", "1.0.83", "external")
    assert (record.is_sidechain, record.request_id) == (False, "req_ABC123XYZ")
    assert str(record.time) == "2025-08-22 12:34:56.789000+00:00"
    assert record.text == "I'll help you fix that issue."
    assert record.message is not None
    assert (record.message.role, record.message.model) == ("assistant", "claude-3-5-sonnet-20241022")


def test_the_sample_message_alone_is_a_session_with_its_tokens_and_its_call(tmp_path: Path) -> None:
    session = loaded(tmp_path, SAMPLE)
    usage = session.usage
    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens) == (1234, 567, 25259)
    assert (usage.cache_write_5m_tokens, usage.cache_write_1h_tokens) == (41837, 0)
    assert usage.total_tokens == 1234 + 567 + 25259 + 41837
    assert session.cost is not None
    (call,) = session.tool_calls
    assert (call.id, call.name, call.input) == ("toolu_01ABC123", "Read", {"file_path": "/path/to/file.py"})
    assert [message.text for message in session.assistant_messages] == ["I'll help you fix that issue."]


def test_a_first_line_has_no_parent_and_a_folder_without_git_no_branch() -> None:
    record = line(type="user", uuid="u", parentUuid=None, gitBranch="", message={"role": "user", "content": "hi"})
    assert (record.parent_uuid, record.git_branch) == (None, "")


def test_a_system_line_has_its_content_at_the_root() -> None:
    record = line(type="system", content="\x1b[1mrunning\x1b[22m", level="info", toolUseID="toolu_1", isMeta=False)
    assert isinstance(record, System)
    assert (record.text, record.level, record.is_meta) == ("\x1b[1mrunning\x1b[22m", "info", False)


def test_a_summary_names_its_leaf() -> None:
    record = line(type="summary", summary="Fix the parser", leafUuid="z9y8")
    assert isinstance(record, Summary)
    assert (record.summary, record.leaf_uuid) == ("Fix the parser", "z9y8")


def test_flags_and_the_twin_of_a_result_are_read() -> None:
    record = line(
        type="user", isMeta=True, isCompactSummary=True, toolUseResult={"stdout": "x"}, message={"content": ""}
    )
    assert isinstance(record, User)
    assert (record.is_meta, record.is_compact_summary, record.tool_use_result) == (True, True, {"stdout": "x"})
    error = line(type="assistant", isApiErrorMessage=True, message={"content": "API Error"})
    assert isinstance(error, Assistant)
    assert error.is_api_error_message


def test_every_part_of_the_usage_is_read() -> None:
    usage = {**SAMPLE["message"]["usage"], "service_tier": "premium", "server_tool_use": {"web_search_requests": 3}}
    record = line(type="assistant", message={"id": "msg_1", "usage": usage})
    assert isinstance(record, Assistant)
    assert record.message is not None
    found = record.message.usage
    assert found is not None
    assert (found.service_tier, found.cache_creation_input_tokens) == ("premium", 41837)
    assert found.server_tool_use is not None
    assert found.server_tool_use.web_search_requests == 3
    assert found.cache_creation is not None
    assert found.cache_creation.ephemeral_5m_input_tokens == 41837


def test_all_five_kinds_of_block_stand_in_one_list() -> None:
    content = [
        {"type": "text", "text": "t"},
        {"type": "thinking", "thinking": "h", "signature": "s"},
        {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}},
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "r", "is_error": False},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}},
    ]
    record = line(type="assistant", message={"content": content})
    assert isinstance(record, Assistant)
    assert [type(block) for block in record.blocks] == [Text, Thinking, ToolUse, ToolResult, Image]


def test_thinking_counts_in_assistant_lines_only() -> None:
    thought = {"type": "thinking", "thinking": "a thought that was pasted"}
    session = build(a_prompt("q", thought), a_reply("a", thinking="a thought of the model"))
    assert [found.text for found in session.thinking()] == ["a thought of the model"]


def test_frames_of_a_stream_are_read_as_printed() -> None:
    init = line(
        type="system",
        subtype="init",
        session_id="s",
        cwd="/a",
        tools=["Bash"],
        mcp_servers=[{"name": "github", "status": "connected"}],
        model="m",
        permissionMode="default",
        claude_code_version="2.0.1",
    )
    assert isinstance(init, Init)
    assert (init.session_id, init.cwd, init.tools, init.model) == ("s", "/a", ["Bash"], "m")
    assert (init.mcp_servers, init.permission_mode) == ([{"name": "github", "status": "connected"}], "default")
    assert init.claude_code_version == "2.0.1"
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}}
    event = line(type="stream_event", event=delta, session_id="s", parent_tool_use_id=None, uuid="u")
    assert isinstance(event, StreamEvent)
    assert (event.event, event.session_id, event.parent_tool_use_id) == (delta, "s", None)


def test_an_assistant_frame_brings_its_thinking_metadata_and_todos() -> None:
    record = line(
        type="assistant",
        message={
            "id": "msg_1",
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": "Complete thinking", "signature": "abc"}],
            "stop_reason": None,
            "usage": {"input_tokens": 0, "output_tokens": 0},
        },
        session_id="s",
        uuid="u",
        thinkingMetadata={"level": "high", "disabled": False, "triggers": ["ultrathink"]},
        todos=[{"id": "1", "content": "a", "status": "pending"}],
    )
    assert isinstance(record, Assistant)
    assert record.flaws == ()
    (block,) = record.blocks
    assert isinstance(block, Thinking)
    assert (block.thinking, block.signature) == ("Complete thinking", "abc")
    assert record.thinking_metadata is not None
    assert (record.thinking_metadata.level, record.thinking_metadata.triggers) == ("high", ["ultrathink"])
    assert record.todos == [{"id": "1", "content": "a", "status": "pending"}]


def test_a_conversation_without_ids_and_with_results_as_lines_of_their_own_is_read(tmp_path: Path) -> None:
    """As printed: no uuid, no session, a root type tool_result."""
    session = loaded(
        tmp_path,
        {
            "type": "user",
            "timestamp": "2025-11-12T20:00:00.000Z",
            "message": {"role": "user", "content": "Find conversations about plink_merger"},
        },
        {
            "type": "assistant",
            "timestamp": "2025-11-12T20:00:01.000Z",
            "message": {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "I'll search for those conversations."},
                    {"type": "thinking", "thinking": "Let me plan the search..."},
                    {"type": "tool_use", "name": "Bash", "id": "toolu_1", "input": {"command": "rg plink"}},
                ],
            },
        },
        {
            "type": "tool_result",
            "timestamp": "2025-11-12T20:00:02.000Z",
            "message": {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "Tool output here"}],
            },
        },
    )
    assert [prompt.text for prompt in session.prompts] == ["Find conversations about plink_merger"]
    assert [thought.text for thought in session.thinking()] == ["Let me plan the search..."]
    (call,) = session.tool_calls
    assert call.output is not None
    assert (call.status, call.output.text) == (CallStatus.OK, "Tool output here")


def test_epoch_milliseconds_and_results_inside_assistant_lines_are_read(tmp_path: Path) -> None:
    session = loaded(
        tmp_path,
        {
            "type": "user",
            "uuid": "a",
            "sessionId": "s",
            "timestamp": 1768989134347,
            "message": {"role": "user", "content": "the user's message text"},
        },
        {
            "type": "assistant",
            "uuid": "b",
            "parentUuid": "a",
            "sessionId": "s",
            "timestamp": 1768989140000,
            "message": {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "I'll help with that..."},
                    {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": "x"}},
                    {"type": "tool_result", "tool_use_id": "toolu_1", "content": "boom", "is_error": True},
                ],
            },
        },
    )
    assert str(session.started) == "2026-01-21 09:52:14.347000+00:00"
    assert [call.status for call in session.tool_calls] == [CallStatus.ERROR]


def test_a_folder_is_named_as_in_the_document() -> None:
    assert project_folder_name("/Users/user/Documents/myproject") == "-Users-user-Documents-myproject"


@pytest.fixture
def worked() -> Session:
    return build(
        a_prompt("first"),
        a_reply(a_tool_call("Read"), usage=a_usage(1, 2, cache_read=3, cache_write=4)),
        a_tool_result("x"),
        a_reply(a_tool_call("Edit")),
        a_tool_result("no such string", is_error=True),
        a_reply(a_tool_call("Task", id="toolu_task")),
        a_subagent(a_prompt("aside"), a_reply(a_tool_call("Grep")), where="inside"),
        a_prompt("second"),
    )


def test_the_raw_material_of_friction_can_be_asked_for(worked: Session) -> None:
    """All the person typed, the tools in order, the calls that failed; sidechains apart."""
    assert [prompt.text for prompt in worked.prompts] == ["first", "second"]
    trunk = [call.name for call in worked.tool_calls if not call.record.is_sidechain]
    assert trunk == ["Read", "Edit", "Task"]
    assert [call.name for call in worked.tool_calls if call.status is CallStatus.ERROR] == ["Edit"]


def test_what_was_said_by_an_agent_inside_the_file_is_not_in_the_talk(worked: Session) -> None:
    steps = [step for turn in worked.turns for step in turn.steps]
    assert not any(step.record.is_sidechain for step in steps)
    assert [len(agent.records) for agent in worked.subagents] == [2]
