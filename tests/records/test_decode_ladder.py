"""No line is lost: what strict parsers refuse is read, and what nobody can read is kept with a reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reread.errors import BadInput
from reread.records import (
    Assistant,
    Attachment,
    Record,
    System,
    Text,
    ToolUse,
    Unknown,
    UnknownAttachment,
    UnknownBlock,
    User,
    decode,
    decode_all,
    decoder,
)

ERAS = Path(__file__).parents[1] / "eras"

LENIENT = {
    "a lone surrogate": (rb'{"type":"user","uuid":"u","message":{"content":"a\ud83d b"}}', "a\ufffd b"),
    "a control character": (b'{"type":"user","uuid":"u","message":{"content":"a\x01b"}}', "a\x01b"),
    "a tab in a string": (b'{"type":"user","uuid":"u","message":{"content":"a\tb"}}', "a\tb"),
    "a byte order mark": (b'\xef\xbb\xbf{"type":"user","uuid":"u","message":{"content":"a"}}', "a"),
    "NUL padding before": (b'\0\0{"type":"user","uuid":"u","message":{"content":"a"}}', "a"),
    "NUL padding after": (b'{"type":"user","uuid":"u","message":{"content":"a"}}\0\0', "a"),
    "a carriage return": (b'{"type":"user","uuid":"u","message":{"content":"a"}}\r', "a"),
    "bad UTF-8": (b'{"type":"user","uuid":"u","message":{"content":"a\xffb"}}', "a\ufffdb"),
    "NaN": (b'{"type":"user","uuid":"u","toolUseResult":NaN,"message":{"content":"a"}}', "a"),
    "Infinity": (b'{"type":"user","uuid":"u","timestamp":-Infinity,"message":{"content":"a"}}', "a"),
    "a huge number": (b'{"type":"user","uuid":"u","x":' + b"9" * 5000 + b',"message":{"content":"a"}}', "a"),
    "a key twice": (b'{"type":"user","uuid":"t","uuid":"u","message":{"content":"a"}}', "a"),
}


@pytest.mark.parametrize(("raw", "text"), LENIENT.values(), ids=LENIENT)
def test_a_line_strict_parsers_refuse_is_read(raw: bytes, text: str) -> None:
    record = decode(raw)
    assert type(record) is User
    assert (record.uuid, record.text, record.raw) == ("u", text, raw)
    assert record.data["uuid"] == "u"
    assert record.time is None


def test_a_line_may_lie_in_a_buffer_that_is_filled_again() -> None:
    raw = b'{"type":"user","uuid":"u","message":{"content":"hi"}}'
    buffer = bytearray(raw)
    for given in (buffer, memoryview(buffer)):
        record = decode(given)
        buffer[:] = bytes(len(raw))
        assert (record.raw, type(record.raw), record.text) == (raw, bytes, "hi")
        buffer[:] = raw


@pytest.mark.parametrize("wrong", [None, 7, {"type": "user"}, [b"{}"]])
def test_what_is_no_line_at_all_is_an_error_of_ours(wrong: Any) -> None:
    with pytest.raises(BadInput, match="give bytes or text"):
        decode(wrong)


@pytest.mark.parametrize("text", ['{"type":"user","uuid":"ü"}', '{"type":"user', "\ud83d", ""])
def test_a_line_may_be_given_as_text(text: str) -> None:
    raw = text.encode("utf-8", "surrogatepass")
    assert decode(text) == decode(raw)
    assert decode(text).raw == raw


def lines_of_all_eras() -> list[bytes]:
    files = sorted(ERAS.glob("*/source/**/*.jsonl"))
    return [line for file in files for line in file.read_bytes().split(b"\n")]


def test_the_first_lines_are_read_like_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [*lines_of_all_eras(), *(raw for raw, _ in LENIENT.values()), *UNREADABLE, b'{"type":"new"}', b'{"type":7}']
    monkeypatch.setattr(decoder, "_EARLY", len(lines))
    monkeypatch.setattr(decoder, "_early_lines", 0)
    monkeypatch.setattr(decoder, "_decode_any", decoder._decode_early)
    early = [decode(line) for line in lines]
    assert decoder._decode_any is decoder._decode_early
    decode(lines[0])
    assert decoder._decode_any is not decoder._decode_early
    assert early == [decode(line) for line in lines]
    assert {type(record) for record in early} >= {User, Assistant, Attachment, Unknown}


UNREADABLE = {
    b"": "an empty line",
    b" \t ": "an empty line",
    b"\0\0\0": "an empty line",
    b'{"type":"user"': "not JSON at character 15",
    b"hello": "not JSON at character 1",
    b"null": "not a JSON object but null",
    b"true": "not a JSON object but a boolean",
    b"17": "not a JSON object but a number",
    b"1.5e3": "not a JSON object but a number",
    b'"text"': "not a JSON object but a string",
    b'[{"type":"user"}]': "not a JSON object but an array",
    b"[" * 100_000: "nested too deeply",
}


@pytest.mark.parametrize(("raw", "reason"), UNREADABLE.items(), ids=[repr(raw[:20]) for raw in UNREADABLE])
def test_a_line_that_is_no_object_is_kept_with_the_reason(raw: bytes, reason: str) -> None:
    record = decode(raw)
    assert isinstance(record, Unknown)
    assert record.malformed
    assert record.reason.startswith(reason)
    assert (record.raw, record.text, record.data, record.type) == (raw, "", {}, None)


@pytest.mark.parametrize("depth", [100, 900, 3000, 30_000])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b'{"type":"user","uuid":"u","toolUseResult":', b"}"),
        (b'{"type":"user","uuid":"u","message":{"content":', b"}}"),
        (b'{"type":"assistant","uuid":"u","message":{"content":[{"type":"tool_use","input":', b"}]}}"),
        (b'{"type":"new","uuid":"u","x":', b"}"),
    ],
    ids=["result", "content", "input", "unknown"],
)
def test_no_depth_of_nesting_is_too_much(before: bytes, after: bytes, depth: int) -> None:
    raw = before + b"[" * depth + b"]" * depth + after
    record = decode(raw)
    assert record.raw == raw
    assert isinstance(record.data, dict)
    assert isinstance(record.text, str)


def test_two_objects_on_a_line_are_two_records() -> None:
    raw = b'{"type":"user","uuid":"a"}{"type":"assistant","uuid":"b"}'
    first = decode(raw)
    assert (first.uuid, first.raw, first.rest) == ("a", raw[:26], raw[26:])
    both = decode_all(raw, line=3, offset=100)
    assert [(record.uuid, record.line, record.offset) for record in both] == [("a", 3, 100), ("b", 3, 126)]


@pytest.mark.parametrize("padding", [b"", b" ", b"\r", b"\0\0"])
def test_the_bytes_of_joined_records_add_up_whatever_pads_the_line(padding: bytes) -> None:
    raw = b'{"type":"user","uuid":"a"} {"type":"assistant","uuid":"b"}' + padding
    records = decode_all(raw)
    assert [record.uuid for record in records] == ["a", "b"]
    assert records[0].data == {"type": "user", "uuid": "a"}
    assert raw[records[1].offset :].startswith(b'{"type":"assistant"')


def test_what_follows_an_object_and_is_none_is_kept_as_a_record_of_its_own() -> None:
    first, second = decode_all(b'{"type":"user","uuid":"a"}{"type":"assi')
    assert first.uuid == "a"
    assert isinstance(second, Unknown)
    assert (second.malformed, second.raw) == (True, b'{"type":"assi')


def test_a_value_of_the_wrong_type_costs_only_itself() -> None:
    record = decode(b'{"type":"user","uuid":5,"timestamp":[1],"cwd":"/a","message":{"role":7,"content":"kept"}}')
    assert type(record) is User
    assert set(record.flaws) == {"uuid", "timestamp", "message.role"}
    assert (record.uuid, record.time, record.cwd, record.text) == (None, None, "/a", "kept")
    assert record.data["uuid"] == 5


WRONG = [
    (b'{"type":"assistant","message":{"usage":"free"}}', "message.usage"),
    (b'{"type":"assistant","message":{"usage":{"input_tokens":{}}}}', "message.usage.input_tokens"),
    (b'{"type":"user","message":7}', "message"),
    (b'{"type":"attachment","attachment":"x"}', "attachment"),
    (b'{"type":"progress","data":[]}', "data"),
    (b'{"type":"system","subtype":5,"content":"x"}', "subtype"),
    (b'{"type":"file-history-snapshot","snapshot":{"trackedFileBackups":{"a":{"version":"x"}}}}', "snapshot"),
    (b'{"type":"tools-used","tools":["Bash",7]}', "tools[1]"),
    (b'{"type":"user","origin":"human"}', "origin"),
    (b'{"type":"assistant","message":{"content":[{"type":"text","text":{}}]}}', "message.content[0].text"),
    (b'{"type":"result","duration_ms":1' + b"0" * 400 + b"}", "duration_ms"),
]


@pytest.mark.parametrize(("raw", "flaw"), WRONG, ids=[flaw for _, flaw in WRONG])
def test_a_flaw_is_named_by_its_path(raw: bytes, flaw: str) -> None:
    record = decode(raw)
    assert not isinstance(record, Unknown)
    assert len(record.flaws) == 1
    assert record.flaws[0].startswith(flaw)


def test_a_message_that_is_text_or_blocks_is_read_as_its_content() -> None:
    assert decode(b'{"type":"user","message":"hello"}').text == "hello"
    assert decode(b'{"type":"user","message":[{"type":"text","text":"hello"}]}').text == "hello"


def test_content_items_that_are_no_objects_do_not_hide_the_others() -> None:
    record = decode(b'{"type":"assistant","message":{"content":[null,"x",7,[],{"type":"text","text":"y"}]}}')
    assert isinstance(record, Assistant)
    assert [type(block) for block in record.blocks if not isinstance(block, UnknownBlock)] == [Text]
    assert record.text == "x y"


def test_an_object_of_an_unknown_type_keeps_its_place_and_its_text() -> None:
    record = decode(b'{"type":"brand-new","uuid":"u","parentUuid":"p","isMeta":true,"content":"words","reason":5}')
    assert isinstance(record, Unknown)
    assert (record.type, record.uuid, record.parent_uuid, record.is_meta) == ("brand-new", "u", "p", True)
    assert (record.text, record.malformed, record.reason) == ("words", False, "unknown type 'brand-new'")


@pytest.mark.parametrize("raw", [b"{}", b'{"type":null}', b'{"type":["user"]}', b'{"type":5}'])
def test_an_object_without_a_type_is_unknown_but_not_malformed(raw: bytes) -> None:
    record = decode(raw)
    assert isinstance(record, Unknown)
    assert (record.type, record.malformed, record.reason) == (None, False, "an object without a type")


def test_the_type_may_stand_anywhere_in_the_object() -> None:
    assert type(decode(b'{"uuid":"u","message":{"content":"a"},"type":"assistant"}')) is Assistant


def test_an_unknown_system_subtype_is_a_system_line() -> None:
    record = decode(b'{"type":"system","sessionId":"s","subtype":"sunrise","content":"light","new":1}')
    assert type(record) is System
    assert (record.subtype, record.text, record.data["new"]) == ("sunrise", "light", 1)


def test_an_unknown_attachment_keeps_its_bytes_and_text() -> None:
    record = decode(b'{"type":"attachment","attachment":{"type":"sticker","text":"smile"}}')
    assert isinstance(record, Attachment)
    assert isinstance(record.attachment, UnknownAttachment)
    assert (record.attachment.type_name, record.text, record.flaws) == ("sticker", "smile", ())


def test_an_unknown_block_keeps_its_bytes_and_text() -> None:
    record = decode(b'{"type":"assistant","message":{"content":[{"type":"song","text":"la"},{"type":"tool_use"}]}}')
    assert isinstance(record, Assistant)
    song, call = record.blocks
    assert isinstance(song, UnknownBlock)
    assert (song.type_name, song.as_text, bytes(song.value)) == ("song", "la", b'{"type":"song","text":"la"}')
    assert isinstance(call, ToolUse)


def test_an_unknown_field_is_no_flaw() -> None:
    record = decode(b'{"type":"mode","mode":"normal","sparkle":{"a":[1]}}')
    assert record.flaws == ()
    assert record.data["sparkle"] == {"a": [1]}


FORGED = (
    b'{"type":"user","sessionId":"s","reread:rest":"e30=","reread:line":7,"reread:flaws":["x"],"reread:frame":true}'
)


def test_a_line_cannot_forge_what_reread_notes_beside_it() -> None:
    record: Record = decode(FORGED)
    assert (record.raw, record.rest, record.line, record.flaws, record.is_frame) == (FORGED, b"", 0, (), False)
    assert len(decode_all(FORGED)) == 1


# --- lines that are too large ---


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("base.LONGEST_LINE", "base.SMALL_LINE", "decoder.SMALL_LINE"):
        monkeypatch.setattr(f"reread.records.{name}", 300)


@pytest.mark.usefixtures("short")
def test_a_line_that_is_too_large_keeps_its_place_and_its_bytes_and_is_not_read() -> None:
    raw = json.dumps(
        {
            "type": "user",
            "uuid": "u2",
            "parentUuid": "u1",
            "sessionId": "s",
            "timestamp": "2026-11-01T10:00:00.000Z",
            "forkedFrom": {"sessionId": "before"},
            "message": {"role": "user", "content": "x" * 300},
        }
    ).encode()
    record = decode(raw)
    assert isinstance(record, Unknown)
    assert (record.uuid, record.parent_uuid, record.session_id, record.type) == ("u2", "u1", "s", "user")
    assert record.time is not None and record.forked_from is not None
    assert (record.malformed, record.reason) == (True, "a line of 0 MB, too large to be read")
    assert (record.raw, record.text, record.data) == (raw, "", {})


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("raw", [b"x" * 301, b'{"uuid": 5, "a": "' + b"x" * 301 + b'"}', b"[" * 400])
def test_a_line_that_is_too_large_for_its_envelope_is_kept_too(raw: bytes) -> None:
    record = decode(raw)
    assert isinstance(record, Unknown)
    assert (record.malformed, record.raw, record.uuid) == (True, raw, None)


def test_a_line_of_millions_of_values_is_not_read_and_one_of_millions_of_commas_in_its_text_is() -> None:
    """Five million empty objects took 1.4 GB."""
    head = b'{"type":"user","uuid":"u2","message":{"role":"user","content":'
    values = decode(head + b"[" + b"{}," * 2_000_000 + b"{}]}}")
    assert isinstance(values, Unknown)
    assert (values.uuid, values.reason, values.data) == ("u2", "a line of 5 MB, too large to be read", {})
    text = decode(head + b'"' + b'a,\\",' * 1_000_000 + b'"}}')
    assert isinstance(text, User)
    assert len(text.text) == 4_000_000
