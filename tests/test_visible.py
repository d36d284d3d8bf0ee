"""Every record with content leaves a trace that a person can see: in `show`, on the page, in JSON and in search.

The reader of this test knows nothing but JSON: what it takes for content has no line of the product in it.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import reread
from reread.features.search_text import texts_of
from reread.features.summaries import summary_of
from reread.records import Drift
from reread.sessions import Notice, Session
from reread.testing import (
    ContentBlock,
    Entry,
    a_line,
    a_prompt,
    a_reply,
    a_session,
    a_tool_call,
    a_tool_result,
    an_attachment,
)
from reread.views.html.page import session_page
from reread.views.html.parts import Sections
from reread.views.session_json import session_document
from reread.views.terminal import session_lines
from reread.views.text import Style
from reread.views.values import View
from samples.of_everything import retry_session

TESTS = Path(__file__).parent
CORPUS = TESTS.parents[1] / "shared" / "corpus"
TRANSCRIPTS = sorted((TESTS / "eras").rglob("*.jsonl"))
SURFACES = ("show", "page", "json", "search")

CONTEXT = "the client tells the model, nobody typed it, and nobody was shown it"
STATE = "a state of the client"
QUIET = {
    **dict.fromkeys(
        (
            "agent_listing_delta",
            "auto_mode",
            "auto_mode_exit",
            "bash_output_audience_note",
            "command_permissions",
            "companion_intro",
            "dynamic_skill",
            "invoked_skills",
            "plan_file_reference",
            "workflow_keyword_request",
            "date",
            "date_change",
            "deferred_tools_delta",
            "diagnostics",
            "edited_text_file",
            "environment",
            "hook_additional_context",
            "hook_success",
            "mcp_instructions_delta",
            "model",
            "nested_memory",
            "opened_file_in_ide",
            "plan_mode",
            "plan_mode_exit",
            "plan_mode_reentry",
            "prompt_snapshot",
            "remote_session_change",
            "selected_lines_in_ide",
            "session_context",
            "silent_turn_reminder",
            "skill_listing",
            "task_reminder",
            "task_status",
            "todo_reminder",
            "total_tokens_reminder",
        ),
        CONTEXT,
    ),
    **dict.fromkeys(("compact_file_reference", "goal_status", "hook_cancelled", "max_turns_reached"), STATE),
}
"""Attachments that leave no trace, with the reason."""
NOT_TYPED = re.compile(
    r"<(system-reminder|ide_\w+|local-command-caveat|command-\w+|local-command-std\w+|bash-\w+|user-memory-input)>"
    r"|Caveat: The messages below|\[Request interrupted|No response requested\.|<task-notification>|<persisted-output>"
    r"|Tool loaded\."
)
"""Text of the client, or in its tags: the command, the notice or the call is the trace."""


class Piece(NamedTuple):
    kind: str
    text: str
    surfaces: tuple[str, ...] = SURFACES


def pieces(line: dict[str, Any]) -> Iterator[Piece]:
    """What a line has to say, by surface."""
    kind, message = line.get("type"), line.get("message")
    if kind in ("user", "assistant", "tool_result") and not line.get("isMeta"):
        content = message.get("content") if isinstance(message, dict) else message
        if line.get("isCompactSummary"):
            yield Piece("compact summary", _words(content), ("page", "json", "search"))
        elif content is None and isinstance(message, dict) and "parts" in message:
            yield Piece("unreadable", "could not be read", ("show", "page", "json"))
        elif isinstance(content, str):
            yield Piece(f"{kind} text", content)
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict) and not line.get("isCompactSummary"):
                yield from _of_block(f"{kind} {block.get('type')}", block)
    elif kind == "attachment" and (body := line["attachment"] or {"type": "date"})["type"] not in QUIET:
        text = next(
            (body[key] for key in ("prompt", "displayPath", "path", "stderr", "content") if body.get(key)), body["type"]
        )
        yield Piece(f"attachment {body['type']}", _words(text) or body["type"], ("show", "page", "json"))
    elif kind == "continued-in":
        yield Piece(kind, line["continuedInSessionId"], ("show", "page", "json"))
    elif kind == "system" and line.get("content") and line.get("subtype") != "compact_boundary":
        yield Piece(f"system {line.get('subtype')}", line["content"], ("show", "page", "json"))


def _of_block(kind: str, block: dict[str, Any]) -> Iterator[Piece]:
    if kind.endswith(("tool_use", "server_tool_use")):
        yield Piece(kind, block["name"].rpartition("__")[2], ("show", "page", "json"))
        yield Piece(kind, _words(list((block.get("input") or {}).values())), ("json", "search"))
    elif kind.endswith("tool_result"):  # the page shows some calls by what they did, not by what the tool said
        yield Piece(kind, _words(block.get("content")), ("show", "json", "search"))
    elif kind.endswith("document"):
        yield Piece(kind, block.get("title") or "a document", ("show", "page", "json"))
        source = block["source"]
        yield Piece(kind, source["data"] if source["type"] == "text" else "", ("page", "json", "search"))
    elif kind.endswith("thinking"):
        yield Piece(kind, block.get("thinking") or "")
    elif kind.endswith("text"):
        yield Piece(kind, block.get("text") or "")
    elif not kind.endswith("image"):
        yield Piece(kind, block.get("text") or str(block.get("type")), ("show", "page", "json"))


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return str(value.get("text") or value.get("title") or "")
    if isinstance(value, list):
        return "\n".join(text for item in value if (text := _words(item)))
    return value if isinstance(value, str) else ""


def invisible(path: Path) -> list[tuple[str, str, str]]:
    """What a file has, and a surface does not."""
    surfaces = _surfaces(reread.load(path))
    found = []
    for line in _objects(path):
        for piece in pieces(line):
            marks = _marks(piece.text)
            for surface in piece.surfaces if marks else ():
                is_seen = any(mark in surfaces[surface] for mark in marks)
                found += [] if is_seen else [(piece.kind, surface, piece.text[:60])]
    return found


def _objects(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_bytes().split(b"\n"):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


def _surfaces(session: Session) -> dict[str, str]:
    view = View(100_000, Style(False), tools="full")
    page = re.sub(r"<[^>]*>", "", session_page(session, Sections()))
    texts = [
        found.text for each in (session, *session.subagents) for record in each.records for found in texts_of(record)
    ]
    return {
        "show": _letters("\n".join(session_lines(session, session.branches, None, view))),
        "page": _letters(html.unescape(page)),
        "json": _letters("\n".join(_strings(session_document(session, session.branches, None)))),
        "search": _letters("\n".join(texts)),
    }


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item)


def _letters(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m|[\W_]+", "", text)


def _marks(text: str) -> list[str]:
    """The beginnings of its first lines; any of them is a trace. None for words of the client."""
    if NOT_TYPED.search(text):
        return []
    lines = (_letters(re.sub(r"<[^>]*>", "", line))[:20] for line in text.split("\n"))
    return [line for line in lines if len(line) > 3][:3]


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.relative_to(TESTS).as_posix()[-60:])
def test_every_record_of_every_era_is_seen(path: Path) -> None:
    if "subagents" not in path.parts:
        assert invisible(path) == []


def test_every_record_of_the_sample_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"\n".join(retry_session().lines))
    assert invisible(path) == []


def _spread(message: str) -> Entry:
    return a_reply("", message={str(place): character for place, character in enumerate(message)})


EVENTS = "".join(
    f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
    for event in (
        {"type": "message_start", "message": {"id": "gen-1", "model": "m-1", "usage": {"input_tokens": 9}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "The cap comes "}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "first."}},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "t1", "name": "Read"}},
        {"type": "content_block_delta", "index": 1, "delta": {"partial_json": '{"file_path": "retry.py"}'}},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 12}},
    )
)
DOCUMENT = {
    "type": "document",
    "title": "minutes.txt",
    "source": {"type": "text", "media_type": "text/plain", "data": "Ann keeps the cap."},
}
PDF = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0x" * 1000}}
SERVED: list[str | ContentBlock | dict[str, Any]] = [
    {"type": "server_tool_use", "id": "call_1", "name": "webReader", "input": {"url": "https://example.org"}},
    {"type": "tool_result", "tool_use_id": "call_1", "content": "Example Domain"},
    {"type": "server_tool_use", "id": "srvtoolu_2", "name": "web_search", "input": {"query": "jitter"}},
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_2", "content": [{"title": "Jitter", "url": "u"}]},
]
CASES: dict[str, list[Entry]] = {
    "a document": [a_prompt("Read this", DOCUMENT, PDF)],
    "a document alone": [a_prompt(DOCUMENT)],
    "an event stream, spread": [a_prompt("Why?"), _spread(EVENTS)],
    "words, spread": [a_prompt("Why?"), _spread("Upstream is busy, try again later.")],
    "a reply nobody knows": [a_prompt("Why?"), a_reply("", message={"parts": [{"say": "hello " * 1300}]})],
    "tools of a gateway": [a_prompt("Look it up"), a_reply(*SERVED)],
    "a folder named with @": [
        a_prompt("Look"),
        an_attachment("directory", path="/home/ann/notes", content="minutes.txt"),
    ],
    "the other half": [a_prompt("Go on"), a_line("continued-in", continuedInSessionId="0b0c7e52-5a5f-4a0e-9a31-6f2f")],
    "a result without its call": [a_prompt("Go on"), a_tool_result("Found 3 files", of="toolu_gone")],
}


@pytest.mark.parametrize("name", CASES)
def test_the_smallest_lines_are_seen(name: str, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(a_session(*CASES[name]).bytes)
    assert invisible(path) == []


def test_names_of_newer_clients_are_no_drift() -> None:
    drift = Drift()
    entries = [
        a_line("continued-in", continuedInSessionId="s2"),
        a_line("relocated", relocatedCwd="/home/ann/b"),
        a_line("tag", tag="release"),
        an_attachment("invoked_skills", skills=[{"name": "verify"}]),
        an_attachment("plan_file_reference", planFilePath="p.md", planContent="1. Read"),
        an_attachment("companion_intro", name="Pip", species="owl"),
        an_attachment("workflow_keyword_request"),
        a_prompt("Go", mcpMeta={"a": 1}),
        a_reply("Gone", truncatedAfterOutput=True),
    ]
    for record in a_session(*entries).records():
        drift.add(record)
    assert (drift.unknown_types, drift.unmodelled_fields, drift.unexpected_values) == ({}, {}, {})


def test_a_persons_words_in_a_refusal_are_its_reason_and_are_found_as_theirs() -> None:
    refused = a_tool_result(
        "Not today.", of="t1", is_error=True, holdsPersonsWords=True, toolDenialKind="permission-rule",
        permissionDecision={"decision": "reject", "source": "user_reject"},
    )  # fmt: skip
    session = a_session(a_prompt("Go"), a_reply(a_tool_call("Bash", {"command": "ls"}, id="t1")), refused).build()
    assert [(each.refused_by, each.text) for each in summary_of(session).refusals] == [("person", "Not today.")]
    assert [(each.field.value, each.text) for each in texts_of(session.records[-1])] == [("prompt", "Not today.")]


def test_a_spread_event_stream_is_the_reply_that_it_tells() -> None:
    session = a_session(*CASES["an event stream, spread"]).build()
    assert [said.text for said in session.words()] == ["The cap comes first."]
    assert [(call.name, call.input) for call in session.tool_calls] == [("Read", {"file_path": "retry.py"})]
    assert (session.usage.input_tokens, session.usage.output_tokens) == (9, 12)
    drift = Drift()
    for record in session.records:
        drift.add(record)
    assert (drift.unmodelled_fields, len(drift.unexpected_values)) == ({}, 1)


def test_a_reply_that_nobody_can_read_says_so_with_its_size() -> None:
    steps = a_session(*CASES["a reply nobody knows"]).build().turns[0].steps
    assert [step.text for step in steps if isinstance(step, Notice)] == ["a reply that could not be read (8 kB)"]


def test_the_tools_of_a_gateway_are_calls_with_their_results() -> None:
    calls = a_session(*CASES["tools of a gateway"]).build().tool_calls
    assert [(call.name, call.output.text) for call in calls if call.output is not None] == [
        ("webReader", "Example Domain"),
        ("web_search", "Jitter\nu"),
    ]


@cache
def _recorded() -> list[Path]:
    return [path for path in sorted(CORPUS.rglob("*.jsonl")) if not {"subagents", "tool-results"} & set(path.parts)]


@pytest.mark.shared
@pytest.mark.skipif(not CORPUS.is_dir(), reason="no recorded transcripts beside the project")
def test_every_record_that_people_recorded_is_seen() -> None:
    assert len(_recorded()) > 100
    missing = {path.name: found for path in _recorded() if (found := invisible(path))}
    assert missing == {}
