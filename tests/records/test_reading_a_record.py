"""One record, asked: its text, its time, its spelling, its tool result, the files beside it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from reread.records import (
    AgentMeta,
    Assistant,
    CompactBoundary,
    CustomTitleFile,
    Drift,
    HistoryEntry,
    Init,
    Record,
    RedactedThinking,
    Result,
    SessionsIndex,
    SettingsFields,
    Spoken,
    StreamEvent,
    Thinking,
    ToolResult,
    ToolUse,
    User,
    decode,
    decode_side_file,
    parse_time,
    result_twin,
)
from reread.testing import a_prompt, a_reply, a_session, a_thought, a_tool_call, a_tool_result


def line(**fields: Any) -> Record:
    return decode(json.dumps(fields).encode())


def spoken(content: Any, kind: str = "user") -> Spoken:
    record = line(type=kind, message={"content": content})
    assert isinstance(record, Spoken)
    return record


def user(**fields: Any) -> User:
    record = line(type="user", **fields)
    assert isinstance(record, User)
    return record


class TestText:
    def test_string_content_is_the_text_as_it_is(self) -> None:
        assert spoken("as\n it is ").text == "as\n it is "

    def test_text_blocks_are_joined_with_a_space(self) -> None:
        record = spoken([{"type": "text", "text": "one"}, {"type": "image"}, {"type": "text", "text": "two"}])
        assert record.text == "one two"

    def test_thinking_and_tools_stay_out_of_the_text(self) -> None:
        (_, thought, said, call, *_) = a_session(
            a_prompt("?"), a_reply("done", a_tool_call("Bash", {"command": "ls"}), thinking="hmm")
        ).records()
        assert [thought.text, said.text, call.text] == ["", "done", ""]

    def test_each_block_type_has_its_own_field_for_text(self) -> None:
        (record,) = a_session(a_reply({"type": "thinking", "thinking": "deep thought", "text": "not this"})).records()
        (call,) = a_session(a_tool_call("Bash", {"command": "ls"})).records()
        assert isinstance(record, Assistant)
        assert isinstance(call, Assistant)
        assert record.blocks[0].as_text == "deep thought"
        assert isinstance(call.blocks[0], ToolUse)
        assert call.blocks[0].input == {"command": "ls"}
        assert json.loads(call.blocks[0].as_text) == {"command": "ls"}

    def test_a_thought_in_the_wrong_field_is_still_found(self) -> None:
        blocks = spoken([{"type": "thinking", "text": "a"}, {"type": "thinking", "content": "b"}], "assistant").blocks
        assert [block.as_text for block in blocks] == ["a", "b"]

    def test_a_tool_result_joins_its_parts_by_lines(self) -> None:
        parts = [{"type": "text", "text": "a"}, {"type": "tool_reference", "tool_name": "Grep"}]
        (block,) = spoken([{"type": "tool_result", "content": parts}]).blocks
        assert isinstance(block, ToolResult)
        assert block.as_text == "a\nGrep"

    @pytest.mark.parametrize("content", [None, 7, {}, [], [None]])
    def test_content_of_any_other_shape_has_no_text(self, content: Any) -> None:
        assert spoken(content).text == ""

    def test_redacted_thinking_has_none(self) -> None:
        (block,) = spoken([{"type": "redacted_thinking", "data": "x"}], "assistant").blocks
        assert isinstance(block, RedactedThinking)
        assert block.as_text == ""

    @pytest.mark.parametrize(
        ("fields", "text"),
        [
            ({"type": "system", "content": "notice"}, "notice"),
            ({"type": "summary", "summary": "short"}, "short"),
            ({"type": "queue-operation", "operation": "enqueue", "content": "later"}, "later"),
            ({"type": "attachment", "attachment": {"type": "queued_command", "prompt": "now"}}, "now"),
            (
                {
                    "type": "attachment",
                    "attachment": {"type": "queued_command", "prompt": [{"type": "text", "text": "b"}]},
                },
                "b",
            ),
            ({"type": "result", "result": "end"}, "end"),
            ({"type": "api-request-blob", "message": {"role": "user", "content": "not talk"}}, ""),
            ({"type": "attachment", "attachment": {"type": "prompt_snapshot", "systemPrompt": ["not talk"]}}, ""),
        ],
    )
    def test_other_records_have_one_accessor_too(self, fields: dict[str, Any], text: str) -> None:
        assert line(**fields).text == text


NINE = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    "stamp",
    [
        "2026-01-05T09:00:00.000Z",
        "2026-01-05T09:00:00Z",
        "2026-01-05T09:00:00",
        "2026-01-05T10:00:00+01:00",
        " 2026-01-05 09:00:00 ",
        1767603600000,
        1767603600000.0,
        1767603600,
        1767603600.0,
    ],
)
def test_all_ways_to_write_a_time_are_the_same_time(stamp: Any) -> None:
    assert line(type="mode", timestamp=stamp).time == NINE


@pytest.mark.parametrize("stamp", [None, "", "yesterday", True, 1e300, -1e300, [], {}, "9999-12-31T23:59:59-14:00"])
def test_a_time_that_makes_no_sense_is_none(stamp: Any) -> None:
    assert line(type="mode", timestamp=stamp).time is None
    assert parse_time(stamp) is None


class TestSpelling:
    def test_a_frame_of_the_stream_reads_like_a_transcript_line(self) -> None:
        frame = line(
            type="user",
            session_id="s",
            parent_uuid="p",
            agent_id="a",
            git_branch="main",
            is_meta=True,
            parent_tool_use_id="toolu_1",
            tool_use_result={"stdout": "x"},
        )
        assert isinstance(frame, User)
        assert (frame.session_id, frame.parent_uuid, frame.agent_id) == ("s", "p", "a")
        assert (frame.git_branch, frame.is_meta, frame.parent_tool_use_id) == ("main", True, "toolu_1")
        assert frame.tool_use_result == {"stdout": "x"}
        assert frame.is_frame

    def test_a_transcript_line_with_a_session_id_twin_is_no_frame(self) -> None:
        record = line(type="user", sessionId="s", session_id="s")
        assert (record.session_id, record.is_frame) == ("s", False)

    def test_what_a_line_says_in_its_own_spelling_wins(self) -> None:
        record = line(type="user", session_id="frame", parent_uuid="a", parentUuid="b")
        assert record.parent_uuid == "b"

    def test_compaction_metadata_of_a_frame_is_read_to_its_depth(self) -> None:
        record = line(
            type="system",
            subtype="compact_boundary",
            session_id="s",
            compact_metadata={"trigger": "manual", "pre_tokens": 9, "preserved_segment": {"tail_uuid": "t"}},
        )
        assert isinstance(record, CompactBoundary)
        metadata = record.compact_metadata
        assert metadata is not None
        assert metadata.preserved_segment is not None
        assert (metadata.trigger, metadata.pre_tokens, metadata.preserved_segment.tail_uuid) == ("manual", 9, "t")

    def test_frames_have_their_own_types(self) -> None:
        init = line(type="system", subtype="init", session_id="s", mcp_servers=[{"name": "x"}], permissionMode="plan")
        event = line(type="stream_event", session_id="s", event={"type": "message_stop"}, parent_tool_use_id="t")
        result = line(type="result", session_id="s", is_error=True, num_turns=2, total_cost_usd=0.5, modelUsage={})
        assert isinstance(init, Init)
        assert isinstance(event, StreamEvent)
        assert isinstance(result, Result)
        assert (init.permission_mode, init.mcp_servers) == ("plan", [{"name": "x"}])
        assert (event.event, event.parent_tool_use_id) == ({"type": "message_stop"}, "t")
        assert (result.is_error, result.num_turns, result.total_cost_usd) == (True, 2, 0.5)


class TestToolUseResult:
    @pytest.mark.parametrize("twin", [{"stdout": "x", "n": 1.5}, "Error: no", [{"type": "text", "text": "x"}], None])
    def test_it_may_be_an_object_a_string_or_a_list(self, twin: Any) -> None:
        assert user(toolUseResult=twin).tool_use_result == twin

    def test_the_twin_reads_what_sessions_depend_on(self) -> None:
        twin = result_twin(user(toolUseResult={"interrupted": True, "persistedOutputPath": "/x/y.txt", "agentId": "a"}))
        assert (twin.interrupted, twin.persisted_output_path, twin.agent_id) == (True, "/x/y.txt", "a")
        assert result_twin(user(toolUseResult="User rejected tool use")).message == "User rejected tool use"

    @pytest.mark.parametrize("twin", [None, [], 5, {"interrupted": 7, "agentId": [], "persistedOutputPath": {}}])
    def test_a_twin_of_another_shape_is_empty(self, twin: Any) -> None:
        found = result_twin(user(toolUseResult=twin))
        assert (bool(found.interrupted), found.agent_id, found.message) == (False, None, "")

    def test_one_bad_field_does_not_hide_the_others(self) -> None:
        assert result_twin(user(toolUseResult={"interrupted": "no", "agentId": "a"})).agent_id == "a"

    def test_an_object_with_a_message_of_its_own_is_no_error_text(self) -> None:
        # TaskStop and SendMessage: `{"success": true, "message": "..."}`; only a string twin is an error.
        assert result_twin(user(toolUseResult={"success": True, "message": "Error: quoted"})).message == ""


class TestSideFiles:
    def test_agent_meta(self) -> None:
        meta = decode_side_file(b'{"agentType":"Explore","toolUseId":"t","parentAgentId":"a","later":1}', AgentMeta)
        assert meta is not None
        assert (meta.agent_type, meta.tool_use_id, meta.parent_agent_id) == ("Explore", "t", "a")

    def test_a_bad_field_costs_only_itself(self) -> None:
        meta = decode_side_file(b'{"agentType":7,"toolUseId":"t","spawnDepth":"deep"}', AgentMeta)
        assert meta is not None
        assert (meta.agent_type, meta.tool_use_id, meta.spawn_depth) == (None, "t", None)

    @pytest.mark.parametrize("raw", [b"", b"[]", b"{", b"null"])
    def test_what_is_no_object_is_none(self, raw: bytes) -> None:
        assert decode_side_file(raw, AgentMeta) is None

    def test_every_field_of_an_entry_of_the_index(self) -> None:
        entry = {
            "sessionId": "s",
            "fullPath": "/p/s.jsonl",
            "fileMtime": 1767603600000,
            "firstPrompt": "hello",
            "summary": "A talk",
            "messageCount": 7,
            "created": "2026-01-05T09:00:00.000Z",
            "modified": "2026-01-05T09:00:00.000Z",
            "gitBranch": "main",
            "projectPath": "/p",
            "isSidechain": False,
        }
        index = decode_side_file(json.dumps({"version": 1, "entries": [entry]}).encode(), SessionsIndex)
        assert index is not None
        [found] = index.entries
        assert [parse_time(each) for each in (found.file_mtime, found.created, found.modified)] == [NINE] * 3
        assert (found.session_id, found.full_path, found.project_path) == ("s", "/p/s.jsonl", "/p")
        assert (found.first_prompt, found.summary, found.message_count) == ("hello", "A talk", 7)
        assert (found.git_branch, found.is_sidechain) == ("main", False)

    def test_the_others(self) -> None:
        index = decode_side_file(
            b'{"version":1,"originalPath":"/a","entries":[{"sessionId":"s","fileMtime":1767603600000},null,"x"]}',
            SessionsIndex,
        )
        title = decode_side_file(b'{"customTitle":"mine"}', CustomTitleFile)
        entry = decode_side_file(b'{"display":"hi","timestamp":1767603600000,"pastedContents":{}}', HistoryEntry)
        settings = decode_side_file(b'{"cleanupPeriodDays":99,"hooks":{}}', SettingsFields)
        assert index is not None
        assert [found.session_id for found in index.entries] == ["s"]
        assert parse_time(index.entries[0].file_mtime) == NINE
        assert title == CustomTitleFile("mine")
        assert entry is not None
        assert (entry.display, parse_time(entry.timestamp)) == ("hi", NINE)
        assert settings == SettingsFields(99)


class TestDrift:
    def test_known_lines_show_none(self) -> None:
        drift = Drift()
        for record in a_session(a_prompt("a"), a_reply("b", a_tool_call()), a_tool_result("c")).records():
            drift.add(record)
        assert (drift.unknown_types, drift.unmodelled_fields, drift.unexpected_values) == ({}, {}, {})

    def test_new_types_fields_and_values_are_counted_by_where_they_stand(self) -> None:
        drift = Drift()
        for record in (
            line(type="brand-new"),
            line(type="brand-new"),
            line(nothing=1),
            line(type="system", sessionId="s", subtype="sunrise"),
            line(type="attachment", attachment={"type": "sticker"}),
            line(type="progress", data={"type": "spinner"}),
            line(type="assistant", message={"content": [{"type": "song"}], "mood": "blue", "usage": {"joules": 1}}),
            line(type="user", sparkle=True, uuid=5),
            decode(b"not json"),
        ):
            drift.add(record)
        assert drift.unknown_types == {
            "brand-new": 2,
            "(no type)": 1,
            "system/sunrise": 1,
            "attachment/sticker": 1,
            "progress/spinner": 1,
            "block/song": 1,
        }
        assert drift.unmodelled_fields == {
            "assistant.message.mood": 1,
            "assistant.message.usage.joules": 1,
            "user.sparkle": 1,
        }
        assert drift.unexpected_values == {"user.uuid": 1}


def test_the_first_ten_characters_of_a_thought_are_not_enough_to_be_shown() -> None:
    short, long = "x" * 10, "x" * 11
    session = a_session(a_prompt("?"), a_reply(a_thought(short), a_thought(long), a_thought("\n"), "ok")).build()
    assert [thought.text for thought in session.thinking()] == [long]
    assert len(session.thoughts) == 3
    assert all(isinstance(thought.block, Thinking) for thought in session.thoughts)
