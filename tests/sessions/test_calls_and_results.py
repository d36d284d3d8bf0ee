"""Tool calls find their results by id, and say how they ended."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest
from msgspec.structs import replace

import reread
from reread import Stream
from reread.features.edits.changes import changes_of
from reread.live.events import ToolResult
from reread.sessions import CallStatus, Session, ToolCall, ToolPermission, split_tool_name
from reread.testing import Entry, a_line, a_prompt, a_reply, a_session, a_tool_call, a_tool_result, an_interrupt, build


def ended(result: Entry | None) -> CallStatus:
    entries = (a_prompt("go"), a_reply(a_tool_call(id="t")), *([result] if result else []))
    (call,) = build(*entries).tool_calls
    return call.status


REJECTION = "The user doesn't want to proceed with this tool use. The tool use was rejected"

ENDINGS: dict[str, tuple[CallStatus, Entry | None]] = {
    "no result": (CallStatus.MISSING, None),
    "output": (CallStatus.OK, a_tool_result("x")),
    "no output": (CallStatus.OK, a_tool_result("", is_error=False)),
    "an error": (CallStatus.ERROR, a_tool_result("Exit code 1", is_error=True)),
    "the client refused": (CallStatus.ERROR, a_tool_result("<tool_use_error>File has not been read</tool_use_error>")),
    "an error in the twin only": (CallStatus.ERROR, a_tool_result("boom", twin="Error: boom")),
    "a neighbour failed": (CallStatus.ERROR, a_tool_result("Cancelled: parallel tool call", is_error=True)),
    "the person said no": (CallStatus.REJECTED, a_tool_result(REJECTION, is_error=True)),
    "the twin says no": (CallStatus.REJECTED, a_tool_result("no", is_error=True, twin="User rejected tool use")),
    "a rule said no": (CallStatus.REJECTED, a_tool_result("Permission for this tool use was denied", is_error=True)),
    "a denial kind": (CallStatus.REJECTED, a_tool_result("no", is_error=True, toolDenialKind="user-rejected")),
    "stopped while it ran, 2.1.327": (
        CallStatus.INTERRUPTED,
        a_tool_result(REJECTION, is_error=True, toolDenialKind="user-rejected", version="2.1.327"),
    ),
    "said no before it ran, 2.1.327": (
        CallStatus.REJECTED,
        a_tool_result(
            REJECTION, is_error=True, toolDenialKind="user-rejected", toolDenialBeforeRun=True, version="2.1.327"
        ),
    ),
    "said no with a reason, 2.1.327": (
        CallStatus.REJECTED,
        a_tool_result("no", is_error=True, toolDenialKind="user-rejected", userFeedback="later", version="2.1.327"),
    ),
    "no, in a stream": (
        CallStatus.REJECTED,
        a_tool_result("no", is_error=True, tool_result_meta=[{"id": "t", "non_execution_kind": "permission-rule"}]),
    ),
    "no to a neighbour, in a stream": (
        CallStatus.ERROR,
        a_tool_result("no", is_error=True, tool_result_meta=[{"id": "u", "non_execution_kind": "user-rejected"}, 7]),
    ),
    "words of a rejection in an output": (CallStatus.OK, a_tool_result(REJECTION)),
    "interrupted": (CallStatus.INTERRUPTED, a_tool_result("half", twin={"interrupted": True})),
    "interrupted, 1.0": (CallStatus.INTERRUPTED, a_tool_result("[Request interrupted by user]", is_error=True)),
    "interrupted, 2.0": (
        CallStatus.INTERRUPTED,
        a_tool_result("Exit code 137\n[Request interrupted by user", is_error=True),
    ),
    "not interrupted": (CallStatus.OK, a_tool_result("x", twin={"interrupted": False})),
    "an object that quotes an error": (CallStatus.OK, a_tool_result("sent", twin={"message": "Error: quoted"})),
}


@pytest.mark.parametrize(("status", "result"), ENDINGS.values(), ids=ENDINGS)
def test_a_call_ends_as_its_evidence_says(status: CallStatus, result: Entry | None) -> None:
    assert ended(result) is status


def test_results_in_any_order_find_their_calls() -> None:
    session = build(
        a_prompt("go"),
        a_reply(a_tool_call("Read", id="a"), a_tool_call("Bash", id="b"), a_tool_call("Glob", id="c")),
        a_tool_result("C", of="c"),
        a_tool_result("A", of="a"),
        a_prompt("more"),
        a_tool_result("B", of="b"),
    )
    assert [(call.name, call.output.text if call.output else None) for call in session.tool_calls] == [
        ("Read", "A"),
        ("Bash", "B"),
        ("Glob", "C"),
    ]


def test_a_result_without_a_call_makes_none() -> None:
    session = build(a_prompt("go"), a_tool_result("stray", of="gone"))
    assert session.tool_calls == ()
    assert session.coverage.is_complete


def test_the_first_result_of_a_call_counts_and_a_replayed_call_is_one() -> None:
    session = build(
        a_prompt("go"),
        a_reply(a_tool_call(id="t"), id="msg_1"),
        a_tool_result("first", of="t"),
        a_reply(a_tool_call(id="t"), id="msg_1"),
        a_tool_result("second", of="t"),
    )
    assert [call.output.text for call in session.tool_calls if call.output] == ["first"]


def numbered_by_a_gateway() -> list[Entry]:
    """Two responses; the gateway begins to count at 0 in each."""
    return [
        a_prompt("go"),
        a_reply(a_tool_call("Write", {"file_path": "/app/a.py", "content": "1"}, id="call_0"), id="gateway"),
        a_tool_result("written"),
        a_reply(a_tool_call(input={"command": "cat /app/b.py"}, id="call_0"), id="gateway"),
        a_tool_result("No such file", is_error=True),
        a_reply(a_tool_call("Read", {"file_path": "/app/c.py"}, id="call_0"), id="gateway"),
        a_tool_result("3"),
        a_reply("done"),
    ]


@pytest.mark.parametrize("has_times", [True, False])
def test_calls_that_a_gateway_numbers_from_zero_in_every_response_are_calls_of_their_own(has_times: bool) -> None:
    lines = a_session(*numbered_by_a_gateway()).lines
    records = [reread.decode(line) for line in lines]
    if not has_times:  # as in a stream
        records = [replace(record, timestamp=None) for record in records]
    session = Session(records, id="s")
    calls = session.tool_calls
    assert [(call.id, call.name, call.status.value) for call in calls] == [
        ("call_0", "Write", "ok"),
        ("call_0#2", "Bash", "error"),
        ("call_0#3", "Read", "ok"),
    ]
    assert [call.output.text for call in calls if call.output] == ["written", "No such file", "3"]
    assert [step for step in session.turns[0].steps if isinstance(step, ToolCall)] == list(calls)


def test_the_archive_has_every_call_that_a_gateway_gave_the_same_id(tmp_path: Path) -> None:
    entries = numbered_by_a_gateway()
    with reread.open(home=tmp_path / "home", sources=[tmp_path / "projects"]) as archive:
        for end in (3, len(entries)):
            a_session(*entries[:end]).write(tmp_path / "projects")
            archive.sync()
        results = archive.sql("SELECT call, tool, status, text FROM results ORDER BY time")[1]
        inputs = archive.sql("SELECT call, json_extract(input, '$.file_path') FROM calls ORDER BY time")[1]
        touched = archive.files.touched("*.py", with_shell=True, with_uuids=True).files
    assert results == [
        ("call_0", "Write", "ok", "written"),
        ("call_0#2", "Bash", "error", "No such file"),
        ("call_0#3", "Read", "ok", "3"),
    ]
    assert inputs == [("call_0", "/app/a.py"), ("call_0#2", None), ("call_0#3", "/app/c.py")]
    operations = {file.path: [(each.status, each.uuid is not None) for each in file.operations] for file in touched}
    assert operations == {"/app/a.py": [("ok", True)], "/app/b.py": [("error", True)], "/app/c.py": [("ok", True)]}


def test_a_result_inside_an_assistant_line_is_accepted() -> None:
    result = {"type": "tool_result", "tool_use_id": "t", "content": "x"}
    (call,) = build(a_reply(a_tool_call(id="t"), result)).tool_calls
    assert call.status is CallStatus.OK


def test_calls_without_an_id_are_kept() -> None:
    session = build(a_reply({"type": "tool_use", "name": "A"}, {"type": "tool_use", "name": None}))
    assert [(call.name, call.status) for call in session.tool_calls] == [
        ("A", CallStatus.MISSING),
        ("(unnamed)", CallStatus.MISSING),
    ]
    assert [step.name for step in session.turns[0].steps if isinstance(step, ToolCall)] == ["A", "(unnamed)"]


def test_a_twin_says_nothing_about_a_line_with_two_results() -> None:
    results = a_prompt(
        {"type": "tool_result", "tool_use_id": "a", "content": "A"},
        {"type": "tool_result", "tool_use_id": "b", "content": "B"},
        toolUseResult="Error: which?",
    )
    session = build(a_reply(a_tool_call(id="a"), a_tool_call(id="b")), results)
    assert [call.status for call in session.tool_calls] == [CallStatus.OK, CallStatus.OK]


def test_a_twin_of_a_line_with_two_results_changes_no_other_file() -> None:
    inputs = [{"file_path": f"/app/{name}.py", "content": name} for name in "ab"]
    results = a_prompt(
        *({"type": "tool_result", "tool_use_id": name, "content": "ok"} for name in "ab"),
        toolUseResult={"type": "create", "filePath": "/app/a.py", "content": "a"},
    )
    session = build(
        a_reply(*(a_tool_call("Write", each, id=name) for name, each in zip("ab", inputs, strict=True))), results
    )
    assert {change.path: change.content.plain for change in changes_of(session) if change.content} == {
        "/app/a.py": "a",
        "/app/b.py": "b",
    }
    stream = Stream()
    found = [event for record in session.records for event in stream.feed(bytes(record.raw) + b"\n")]
    assert [event.result for event in found if isinstance(event, ToolResult)] == [None, None]


def test_a_call_lasts_from_its_line_to_its_result() -> None:
    (call,) = build(a_prompt("go"), a_tool_call(), a_line("system"), a_tool_result("x")).tool_calls
    assert call.seconds == 2.0


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("Bash", (None, "Bash")),
        ("mcp__desktop-commander__read_file", ("desktop-commander", "read_file")),
        ("mcp__a__b__c", ("a", "b__c")),
        ("mcp__broken", (None, "mcp__broken")),
    ],
)
def test_an_mcp_tool_names_its_server(name: str, parts: tuple[str | None, str]) -> None:
    assert split_tool_name(name) == parts
    (call,) = build(a_tool_call(name)).tool_calls
    assert call.server == parts[0]


def test_a_server_side_call_is_a_step_that_needs_no_result() -> None:
    session = build(a_prompt("?"), a_reply({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}))
    steps = [step for step in session.turns[0].steps if isinstance(step, ToolCall)]
    assert [(step.name, step.status) for step in steps] == [("web_search", CallStatus.OK)]


SAVED = "<persisted-output>\nOutput too large (1MB). Full output saved to: {}\n\nPreview:\nab\n</persisted-output>"


def spilled(path: str, twin: Any = None) -> Session:
    result = a_tool_result(SAVED.format(path), **({} if twin is None else {"twin": twin}))
    return a_session(a_prompt("go"), a_tool_call(id="t"), result, outputs={"t.txt": "the whole output"}).build()


@pytest.mark.parametrize(
    "path",
    ["/home/ann/.claude/projects/-x/s/tool-results/t.txt", "C:\\Users\\ann\\s\\tool-results\\t.txt", "../../t.txt"],
)
def test_a_spilled_output_is_found_by_its_base_name(path: str) -> None:
    session = spilled(path)
    assert session.full_output(session.tool_calls[0]) == "the whole output"


def test_the_twin_names_the_file_too() -> None:
    session = spilled("/x/other.txt", twin={"persistedOutputPath": "/y/t.txt"})
    assert session.tool_calls[0].persisted == "t.txt"


@pytest.mark.parametrize("path", ["/x/gone.txt", "/x/..", "/", ".."])
def test_a_spilled_output_that_is_gone_leaves_the_preview(path: str) -> None:
    session = spilled(path)
    assert "Preview" in session.full_output(session.tool_calls[0])


def test_no_file_outside_the_sessions_own_folder_is_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    for path in (str(secret), "../../../secret.txt"):
        transcript = a_session(a_prompt("go"), a_tool_call(), a_tool_result(SAVED.format(path)), outputs={"t.txt": "t"})
        session = reread.load(transcript.write(tmp_path / "projects"))
        assert "secret" not in session.full_output(session.tool_calls[0]).replace(path, "")


@pytest.mark.parametrize(("decision", "status"), [("allow", CallStatus.INTERRUPTED), ("deny", CallStatus.REJECTED)])
def test_a_call_that_was_allowed_and_is_called_rejected_was_stopped_while_it_ran(
    decision: Literal["allow", "deny"], status: CallStatus
) -> None:
    """Up to 2.1.325 a transcript has the same words for both."""
    entries = (a_prompt("go"), a_reply(a_tool_call(id="t")), a_tool_result(REJECTION, is_error=True))
    (call,) = build(*entries).tool_calls
    asked = replace(call, permission=ToolPermission(asked=None, decision=decision))
    assert asked.status is status


def test_the_output_of_a_call_without_result_is_empty() -> None:
    session = build(a_tool_call(), an_interrupt(for_tool=True))
    assert session.full_output(session.tool_calls[0]) == ""
